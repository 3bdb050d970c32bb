//! Client properties: what a user may give, what is ours, and the defaults.

use rdkafka::config::{ClientConfig, RDKafkaLogLevel};
use rdkafka::consumer::BaseConsumer;
use rdkafka::error::KafkaError;
use rdkafka::types::RDKafkaConfRes;
use sluicebox_core::secret::Secret;
use sluicebox_core::{Error, Result};

use crate::context::Context;

const MIB: usize = 1024 * 1024;
/// The default of `message.max.bytes`: a fetch may not be smaller.
const MESSAGE_BYTES_MAX: usize = 1_000_000;

/// Whether the value of a property must never be shown.
pub(crate) fn is_secret(name: &str) -> bool {
    let name = name.to_ascii_lowercase();
    ["password", "secret", "token", ".pem", "jaas", "private", "assertion"].iter().any(|word| name.contains(word))
        || name == "sasl.oauthbearer.config"
}

/// The value of a property that the user gave; the last one counts.
pub(crate) fn value<'a>(properties: &'a [(String, Secret)], name: &str) -> Option<&'a str> {
    properties.iter().rev().find(|(key, _)| key == name).map(|(_, value)| value.expose())
}

/// How much librdkafka may hold for a source with this budget: a quarter of it waits in the client's one queue
/// (`queued.max.messages.kbytes`, 1 to 64 MiB), and a fetch brings at most an eighth (`fetch.max.bytes`, 1 MB to 16 MiB, never under
/// `message.max.bytes`). Together with the batches under the budget a source takes `budget + budget/4 + budget/8 × brokers` bytes
/// and the batch that is being filled. Returned: kilobytes of the queue, bytes of a fetch.
pub(crate) fn shares(budget: usize, message_bytes_max: usize) -> (usize, usize) {
    let queue = (budget / 4).clamp(MIB, 64 * MIB) / 1024;
    let fetch = (budget / 8).clamp(MESSAGE_BYTES_MAX, 16 * MIB).max(message_bytes_max);
    (queue, fetch)
}

/// A client: defaults, then what the user gave, then what is ours.
pub(crate) fn client(properties: &[(String, Secret)], group: &str, budget: usize) -> ClientConfig {
    let message_bytes_max = value(properties, "message.max.bytes").and_then(|v| v.parse().ok()).unwrap_or(MESSAGE_BYTES_MAX);
    let (queue, fetch) = shares(budget, message_bytes_max);
    let mut config = ClientConfig::new();
    config
        .set("client.id", "sluicebox")
        // The default of a second starves a fast reader each time the queue was full.
        .set("fetch.queue.backoff.ms", "5")
        // A broker that has nothing answers at the latest then; Kafka itself answers at once when something comes.
        .set("fetch.wait.max.ms", "100")
        // A broker that comes back is found within two seconds.
        .set("reconnect.backoff.max.ms", "2000")
        .set("queued.min.messages", "100000")
        .set("queued.max.messages.kbytes", queue.to_string())
        .set("fetch.max.bytes", fetch.to_string());
    for (name, value) in properties {
        config.set(name, value.expose());
    }
    config
        .set("group.id", group)
        .set("enable.auto.commit", "false")
        .set("enable.auto.offset.store", "false")
        .set("auto.offset.reset", "error")
        .set("isolation.level", "read_committed")
        .set("enable.partition.eof", "true")
        .set("allow.auto.create.topics", "false");
    // The client tells only its debug log when a topic gets another id; see `Context::take_changed`.
    let debug = value(properties, "debug").filter(|contexts| !contexts.is_empty());
    config.set("debug", debug.map_or("metadata".to_owned(), |contexts| format!("{contexts},metadata")));
    config.set_log_level(RDKafkaLogLevel::Debug);
    config
}

/// Makes the client.
pub(crate) fn connect(config: &ClientConfig, context: Context) -> Result<BaseConsumer<Context>> {
    config.create_with_context(context).map_err(|error| refused(&error, config))
}

/// Asks librdkafka whether each property is known, each value is allowed, and all of them fit together (files exist, a login is whole).
/// Nothing is connected.
///
/// # Errors
/// The first property that is refused, by name; the value of a secret is never in the message.
pub fn validate_properties(properties: &[(String, Secret)]) -> Result<()> {
    for (name, value) in properties {
        let mut one = ClientConfig::new();
        one.set(name, value.expose());
        one.create_native_config().map_err(|error| refused(&error, &one))?;
    }
    let mut config = client(properties, "check", 0);
    // Without a broker to look for, the client makes no connection.
    config.remove("bootstrap.servers").remove("metadata.broker.list").remove("debug");
    config.set_log_level(RDKafkaLogLevel::Error);
    connect(&config, Context::new(properties)).map(drop)
}

/// Name, version and built-in features (codecs, TLS, logins) of the client library, for the line that a start logs.
pub fn client_library() -> String {
    let native = ClientConfig::new().create_native_config();
    let features = native.and_then(|native| native.get("builtin.features")).unwrap_or_default();
    format!("librdkafka {} ({features})", rdkafka::util::get_rdkafka_version().1)
}

