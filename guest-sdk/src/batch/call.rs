//! The calls of the batch plane: bytes on one side, arrays on the other.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Schema, SchemaRef};

use super::{Transform, Validator};
use crate::bindings::batch_transform::sluicebox::component::{batch_types, types};
use crate::ipc::{Reader, Writer, read_schema, write_schema};
use crate::{Context, Opened, Origin, Reject, Rejects, Result};

/// A validator, opened.
#[derive(Debug)]
pub struct OpenedValidator<V> {
    role: V,
    reader: Reader,
}

impl<V: Validator> Opened for OpenedValidator<V> {
    type Schema = Vec<u8>;
    type Plan = batch_types::ValidatorPlan;
    type Input = Vec<u8>;
    type Answer = Vec<Reject>;

    fn open(context: types::Context, schema: Vec<u8>) -> Result<(Self, Self::Plan)> {
        let came = read_schema(&schema)?;
        let role = V::open(&Context::read(context)?, &came)?;
        let plan = Self::Plan { columns: role.columns(), codes: owned(V::CODES), attributes: Vec::new() };
        Ok((OpenedValidator { role, reader: Reader::default() }, plan))
    }

    fn process(&mut self, batch: Vec<u8>) -> Result<Vec<Reject>> {
        let mut rejects = Rejects::default();
        self.role.validate(&self.reader.read(batch)?, &mut rejects)?;
        Ok(rejects.into_vec())
    }
}

/// A transform, opened.
#[derive(Debug)]
pub struct OpenedTransform<T> {
    role: T,
    schema: SchemaRef,
    reader: Reader,
    writer: Writer,
}

impl<T: Transform> Opened for OpenedTransform<T> {
    type Schema = Vec<u8>;
    type Plan = batch_types::TransformPlan;
    type Input = Vec<u8>;
    type Answer = batch_types::Answer;

    fn open(context: types::Context, schema: Vec<u8>) -> Result<(Self, Self::Plan)> {
        let came = read_schema(&schema)?;
        let role = T::open(&Context::read(context)?, &came)?;
        let schema = Arc::new(Schema::new(role.output()));
        let plan = Self::Plan {
            columns: role.columns(),
            schema: write_schema(&schema)?,
            codes: owned(T::CODES),
            attributes: Vec::new(),
        };
        let writer = Writer::new(&schema)?;
        Ok((OpenedTransform { role, schema, reader: Reader::default(), writer }, plan))
    }

    fn process(&mut self, batch: Vec<u8>) -> Result<batch_types::Answer> {
        let batch = self.reader.read(batch)?;
        let mut rejects = Rejects::default();
        let answer = self.role.transform(&batch, &mut rejects)?;
        let rows = match &answer.origin {
            Origin::Same => batch.num_rows(),
            Origin::Rows(rows) => rows.len(),
        };
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        let answered = RecordBatch::try_new_with_options(Arc::clone(&self.schema), answer.columns, &options)?;
        let batch = self.writer.write(&answered)?;
        Ok(batch_types::Answer { batch, origin: answer.origin, rejects: rejects.into_vec() })
    }
}

fn owned(codes: &[&str]) -> Vec<String> {
    codes.iter().map(|code| (*code).to_owned()).collect()
}
