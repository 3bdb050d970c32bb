//! The reader: one plain thread that owns the client, assigns itself all partitions (it never joins the group), and turns messages into
//! closed batches. It waits on librdkafka only, never on the pipeline: while batches are not taken it goes on serving the client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use sluicebox_core::port::{SourceEvent, SourceProgress, SourceSettings};
use sluicebox_core::{Domain, Error, Result};

use self::consume::{Consumed, consume, find};
use crate::fault::Health;
use crate::ffi::{Client, Describer, MessageQueue};
use crate::filling::{Filling, Fullness, TAKE_MAX};
use crate::lookup::Rules;
use crate::outbox::Outbox;
use crate::partition::{Partition, Topic};
use crate::properties;

mod consume;
mod topics;

/// How often errors of the client are looked at.
const SERVE_INTERVAL: Duration = Duration::from_millis(10);
/// How often the lag is counted.
const LAG_INTERVAL: Duration = Duration::from_millis(200);
/// How often the group is told positions.
const COMMIT_INTERVAL: Duration = Duration::from_secs(1);
/// Events of the client served at once: a flood of log lines must not keep the reader from reading.
const EVENTS_MAX: usize = 10_000;
/// The longest wait for a message: errors are seen and a stop is obeyed within this time.
const IDLE_WAIT: Duration = Duration::from_millis(100);
/// The longest wait for a message while something else is awaited too.
const BUSY_WAIT: Duration = Duration::from_millis(5);
/// How often a spent budget is asked again.
const BUDGET_WAIT: Duration = Duration::from_millis(1);

/// The thread's state.
pub(crate) struct Reader {
    settings: SourceSettings,
    outbox: Arc<Outbox>,
    queue: MessageQueue,
    describer: Describer,
    client: Client,
    health: Health,
    rules: Option<Rules>,
    topics: Vec<Topic>,
    partitions: Vec<Partition>,
    missing: Vec<usize>,
    filling: Filling,
    gone: Vec<usize>,
    doubt_at: Instant,
    suspect: bool,
    confirmed: bool,
    restarted: Vec<(usize, Instant)>,
    begun: bool,
    asked: Option<Instant>,
    answered_at: Instant,
    look_at: Instant,
    serve_at: Instant,
    lag_at: Instant,
    commit_at: Instant,
}

impl Reader {
    /// A reader that has a client and has asked nothing yet.
    ///
    /// # Errors
    /// A topic name that cannot exist.
    pub(crate) fn new(settings: SourceSettings, client: Client, outbox: Arc<Outbox>) -> Result<Self> {
        let mut topics: Vec<Topic> = Vec::new();
        for name in &settings.topics {
            if topics.iter().all(|topic| *topic.name != **name) {
                topics.push(Topic::new(name)?);
            }
        }
        let now = Instant::now();
        Ok(Self {
            queue: MessageQueue::new(client.clone(), TAKE_MAX),
            describer: Describer::new(client.clone()),
            health: Health::new(properties::value(&settings.properties, "bootstrap.servers").unwrap_or("(no servers)")),
            filling: Filling::new(settings.batch),
            missing: (0..topics.len()).collect(),
            rules: None,
            partitions: Vec::new(),
            gone: Vec::new(),
            doubt_at: now,
            suspect: false,
            confirmed: false,
            restarted: Vec::new(),
            begun: false,
            asked: None,
            answered_at: now,
            look_at: now,
            serve_at: now,
            lag_at: now,
            commit_at: now,
            settings,
            outbox,
            client,
            topics,
        })
    }

    /// Reads until it is stopped, has reached its end, or cannot go on.
    pub(crate) fn run(mut self) {
        if let Err(error) = self.read_all() {
            self.outbox.put(SourceEvent::Failed(error));
        }
    }

    fn read_all(&mut self) -> Result<()> {
        while !self.outbox.stopped() {
            let now = Instant::now();
            self.serve(now)?;
            if self.confirmed && !self.gone.is_empty() {
                self.replace_gone()?;
            }
            self.step(now)?;
            if self.finished() {
                return self.finish();
            }
        }
        Ok(())
    }

