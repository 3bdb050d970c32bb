//! A transform as a step: only the columns of its plan cross the border, the others travel past it.

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use sluicebox_core::batch::Batch;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::port::Step;
use sluicebox_core::reject::Rejects;

use crate::call::{Called, Caller};
use crate::plan::From;
use crate::refusal::refuse;

/// A transform of a pipeline.
pub(crate) struct Transform {
    name: String,
    caller: Caller,
    output: SchemaRef,
    from: Vec<From>,
}

impl Transform {
    pub(crate) fn new(name: String, caller: Caller, input: &Schema) -> Self {
        let (output, from) = caller.instances.plan().output(input);
        Self { name, caller, output, from }
    }

    /// The answered columns of all parts end to end, and the input row of each answered row.
    fn gather(&self, called: &Called) -> Result<(RecordBatch, UInt32Array), ArrowError> {
        let answers = &self.caller.instances.plan().answers;
        let batches: Vec<&RecordBatch> = called.answers.iter().filter_map(|(_, answer)| answer.batch.as_ref()).collect();
        let columns = arrow_select::concat::concat_batches(answers, batches)?;
        let mut rows = Vec::with_capacity(columns.num_rows());
        for (start, answer) in &called.answers {
            let len = answer.batch.as_ref().map_or(0, RecordBatch::num_rows);
            match &answer.origin {
                None => rows.extend((*start..start + len).map(|row| row as u32)),
                Some(origin) => rows.extend(origin.values().iter().map(|row| *start as u32 + row)),
            }
        }
        Ok((columns, UInt32Array::from(rows)))
    }

    fn columns(&self, input: &RecordBatch, answered: &RecordBatch, rows: &UInt32Array) -> Result<RecordBatch, ArrowError> {
        let same = rows.len() == input.num_rows() && rows.values().iter().zip(0..).all(|(row, index)| *row == index);
        let column = |from: &From| -> Result<ArrayRef, ArrowError> {
            match from {
                From::Answer(index) => Ok(answered.column(*index).clone()),
                From::Input(index) if same => Ok(input.column(*index).clone()),
                From::Input(index) => arrow_select::take::take(input.column(*index), rows, None),
            }
        };
        let columns = self.from.iter().map(column).collect::<Result<Vec<_>, _>>()?;
        let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
        RecordBatch::try_new_with_options(self.output.clone(), columns, &options)
    }
}

impl Step for Transform {
    fn name(&self) -> &str {
        &self.name
    }

    fn output(&self) -> SchemaRef {
        self.output.clone()
    }

    fn reads(&self, wanted: &[usize]) -> Vec<usize> {
        let mut reads = self.caller.instances.plan().columns.clone();
        reads.extend(wanted.iter().filter_map(|index| match self.from[*index] {
            From::Input(input) => Some(input),
            From::Answer(_) => None,
        }));
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    fn process(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Batch> {
        let internal = |error: ArrowError| Error::internal(format!("component {}: {error}", self.name));
        let crossing = batch.columns.project(&self.caller.instances.plan().columns).map_err(internal)?;
        let called = self.caller.call(&crossing, batch.closed_at)?;
        refuse(&self.caller.instances, &called, &batch, "", rejects);
        let internal = |error: ArrowError| Error::internal(format!("component {}: {error}", self.name));
        let (answered, rows) = self.gather(&called).map_err(internal)?;
        let columns = self.columns(&batch.columns, &answered, &rows).map_err(internal)?;
        let rows = batch.rows.through(&rows);
        Batch { columns, rows, ..batch }.without(rejects).map_err(internal)
    }
}
