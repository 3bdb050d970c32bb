//! A batch through a component: cut to size, guilty rows isolated by halves within a budget of CPU time (invariant 6).

use std::time::Duration;

use arrow_array::RecordBatch;
use sluicebox_core::error::{Domain, Error, Result};
use sluicebox_core::isolate::{Attempt, isolate};

use crate::instance::{Failure, Instances};
use crate::plane::Answer;
use crate::size;
use crate::state::cpu_time;

/// The least CPU time that a part of a batch gets.
const CPU_MIN: Duration = Duration::from_millis(5);
/// CPU time that isolation may take in a batch, in limits.
const BUDGET: u32 = 20;
/// Batches in a row whose every row may be guilty before the component itself is.
const BAD_BATCHES_MAX: u32 = 3;

/// What a component made of a batch.
pub(crate) struct Called {
    /// First row and answer of each part that went well, in order.
    pub(crate) answers: Vec<(usize, Answer)>,
    /// Rows that made it fail, with words, in order.
    pub(crate) guilty: Vec<(usize, String)>,
}

/// Calls a component with batches.
pub(crate) struct Caller {
    pub(crate) instances: Instances,
    cpu: Duration,
    bad_batches: u32,
}

impl Caller {
    /// Calls with so much CPU time for a batch.
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
        let mut search = Search { left: self.cpu.max(CPU_MIN) * BUDGET, overran: false };
        for part in size::parts(rows) {
            let start = part.start;
            if size::of(rows, &part) > size::CALL_BYTES_MAX {
                called
                    .guilty
                    .push((start, self.words("is given at most 4 MiB: the columns it asks for take more in this record")));
                continue;
            }
            let part = size::compact(rows.slice(start, part.len()));
            let mut attempt =
                |range: std::ops::Range<usize>| self.attempt(&part.slice(range.start, range.len()), part.num_rows(), &mut search);
            let found = isolate(part.num_rows(), &mut attempt)?;
            called.answers.extend(found.done.into_iter().map(|(range, answer)| (start + range.start, answer)));
            called.guilty.extend(found.guilty.into_iter().map(|(row, error)| (start + row, error.message)));
        }
        self.judge(&called, rows.num_rows())?;
        Ok(called)
    }

    fn attempt(&mut self, rows: &RecordBatch, whole: usize, search: &mut Search) -> Attempt<Answer, Error> {
        let began = cpu_time();
        let searching = rows.num_rows() < whole;
        let cpu = if searching { self.cpu.mul_f64(rows.num_rows() as f64 / whole as f64).max(CPU_MIN) } else { self.cpu };
        let mut outcome = self.instances.process(rows, cpu);
        if matches!(outcome, Err(Failure::Overran)) && !search.overran {
            // The first overrun of a batch may be a new instance warming up.
            search.overran = true;
            outcome = self.instances.process(rows, cpu);
        }
        if searching || outcome.is_err() {
            let spent = cpu_time().saturating_sub(began);
            match search.left.checked_sub(spent) {
                Some(left) => search.left = left,
                None if !matches!(outcome, Err(Failure::Stop(_))) => return Attempt::Stop(self.spent()),
                None => {}
            }
        }
        match outcome {
            Ok(answer) => Attempt::Done(answer),
            Err(Failure::Stop(error)) => Attempt::Stop(error),
            Err(Failure::Guilty(words)) => Attempt::Guilty(self.guilty(&words)),
            Err(Failure::Overran) => Attempt::Guilty(self.guilty(&format!("overran its limit of {:?} CPU", self.cpu))),
        }
    }

    fn spent(&self) -> Error {
        let words =
            format!("took more than {BUDGET} limits of {:?} CPU on finding the records that make it fail", self.cpu.max(CPU_MIN));
        self.instances.setting().error(words)
    }

    fn guilty(&self, words: &str) -> Error {
        Error::fatal(Domain::Guest, self.words(words))
    }

    fn words(&self, words: &str) -> String {
        format!("component {} {words}", self.instances.setting().context.component)
    }

    /// A component that fails on everything is at fault itself: it must not reject the topic.
    fn judge(&mut self, called: &Called, rows: usize) -> Result<()> {
        if rows == 0 {
            return Ok(());
        }
        self.bad_batches = if called.guilty.len() == rows { self.bad_batches + 1 } else { 0 };
        if self.bad_batches < BAD_BATCHES_MAX {
            return Ok(());
        }
        let last = called.guilty.last().map(|(_, words)| words.as_str()).unwrap_or_default();
        Err(self
            .instances
            .setting()
            .error(format!("it failed on every record of {BAD_BATCHES_MAX} batches in a row; the last time: {last}")))
    }
}

/// What is left for finding guilty rows in a batch.
struct Search {
    left: Duration,
    overran: bool,
}
