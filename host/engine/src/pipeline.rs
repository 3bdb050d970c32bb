//! One pipeline: feeds its route from its source and hands what comes out to the committer.
//!
//! A state machine on a thread of its own: running, waiting (with back-off), paused, failed. Each attempt begins from what the store
//! holds, so that nothing is remembered across a failure but the configuration.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::mpsc::{Receiver, RecvTimeoutError, Sender, SyncSender, channel};
use std::thread::JoinHandle;
use std::time::{Duration, Instant};

use sluicebox_config::spec::{PipelineSpec, Trigger};
use sluicebox_core::budget::Budget;
use sluicebox_core::error::{Error, Result, Retry};
use sluicebox_core::name::{PipelineName, TenantName};
use sluicebox_core::port::{Source, SourceSettings};
use sluicebox_core::position::Positions;
use sluicebox_core::retry::Backoff;

use crate::committer::{RunNumber, Submission};
use crate::route::Route;
use crate::status::{PipelineStatus, State};
use crate::tenant::Ports;

mod pump;

use pump::Pump;

/// How often a waiting pipeline looks for commands.
const LOOK: Duration = Duration::from_millis(100);
/// How long a stopping pipeline waits for its last commits.
const SETTLE: Duration = Duration::from_secs(30);
/// The first wait after a failure that may go away, and the longest.
const BACKOFF: (Duration, Duration) = (Duration::from_millis(200), Duration::from_secs(30));

static RUNS: AtomicU64 = AtomicU64::new(1);

/// What an operator tells a pipeline.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Command {
    /// Stop reading, commit what was read; survives a restart of the process.
    Pause,
    /// Go on after a pause.
    Resume,
    /// Begin again from what the store holds, also after a failure.
    Restart,
    /// The process ends: stop reading, commit what was read.
    Stop,
}

/// How a pipeline ended.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Finish {
    /// The run is complete.
    Done,
    /// It was stopped; what was read is committed.
    Stopped,
    /// It failed.
    Failed(Error),
    /// Something stayed away for too long.
    GaveUp(Error),
}

/// A pipeline that runs on its thread.
pub struct PipelineHandle {
    /// What it is doing.
    pub status: Arc<PipelineStatus>,
    commands: Sender<Command>,
    thread: JoinHandle<Finish>,
}

impl PipelineHandle {
    /// Tells the pipeline what to do; one that has ended does not listen.
    pub(crate) fn send(&self, command: Command) {
        let _ = self.commands.send(command);
    }

    pub(crate) fn ended(&self) -> bool {
        self.thread.is_finished()
    }

    /// Waits for the end, up to the deadline.
    pub(crate) fn join(self, deadline: Instant) -> Option<Finish> {
        while !self.thread.is_finished() {
            let left = deadline.checked_duration_since(Instant::now())?;
            std::thread::park_timeout(left.min(Duration::from_millis(5)));
        }
        let panicked = |_| Finish::Failed(Error::internal("the pipeline ended by a panic"));
        Some(self.thread.join().unwrap_or_else(panicked))
    }
}

/// How one attempt ended.
enum End {
    Done,
    Stopped,
    Paused,
    Restart,
    Failed(Error),
    GaveUp(Error),
}

/// A pipeline and what it runs on.
pub struct Pipeline {
    tenant: TenantName,
    spec: PipelineSpec,
    ports: Ports,
    queue: SyncSender<Submission>,
    status: Arc<PipelineStatus>,
    commands: Receiver<Command>,
}

impl Pipeline {
    /// Starts a pipeline.
    ///
    /// # Errors
    /// When the system gives no thread.
    pub(crate) fn start(
        tenant: TenantName,
        spec: PipelineSpec,
        ports: Ports,
        queue: SyncSender<Submission>,
    ) -> Result<PipelineHandle> {
        let status = Arc::new(PipelineStatus::new(tenant.clone(), spec.name.clone()));
        let (sender, commands) = channel();
        let name: String = format!("lane {}", spec.name).chars().take(15).collect();
        let pipeline = Pipeline { tenant, spec, ports, queue, status: status.clone(), commands };
        let spawned = std::thread::Builder::new().name(name).spawn(move || pipeline.run());
        let thread = spawned.map_err(|error| Error::internal(format!("cannot start a pipeline's thread: {error}")))?;
        Ok(PipelineHandle { status, commands: sender, thread })
    }

    fn name(&self) -> &PipelineName {
        &self.spec.name
    }