    /// Takes messages, or hands the batch over, or waits.
    fn step(&mut self, now: Instant) -> Result<()> {
        let idle_closes = self.settings.close_when_idle;
        match self.filling.fullness(now) {
            Fullness::Full => {
                if !self.hand_over()? {
                    self.wait_to_hand_over();
                }
            }
            Fullness::Due => {
                if !self.hand_over()? {
                    self.take(BUSY_WAIT)?;
                }
            }
            Fullness::Open(_) if idle_closes => {
                // Whatever is waiting goes into the batch; when nothing is, it closes as soon as somebody can take it.
                if self.take(Duration::ZERO)? == 0 && !self.hand_over()? {
                    self.take(BUSY_WAIT)?;
                }
            }
            Fullness::Open(left) => {
                self.take(left.min(IDLE_WAIT).max(Duration::from_millis(1)))?;
            }
            Fullness::Empty => {
                // An answer of the cluster does not wake the reader; before the first one there is nothing else to wait for.
                let starting = !self.begun && self.asked.is_some();
                self.take(if starting { BUSY_WAIT } else { IDLE_WAIT })?;
            }
        }
        Ok(())
    }

    /// Hands the batch over if there is room and budget for it, and no doubt that its topics are those that they were: what the client
    /// has to say is heard first, for it says before a record of another topic that the topic changed.
    fn hand_over(&mut self) -> Result<bool> {
        self.serve_client()?;
        if self.suspect || self.queue.events() > 0 || !self.outbox.has_room() {
            return Ok(false);
        }
        let Some(permit) = self.settings.budget.take(self.filling.bytes()) else {
            // The pipeline gives the budget back without telling.
            return Ok(false);
        };
        let number = self.filling.number();
        let mut records = self.filling.close();
        for partition in self.partitions.iter_mut().filter(|p| p.slot.is_some_and(|(batch, _)| batch == number)) {
            partition.handed = partition.position;
        }
        records.hold(permit);
        self.outbox.put(SourceEvent::Batch(records));
        self.tell_progress();
        Ok(true)
    }

    /// Waits for room or, because nobody tells when budget comes back, a moment.
    fn wait_to_hand_over(&self) {
        if self.outbox.has_room() {
            self.outbox.wait_for_stop(BUDGET_WAIT);
        } else {
            self.outbox.wait_for_room(BUSY_WAIT);
        }
    }

    /// Hands the batch over, however long that takes; nothing is read meanwhile. `false` when a stop was wished.
    fn flush(&mut self) -> Result<bool> {
        while self.filling.fullness(Instant::now()) != Fullness::Empty {
            if self.outbox.stopped() {
                return Ok(false);
            }
            if !self.hand_over()? {
                self.wait_to_hand_over();
                self.serve(Instant::now())?;
            }
        }
        Ok(true)
    }

    /// Takes what is waiting, at most what the batch has room for.
    fn take(&mut self, timeout: Duration) -> Result<usize> {
        let Self { queue, partitions, topics, filling, settings, .. } = self;
        let mut events = Vec::new();
        let mut last: Option<((usize, i32), Option<usize>)> = None;
        let mut ended = Vec::new();
        let mut read = false;
        let count = queue.take(filling.room(), timeout, |taken| {
            let source = taken.source();
            let index = match last {
                Some((known, index)) if known == source => index,
                _ => {
                    let index = find(topics, taken);
                    last = Some((source, index));
                    index
                }
            };
            match consume(index, partitions, filling, taken, settings.stop_at_end, &mut ended) {
                Consumed::Read => read = true,
                event => events.push(event),
            }
        });
        if count > 0 {
            self.filling.touched(Instant::now());
        }
        if read {
            let event = self.health.read();
            self.say(event)?;
        }
        self.pause(&ended)?;
        for event in events {
            self.handle(event)?;
        }
        Ok(count)
    }

    fn handle(&mut self, event: Consumed) -> Result<()> {
        match event {
            Consumed::Read => Ok(()),
            Consumed::Look => {
                self.look_at = Instant::now();
                Ok(())
            }
            Consumed::Gone(index) => {
                if !self.gone.contains(&index) {
                    self.gone.push(index);
                }
                // A topic made again looks the same: its id is asked first.
                self.ask_again();
                Ok(())
            }
            Consumed::Closed(code, topic, words) => {
                let event = self.health.unreadable(code, &topic, &words);
                self.say(event)
            }
            Consumed::Broken(error) => Err(error),
        }
    }

