//! A planned step: runs its program over batches and refuses the rows on which it fails.

use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::SchemaRef;
use arrow_select::concat::concat_batches;
use sluicebox_core::batch::Batch;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::isolate::{Attempt, Isolated, isolate};
use sluicebox_core::port::Step;
use sluicebox_core::reject::{Code, Rejects, RowError};

use crate::expression::Fault;
use crate::now::Moment;
use crate::program::Program;

/// SQL over batches: a `sql:` step, scripts or a condition.
#[derive(Debug)]
pub(crate) struct SqlStep {
    name: String,
    input: SchemaRef,
    program: Program,
    moment: Moment,
    /// Input columns that the SQL names.
    named: Vec<usize>,
}

/// Rows that came out, and the input row of each.
type Answer = (RecordBatch, Option<UInt32Array>);

impl SqlStep {
    /// A step over batches of the schema `input`.
    pub(crate) fn new(name: &str, input: &SchemaRef, program: Program, moment: Moment, named: Vec<usize>) -> Self {
        Self { name: name.to_owned(), input: input.clone(), program, moment, named }
    }

    /// Runs the program; a panic of a library's function counts as a fault of a row.
    fn run(&self, columns: &RecordBatch) -> Result<Answer, Fault> {
        let run = catch_unwind(AssertUnwindSafe(|| self.program.run(columns)));
        run.unwrap_or_else(|_| Err(Fault { column: String::new(), message: "a function cannot cope with the values".into() }))
    }

    fn isolate(&self, columns: &RecordBatch) -> Result<Isolated<Answer, Fault>> {
        let call = |range: std::ops::Range<usize>| match self.run(&columns.slice(range.start, range.len())) {
            Ok(answer) => Attempt::Done(answer),
            Err(fault) => Attempt::Guilty(fault),
        };
        isolate(columns.num_rows(), call).map_err(|fault| Error::internal(format!("{}: {}", self.name, fault.message)))
    }

    /// The rows of all ranges that worked, numbered over the whole batch.
    fn join(&self, done: Vec<(std::ops::Range<usize>, Answer)>) -> Result<Answer> {
        let mut numbers = Vec::new();
        let mut batches = Vec::with_capacity(done.len());
        for (range, (columns, answered)) in done {
            let start = range.start as u32;
            match answered {
                Some(answered) => numbers.extend(answered.values().iter().map(|row| row + start)),
                None => numbers.extend(start..start + columns.num_rows() as u32),
            }
            batches.push(columns);
        }
        let columns = concat_batches(&self.program.output(), &batches);
        let columns = columns.map_err(|error| Error::internal(format!("{}: {error}", self.name)))?;
        Ok((columns, Some(UInt32Array::from(numbers))))
    }
}

impl Step for SqlStep {
    fn name(&self) -> &str {
        &self.name
    }

    fn output(&self) -> SchemaRef {
        self.program.output()
    }

    fn reads(&self, wanted: &[usize]) -> Vec<usize> {
        let mut reads = self.program.reads(wanted);
        reads.extend(&self.named);
        reads.sort_unstable();
        reads.dedup();
        reads
    }

    fn process(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Batch> {
        let (got, planned) = (batch.columns.num_columns(), self.input.fields().len());
        if got != planned {
            return Err(Error::internal(format!("{}: planned over {planned} columns, got {got}", self.name)));
        }
        self.moment.set(batch.closed_at);
        if let Ok((columns, numbers)) = self.run(&batch.columns) {
            let rows = numbers.map_or_else(|| batch.rows.clone(), |numbers| batch.rows.through(&numbers));
            return Ok(Batch { columns, rows, ..batch });
        }
        let Isolated { done, guilty } = self.isolate(&batch.columns)?;
        for (row, fault) in guilty {
            let message = format!("{}: {}", self.name, fault.message);
            rejects.add(batch.rows.record(row), RowError::new(fault.column, Code::SQL, message));
        }
        let (columns, numbers) = self.join(done)?;
        let rows = numbers.map_or_else(|| batch.rows.clone(), |numbers| batch.rows.through(&numbers));
        let left = Batch { columns, rows, ..batch }.without(rejects);
        left.map_err(|error| Error::internal(format!("{}: {error}", self.name)))
    }
}
