//! The one place of a tenant where commits are decided: joins what all its pipelines have ready into one transaction
//! (invariants 1 and 2; one fsync serves many batches). Between commits it lets the store tidy up, in slices.

use std::collections::{HashMap, VecDeque};
use std::sync::Arc;
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, sync_channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluicebox_config::spec::CommitSpec;
use sluicebox_core::commit::Delta;
use sluicebox_core::error::{Domain, Error, Result, Retry};
use sluicebox_core::name::TenantName;
use sluicebox_core::port::Store;
use sluicebox_core::position::Advance;
use sluicebox_core::retry::Backoff;

use crate::clock::Clock;
use crate::status::{PipelineStatus, State};
use crate::telemetry;

/// Batches that wait for the committer; more and the lanes wait.
const QUEUE_MAX: usize = 16;
/// Batches that one transaction carries at most, so that no commit takes long.
const JOINED_MAX: usize = 64;
/// How long an idle committer waits before it looks whether there is something to tidy up.
const IDLE: Duration = Duration::from_millis(200);
/// Under load, the store gets one slice of maintenance in this time.
const MAINTAIN_EVERY: Duration = Duration::from_millis(50);

/// Names one run of one pipeline within the process: after a refusal, what the run still has on the way is dropped.
pub type RunNumber = u64;

/// One batch on its way to the decision.
pub struct Submission {
    /// What it changes.
    pub delta: Delta,
    /// What the committer needs to know of it.
    pub note: Note,
}

/// What the committer needs to know of a batch besides its changes.
pub struct Note {
    /// The run it belongs to.
    pub run: RunNumber,
    /// How long it may wait for company.
    pub commit: CommitSpec,
    /// Told of the decision.
    pub answer: Sender<Answer>,
    /// Counts go here, once, when the batch is durable.
    pub status: Arc<PipelineStatus>,
}

/// The decision about one submission.
#[derive(Debug)]
pub enum Answer {
    /// Durable.
    Committed(Vec<Advance>),
    /// Refused for good; nothing of it was kept.
    Refused(Error),
}

/// The committer of a tenant, on a thread of its own.
pub struct Committer {
    queue: Option<SyncSender<Submission>>,
    thread: Option<JoinHandle<()>>,
}

impl Committer {
    /// Starts it.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub fn start(tenant: TenantName, store: Arc<dyn Store>, clock: Arc<dyn Clock>) -> Result<Self> {
        let (queue, submissions) = sync_channel(QUEUE_MAX);
        let mut work =
            Work { tenant, store, clock, submissions, waiting: VecDeque::new(), refused: HashMap::new(), maintained: None };
        let spawned = std::thread::Builder::new().name("committer".into()).spawn(move || work.run());
        let thread = spawned.map_err(|error| Error::internal(format!("cannot start the committer's thread: {error}")))?;
        Ok(Self { queue: Some(queue), thread: Some(thread) })
    }

    /// Where lanes hand in their batches; blocks while too many wait.
    ///
    /// # Errors
    /// The committer has ended.
    pub fn queue(&self) -> Result<SyncSender<Submission>> {
        self.queue.clone().ok_or_else(|| Error::internal("the committer has ended"))
    }

    /// Commits what was handed in and ends. All lanes must have ended.
    pub fn finish(&mut self) {
        self.queue = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::error!("the committer ended by a panic");
        }
    }
}

struct Work {
    tenant: TenantName,
    store: Arc<dyn Store>,
    clock: Arc<dyn Clock>,
    submissions: Receiver<Submission>,
    waiting: VecDeque<Submission>,
    refused: HashMap<RunNumber, Error>,
    maintained: Option<Instant>,
}

impl Work {
    fn run(&mut self) {
        let mut tidy = false;
        loop {
            let idle = if tidy { Duration::ZERO } else { IDLE };
            if !self.receive(idle) && self.waiting.is_empty() {
                return;
            }
            if self.waiting.is_empty() {
                tidy = self.maintain();
                continue;
            }
            let joined = self.join();
            self.commit(joined);
            tidy = true;
            if self.maintained.is_none_or(|at| at.elapsed() >= MAINTAIN_EVERY) {
                tidy = self.maintain();
            }
        }
    }

    /// Takes one submission into `waiting`; `false` when there will be no more.
    fn receive(&mut self, timeout: Duration) -> bool {
        match self.submissions.recv_timeout(timeout) {
            Ok(submission) => self.waiting.push_back(submission),
            Err(RecvTimeoutError::Timeout) => {}
            Err(RecvTimeoutError::Disconnected) => return false,
        }
        true
    }

