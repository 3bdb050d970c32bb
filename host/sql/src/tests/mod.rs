//! Steps, scripts and conditions from the outside.

mod names;
mod refused;
mod rows;
mod time;

use std::sync::Arc;

use arrow::util::display::array_value_to_string;
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Schema, SchemaRef};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::port::{Planner, Step};
use sluicebox_core::reject::Rejects;

use crate::SqlPlanner;

/// 2024-05-06T07:08:09.000001Z
pub(crate) const CLOSED_AT: i64 = 1_714_979_289_000_001;

pub(crate) fn columns(columns: Vec<(&str, ArrayRef)>) -> RecordBatch {
    let batch = RecordBatch::try_from_iter(columns).expect("columns of one length");
    let fields: Vec<_> = batch.schema().fields().iter().map(|f| f.as_ref().clone().with_nullable(true)).collect();
    RecordBatch::try_new(Arc::new(Schema::new(fields)), batch.columns().to_vec()).expect("nullable")
}

pub(crate) fn batch(columns: RecordBatch) -> Batch {
    Batch { rows: Rows::Same(columns.num_rows()), columns, records: Arc::default(), closed_at: CLOSED_AT }
}

pub(crate) fn sql(sql: &str, schema: &SchemaRef) -> Result<Box<dyn Step>, String> {
    SqlPlanner::new().sql("sql step 1", sql, schema).map_err(|error| error.to_string())
}

/// Rows as text with the record of each, and the rejects.
#[derive(Debug, PartialEq, Clone, Default)]
pub(crate) struct Answer {
    pub(crate) rows: Vec<(u32, Vec<String>)>,
    pub(crate) rejects: Vec<(u32, String, String)>,
}

pub(crate) fn process(step: &mut dyn Step, batch: Batch) -> Answer {
    let mut rejects = Rejects::default();
    let out = step.process(batch, &mut rejects).expect("runs");
    assert_eq!(out.columns.schema(), step.output());
    assert_eq!(out.columns.num_rows(), out.rows.len());
    Answer {
        rows: text(&out.columns).into_iter().enumerate().map(|(i, row)| (out.rows.record(i), row)).collect(),
        rejects: listed(&rejects),
    }
}

pub(crate) fn listed(rejects: &Rejects) -> Vec<(u32, String, String)> {
    let errors = rejects.iter().flat_map(|(record, errors)| errors.iter().map(move |e| (record, e)));
    errors.map(|(record, e)| (record, e.path.clone(), e.message.clone())).collect()
}

pub(crate) fn text(columns: &RecordBatch) -> Vec<Vec<String>> {
    let cell = |array: &ArrayRef, row: usize| {
        if array.is_null(row) { "null".to_owned() } else { array_value_to_string(array, row).expect("printable") }
    };
    (0..columns.num_rows()).map(|row| columns.columns().iter().map(|a| cell(a, row)).collect()).collect()
}

/// Plans and runs a statement over columns.
pub(crate) fn run(statement: &str, input: RecordBatch) -> Answer {
    let mut step = sql(statement, &input.schema()).expect("plans");
    process(step.as_mut(), batch(input))
}

/// The values of the only row and column.
pub(crate) fn one(statement: &str, input: RecordBatch) -> Vec<String> {
    let answer = run(statement, input);
    assert_eq!(answer.rejects, []);
    answer.rows.into_iter().map(|(_, row)| row.join("|")).collect()
}
