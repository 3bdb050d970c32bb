//! The reader: one plain thread that owns the client, assigns itself all partitions (it never joins the group), and turns messages into
//! closed batches. It waits on librdkafka only, never on the pipeline: while batches are not taken it goes on serving the client.

use std::sync::Arc;
use std::time::{Duration, Instant};

use rdkafka::consumer::{CommitMode, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::Message;
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use sluicebox_core::port::{SourceEvent, SourceProgress, SourceSettings};
use sluicebox_core::position::{PartitionId, TopicId};
use sluicebox_core::{Domain, Error, Result};

use crate::fault::Health;
use crate::ffi::{Client, Describer, Description, MessageQueue, Taken};
use crate::filling::{Filling, Fullness, TAKE_MAX};
use crate::lookup::{Beginning, Obstacle, REQUEST_TIMEOUT, Rules};
use crate::outbox::Outbox;
use crate::partition::{Partition, Seen, Topic, made_again};
use crate::properties;

/// How often topics are looked at: new partitions, deleted topics and topics made again are seen within this time.
const METADATA_INTERVAL: Duration = Duration::from_secs(1);
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
/// The longest wait for a message while a batch waits to be taken.
const BUSY_WAIT: Duration = Duration::from_millis(5);
/// How often a spent budget is asked again.
const BUDGET_WAIT: Duration = Duration::from_millis(1);
/// A partition that is started again is forwarded again for this long: librdkafka undoes the forward when its stop completes, which
/// it does not tell.
const RESTART_TIME: Duration = Duration::from_secs(10);

/// What one message did.
enum Consumed {
    /// It is in the batch, or was an end of partition.
    Read,
    /// Topics have to be looked at.
    Look,
    /// The position of this partition is gone.
    Gone(usize),
    /// The partition of this topic may not be read.
    Closed(RDKafkaErrorCode, String, String),
    /// The reader cannot go on.
    Broken(Error),
}

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
                self.take(IDLE_WAIT)?;
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

    /// Stops fetching partitions of which nothing more is wanted.
    fn pause(&self, ended: &[usize]) -> Result<()> {
        if ended.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::with_capacity(ended.len());
        for index in ended {
            let partition = &self.partitions[*index].id;
            list.add_partition(&partition.topic, partition.partition);
        }
        self.client.pause(&list).map_err(unexpected)
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

    fn serve_topics(&mut self) -> Result<()> {
        let now = Instant::now();
        if let Some(answer) = self.describer.answer() {
            let asked = self.asked.take().unwrap_or(now);
            match answer {
                Ok(descriptions) => self.answered(&descriptions, asked)?,
                Err((code, words)) => self.unanswered(code, &words)?,
            }
        }
        // An answer always comes, within its time-out; twice that is a client that lost it.
        let waiting = self.asked.is_some_and(|asked| now < asked + 2 * REQUEST_TIMEOUT);
        if !waiting && now >= self.look_at {
            self.look_at = now + METADATA_INTERVAL;
            let names: Vec<_> = self.topics.iter().map(|topic| topic.native.clone()).collect();
            match self.describer.ask(&names, REQUEST_TIMEOUT) {
                Ok(()) => self.asked = Some(now),
                Err((code, words)) => self.unanswered(code, &words)?,
            }
        }
        Ok(())
    }

    /// Topics as the cluster has them, asked for at `asked`.
    fn answered(&mut self, descriptions: &[Description], asked: Instant) -> Result<()> {
        self.answered_at = Instant::now();
        let event = self.health.answered();
        self.say(event)?;
        self.missing.clear();
        let (mut grown, mut ready) = (Vec::new(), true);
        for index in 0..self.topics.len() {
            let Some(description) = descriptions.iter().find(|d| d.topic == *self.topics[index].name) else {
                ready = false;
                continue;
            };
            match self.topics[index].compare(description) {
                Seen::Same => {}
                Seen::Unready => ready = false,
                Seen::Grown(id, count) => grown.push((index, id, count)),
                Seen::MadeAgain => return Err(made_again(&self.topics[index].name)),
                Seen::Missing => self.missing.push(index),
                Seen::Refused(code, words) => {
                    let topic = self.topics[index].name.clone();
                    let event = self.health.unreadable(code, &topic, &words);
                    self.say(event)?;
                }
            }
        }
        let names: Vec<&str> = self.missing.iter().map(|index| &*self.topics[*index].name).collect();
        let event = self.health.missing(&names);
        self.say(event)?;
        if asked >= self.doubt_at {
            (self.suspect, self.confirmed) = (false, true);
        } else {
            self.look_at = Instant::now();
        }
        self.take_up(&grown, ready)
    }

    /// The cluster gave no answer, or refuses one.
    fn unanswered(&mut self, code: RDKafkaErrorCode, words: &str) -> Result<()> {
        self.describer.forget_brokers();
        let event = match code {
            RDKafkaErrorCode::OperationTimedOut | RDKafkaErrorCode::BrokerTransportFailure => {
                // A slow handshake is no outage.
                let away = self.answered_at.elapsed() >= REQUEST_TIMEOUT;
                away.then(|| self.health.unanswered(words)).flatten()
            }
            _ => self.health.error(code, words),
        };
        self.say(event)
    }

    /// The rules for beginnings, once the cluster's id is known.
    fn rules(&mut self) -> Option<Rules> {
        if self.rules.is_none() {
            let cluster = self.client.client().fetch_cluster_id(REQUEST_TIMEOUT)?;
            self.rules = Some(Rules {
                cluster: cluster.into(),
                start: self.settings.start,
                out_of_range: self.settings.out_of_range,
                positions: self.settings.positions.clone(),
            });
        }
        self.rules.clone()
    }

    /// Takes up partitions that are new to the reader.
    fn take_up(&mut self, grown: &[(usize, TopicId, i32)], ready: bool) -> Result<()> {
        if grown.is_empty() {
            self.begun |= ready;
            return Ok(());
        }
        let Some(rules) = self.rules() else {
            let event = self.health.unanswered("the cluster does not tell its id");
            return self.say(event);
        };
        let late = self.begun;
        let mut list = TopicPartitionList::new();
        let mut ended = Vec::new();
        for (topic, id, count) in grown {
            let known = i32::try_from(self.topics[*topic].partitions.len()).unwrap_or(i32::MAX);
            let numbers: Vec<i32> = (known..*count).collect();
            match rules.begin(&self.client, &self.topics[*topic].name.clone(), *id, &numbers, late) {
                Ok(begun) => {
                    self.topics[*topic].id = Some(*id);
                    for (partition, beginning) in begun {
                        self.adopt(*topic, partition, beginning, &mut list, &mut ended)?;
                    }
                }
                Err(Obstacle::Stop(error)) => return Err(error),
                Err(Obstacle::Later(error)) => {
                    self.put_off(&error)?;
                    self.assign(&list, &ended)?;
                    return Ok(());
                }
            }
        }
        self.assign(&list, &ended)?;
        self.begun |= ready;
        self.count_lag();
        Ok(())
    }

    /// Remembers a partition and tells the pipeline of it.
    fn adopt(
        &mut self,
        topic: usize,
        id: PartitionId,
        beginning: Beginning,
        list: &mut TopicPartitionList,
        ended: &mut Vec<usize>,
    ) -> Result<()> {
        let Beginning { position, gap, end } = beginning;
        if let Some(gap) = gap {
            self.outbox.put(SourceEvent::Gap { partition: id.clone(), gap });
        }
        self.outbox.put(SourceEvent::Assigned { partition: id.clone(), position });
        self.queue.forward(&self.topics[topic].native, id.partition);
        list.add_partition_offset(&id.topic, id.partition, Offset::Offset(position)).map_err(unexpected)?;
        let index = self.partitions.len();
        let done = position >= end;
        if done && self.settings.stop_at_end {
            ended.push(index);
        }
        self.topics[topic].partitions.push(index);
        self.partitions.push(Partition { id, topic, position, handed: position, high: end, end, done, slot: None });
        Ok(())
    }

    fn assign(&self, list: &TopicPartitionList, ended: &[usize]) -> Result<()> {
        if list.count() > 0 {
            self.client.incremental_assign(list).map_err(unexpected)?;
        }
        self.pause(ended)
    }

    /// The cluster did not answer in the middle: it is asked again with the next look.
    fn put_off(&mut self, error: &KafkaError) -> Result<()> {
        let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail);
        let event = self.health.error(code, &error.to_string());
        self.say(event)
    }

    /// Goes on behind records that are gone, as the configuration says.
    fn replace_gone(&mut self) -> Result<()> {
        while let Some(index) = self.gone.last().copied() {
            let Some(rules) = self.rules() else { return Ok(()) };
            let (id, wanted) = (self.partitions[index].id.clone(), self.partitions[index].position);
            match rules.again(&self.client, &id, wanted) {
                Ok(beginning) => {
                    if !self.flush()? {
                        return Ok(());
                    }
                    self.restart(index, beginning)?;
                    self.gone.pop();
                }
                Err(Obstacle::Stop(error)) => return Err(error),
                Err(Obstacle::Later(error)) => return self.put_off(&error),
            }
        }
        Ok(())
    }

    fn restart(&mut self, index: usize, beginning: Beginning) -> Result<()> {
        let partition = &mut self.partitions[index];
        if let Some(gap) = beginning.gap {
            self.outbox.put(SourceEvent::Gap { partition: partition.id.clone(), gap });
            self.outbox.put(SourceEvent::Assigned { partition: partition.id.clone(), position: beginning.position });
        }
        (partition.position, partition.handed) = (beginning.position, beginning.position);
        partition.high = partition.high.max(beginning.end);
        partition.done = partition.done || partition.position >= partition.end;
        let done = partition.done && self.settings.stop_at_end;
        let mut list = TopicPartitionList::with_capacity(1);
        let offset = Offset::Offset(beginning.position);
        list.add_partition_offset(&partition.id.topic, partition.id.partition, offset).map_err(unexpected)?;
        self.client.incremental_unassign(&list).map_err(unexpected)?;
        self.client.incremental_assign(&list).map_err(unexpected)?;
        self.restarted.push((index, Instant::now() + RESTART_TIME));
        self.pause(if done { std::slice::from_ref(&index) } else { &[] })
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

/// The partition that a message came from.
fn find(topics: &[Topic], taken: &Taken<'_>) -> Option<usize> {
    let number = usize::try_from(taken.partition()).ok()?;
    let topic = topics.iter().find(|topic| topic.name.as_bytes() == taken.topic())?;
    topic.partitions.get(number).copied()
}

/// Takes one message or event of a partition.
fn consume(
    index: Option<usize>,
    partitions: &mut [Partition],
    filling: &mut Filling,
    taken: &Taken<'_>,
    stop_at_end: bool,
    ended: &mut Vec<usize>,
) -> Consumed {
    let Some((index, partition)) = index.and_then(|index| Some((index, partitions.get_mut(index)?))) else {
        return Consumed::Look;
    };
    let was_done = partition.done;
    if stop_at_end && was_done {
        return Consumed::Read;
    }
    let offset = taken.offset();
    match taken.error() {
        // What is older than the position was delivered before a restart of the partition.
        None if offset < partition.position => return Consumed::Read,
        // Written after the start of a run that ends.
        None if stop_at_end && offset >= partition.end => filling.move_to(partition, partition.end),
        None => filling.push(partition, taken),
        Some(RDKafkaErrorCode::PartitionEOF) => {
            let to = if stop_at_end { offset.min(partition.end) } else { offset };
            filling.move_to(partition, to);
        }
        Some(code) => return event(index, partition, code, taken),
    }
    partition.done = partition.position >= partition.end;
    if stop_at_end && partition.done && !was_done {
        ended.push(index);
    }
    Consumed::Read
}

/// What an error of a partition means.
fn event(index: usize, partition: &Partition, code: RDKafkaErrorCode, taken: &Taken<'_>) -> Consumed {
    use RDKafkaErrorCode as Code;
    match code {
        Code::AutoOffsetReset | Code::OffsetOutOfRange => Consumed::Gone(index),
        Code::UnknownTopicOrPartition
        | Code::UnknownTopic
        | Code::UnknownPartition
        | Code::LeaderNotAvailable
        | Code::NotLeaderForPartition
        | Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::OperationTimedOut
        | Code::RequestTimedOut
        | Code::BrokerNotAvailable => Consumed::Look,
        Code::TopicAuthorizationFailed => Consumed::Closed(code, partition.id.topic.to_string(), taken.words()),
        _ => Consumed::Broken(Error::fatal(
            Domain::Broker,
            format!("{}@{}: the records cannot be read: {}", partition.id, taken.offset(), properties::fragment(&taken.words())),
        )),
    }
}

fn unexpected(error: KafkaError) -> Error {
    Error::internal(format!("the Kafka client refuses an assignment: {error}"))
}