    /// Everything that is ready now, and what comes while the first may still wait.
    fn join(&mut self) -> Vec<Submission> {
        let commit = self.waiting[0].note.commit;
        let deadline = Instant::now() + commit.time;
        loop {
            while let Ok(submission) = self.submissions.try_recv() {
                self.waiting.push_back(submission);
            }
            let bytes: usize = self.waiting.iter().flat_map(|s| &s.delta.segments).map(|segment| segment.bytes.len()).sum();
            let left = deadline.saturating_duration_since(Instant::now());
            let full = self.waiting.len() >= JOINED_MAX || bytes >= commit.bytes;
            if full || left.is_zero() || !self.receive(left) {
                break;
            }
        }
        let count = self.waiting.len().min(JOINED_MAX);
        self.waiting.drain(..count).collect()
    }

    fn commit(&mut self, joined: Vec<Submission>) {
        let (late, joined): (Vec<_>, Vec<_>) = joined.into_iter().partition(|s| self.refused.contains_key(&s.note.run));
        for submission in late {
            let error = self.refused[&submission.note.run].clone();
            answer(&submission.note, Answer::Refused(error));
        }
        if joined.is_empty() {
            return;
        }
        if let Err((joined, error)) = self.decide(joined) {
            self.part(joined, error);
        }
    }

    /// One transaction; waits and tries again while the disk is full or failing. Gives the submissions back when it is refused.
    fn decide(&mut self, joined: Vec<Submission>) -> Result<(), (Vec<Submission>, Error)> {
        let (notes, deltas): (Vec<_>, Vec<_>) = joined.into_iter().map(|s| (s.note, s.delta)).unzip();
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(10));
        loop {
            let began = Instant::now();
            match self.store.commit(&deltas) {
                Ok(()) => {
                    telemetry::commit(&self.tenant, began.elapsed(), deltas.len());
                    notes.iter().zip(deltas).for_each(|(note, delta)| committed(note, delta));
                    return Ok(());
                }
                Err(error) if error.retry == Retry::Backoff => {
                    self.say_waiting(&notes, &error);
                    self.pass(backoff.next(self.clock.jitter()));
                }
                Err(error) => {
                    let joined = notes.into_iter().zip(deltas).map(|(note, delta)| Submission { note, delta }).collect();
                    return Err((joined, error));
                }
            }
        }
    }

    fn say_waiting(&self, notes: &[Note], error: &Error) {
        telemetry::commit_failed(&self.tenant);
        for note in notes {
            if note.status.set(State::Waiting(error.to_string())) {
                let pipeline = note.status.report().pipeline;
                tracing::warn!(tenant = %self.tenant, %pipeline, "cannot commit, trying again: {error}");
            }
        }
    }

    /// Lets time pass while submissions still come in, up to a bound.
    fn pass(&mut self, time: Duration) {
        let until = Instant::now() + time;
        while let Some(left) = until.checked_duration_since(Instant::now()) {
            if self.waiting.len() >= QUEUE_MAX || !self.receive(left) {
                std::thread::park_timeout(left);
            }
        }
    }

    /// A joint commit that is refused is tried again pipeline by pipeline, and only the guilty one stops (invariant 6).
    fn part(&mut self, joined: Vec<Submission>, error: Error) {
        let mut runs: Vec<RunNumber> = joined.iter().map(|s| s.note.run).collect();
        runs.sort_unstable();
        runs.dedup();
        if let [run] = runs[..] {
            self.refused.insert(run, error.clone());
            joined.iter().for_each(|submission| answer(&submission.note, Answer::Refused(error.clone())));
            return;
        }
        let mut rest = joined;
        for run in runs {
            let (own, others): (Vec<_>, Vec<_>) = rest.into_iter().partition(|s| s.note.run == run);
            rest = others;
            if let Err((own, error)) = self.decide(own) {
                self.part(own, error);
            }
        }
    }

    /// One slice of compaction or retention; whether more is left.
    fn maintain(&mut self) -> bool {
        self.maintained = Some(Instant::now());
        self.store.maintain(self.clock.now()).unwrap_or_else(|error| {
            if error.domain != Domain::State {
                tracing::error!(tenant = %self.tenant, "cannot tidy up the store: {error}");
            }
            false
        })
    }
}

fn committed(note: &Note, delta: Delta) {
    let bytes = delta.records.iter().map(|records| records.bytes() as u64).sum();
    note.status.committed(&delta.audit.counts, bytes);
    answer(note, Answer::Committed(delta.advances));
}

/// A lane that has ended no longer listens; its batches are decided all the same.
fn answer(note: &Note, answer: Answer) {
    let _ = note.answer.send(answer);
}
