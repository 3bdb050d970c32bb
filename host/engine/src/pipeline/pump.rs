//! One attempt of a pipeline: takes events from the source, walks the route, hands batches to the committer, hears the answers.

use std::sync::Arc;
use std::sync::mpsc::{Receiver, Sender, TryRecvError, channel};
use std::time::{Duration, Instant};

use sluicebox_config::spec::Trigger;
use sluicebox_core::audit::{AuditDelta, Event, Run};
use sluicebox_core::commit::Delta;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::TableName;
use sluicebox_core::outcome::Counts;
use sluicebox_core::port::SourceEvent;
use sluicebox_core::position::{Advance, PartitionId, Positions};
use sluicebox_core::record::Records;
use sluicebox_core::start::Gap;

use super::{Backoff, Command, End, LOOK, Pipeline, RunNumber, SETTLE, Source, State};
use crate::committer::{Answer, Note, Submission};
use crate::lane::Prepared;
use crate::route::OpenRoute;
use crate::telemetry;

/// With the trigger `processing_time`: how long nothing must come for what is there to be taken.
const DRAINED: Duration = Duration::from_millis(20);

pub(super) struct Pump<'a> {
    pipeline: &'a Pipeline,
    route: OpenRoute,
    source: Box<dyn Source>,
    stored: Positions,
    number: RunNumber,
    run: Run,
    tables: Vec<TableName>,
    answers: (Sender<Answer>, Receiver<Answer>),
    /// Batches handed in and not yet answered.
    unanswered: usize,
    /// When the source began to wait for the broker.
    away_since: Option<Instant>,
    next_tick: Instant,
}

impl<'a> Pump<'a> {
    pub(super) fn new(
        pipeline: &'a Pipeline,
        route: OpenRoute,
        source: Box<dyn Source>,
        stored: Positions,
        number: RunNumber,
    ) -> Self {
        let tables = route.route.outputs().map(|(table, _)| table.clone()).collect();
        let ports = &pipeline.ports;
        let topics = pipeline.spec.source.topics.clone();
        let run = Run { job_id: (ports.job_id)(), started_at: ports.clock.now(), topics };
        let (answers, now) = (channel(), Instant::now());
        Self { pipeline, route, source, stored, number, run, tables, answers, unanswered: 0, away_since: None, next_tick: now }
    }

    /// Writes down that this attempt follows a failed one.
    pub(super) fn restarted(&mut self, reason: String) -> Result<()> {
        self.submit(nothing(), Vec::new(), vec![Event::Restart { reason }])
    }

    /// Until the run ends, a command comes or something fails. `backoff` is reset by the first batch that is committed.
    pub(super) fn run(&mut self, backoff: &mut Backoff) -> Result<End> {
        loop {
            if let Some(end) = self.commands()? {
                return Ok(end);
            }
            if self.answers()? {
                backoff.reset();
            }
            if let Some(end) = self.away()? {
                return Ok(end);
            }
            let Some(event) = self.source.next(self.patience()) else {
                self.tick();
                self.progress();
                continue;
            };
            if let Some(end) = self.event(event)? {
                return Ok(end);
            }
        }
    }

    /// Stops the source, waits for the last answers and writes the end of the run to the audit.
    pub(super) fn finish(mut self, end: Result<End>) -> Result<End> {
        self.source.stop();
        let settled = self.settle();
        self.progress();
        let end = settled.and(end);
        let ended = match &end {
            Ok(End::Failed(error) | End::GaveUp(error)) | Err(error) => (false, error.to_string()),
            Ok(_) => (true, String::new()),
        };
        let audit = AuditDelta { ended: Some(ended), ..self.audit(Counts::default(), Vec::new()) };
        let written = self.pipeline.ports.store.audit(self.pipeline.name(), &audit);
        written.and(end)
    }

    fn commands(&mut self) -> Result<Option<End>> {
        Ok(match self.pipeline.commands.try_recv() {
            Err(TryRecvError::Empty) | Ok(Command::Resume) => None,
            Err(TryRecvError::Disconnected) | Ok(Command::Stop) => Some(End::Stopped),
            Ok(Command::Restart) => Some(End::Restart),
            Ok(Command::Pause) => {
                self.pipeline.ports.store.set_paused(self.pipeline.name(), true)?;
                Some(End::Paused)
            }
        })
    }

    /// Hears what was decided; whether anything was committed.
    fn answers(&mut self) -> Result<bool> {
        let mut committed = false;
        while let Ok(answer) = self.answers.1.try_recv() {
            self.hear(answer)?;
            committed = true;
        }
        Ok(committed)
    }

    fn hear(&mut self, answer: Answer) -> Result<()> {
        self.unanswered -= 1;
        match answer {
            Answer::Committed(advances) => {
                self.source.committed(&advances);
                if self.away_since.is_none() {
                    self.pipeline.say(State::Running);
                }
                Ok(())
            }
            Answer::Refused(error) => Err(error),
        }
    }

