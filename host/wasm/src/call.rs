//! A batch through a component: cut to size, guilty rows isolated by halves within a budget of CPU time.

use std::time::Duration;

use arrow_array::{Array, RecordBatch};
use sluicebox_core::error::{Domain, Error, Result};
use sluicebox_core::isolate::{Attempt, isolate};

use crate::instance::{Failure, Instances};
use crate::plane::Answer;

/// Bytes of a batch that cross the border in one call.
const CALL_BYTES_MAX: usize = 4 << 20;
/// The least CPU time that a part of a batch gets.
const CPU_MIN: Duration = Duration::from_millis(5);
/// CPU time that isolation may take, in limits.
const BUDGET: u32 = 20;
/// Batches in a row whose every row may be guilty before the component itself is.
const BAD_BATCHES_MAX: u32 = 3;

/// What a component made of a batch.
pub(crate) struct Called {
    /// First row and answer of each part that went well, in order.
    pub(crate) answers: Vec<(usize, Answer)>,
    /// Rows that made it fail, with words.
    pub(crate) guilty: Vec<(usize, String)>,
}

/// Calls a component with batches.
pub(crate) struct Caller {
    pub(crate) instances: Instances,
    cpu: Duration,
    bad_batches: u32,
}

impl Caller {
    pub(crate) fn new(instances: Instances, cpu: Duration) -> Self {
        Self { instances, cpu, bad_batches: 0 }
    }

    /// Processes the columns that cross the border.
    ///
    /// # Errors
    /// The component says so, waits, spends the budget of isolation, or fails on everything.
    pub(crate) fn call(&mut self, rows: &RecordBatch, closed_at: i64) -> Result<Called> {
        self.instances.begin_batch(closed_at);
        let mut called = Called { answers: Vec::new(), guilty: Vec::new() };
        let budget = Budget { until: self.instances.spent + self.cpu * BUDGET, failed: false, overran: false };
        let mut budget = budget;
        for start in (0..rows.num_rows()).step_by(rows_per_call(rows)) {
            let part = rows.slice(start, rows_per_call(rows).min(rows.num_rows() - start));
            let found = isolate(part.num_rows(), |range| self.attempt(&part.slice(range.start, range.len()), part.num_rows(), &mut budget))?;
            called.answers.extend(found.done.into_iter().map(|(range, answer)| (start + range.start, answer)));
            called.guilty.extend(found.guilty.into_iter().map(|(row, words)| (start + row, words.message)));
        }
        self.judge(&called, rows.num_rows())?;
        Ok(called)
    }

    fn attempt(&mut self, rows: &RecordBatch, whole: usize, budget: &mut Budget) -> Attempt<Answer, Error> {
        if budget.failed && self.instances.spent > budget.until {
            let words = format!("spent more than {BUDGET} limits of CPU time on finding the records that make it fail");
            return Attempt::Stop(self.instances.setting().error(words));
        }
        let share = self.cpu.mul_f64(rows.num_rows() as f64 / whole.max(1) as f64);
        let cpu = if rows.num_rows() == whole { self.cpu } else { share.max(self.cpu.min(CPU_MIN)).max(CPU_MIN) };
        let mut outcome = self.instances.process(rows, cpu);
        if matches!(outcome, Err(Failure::Overran)) && !budget.overran {
            // The first overrun of a batch may be a new instance warming up.
            budget.overran = true;
            outcome = self.instances.process(rows, cpu);
        }
        budget.failed |= outcome.is_err();
        match outcome {
            Ok(answer) => Attempt::Done(answer),
            Err(Failure::Stop(error)) => Attempt::Stop(error),
            Err(Failure::Guilty(words)) => Attempt::Guilty(self.words(&words)),
            Err(Failure::Overran) => Attempt::Guilty(self.words(&format!("overran its limit of {:?} of CPU time", self.cpu))),
        }
    }

    fn words(&self, words: &str) -> Error {
        Error::fatal(Domain::Guest, format!("component {} {words}", self.instances.setting().context.component))
    }

    /// A component that fails on everything is at fault itself: it must not reject the topic.
    fn judge(&mut self, called: &Called, rows: usize) -> Result<()> {
        let all = rows > 0 && called.guilty.len() == rows;
        self.bad_batches = if all { self.bad_batches + 1 } else if rows > 0 { 0 } else { self.bad_batches };
        if self.bad_batches < BAD_BATCHES_MAX {
            return Ok(());
        }
        let last = called.guilty.last().map(|(_, words)| words.as_str()).unwrap_or_default();
        Err(self.instances.setting().error(format!("failed on every record of {BAD_BATCHES_MAX} batches in a row; the last: {last}")))
    }
}

struct Budget {
    until: Duration,
    failed: bool,
    overran: bool,
}

/// Rows of a batch whose parts stay below [`CALL_BYTES_MAX`].
fn rows_per_call(rows: &RecordBatch) -> usize {
    let size = |column: &dyn Array| column.to_data().get_slice_memory_size().unwrap_or(0);
    let bytes: usize = rows.columns().iter().map(|column| size(column.as_ref())).sum();
    (rows.num_rows() * CALL_BYTES_MAX / bytes.max(1)).clamp(1, rows.num_rows().max(1))
}