    /// Wants an answer on topics that was asked for after this moment.
    fn ask_again(&mut self) {
        (self.doubt_at, self.confirmed) = (Instant::now(), false);
        self.look_at = self.doubt_at;
    }

    /// Whether a run that ends has read everything that was there at start.
    fn finished(&self) -> bool {
        self.settings.stop_at_end && self.begun && self.partitions.iter().all(|p| p.done)
    }

    fn finish(&mut self) -> Result<()> {
        if !self.flush()? {
            return Ok(());
        }
        if let Some(first) = self.missing.first() {
            let topic = &self.topics[*first].name;
            let words =
                format!("topic {topic} does not exist: create it, or correct `from`; the other topics were read to their end");
            return Err(Error::fatal(Domain::Broker, words));
        }
        self.tell_progress();
        self.outbox.put(SourceEvent::Ended);
        Ok(())
    }

    /// Puts an event of the client's health; a failure ends the reader.
    fn say(&self, event: Option<SourceEvent>) -> Result<()> {
        match event {
            Some(SourceEvent::Failed(error)) => return Err(error),
            Some(event) => self.outbox.put(event),
            None => {}
        }
        Ok(())
    }

    /// Does what is due besides reading.
    fn serve(&mut self, now: Instant) -> Result<()> {
        if now < self.serve_at {
            return Ok(());
        }
        self.serve_at = now + SERVE_INTERVAL;
        self.serve_client()?;
        self.serve_topics()?;
        self.restarted.retain(|(_, until)| now < *until);
        for (index, _) in &self.restarted {
            let partition = &self.partitions[*index];
            self.queue.forward(&self.topics[partition.topic].native, partition.id.partition);
        }
        if now >= self.lag_at {
            self.lag_at = now + LAG_INTERVAL;
            self.count_lag();
        }
        if now >= self.commit_at {
            self.commit_at = now + COMMIT_INTERVAL;
            self.tell_group();
        }
        Ok(())
    }

    /// Lets the client deliver its errors and log lines.
    fn serve_client(&mut self) -> Result<()> {
        for _ in 0..self.queue.events().min(EVENTS_MAX) {
            if let Some(Ok(message)) = self.client.poll(Duration::ZERO) {
                let place = format!("{}-{}@{}", message.topic(), message.partition(), message.offset());
                return Err(Error::internal(format!("{place}: a record reached the queue of events")));
            }
        }
        if self.client.context().take_changed() {
            self.suspect = true;
            self.ask_again();
        }
        for error in self.client.context().errors() {
            let event = self.health.error(error.code, &error.reason);
            self.say(event)?;
        }
        Ok(())
    }

    /// Counts what is left, from the newest watermarks that came with messages.
    fn count_lag(&mut self) {
        for partition in &mut self.partitions {
            let topic = &self.topics[partition.topic].native;
            if let Some(high) = self.queue.cached_high(topic, partition.id.partition) {
                partition.high = partition.high.max(high);
            }
        }
        self.tell_progress();
    }

    fn tell_progress(&self) {
        let lag = |p: &Partition| u64::try_from(p.high - p.handed).unwrap_or(0);
        let known = self.begun && self.missing.is_empty();
        let progress = SourceProgress {
            lag: self.begun.then(|| self.partitions.iter().map(lag).sum()),
            caught_up: known && self.partitions.iter().all(|p| p.handed >= p.end),
        };
        self.outbox.set_progress(progress);
    }

    /// Tells the group positions that are durable. The broker refuses it while the group has live members, which is as it should be.
    fn tell_group(&self) {
        let context = self.client.context();
        if !context.begin_commit() {
            return;
        }
        let committed = self.outbox.take_committed();
        let mut list = TopicPartitionList::with_capacity(committed.len());
        for (partition, position) in &committed {
            let added = list.add_partition_offset(&partition.topic, partition.partition, Offset::Offset(*position));
            if let Err(error) = added {
                tracing::debug!("{partition}: the group is not told its position: {error}");
            }
        }
        if list.count() == 0 {
            context.abandon_commit();
        } else if let Err(error) = self.client.commit(&list, CommitMode::Async) {
            context.abandon_commit();
            tracing::debug!("the group is not told our positions: {error}");
        }
    }
}
