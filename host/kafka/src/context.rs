//! What librdkafka tells its application: errors are kept for the reader, log lines go to `tracing`, rate-limited and without secrets.

use std::collections::HashMap;
use std::mem;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use rdkafka::client::ClientContext;
use rdkafka::config::RDKafkaLogLevel;
use rdkafka::consumer::ConsumerContext;
use rdkafka::error::{KafkaError, KafkaResult, RDKafkaErrorCode};
use rdkafka::topic_partition_list::TopicPartitionList;
use sluicebox_core::secret::Secret;

use crate::properties::is_secret;

/// A facility of librdkafka writes at most one line in this time: a broker that is away for an hour must not fill a disk.
const LOG_INTERVAL: Duration = Duration::from_secs(10);
/// Errors kept until the reader looks; it looks many times a second, so more are repeats.
const ERRORS_MAX: usize = 256;

/// An error of the client as a whole.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct ClientError {
    /// What kind it is.
    pub(crate) code: RDKafkaErrorCode,
    /// Words of librdkafka.
    pub(crate) reason: String,
}

/// The application's side of one client.
#[derive(Debug, Default)]
pub(crate) struct Context {
    errors: Mutex<Vec<ClientError>>,
    facilities: Mutex<HashMap<String, (Instant, u64)>>,
    secrets: Vec<String>,
    changed: AtomicBool,
    committing: AtomicBool,
    commit_refused: AtomicBool,
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

impl Context {
    /// A context that keeps the secrets among `properties` out of every line.
    pub(crate) fn new(properties: &[(String, Secret)]) -> Self {
        let secret =
            |(name, value): &(String, Secret)| (is_secret(name) && !value.expose().is_empty()).then(|| value.expose().to_owned());
        Self { secrets: properties.iter().filter_map(secret).collect(), ..Self::default() }
    }

    /// Errors since the last call.
    pub(crate) fn errors(&self) -> Vec<ClientError> {
        mem::take(&mut lock(&self.errors))
    }

    /// Whether the client has taken another id for a topic since the last call. It goes on reading the new topic at the position in the
    /// old one, and tells that in its debug log only, before the first such record. (The first id that it learns counts too.)
    pub(crate) fn take_changed(&self) -> bool {
        self.changed.swap(false, Ordering::AcqRel)
    }

    /// Whether a commit may be sent now; the answer to it makes the next one possible.
    pub(crate) fn begin_commit(&self) -> bool {
        !self.committing.swap(true, Ordering::AcqRel)
    }

    /// Takes back [`Self::begin_commit`] when nothing was sent.
    pub(crate) fn abandon_commit(&self) {
        self.committing.store(false, Ordering::Release);
    }

    fn without_secrets(&self, line: &str) -> String {
        self.secrets.iter().fold(line.to_owned(), |line, secret| line.replace(secret.as_str(), "***"))
    }

    /// Whether the facility may write now, and how many of its lines were left out before.
    fn admit(&self, facility: &str, now: Instant) -> Option<u64> {
        let mut facilities = lock(&self.facilities);
        match facilities.get_mut(facility) {
            Some((last, left_out)) if now.duration_since(*last) < LOG_INTERVAL => {
                *left_out += 1;
                None
            }
            Some(entry) => Some(mem::replace(entry, (now, 0)).1),
            None => {
                facilities.insert(facility.to_owned(), (now, 0));
                Some(0)
            }
        }
    }
}

impl ClientContext for Context {
    fn log(&self, level: RDKafkaLogLevel, facility: &str, line: &str) {
        use RDKafkaLogLevel::{Alert, Critical, Debug, Emerg, Error, Info, Notice, Warning};
        if matches!(level, Debug) {
            if facility == "METADATA" && line.contains(" changed id from ") {
                self.changed.store(true, Ordering::Release);
            }
            tracing::trace!(target: "librdkafka", "{facility}: {}", self.without_secrets(line));
            return;
        }
        let Some(left_out) = self.admit(facility, Instant::now()) else { return };
        let line = self.without_secrets(line);
        // Lost connections and refused logins become events of the source, which say it once and in words of ours.
        let said_elsewhere = matches!(facility, "FAIL" | "ERROR" | "MAXPOLL" | "CONFWARN");
        match level {
            Emerg | Alert | Critical | Error | Warning if !said_elsewhere => {
                tracing::warn!(target: "librdkafka", left_out, "{facility}: {line}");
            }
            Notice | Info if !said_elsewhere => tracing::info!(target: "librdkafka", left_out, "{facility}: {line}"),
            _ => tracing::debug!(target: "librdkafka", left_out, "{facility}: {line}"),
        }
    }

    fn error(&self, error: KafkaError, reason: &str) {
        let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail);
        let mut errors = lock(&self.errors);
        if errors.len() < ERRORS_MAX {
            errors.push(ClientError { code, reason: self.without_secrets(reason) });
        }
    }
}

impl ConsumerContext for Context {
    fn commit_callback(&self, result: KafkaResult<()>, _offsets: &TopicPartitionList) {
        self.committing.store(false, Ordering::Release);
        match result {
            Ok(()) => self.commit_refused.store(false, Ordering::Release),
            Err(error) if !self.commit_refused.swap(true, Ordering::AcqRel) => {
                tracing::info!(
                    "the consumer group was not told our positions, so lag tools show old ones: {error} (a group with live members refuses it)"
                );
            }
            Err(_) => {}
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b173_a_secret_is_in_no_line() {
        let properties = [
            ("sasl.password".to_owned(), Secret::new("hunter2")),
            ("sasl.username".to_owned(), Secret::new("app")),
            ("ssl.key.password".to_owned(), Secret::new("")),
        ];
        let context = Context::new(&properties);
        assert_eq!(context.without_secrets("app logs in with hunter2, hunter2"), "app logs in with ***, ***");
        context.error(KafkaError::Global(RDKafkaErrorCode::Authentication), "refused hunter2");
        assert_eq!(context.errors()[0].reason, "refused ***");
        assert!(context.errors().is_empty());
    }

    #[test]
    fn a_facility_writes_once_in_ten_seconds_and_counts_the_rest() {
        let context = Context::default();
        let start = Instant::now();
        assert_eq!(context.admit("FAIL", start), Some(0));
        assert_eq!(context.admit("FAIL", start + Duration::from_secs(1)), None);
        assert_eq!(context.admit("FAIL", start + Duration::from_secs(9)), None);
        assert_eq!(context.admit("OTHER", start + Duration::from_secs(9)), Some(0));
        assert_eq!(context.admit("FAIL", start + Duration::from_secs(11)), Some(2));
    }
}
