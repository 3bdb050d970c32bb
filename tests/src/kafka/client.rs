//! What tests do to a node: topics, counted records, transactions, deletions, offsets of groups.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use anyhow::{Result, bail, ensure};
use futures::executor::block_on;
use rdkafka::admin::{AdminClient, AdminOptions, NewPartitions, NewTopic, TopicReplication};
use rdkafka::client::DefaultClientContext;
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::DeliveryResult;
use rdkafka::producer::{BaseProducer, BaseRecord, Producer, ProducerContext};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use rdkafka::{ClientContext, util::Timeout};

use super::Kafka;

/// A request to the node.
const REQUEST_TIME: Duration = Duration::from_secs(30);
/// Delivery of all records of one call.
const DELIVERY_TIME: Duration = Duration::from_secs(300);

/// What was sent: partition (`None`: the client chooses), key, value.
pub type Sent = (Option<i32>, Option<Vec<u8>>, Option<Vec<u8>>);

#[derive(Clone, Default)]
struct Counted(Arc<AtomicU64>, Arc<AtomicU64>);

impl ClientContext for Counted {}

impl ProducerContext for Counted {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        let counter = if result.is_ok() { &self.0 } else { &self.1 };
        counter.fetch_add(1, Ordering::Relaxed);
    }
}

fn options() -> AdminOptions {
    AdminOptions::new().request_timeout(Some(REQUEST_TIME)).operation_timeout(Some(REQUEST_TIME))
}

/// The error of the first topic that was refused.
fn first_refusal(results: Vec<Result<String, (String, RDKafkaErrorCode)>>) -> Result<()> {
    for result in results {
        if let Err((topic, code)) = result {
            bail!("topic {topic}: {code}");
        }
    }
    Ok(())
}

impl Kafka {
    fn config(&self) -> ClientConfig {
        self.properties().into_iter().collect()
    }

    /// Whether the node answers a request.
    pub(super) fn answers(&self) -> bool {
        let consumer: Result<BaseConsumer, _> = self.config().create();
        let metadata = consumer.and_then(|consumer| consumer.fetch_metadata(None, Duration::from_secs(2)));
        metadata.is_ok_and(|metadata| !metadata.brokers().is_empty())
    }

    fn admin(&self) -> Result<AdminClient<DefaultClientContext>> {
        Ok(self.config().create()?)
    }

    /// Makes a topic with one replica, and waits until it can be used.
    ///
    /// # Errors
    /// When it exists, or the node does not answer.
    pub fn create_topic(&self, topic: &str, partitions: i32, settings: &[(&str, &str)]) -> Result<()> {
        let new = NewTopic::new(topic, partitions, TopicReplication::Fixed(1));
        let new = settings.iter().fold(new, |new, (name, value)| new.set(name, value));
        first_refusal(block_on(self.admin()?.create_topics([&new], &options()))?)?;
        self.wait_for_partitions(topic, partitions)
    }

    /// Gives a topic more partitions: this many in all.
    ///
    /// # Errors
    /// When the node refuses it or does not answer.
    pub fn set_partitions(&self, topic: &str, partitions: i32) -> Result<()> {
        let count = usize::try_from(partitions)?;
        first_refusal(block_on(self.admin()?.create_partitions([&NewPartitions::new(topic, count)], &options()))?)?;
        self.wait_for_partitions(topic, partitions)
    }

    /// Deletes a topic, and waits until it is gone.
    ///
    /// # Errors
    /// When there is none, or the node does not answer.
    pub fn delete_topic(&self, topic: &str) -> Result<()> {
        first_refusal(block_on(self.admin()?.delete_topics(&[topic], &options()))?)?;
        self.wait_for_partitions(topic, 0)
    }

    fn wait_for_partitions(&self, topic: &str, wanted: i32) -> Result<()> {
        let consumer: BaseConsumer = self.config().create()?;
        let until = Instant::now() + REQUEST_TIME;
        while Instant::now() < until {
            let metadata = consumer.fetch_metadata(Some(topic), REQUEST_TIME)?;
            let seen = metadata.topics().first().map_or(0, |found| {
                let led = found.partitions().iter().filter(|p| p.leader() >= 0).count();
                if found.error().is_some() { 0 } else { led }
            });
            if i32::try_from(seen)? == wanted {
                return Ok(());
            }
            std::thread::park_timeout(super::LOOK);
        }
        bail!("topic {topic} did not come to {wanted} partitions")
    }

    /// Deletes the records of a partition before an offset, as retention would.
    ///
    /// # Errors
    /// When the node refuses it or does not answer.
    pub fn delete_records(&self, topic: &str, partition: i32, before: i64) -> Result<()> {
        let mut list = TopicPartitionList::new();
        list.add_partition_offset(topic, partition, Offset::Offset(before))?;
        let answer = block_on(self.admin()?.delete_records(&list, &options()))?;
        for element in answer.elements() {
            element.error()?;
        }
        Ok(())
    }