/// Words for a property that librdkafka refuses.
fn refused(error: &KafkaError, config: &ClientConfig) -> Error {
    match error {
        KafkaError::ClientConfig(RDKafkaConfRes::RD_KAFKA_CONF_UNKNOWN, _, name, _) => Error::config(format!(
            "`{name}` is no property of librdkafka {}; names are those of librdkafka's CONFIGURATION.md",
            rdkafka::util::get_rdkafka_version().1
        )),
        KafkaError::ClientConfig(_, _, name, _) if is_secret(name) => {
            Error::config(format!("the value of `{name}` is refused by the Kafka client"))
        }
        KafkaError::ClientConfig(_, words, name, _) => Error::config(format!("`{name}`: {}", fragment(words))),
        KafkaError::ClientCreation(words) => {
            let secrets = config.config_map().into_keys().filter(|name| is_secret(name));
            let shown = secrets.filter_map(|name| config.get(name)).filter(|value| !value.is_empty());
            let words = shown.fold(words.clone(), |words, secret| words.replace(secret, "***"));
            Error::config(format!("the Kafka client refuses its properties: {}", fragment(&words)))
        }
        other => Error::config(format!("the Kafka client cannot be made: {}", fragment(&other.to_string()))),
    }
}

/// A text of librdkafka as a fragment: one line, no full stop.
pub(crate) fn fragment(words: &str) -> String {
    words.trim().trim_end_matches('.').replace(['\n', '\r'], " ")
}

#[cfg(test)]
mod tests {
    use super::*;

    fn properties(list: &[(&str, &str)]) -> Vec<(String, Secret)> {
        list.iter().map(|(name, value)| ((*name).to_owned(), Secret::new(*value))).collect()
    }

    fn message(list: &[(&str, &str)]) -> String {
        validate_properties(&properties(list)).map_or_else(|error| error.message, |()| "fine".to_owned())
    }

    #[test]
    fn librdkafka_itself_says_what_is_known() {
        assert_eq!(message(&[("bootstrap.servers", "localhost:1"), ("fetch.wait.max.ms", "7")]), "fine");
        let unknown = message(&[("fetch.wait.max", "7")]);
        assert!(unknown.starts_with("`fetch.wait.max` is no property of librdkafka 2.12"), "{unknown}");
        let wrong = message(&[("security.protocol", "tls")]);
        assert!(wrong.starts_with("`security.protocol`: Invalid value"), "{wrong}");
        let range = message(&[("fetch.wait.max.ms", "-7")]);
        assert!(range.contains("`fetch.wait.max.ms`") && range.contains("-7"), "{range}");
    }

    #[test]
    fn b072_the_library_names_all_four_codecs_tls_and_logins() {
        let library = client_library();
        for feature in ["librdkafka 2.12", "gzip", "snappy", "lz4", "zstd", "ssl", "sasl_scram", "sasl_plain"] {
            assert!(library.contains(feature), "{feature}: {library}");
        }
    }

    #[test]
    fn properties_that_do_not_fit_together_are_found_without_a_broker() {
        let file = message(&[("security.protocol", "ssl"), ("ssl.ca.location", "/no/such/file.pem")]);
        assert!(file.contains("ssl.ca.location"), "{file}");
        let login = message(&[("security.protocol", "sasl_plaintext"), ("sasl.mechanism", "PLAIN")]);
        assert!(login.contains("sasl.username") || login.contains("sasl.password"), "{login}");
    }

    #[test]
    fn b173_a_refused_property_never_shows_a_secret() {
        for list in [
            &[("sasl.pasword", "hunter2")][..],
            &[("security.protocol", "ssl"), ("ssl.key.pem", "hunter2")],
            &[("security.protocol", "ssl"), ("ssl.key.password", "hunter2"), ("ssl.key.location", "/no/such")],
        ] {
            let message = message(list);
            assert!(message != "fine" && !message.contains("hunter2"), "{message}");
        }
    }

    #[test]
    fn b082_the_clients_share_of_the_budget() {
        assert_eq!(shares(64 * MIB, MESSAGE_BYTES_MAX), (16 * 1024, 8 * MIB));
        assert_eq!(shares(0, MESSAGE_BYTES_MAX), (1024, MESSAGE_BYTES_MAX));
        assert_eq!(shares(4096 * MIB, MESSAGE_BYTES_MAX), (64 * 1024, 16 * MIB));
        assert_eq!(shares(8 * MIB, 30 * MIB), (2 * 1024, 30 * MIB), "a record that the user allows must fit into a fetch");
    }

    #[test]
    fn what_is_ours_cannot_be_overridden_and_defaults_can() {
        let given = properties(&[("isolation.level", "read_uncommitted"), ("group.id", "theirs"), ("fetch.wait.max.ms", "9")]);
        let config = client(&given, "ours", 0);
        assert_eq!(config.get("isolation.level"), Some("read_committed"));
        assert_eq!(config.get("group.id"), Some("ours"));
        assert_eq!(config.get("auto.offset.reset"), Some("error"));
        assert_eq!(config.get("fetch.wait.max.ms"), Some("9"));
    }
}
