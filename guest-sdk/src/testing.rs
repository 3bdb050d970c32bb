//! Unit tests without a host: a role is opened and called through the same bytes and values as in the sandbox.
//!
//! ```
//! # use sluicebox_guest_sdk::batch::{Answer, Transform};
//! # use sluicebox_guest_sdk::{Context, Rejects, Result};
//! # use sluicebox_guest_sdk::arrow_schema::{Field, Schema, DataType};
//! # struct Same;
//! # impl Transform for Same {
//! #     fn open(_: &Context, _: &Schema) -> Result<Self> { Ok(Same) }
//! #     fn columns(&self) -> Vec<String> { vec!["n".to_owned()] }
//! #     fn output(&self) -> Vec<Field> { vec![Field::new("n", DataType::Int64, true)] }
//! #     fn transform(&self, batch: &RecordBatch, _: &mut Rejects) -> Result<Answer> { Ok(Answer::same(batch.columns().to_vec())) }
//! # }
//! use std::sync::Arc;
//! use sluicebox_guest_sdk::arrow_array::{ArrayRef, Int64Array, RecordBatch};
//! use sluicebox_guest_sdk::testing::Host;
//!
//! let batch = RecordBatch::try_from_iter([("n", Arc::new(Int64Array::from(vec![1, 2])) as ArrayRef)]).unwrap();
//! let answer = Host::with_settings("{}").transform::<Same>(&batch).unwrap();
//! assert_eq!(answer.origin, [0, 1]);
//! ```

use std::cell::RefCell;

use crate::bindings::batch_transform::sluicebox::component::types;
use crate::log::Level;
use crate::{Error, Opened, Origin, Reject, Result, record};

thread_local! {
    static LINES: RefCell<Vec<(Level, String)>> = const { RefCell::new(Vec::new()) };
}

/// Keeps a line that no host is there to take.
#[cfg(not(target_arch = "wasm32"))]
pub(crate) fn keep(level: Level, line: &str) {
    LINES.with_borrow_mut(|lines| lines.push((level, line.to_owned())));
}

/// The lines that this thread has logged since the last call.
pub fn logged() -> Vec<(Level, String)> {
    LINES.take()
}

/// Stands for the host: opens a role as the configuration would.
#[derive(Debug, Clone)]
pub struct Host(types::Context);

/// What became of a batch.
#[cfg(feature = "batch")]
#[derive(Debug, Clone)]
pub struct Answered {
    /// The answered columns.
    pub batch: arrow_array::RecordBatch,
    /// Which row each row came from.
    pub origin: Vec<u32>,
    /// Rows that are refused.
    pub rejects: Vec<Reject>,
}

/// What became of rows.
#[derive(Debug, Clone)]
pub struct AnsweredRows {
    /// The answered rows.
    pub rows: Vec<record::Row>,
    /// Which row each row came from.
    pub origin: Vec<u32>,
    /// Rows that are refused.
    pub rejects: Vec<Reject>,
}

impl Host {
    /// With settings, as JSON text.
    pub fn with_settings(settings: &str) -> Host {
        let name = |name: &str| name.to_owned();
        Host(types::Context {
            tenant: name("default"),
            pipeline: name("test"),
            component: name("test"),
            column: String::new(),
            settings: settings.to_owned(),
            attributes: Vec::new(),
        })
    }

    /// For a validator: the column that names it.
    #[must_use]
    pub fn on_column(mut self, column: &str) -> Host {
        column.clone_into(&mut self.0.column);
        self
    }

    /// Opens a validator with the batch's schema and lets it check the batch.
    ///
    /// # Errors
    /// Its own; and what a host would refuse.
    #[cfg(feature = "batch")]
    pub fn validate<V: crate::batch::Validator>(&self, batch: &arrow_array::RecordBatch) -> Result<Vec<Reject>> {
        let schema = crate::ipc::write_schema(&batch.schema())?;
        let (mut opened, plan) = crate::batch::OpenedValidator::<V>::open(self.0.clone(), schema)?;
        let crossing = project(batch, &self.columns_or_own(plan.columns))?;
        let rejects = opened.process(write(&crossing)?)?;
        check_rejects(&rejects, &plan.codes, batch.num_rows())?;
        Ok(rejects)
    }

