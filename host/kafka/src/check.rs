//! Whether a cluster can be reached, for `sluicebox check`.

use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer;
use rdkafka::error::RDKafkaErrorCode;
use sluicebox_core::port::SourceEvent;
use sluicebox_core::secret::Secret;
use sluicebox_core::{Domain, Error, Result};

use crate::context::Context;
use crate::fault::Health;
use crate::properties;

/// Errors of the client are looked at this often while an answer is awaited.
const SLICE: Duration = Duration::from_millis(250);

/// A cluster that answered.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Cluster {
    /// Its id.
    pub id: String,
    /// How many brokers it has.
    pub brokers: usize,
    /// Topics that this user may see, without those of Kafka itself.
    pub topics: Vec<String>,
}

/// Reaches the cluster, within `timeout` and little more.
///
/// # Errors
/// Properties that librdkafka refuses; a login, permission or TLS that the broker refuses, with the property to look at; nobody who
/// answers in time.
pub fn check(properties: &[(String, Secret)], timeout: Duration) -> Result<Cluster> {
    let config = properties::client(properties, "sluicebox-check", 0);
    let client = properties::connect(&config, Context::new(properties))?;
    let servers = properties::value(properties, "bootstrap.servers").unwrap_or("(no servers)");
    let mut health = Health::new(servers);
    let until = Instant::now() + timeout;
    let mut last = format!("no broker at {servers} answered within {} s", timeout.as_secs_f32());
    while Instant::now() < until {
        let failure = match client.fetch_metadata(None, SLICE) {
            Ok(metadata) => {
                let names = metadata.topics().iter().map(|topic| topic.name().to_owned());
                let topics = names.filter(|name| !name.starts_with("__")).collect();
                let id = client.client().fetch_cluster_id(timeout).unwrap_or_default();
                return Ok(Cluster { id, brokers: metadata.brokers().len(), topics });
            }
            Err(error) => error,
        };
        // The client delivers its errors and log lines one by one.
        for _ in 0..64 {
            drop(client.poll(Duration::ZERO));
        }
        let code = failure.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail);
        let mut errors: Vec<_> = client.context().errors().into_iter().map(|error| (error.code, error.reason)).collect();
        errors.push((code, failure.to_string()));
        for (code, reason) in errors {
            match health.error(code, &reason) {
                Some(SourceEvent::Failed(error)) => return Err(error),
                Some(SourceEvent::Waiting(error)) => last = error.message,
                _ => {}
            }
        }
    }
    match health.unanswered(&last) {
        Some(SourceEvent::Failed(error)) => Err(error),
        _ => Err(Error::backoff(Domain::Broker, last)),
    }
}
