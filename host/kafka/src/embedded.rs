//! A broker inside the process (librdkafka's mock cluster), for a first look and for tests.
//!
//! It keeps about 5 MB or 100,000 message sets a partition and drops the oldest beyond that, so this module counts what it is given:
//! [`EmbeddedBroker::fill`] makes as many partitions as the records need, and more than is kept is refused, never lost. (What another
//! program produces over the network is not counted.) It has no real transactions, and waits the whole `fetch.wait.max.ms` on an
//! empty fetch, hence [`EmbeddedBroker::properties`]. Nothing that is said about delivery is shown on it.

use std::collections::HashMap;
use std::sync::mpsc::{Sender, channel};
use std::sync::{Mutex, PoisonError};
use std::thread::{self, JoinHandle};

use rdkafka::error::KafkaResult;
use rdkafka::mocking::MockCluster;
use rdkafka::producer::DefaultProducerContext;
use sluicebox_core::secret::Secret;
use sluicebox_core::{Domain, Error, Result};

use crate::producer::{Message, Producer};

/// What a partition is trusted to keep: 5 MiB is where it begins to drop.
const PARTITION_BYTES_MAX: usize = 5_000_000;
/// What a record takes besides key, value and headers, at most: lengths, timestamp, offset, and a message set of its own.
const RECORD_OVERHEAD: usize = 96;
/// What a header takes besides name and value, at most.
const HEADER_OVERHEAD: usize = 10;
/// A message set can be as small as one record, and a partition keeps 100,000.
const PARTITION_RECORDS_MAX: usize = 90_000;
/// More partitions than this cost more than they keep.
const PARTITIONS_MAX: usize = 1024;

type Cluster = MockCluster<'static, DefaultProducerContext>;
type Order = Box<dyn FnOnce(&Cluster) + Send>;

/// What a partition holds.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
struct Held {
    bytes: usize,
    records: usize,
}

impl Held {
    fn add(&mut self, message: &Message) {
        self.bytes += message.bytes() + message.headers.len() * HEADER_OVERHEAD + RECORD_OVERHEAD;
        self.records += 1;
    }

    fn plus(self, other: Self) -> Self {
        Self { bytes: self.bytes + other.bytes, records: self.records + other.records }
    }

    fn fits(self) -> bool {
        self.bytes <= PARTITION_BYTES_MAX && self.records <= PARTITION_RECORDS_MAX
    }
}

/// A broker inside the process. Ends when it is dropped; its topics end with it.
pub struct EmbeddedBroker {
    orders: Option<Sender<Order>>,
    thread: Option<JoinHandle<()>>,
    bootstrap: String,
    topics: Mutex<HashMap<String, Vec<Held>>>,
}

impl EmbeddedBroker {
    /// Starts a broker on a free port of this machine.
    ///
    /// # Errors
    /// When it cannot be made: no free port.
    pub fn start() -> Result<Self> {
        let (orders, inbox) = channel::<Order>();
        let (report, started) = channel();
        // The cluster belongs to the thread that made it.
        let serve = move || {
            let cluster = match MockCluster::new(1) {
                Ok(cluster) => cluster,
                Err(error) => return drop(report.send(Err(error))),
            };
            drop(report.send(Ok(cluster.bootstrap_servers())));
            for order in inbox {
                order(&cluster);
            }
        };
        let spawned = thread::Builder::new().name("embedded broker".into()).spawn(serve);
        let thread = spawned.map_err(|error| Error::internal(format!("no thread for the embedded broker: {error}")))?;
        let bootstrap = started.recv().map_err(|_| gone())?.map_err(|error| broken(&error))?;
        Ok(Self { orders: Some(orders), thread: Some(thread), bootstrap, topics: Mutex::default() })
    }

    /// `host:port`, for `bootstrap.servers`.
    pub fn bootstrap_servers(&self) -> &str {
        &self.bootstrap
    }