    /// Opens a transform with the batch's schema and lets it transform the batch.
    ///
    /// # Errors
    /// Its own; and what a host would refuse.
    #[cfg(feature = "batch")]
    pub fn transform<T: crate::batch::Transform>(&self, batch: &arrow_array::RecordBatch) -> Result<Answered> {
        let schema = crate::ipc::write_schema(&batch.schema())?;
        let (mut opened, plan) = crate::batch::OpenedTransform::<T>::open(self.0.clone(), schema)?;
        let answer = opened.process(write(&project(batch, &plan.columns)?)?)?;
        check_rejects(&answer.rejects, &plan.codes, batch.num_rows())?;
        let answered = crate::ipc::Reader::default().read(answer.batch)?;
        let origin = rows(answer.origin, answered.num_rows(), batch.num_rows())?;
        Ok(Answered { batch: answered, origin, rejects: answer.rejects })
    }

    /// Opens a validator of the record plane and lets it check rows of all columns of `schema`.
    ///
    /// # Errors
    /// Its own; and what a host would refuse.
    pub fn validate_rows<V: record::Validator>(&self, schema: &[record::Field], input: &[record::Row]) -> Result<Vec<Reject>> {
        let (mut opened, plan) = record::OpenedValidator::<V>::open(self.0.clone(), schema.to_vec())?;
        let rejects = opened.process(project_rows(schema, input, &self.columns_or_own(plan.columns))?)?;
        check_rejects(&rejects, &plan.codes, input.len())?;
        Ok(rejects)
    }

    /// Opens a transform of the record plane and lets it transform rows of all columns of `schema`.
    ///
    /// # Errors
    /// Its own; and what a host would refuse.
    pub fn transform_rows<T: record::Transform>(&self, schema: &[record::Field], input: &[record::Row]) -> Result<AnsweredRows> {
        let (mut opened, plan) = record::OpenedTransform::<T>::open(self.0.clone(), schema.to_vec())?;
        let answer = opened.process(project_rows(schema, input, &plan.columns)?)?;
        check_rejects(&answer.rejects, &plan.codes, input.len())?;
        if let Some(row) = answer.rows.iter().find(|row| row.len() != plan.schema.len()) {
            return Err(Error::Fatal(format!("a row has {} values, the plan has {} columns", row.len(), plan.schema.len())));
        }
        let origin = rows(answer.origin, answer.rows.len(), input.len())?;
        Ok(AnsweredRows { rows: answer.rows, origin, rejects: answer.rejects })
    }

    fn columns_or_own(&self, columns: Vec<String>) -> Vec<String> {
        if columns.is_empty() { vec![self.0.column.clone()] } else { columns }
    }
}

#[cfg(feature = "batch")]
fn write(batch: &arrow_array::RecordBatch) -> Result<Vec<u8>> {
    Ok(crate::ipc::Writer::new(&batch.schema())?.write(batch)?)
}

#[cfg(feature = "batch")]
fn project(batch: &arrow_array::RecordBatch, columns: &[String]) -> Result<arrow_array::RecordBatch> {
    let schema = batch.schema();
    let indexes: std::result::Result<Vec<_>, _> = columns.iter().map(|column| schema.index_of(column)).collect();
    Ok(batch.project(&indexes?)?)
}

fn project_rows(schema: &[record::Field], rows: &[record::Row], columns: &[String]) -> Result<Vec<record::Row>> {
    let index = |column: &String| schema.iter().position(|field| field.name == *column).ok_or_else(|| unknown(column));
    let indexes = columns.iter().map(index).collect::<Result<Vec<_>>>()?;
    Ok(rows.iter().map(|row| indexes.iter().map(|index| row[*index].clone()).collect()).collect())
}

fn unknown(column: &str) -> Error {
    Error::Fatal(format!("the plan asks for column `{column}`, which does not come in"))
}

/// What a host checks of rejects.
fn check_rejects(rejects: &[Reject], codes: &[String], rows: usize) -> Result<()> {
    match rejects.iter().find(|reject| !codes.contains(&reject.code) || reject.row as usize >= rows) {
        Some(reject) => Err(Error::Fatal(format!(
            "a reject of row {} has code `{}`; rows: {rows}, codes: {codes:?}",
            reject.row, reject.code
        ))),
        None => Ok(()),
    }
}

/// The origin as numbers, checked as a host does.
fn rows(origin: Origin, answered: usize, came: usize) -> Result<Vec<u32>> {
    match origin {
        Origin::Same if answered == came => Ok((0_u32..).take(came).collect()),
        Origin::Rows(rows)
            if rows.len() == answered && rows.is_sorted() && rows.last().is_none_or(|row| (*row as usize) < came) =>
        {
            Ok(rows)
        }
        other => Err(Error::Fatal(format!("{answered} rows of {came} cannot come from {other:?}"))),
    }
}