    /// Waits until everything that was handed in is answered.
    fn settle(&mut self) -> Result<()> {
        let deadline = Instant::now() + SETTLE;
        while self.unanswered > 0 {
            let left = deadline.saturating_duration_since(Instant::now());
            let answer = self.answers.1.recv_timeout(left);
            self.hear(answer.map_err(|_| Error::internal("the last commits did not end in time"))?)?;
        }
        Ok(())
    }

    /// A run that ends does not wait for ever for a broker that is away.
    fn away(&self) -> Result<Option<End>> {
        let (Some(since), Trigger::Once) = (self.away_since, self.pipeline.spec.trigger) else { return Ok(None) };
        if since.elapsed() < self.pipeline.ports.wait_max {
            return Ok(None);
        }
        let reason = self.pipeline.status.report().state.reason().unwrap_or("the broker is away").to_owned();
        let error = Error::backoff(sluicebox_core::Domain::Broker, format!("gave up after {:?}: {reason}", since.elapsed()));
        Ok(Some(End::GaveUp(error)))
    }

    fn patience(&self) -> Duration {
        match self.pipeline.spec.trigger {
            Trigger::ProcessingTime(_) => DRAINED,
            _ => LOOK,
        }
    }

    /// With the trigger `processing_time`, nothing is waiting any more: the rest comes at the next tick. A late tick comes at once,
    /// missed ones are one.
    fn tick(&mut self) {
        let Trigger::ProcessingTime(interval) = self.pipeline.spec.trigger else { return };
        let now = Instant::now();
        if self.next_tick <= now {
            self.next_tick = now + interval;
        }
        let left = self.next_tick.saturating_duration_since(now).min(LOOK);
        std::thread::park_timeout(left);
    }

    fn progress(&self) {
        self.pipeline.status.progress(self.source.progress(), self.unanswered == 0);
    }

    fn event(&mut self, event: SourceEvent) -> Result<Option<End>> {
        match event {
            SourceEvent::Batch(records) => self.batch(records)?,
            SourceEvent::Assigned { partition, position } => self.assigned(partition, position)?,
            SourceEvent::Gap { partition, gap } => self.gap(partition, gap)?,
            SourceEvent::Waiting(error) => {
                self.away_since.get_or_insert_with(Instant::now);
                self.pipeline.say(State::Waiting(error.to_string()));
            }
            SourceEvent::Resumed => {
                self.away_since = None;
                self.pipeline.say(State::Running);
            }
            SourceEvent::Ended => {
                self.settle()?;
                return Ok(Some(End::Done));
            }
            SourceEvent::Failed(error) => return Err(error),
        }
        Ok(None)
    }

    fn batch(&mut self, records: Records) -> Result<()> {
        let advances = records.advances().to_vec();
        let prepared = self.route.prepare(Arc::new(records), self.pipeline.ports.clock.now())?;
        self.submit(prepared, advances, Vec::new())
    }

    /// The first position of a partition is stored at once: a restart before the first record must not begin elsewhere.
    fn assigned(&mut self, partition: PartitionId, position: i64) -> Result<()> {
        if self.stored.get(&partition).is_some() {
            return Ok(());
        }
        self.stored.set(partition.clone(), position);
        self.submit(nothing(), vec![Advance { partition, from: position, to: position }], Vec::new())
    }

    fn gap(&mut self, partition: PartitionId, gap: Gap) -> Result<()> {
        let (tenant, pipeline) = (&self.pipeline.tenant, self.pipeline.name());
        let Gap { wanted, taken } = gap;
        tracing::error!(%tenant, %pipeline, "{partition}: the position {wanted} is gone from the broker; going on at {taken}");
        telemetry::gap(tenant, pipeline, taken - wanted);
        self.submit(nothing(), Vec::new(), vec![Event::Gap { partition, gap }])
    }

    fn submit(&mut self, prepared: Prepared, advances: Vec<Advance>, events: Vec<Event>) -> Result<()> {
        let audit = self.audit(prepared.counts, events);
        let Prepared { segments, rejects, records, .. } = prepared;
        let pipeline = self.pipeline.name().clone();
        let delta = Delta { pipeline, advances, segments, rejects, audit, records: vec![records] };
        let note = Note {
            run: self.number,
            commit: self.pipeline.spec.commit,
            answer: self.answers.0.clone(),
            status: self.pipeline.status.clone(),
        };
        let ended = |_| Error::internal("the committer has ended");
        self.pipeline.queue.send(Submission { delta, note }).map_err(ended)?;
        self.unanswered += 1;
        self.progress();
        Ok(())
    }

    fn audit(&self, counts: Counts, events: Vec<Event>) -> AuditDelta {
        let at = self.pipeline.ports.clock.now();
        AuditDelta { run: self.run.clone(), tables: self.tables.clone(), counts, events, at, ended: None }
    }
}

fn nothing() -> Prepared {
    Prepared { segments: Vec::new(), rejects: Vec::new(), counts: Counts::default(), records: Arc::default() }
}