    /// Client properties to reach it: its address, and a short wait of empty fetches.
    pub fn properties(&self) -> Vec<(String, Secret)> {
        vec![("bootstrap.servers".to_owned(), Secret::new(&*self.bootstrap)), ("fetch.wait.max.ms".to_owned(), Secret::new("10"))]
    }

    fn order<T: Send + 'static>(&self, order: impl FnOnce(&Cluster) -> KafkaResult<T> + Send + 'static) -> Result<T> {
        let (report, answer) = channel();
        let order: Order = Box::new(move |cluster| drop(report.send(order(cluster))));
        self.orders.as_ref().ok_or_else(gone)?.send(order).map_err(|_| gone())?;
        answer.recv().map_err(|_| gone())?.map_err(|error| broken(&error))
    }

    /// Makes a topic.
    ///
    /// # Errors
    /// A topic of this name exists, or the name or the number cannot be.
    pub fn create_topic(&self, topic: &str, partitions: usize) -> Result<()> {
        if !(1..=PARTITIONS_MAX).contains(&partitions) {
            let words = format!("topic {topic}: {partitions} partitions; the embedded broker makes 1 to {PARTITIONS_MAX}");
            return Err(Error::config(words));
        }
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        if topics.contains_key(topic) {
            return Err(Error::config(format!("topic {topic} exists already in the embedded broker")));
        }
        let name = topic.to_owned();
        self.order(move |cluster| cluster.create_topic(&name, partitions as i32, 1))?;
        topics.insert(topic.to_owned(), vec![Held::default(); partitions]);
        Ok(())
    }

    /// Topics and how many partitions each has.
    pub fn topics(&self) -> Vec<(String, usize)> {
        let topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let mut list: Vec<_> = topics.iter().map(|(topic, held)| (topic.clone(), held.len())).collect();
        list.sort();
        list
    }

    /// Takes the broker off the network, or puts it back.
    ///
    /// # Errors
    /// When the cluster refuses it.
    pub fn set_down(&self, down: bool) -> Result<()> {
        self.order(move |cluster| if down { cluster.broker_down(-1) } else { cluster.broker_up(-1) })
    }

    /// Produces all messages and waits until they are stored; makes the topic, with as many partitions as they need, if there is none.
    /// Records with the same key share a partition, others take turns. All messages are held until their number and size are known.
    /// Returns how many there were.
    ///
    /// # Errors
    /// More than the topic keeps, with nothing produced; a broker that does not take them.
    pub fn fill(&self, topic: &str, messages: impl IntoIterator<Item = Message>) -> Result<u64> {
        let messages: Vec<Message> = messages.into_iter().collect();
        let mut wheel = vec![Held::default(); PARTITIONS_MAX];
        for (turn, message) in messages.iter().enumerate() {
            wheel[spoke(turn, message)].add(message);
        }
        let known = self.topics.lock().unwrap_or_else(PoisonError::into_inner).get(topic).cloned();
        let partitions = match known {
            Some(held) => self.reserve(topic, &held, &wheel)?,
            None => {
                let partitions = needed(topic, &wheel)?;
                self.create_topic(topic, partitions)?;
                self.reserve(topic, &vec![Held::default(); partitions], &wheel)?
            }
        };
        let mut producer = Producer::new(&self.properties_to_produce())?;
        for (turn, message) in messages.iter().enumerate() {
            producer.send(topic, Some((spoke(turn, message) % partitions) as i32), message)?;
        }
        producer.flush()
    }

    /// Adds what is to be produced to what a topic holds, if it all fits.
    fn reserve(&self, topic: &str, held: &[Held], wheel: &[Held]) -> Result<usize> {
        let sum: Vec<Held> = held.iter().zip(spread(wheel, held.len())).map(|(held, more)| held.plus(more)).collect();
        if !sum.iter().all(|partition| partition.fits()) {
            let bytes: usize = wheel.iter().map(|spoke| spoke.bytes).sum();
            return Err(Error::fatal(
                Domain::Broker,
                format!(
                    "topic {topic}: the embedded broker keeps {PARTITION_BYTES_MAX} bytes or {PARTITION_RECORDS_MAX} records in each of its {} partitions, and {bytes} bytes more do not fit; nothing was produced: fill a new topic, make it with more partitions, or use Apache Kafka",
                    held.len(),
                ),
            ));
        }
        self.topics.lock().unwrap_or_else(PoisonError::into_inner).insert(topic.to_owned(), sum);
        Ok(held.len())
    }

    fn properties_to_produce(&self) -> Vec<(String, Secret)> {
        vec![("bootstrap.servers".to_owned(), Secret::new(&*self.bootstrap))]
    }

    /// Produces messages to one partition of a topic that exists, in order. Returns how many there were.
    ///
    /// # Errors
    /// More than the partition keeps, with nothing produced; a topic or partition that does not exist.
    pub fn produce(&self, topic: &str, partition: usize, messages: &[Message]) -> Result<u64> {
        let mut more = Held::default();
        messages.iter().for_each(|message| more.add(message));
        let mut topics = self.topics.lock().unwrap_or_else(PoisonError::into_inner);
        let held = topics.get_mut(topic).and_then(|held| held.get_mut(partition));
        let held = held.ok_or_else(|| Error::config(format!("{topic}-{partition} does not exist in the embedded broker")))?;
        let sum = held.plus(more);
        if !sum.fits() {
            let words = format!(
                "{topic}-{partition}: the embedded broker would not keep {} bytes more; nothing was produced",
                more.bytes
            );
            return Err(Error::fatal(Domain::Broker, words));
        }
        *held = sum;
        drop(topics);
        let mut producer = Producer::new(&self.properties_to_produce())?;
        for message in messages {
            producer.send(topic, Some(partition as i32), message)?;
        }
        producer.flush()
    }
}