    /// Produces records and waits until all are delivered. Returns how many.
    ///
    /// # Errors
    /// When one is not delivered.
    pub fn produce(&self, topic: &str, records: impl IntoIterator<Item = Sent>) -> Result<u64> {
        let mut config = self.config();
        config.set("linger.ms", "5").set("batch.num.messages", "10000").set("queue.buffering.max.messages", "200000");
        let counted = Counted::default();
        let producer: BaseProducer<Counted> = config.create_with_context(counted.clone())?;
        let sent = send(&producer, topic, records)?;
        delivered(&producer, &counted, sent)
    }

    /// Produces records as one transaction each call, committed or aborted. Returns how many records.
    ///
    /// # Errors
    /// When the node refuses it.
    pub fn transaction(&self, id: &str, topic: &str, records: impl IntoIterator<Item = Sent>, commit: bool) -> Result<u64> {
        let transaction = self.begin(id, topic, records)?;
        if commit {
            transaction.producer.commit_transaction(REQUEST_TIME)?;
        } else {
            transaction.producer.abort_transaction(REQUEST_TIME)?;
        }
        Ok(transaction.records)
    }

    /// Begins a transaction, produces into it, and leaves it open.
    ///
    /// # Errors
    /// When the node refuses it.
    pub fn begin(&self, id: &str, topic: &str, records: impl IntoIterator<Item = Sent>) -> Result<OpenTransaction> {
        let counted = Counted::default();
        let producer: BaseProducer<Counted> = self.config().set("transactional.id", id).create_with_context(counted.clone())?;
        producer.init_transactions(REQUEST_TIME)?;
        producer.begin_transaction()?;
        let sent = send(&producer, topic, records)?;
        let records = delivered(&producer, &counted, sent)?;
        Ok(OpenTransaction { producer, records })
    }

    /// Oldest and next offset of a partition, open transactions included.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn watermarks(&self, topic: &str, partition: i32) -> Result<(i64, i64)> {
        let consumer: BaseConsumer = self.config().set("isolation.level", "read_uncommitted").create()?;
        Ok(consumer.fetch_watermarks(topic, partition, REQUEST_TIME)?)
    }

    /// Offset that a group has committed for a partition.
    ///
    /// # Errors
    /// When the node does not answer.
    pub fn group_offset(&self, group: &str, topic: &str, partition: i32) -> Result<Option<i64>> {
        let consumer: BaseConsumer = self.config().set("group.id", group).create()?;
        let mut list = TopicPartitionList::new();
        list.add_partition(topic, partition);
        let list = consumer.committed_offsets(list, Timeout::After(REQUEST_TIME))?;
        let found = list.find_partition(topic, partition).map(|element| element.offset());
        Ok(if let Some(Offset::Offset(offset)) = found { Some(offset) } else { None })
    }
}

/// A transaction that is neither committed nor aborted.
pub struct OpenTransaction {
    producer: BaseProducer<Counted>,
    /// Records in it.
    pub records: u64,
}

impl OpenTransaction {
    /// Commits it.
    ///
    /// # Errors
    /// When the node refuses it.
    pub fn commit(self) -> Result<()> {
        Ok(self.producer.commit_transaction(REQUEST_TIME)?)
    }
}

fn send(producer: &BaseProducer<Counted>, topic: &str, records: impl IntoIterator<Item = Sent>) -> Result<u64> {
    let mut sent = 0;
    for (partition, key, value) in records {
        loop {
            let mut record = BaseRecord::<[u8], [u8]>::to(topic);
            (record.partition, record.key, record.payload) = (partition, key.as_deref(), value.as_deref());
            match producer.send(record) {
                Ok(()) => break,
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), _)) => producer.poll(Duration::from_millis(10)),
                Err((error, _)) => return Err(error.into()),
            }
        }
        sent += 1;
        if sent % 1000 == 0 {
            producer.poll(Duration::ZERO);
        }
    }
    Ok(sent)
}

fn delivered(producer: &BaseProducer<Counted>, counted: &Counted, sent: u64) -> Result<u64> {
    let until = Instant::now() + DELIVERY_TIME;
    while counted.0.load(Ordering::Relaxed) + counted.1.load(Ordering::Relaxed) < sent {
        ensure!(Instant::now() < until, "records were not delivered within {} s", DELIVERY_TIME.as_secs());
        producer.poll(Duration::from_millis(1));
    }
    let failed = counted.1.load(Ordering::Relaxed);
    ensure!(failed == 0, "{failed} of {sent} records were not delivered");
    Ok(sent)
}
