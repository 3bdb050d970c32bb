//! Fills topics: for demos, tests, benches and the embedded broker. Every record is counted until the broker has it, or is an error.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::message::{DeliveryResult, Header, OwnedHeaders};
use rdkafka::producer::{BaseProducer, BaseRecord, Producer as _, ProducerContext};
use sluicebox_core::secret::Secret;
use sluicebox_core::{Domain, Error, Result};

/// Records sent between two looks at delivery reports.
const POLL_EVERY: u64 = 1000;
/// The longest time without a single delivery before a flush gives up.
const STALL: Duration = Duration::from_secs(30);

/// A record to produce.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Message {
    /// The key.
    pub key: Option<Vec<u8>>,
    /// The value; `None` is a tombstone.
    pub value: Option<Vec<u8>>,
    /// Headers, in order; names may repeat, values may be null.
    pub headers: Vec<(String, Option<Vec<u8>>)>,
    /// Milliseconds since 1970 UTC; `None` takes the time of producing.
    pub timestamp: Option<i64>,
}

impl Message {
    /// A record with a value only.
    pub fn of(value: impl Into<Vec<u8>>) -> Self {
        Self { value: Some(value.into()), ..Self::default() }
    }

    /// The same record with a key.
    #[must_use]
    pub fn with_key(mut self, key: impl Into<Vec<u8>>) -> Self {
        self.key = Some(key.into());
        self
    }

    /// Bytes of key, value and headers.
    pub fn bytes(&self) -> usize {
        let headers = self.headers.iter().map(|(name, value)| name.len() + value.as_ref().map_or(0, Vec::len));
        self.key.as_ref().map_or(0, Vec::len) + self.value.as_ref().map_or(0, Vec::len) + headers.sum::<usize>()
    }
}

#[derive(Debug, Default)]
struct Reports {
    delivered: AtomicU64,
    failed: AtomicU64,
    first: Mutex<Option<String>>,
}

#[derive(Debug, Clone, Default)]
struct Counting(Arc<Reports>);

impl ClientContext for Counting {
    fn log(&self, _: RDKafkaLogLevel, facility: &str, line: &str) {
        tracing::debug!(target: "librdkafka", "{facility}: {line}");
    }

    fn error(&self, error: KafkaError, reason: &str) {
        tracing::debug!(target: "librdkafka", "{error}: {reason}");
    }
}

impl ProducerContext for Counting {
    type DeliveryOpaque = ();

    fn delivery(&self, result: &DeliveryResult<'_>, (): ()) {
        match result {
            Ok(_) => _ = self.0.delivered.fetch_add(1, Ordering::Relaxed),
            Err((error, _)) => {
                self.0.failed.fetch_add(1, Ordering::Relaxed);
                self.0.first.lock().unwrap_or_else(PoisonError::into_inner).get_or_insert_with(|| error.to_string());
            }
        }
    }
}

/// Produces and counts. Nothing is thrown away: what is not delivered is an error of [`Producer::flush`].
pub struct Producer {
    producer: BaseProducer<Counting>,
    reports: Arc<Reports>,
    sent: u64,
}

impl Producer {
    /// Connects.
    ///
    /// # Errors
    /// Properties that librdkafka refuses.
    pub fn new(properties: &[(String, Secret)]) -> Result<Self> {
        let mut config = ClientConfig::new();
        config
            .set("client.id", "sluicebox")
            .set("linger.ms", "5")
            .set("batch.num.messages", "10000")
            .set("queue.buffering.max.messages", "200000")
            .set_log_level(RDKafkaLogLevel::Info);
        for (name, value) in properties {
            config.set(name, value.expose());
        }
        let context = Counting::default();
        let reports = context.0.clone();
        let producer = config
            .create_with_context(context)
            .map_err(|error| Error::config(format!("the Kafka producer refuses its properties: {}", kind(&error))))?;
        Ok(Self { producer, reports, sent: 0 })
    }

    /// Sends a record to a partition, or to that of its key. Waits while the client's queue is full.
    ///
    /// # Errors
    /// A record that the client refuses.
    pub fn send(&mut self, topic: &str, partition: Option<i32>, message: &Message) -> Result<()> {
        let mut record = BaseRecord::<[u8], [u8]>::to(topic);
        record.partition = partition;
        record.key = message.key.as_deref();
        record.payload = message.value.as_deref();
        record.timestamp = message.timestamp;
        if !message.headers.is_empty() {
            let add = |headers: OwnedHeaders, (name, value): &(String, Option<Vec<u8>>)| {
                headers.insert(Header { key: name, value: value.as_ref() })
            };
            record.headers = Some(message.headers.iter().fold(OwnedHeaders::new(), add));
        }
        let mut waiting = Some(record);
        while let Some(record) = waiting.take() {
            match self.producer.send(record) {
                Ok(()) => {}
                Err((KafkaError::MessageProduction(RDKafkaErrorCode::QueueFull), record)) => {
                    self.producer.poll(Duration::from_millis(10));
                    waiting = Some(record);
                }
                Err((error, _)) => return Err(Error::fatal(Domain::Broker, format!("topic {topic}: {error}"))),
            }
        }
        self.sent += 1;
        if self.sent.is_multiple_of(POLL_EVERY) {
            self.producer.poll(Duration::ZERO);
        }
        Ok(())
    }

    /// Waits until every record sent is delivered. Returns how many were, ever.
    ///
    /// # Errors
    /// Records that the broker refused, or no delivery for half a minute.
    pub fn flush(&mut self) -> Result<u64> {
        let (mut last, mut since) = (0, Instant::now());
        loop {
            let (delivered, failed) =
                (self.reports.delivered.load(Ordering::Relaxed), self.reports.failed.load(Ordering::Relaxed));
            if failed > 0 {
                let first = self.reports.first.lock().unwrap_or_else(PoisonError::into_inner).clone().unwrap_or_default();
                return Err(Error::fatal(
                    Domain::Broker,
                    format!("{failed} of {} records were not delivered: {first}", self.sent),
                ));
            }
            if delivered >= self.sent {
                return Ok(delivered);
            }
            if delivered != last {
                (last, since) = (delivered, Instant::now());
            }
            if since.elapsed() > STALL {
                let words =
                    format!("{delivered} of {} records were delivered, none in the last {} s", self.sent, STALL.as_secs());
                return Err(Error::backoff(Domain::Broker, words));
            }
            self.producer.poll(Duration::from_millis(1));
        }
    }

    /// Records in the client's queue.
    pub fn in_flight(&self) -> usize {
        usize::try_from(self.producer.in_flight_count()).unwrap_or(0)
    }
}

/// What kind of error it is, without values of properties.
fn kind(error: &KafkaError) -> String {
    match error {
        KafkaError::ClientConfig(_, _, name, _) => format!("`{name}`"),
        KafkaError::ClientCreation(_) => "they do not fit together".to_owned(),
        other => other.to_string(),
    }
}