    /// Attempts until the pipeline ends. A failure that may go away is tried again after a back-off; any other waits for an operator.
    fn run(self) -> Finish {
        let mut backoff = Backoff::new(BACKOFF.0, BACKOFF.1);
        let once = self.spec.trigger == Trigger::Once;
        let began = Instant::now();
        let mut failure: Option<String> = None;
        loop {
            let end = self.attempt(&mut backoff, failure.take()).unwrap_or_else(End::Failed);
            if let End::Failed(error) = &end {
                failure = Some(error.to_string());
            }
            let command = match end {
                End::Done => return self.ended(State::Done, Finish::Done),
                End::Stopped => return self.ended(State::Stopped, Finish::Stopped),
                End::Restart => continue,
                End::Paused => self.wait_paused(),
                End::GaveUp(error) => return self.ended(State::Failed(error.to_string()), Finish::GaveUp(error)),
                End::Failed(error) if error.retry == Retry::Backoff => {
                    if once && began.elapsed() >= self.ports.wait_max {
                        return self.ended(State::Failed(error.to_string()), Finish::GaveUp(error));
                    }
                    self.say(State::Waiting(error.to_string()));
                    self.wait(Some(backoff.next(self.ports.clock.jitter())))
                }
                End::Failed(error) => {
                    self.say(State::Failed(error.to_string()));
                    if once {
                        return Finish::Failed(error);
                    }
                    self.wait(None)
                }
            };
            if command == Some(Command::Stop) {
                return self.ended(State::Stopped, Finish::Stopped);
            }
        }
    }

    fn ended(&self, state: State, finish: Finish) -> Finish {
        self.status.set(state);
        finish
    }

    /// Says a state once, in the log and in the status.
    fn say(&self, state: State) {
        if !self.status.set(state.clone()) {
            return;
        }
        let (tenant, pipeline) = (&self.tenant, self.name());
        match &state {
            State::Failed(reason) => tracing::error!(%tenant, %pipeline, "the pipeline failed: {reason}"),
            State::Waiting(reason) => tracing::warn!(%tenant, %pipeline, "waiting: {reason}"),
            state => tracing::info!(%tenant, %pipeline, "{}", state.word()),
        }
    }

    fn wait_paused(&self) -> Option<Command> {
        self.say(State::Paused);
        loop {
            match self.wait(None) {
                Some(Command::Pause | Command::Restart) => {}
                Some(Command::Resume) => {
                    if let Err(error) = self.ports.store.set_paused(self.name(), false) {
                        tracing::error!(tenant = %self.tenant, pipeline = %self.name(), "cannot resume: {error}");
                        continue;
                    }
                    return Some(Command::Resume);
                }
                other => return other,
            }
        }
    }

    /// Waits for a command, or for some time. Whoever holds the other end being gone means stop.
    fn wait(&self, time: Option<Duration>) -> Option<Command> {
        let Some(time) = time else { return Some(self.commands.recv().unwrap_or(Command::Stop)) };
        match self.commands.recv_timeout(time) {
            Ok(command) => Some(command),
            Err(RecvTimeoutError::Timeout) => None,
            Err(RecvTimeoutError::Disconnected) => Some(Command::Stop),
        }
    }

    /// Runs from what the store holds until something ends it. `failure` is why the attempt before it failed.
    fn attempt(&self, backoff: &mut Backoff, failure: Option<String>) -> Result<End> {
        if self.ports.store.paused(self.name())? {
            return Ok(End::Paused);
        }
        let route = Route::plan(&self.tenant, &self.spec, &self.ports.route)?;
        let route = route.open(&self.spec, self.ports.store.as_ref())?;
        let positions = self.ports.store.positions(self.name())?;
        let source = self.ports.sources.open(self.source_settings(positions.clone()))?;
        let run: RunNumber = RUNS.fetch_add(1, Ordering::Relaxed);
        let mut pump = Pump::new(self, route, source, positions, run);
        self.say(State::Running);
        if let Some(reason) = failure {
            pump.restarted(reason)?;
        }
        let end = pump.run(backoff);
        pump.finish(end)
    }

    fn source_settings(&self, positions: Positions) -> SourceSettings {
        let source = &self.spec.source;
        SourceSettings {
            topics: source.topics.clone(),
            group: source.group.clone(),
            properties: source.properties.clone(),
            start: source.start,
            out_of_range: source.out_of_range,
            batch: self.spec.batch,
            close_when_idle: self.spec.trigger != Trigger::Once,
            stop_at_end: self.spec.trigger == Trigger::Once,
            budget: Budget::new(self.spec.memory),
            positions,
        }
    }
}
