//! What a pipeline is doing, for everybody who asks.

use std::sync::{Mutex, MutexGuard, PoisonError};

use sluicebox_core::name::{PipelineName, TenantName};
use sluicebox_core::outcome::Counts;
use sluicebox_core::port::SourceProgress;

use crate::telemetry;

/// What a pipeline is doing. None of these ends the process.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum State {
    /// It reads and commits.
    Running,
    /// Something is away; it tries again by itself.
    Waiting(String),
    /// An operator paused it.
    Paused,
    /// It cannot go on until somebody mends the cause.
    Failed(String),
    /// A run that ends has ended.
    Done,
    /// The process stops it.
    Stopped,
}

impl State {
    /// The word for metrics and status.
    pub fn word(&self) -> &'static str {
        match self {
            State::Running => "running",
            State::Waiting(_) => "waiting",
            State::Paused => "paused",
            State::Failed(_) => "failed",
            State::Done => "done",
            State::Stopped => "stopped",
        }
    }

    /// Why, where there is a reason.
    pub fn reason(&self) -> Option<&str> {
        match self {
            State::Waiting(reason) | State::Failed(reason) => Some(reason),
            _ => None,
        }
    }
}

/// One moment of a pipeline.
#[derive(Debug, Clone)]
pub struct Report {
    /// Whose it is.
    pub tenant: TenantName,
    /// Which.
    pub pipeline: PipelineName,
    /// What it is doing.
    pub state: State,
    /// Counts of what this process committed.
    pub counts: Counts,
    /// Bytes of keys and values that this process committed.
    pub bytes: u64,
    /// How far the source is.
    pub progress: SourceProgress,
    /// Whether everything that was there at start is committed; stays true.
    pub ready: bool,
    /// Commits.
    pub commits: u64,
}

/// Shared between a pipeline's threads and those who ask.
#[derive(Debug)]
pub struct PipelineStatus {
    report: Mutex<Report>,
}

impl PipelineStatus {
    pub(crate) fn new(tenant: TenantName, pipeline: PipelineName) -> Self {
        let (counts, progress) = (Counts::default(), SourceProgress::default());
        let report = Report { tenant, pipeline, state: State::Stopped, counts, bytes: 0, progress, ready: false, commits: 0 };
        Self { report: Mutex::new(report) }
    }

    fn lock(&self) -> MutexGuard<'_, Report> {
        self.report.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// This moment.
    pub fn report(&self) -> Report {
        self.lock().clone()
    }

    /// Changes the state; answers whether it is another one than before, so that it is said once.
    pub(crate) fn set(&self, state: State) -> bool {
        let mut report = self.lock();
        let changed = report.state != state;
        telemetry::state(&report.tenant, &report.pipeline, &state);
        report.state = state;
        changed
    }

    /// A batch is durable.
    pub(crate) fn committed(&self, counts: &Counts, bytes: u64) {
        let mut report = self.lock();
        report.counts.add(counts);
        report.bytes += bytes;
        report.commits += 1;
        telemetry::committed(&report.tenant, &report.pipeline, counts, bytes);
    }

    /// The source's progress; `settled` says that nothing handed over is waiting for its commit.
    pub(crate) fn progress(&self, progress: SourceProgress, settled: bool) {
        let mut report = self.lock();
        report.progress = progress;
        report.ready |= progress.caught_up && settled;
        telemetry::lag(&report.tenant, &report.pipeline, progress.lag);
    }
}