impl Drop for EmbeddedBroker {
    fn drop(&mut self) {
        self.orders = None;
        if let Some(thread) = self.thread.take()
            && thread.join().is_err()
        {
            tracing::warn!("the embedded broker ended in a panic");
        }
    }
}

/// Where a record stands on a wheel that any number of partitions (a power of two) divides.
fn spoke(turn: usize, message: &Message) -> usize {
    let hash = |key: &Vec<u8>| {
        key.iter().fold(0xcbf2_9ce4_8422_2325u64, |hash, byte| (hash ^ u64::from(*byte)).wrapping_mul(0x100_0000_01b3))
    };
    message.key.as_ref().map_or(turn, |key| (hash(key) >> 20) as usize) % PARTITIONS_MAX
}

/// What each of so many partitions would get.
fn spread(wheel: &[Held], partitions: usize) -> Vec<Held> {
    let mut spread = vec![Held::default(); partitions];
    for (spoke, held) in wheel.iter().enumerate() {
        let partition = &mut spread[spoke % partitions];
        *partition = partition.plus(*held);
    }
    spread
}

/// How many partitions the records need.
fn needed(topic: &str, wheel: &[Held]) -> Result<usize> {
    let fits = |partitions: &usize| spread(wheel, *partitions).iter().all(|held| held.fits());
    let mut counts = std::iter::successors(Some(1), |count| Some(count * 2)).take_while(|count| *count <= PARTITIONS_MAX);
    counts.find(fits).ok_or_else(|| {
        let bytes: usize = wheel.iter().map(|held| held.bytes).sum();
        Error::fatal(
            Domain::Broker,
            format!("topic {topic}: the embedded broker does not keep {bytes} bytes (or so many with one key); use Apache Kafka"),
        )
    })
}

fn gone() -> Error {
    Error::internal("the embedded broker has ended")
}

fn broken(error: &rdkafka::error::KafkaError) -> Error {
    Error::fatal(Domain::Broker, format!("the embedded broker: {error}"))
}
