//! Client properties: librdkafka's names pass through, ours are refused, others' are answered with the name to use.
//!
//! `bootstrapServers` and the like, in camel case, are taken for the dotted names. No message quotes a value.

use crate::document::Property;
use crate::error::Problems;
use crate::librdkafka::{PROPERTIES, Reader, reader};
use crate::nearest::did_you_mean;
use crate::paths::Paths;
use sluicebox_core::secret::Secret;

/// What `bootstrapServers` says for the broker inside the process.
pub(crate) const EMBEDDED: &str = "embedded";
/// Of librdkafka; `metadata.broker.list` is the same.
pub(crate) const BOOTSTRAP: &str = "bootstrap.servers";

/// Properties that the protocol needs, and what to do instead of setting them.
const OURS: [(&str, &str); 9] = [
    ("group.id", "write `group` in the pipeline"),
    ("enable.auto.commit", "leave it out: positions are committed with the rows"),
    ("enable.auto.offset.store", "leave it out: positions are committed with the rows"),
    (
        "auto.offset.reset",
        "write `start` (while no position is stored) and `on_offset_out_of_range` (when one is gone) in the pipeline",
    ),
    ("isolation.level", "leave it out: it is always read_committed"),
    ("transactional.id", "leave it out: it is made from the store and the pipeline"),
    ("enable.idempotence", "leave it out: it is on wherever a topic is written"),
    ("enable.partition.eof", "leave it out: the end of a run is found by it"),
    ("group.instance.id", "leave it out: the pipeline does not join the group"),
];

/// Names of Java, Spark and others in lower case, and what to write.
const FOREIGN: [(&str, &str); 34] = [
    ("max.poll.records", "write `batch: { rows: N }` in the pipeline"),
    ("key.deserializer", "leave it out: keys are bytes"),
    ("value.deserializer", "write `format` in the pipeline"),
    ("key.serializer", "leave it out: keys are bytes"),
    ("value.serializer", "write `format`"),
    ("sasl.jaas.config", "write `sasl.username` and `sasl.password`"),
    ("sasl.client.callback.handler.class", "leave it out: PLAIN and SCRAM need no class"),
    ("ssl.truststore.location", "write `ssl.ca.location`, a PEM file (`keytool -exportcert -rfc` makes one)"),
    ("ssl.truststore.password", "leave it out: `ssl.ca.location` is a PEM file without password"),
    ("ssl.truststore.type", "leave it out: `ssl.ca.location` is a PEM file"),
    ("ssl.truststore.certificates", "write `ssl.ca.pem`"),
    ("ssl.keystore.type", "leave it out: `ssl.keystore.location` is a PKCS#12 file"),
    ("ssl.keystore.certificate.chain", "write `ssl.certificate.pem`"),
    ("ssl.keystore.key", "write `ssl.key.pem`"),
    ("fetch.max.wait.ms", "write `fetch.wait.max.ms`"),
    ("default.api.timeout.ms", "write `socket.timeout.ms`"),
    ("receive.buffer.bytes", "write `socket.receive.buffer.bytes`"),
    ("send.buffer.bytes", "write `socket.send.buffer.bytes`"),
    ("startingoffsets", "write `start` in the pipeline"),
    ("startingtimestamp", "write `start: TIME` in the pipeline"),
    ("endingoffsets", "write `trigger: once` in the pipeline: it reads all there is at start"),
    ("maxoffsetspertrigger", "write `batch: { rows: N }` in the pipeline"),
    ("failondataloss", "write `on_offset_out_of_range: fail`, or earliest, in the pipeline"),
    ("subscribe", "write `from: kafka:TOPIC` in the pipeline"),
    ("subscribepattern", "write `from: kafka:[TOPIC, TOPIC]` in the pipeline: topics are named"),
    ("assign", "write `from: kafka:TOPIC` in the pipeline: it reads all partitions"),
    ("groupidprefix", "write `group` in the pipeline"),
    ("includeheaders", "leave it out: SQL has `_kafka_headers`"),
    ("minpartitions", "leave it out"),
    ("kafka_consumer_group_id", "write `group` in the pipeline"),
    ("kafka_ssl_endpoint_identification_algorithm", "write `ssl.endpoint.identification.algorithm`"),
    ("kafka_enable_ssl_certificate_verification", "write `enable.ssl.certificate.verification`"),
    ("batch_max_size", "write `batch: { rows: N }` in the pipeline"),
    ("batch_max_duration", "write `batch: { time: 1s }` in the pipeline"),
];

/// Options of a later version.
const LATER: [&str; 5] =
    ["schemaRegistryUrl", "schema.registry.url", "schemaregistryurl", "schema_infer_max_records", "flatten_json"];

/// Values that are paths of files.
const PATHS: [&str; 11] = [
    "https.ca.location",
    "offset.store.path",
    "sasl.kerberos.keytab",
    "sasl.oauthbearer.assertion.file",
    "sasl.oauthbearer.assertion.jwt.template.file",
    "sasl.oauthbearer.assertion.private.key.file",
    "ssl.ca.location",
    "ssl.certificate.location",
    "ssl.crl.location",
    "ssl.key.location",
    "ssl.keystore.location",
];

/// Properties that run a program or load native code: the operator's alone.
const PROGRAMS: [&str; 4] = ["plugin.library.paths", "sasl.kerberos.kinit.cmd", "ssl.engine.location", "ssl.providers"];

/// The words that librdkafka takes for a place that is no path.
const PROBE: &str = "probe";

const PROTOCOLS: [&str; 4] = ["plaintext", "ssl", "sasl_plaintext", "sasl_ssl"];
const MECHANISMS: [&str; 3] = ["PLAIN", "SCRAM-SHA-256", "SCRAM-SHA-512"];

/// A property under librdkafka's name.
pub(crate) type Checked = (String, Secret);

/// Checks the properties of a connection or (`pipeline`) of a pipeline.
pub(crate) fn check(written: &[Property], pipeline: bool, paths: &Paths, problems: &mut Problems) -> Vec<Checked> {
    let mut checked: Vec<(Checked, usize)> = Vec::new();
    for property in written {
        let name = match known_name(&property.name) {
            Ok(name) => name,
            Err(message) => {
                problems.error(property.mark, message);
                continue;
            }
        };
        if pipeline && name == BOOTSTRAP {
            problems
                .error(property.mark, "the brokers are the connection's; write another connection and name it in `connection`");
        }
        if let Some((_, first)) = checked.iter().find(|((other, _), _)| *other == name) {
            let message = format!("`{}` sets `{name}` again; line {first} has it first; keep one", property.name);
            problems.error(property.mark, message);
            continue;
        }
        if reader(&name) == Some(Reader::Producer) {
            problems.warn(property.mark, format!("only producers read `{name}`: it has no effect on what a pipeline reads"));
        }
        if let Some(value) = value(&name, property, paths, problems) {
            checked.push(((name, value), property.mark.line));
        }
    }
    checked.into_iter().map(|(property, _)| property).collect()
}

/// Rules between the properties of a whole connection.
pub(crate) fn check_login(written: &[Property], checked: &[Checked], mark: crate::error::Mark, problems: &mut Problems) {
    let find = |name: &str| checked.iter().find(|(other, _)| other == name).map(|(_, value)| value.expose());
    if find(BOOTSTRAP).is_none() && !written.iter().any(|property| known_name(&property.name).as_deref() == Ok(BOOTSTRAP)) {
        let message = "connection without `bootstrapServers`; expected HOST:PORT, several with commas, or `embedded`";
        problems.error(mark, message);
    }
    let protocol = find("security.protocol").unwrap_or("plaintext").to_ascii_lowercase();
    if !protocol.starts_with("sasl_") {
        if find("sasl.username").is_some() || find("sasl.password").is_some() {
            problems.warn(mark, "`sasl.username` and `sasl.password` have no effect without `security.protocol: sasl_ssl`");
        }
        return;
    }
    let wanted = [
        ("sasl.mechanism", "PLAIN, SCRAM-SHA-256 or SCRAM-SHA-512"),
        ("sasl.username", "a name"),
        ("sasl.password", "`${env:NAME}`"),
    ];
    for (name, expected) in wanted {
        let written = written.iter().any(|property| known_name(&property.name).as_deref() == Ok(name));
        if !written {
            problems.error(mark, format!("`security.protocol: {protocol}` without `{name}`; expected {expected}"));
        }
    }
}

/// librdkafka's name for what was written, or words.
fn known_name(written: &str) -> Result<String, String> {
    let lower = written.to_ascii_lowercase();
    if LATER.iter().any(|later| later.eq_ignore_ascii_case(written)) {
        return Err(format!("`{written}` is not in this version"));
    }
    let dotted = dotted(written);
    for (table, what) in [(&OURS[..], "is set by Sluicebox"), (&FOREIGN[..], "is no property of librdkafka")] {
        if let Some((_, advice)) = table.iter().find(|(name, _)| *name == lower || *name == dotted) {
            return Err(format!("`{written}` {what}; {advice}"));
        }
    }
    let name = match dotted.as_str() {
        "metadata.broker.list" => BOOTSTRAP,
        "sasl.mechanisms" => "sasl.mechanism",
        name => name,
    };
    match reader(name) {
        Some(Reader::Api) => Err(format!("`{written}` is set by a call of the library, not by text; leave it out")),
        Some(_) => Ok(name.to_owned()),
        None => Err(unknown(written, &lower)),
    }
}

fn unknown(written: &str, lower: &str) -> String {
    for prefix in ["kafka.", "kafka_"] {
        let Some(stripped) = lower.strip_prefix(prefix) else { continue };
        let inner = dotted(stripped).replace('_', ".");
        return match known_name(&inner) {
            Ok(name) => format!("`{written}` has a prefix that is not ours; write `{name}`"),
            Err(message) => format!("`{written}` has a prefix that is not ours: {message}"),
        };
    }
    let names = PROPERTIES.iter().filter(|(_, reader)| *reader != Reader::Api).map(|(name, _)| *name);
    let hint = did_you_mean(written, names);
    format!("unknown property `{written}`; expected `bootstrapServers` or a property of librdkafka{hint}")
}

/// `bootstrapServers` is `bootstrap.servers`.
fn dotted(written: &str) -> String {
    let mut dotted = String::with_capacity(written.len() + 2);
    for c in written.chars() {
        if c.is_ascii_uppercase() && !dotted.is_empty() && !written.contains('.') {
            dotted.push('.');
        }
        dotted.push(c.to_ascii_lowercase());
    }
    // Names are lower case but for the camel-case forms; other capitals stay wrong.
    if written.contains('.') { written.to_owned() } else { dotted }
}

fn value(name: &str, property: &Property, paths: &Paths, problems: &mut Problems) -> Option<Secret> {
    let text = property.value.expose();
    let words = |known: &[&str]| known.iter().any(|word| word.eq_ignore_ascii_case(text));
    let message = match name {
        "security.protocol" if !words(&PROTOCOLS) => format!("`{}`: expected one of {}", property.name, PROTOCOLS.join(", ")),
        "sasl.mechanism" if !words(&MECHANISMS) => format!("`{}`: expected one of {}", property.name, MECHANISMS.join(", ")),
        BOOTSTRAP if text.trim().is_empty() => format!("`{}` is empty; expected HOST:PORT", property.name),
        _ if PROGRAMS.contains(&name) && !paths.trusted() => {
            format!("`{name}` names a program, which only the operator's file may do; leave it out")
        }
        _ if PATHS.contains(&name) && text != PROBE => match paths.resolve(text) {
            Ok(path) => return Some(Secret::new(path.to_string_lossy())),
            Err(message) => format!("`{}`: {message}", property.name),
        },
        "sasl.mechanism" => return Some(Secret::new(text.to_ascii_uppercase())),
        "security.protocol" => return Some(Secret::new(text.to_ascii_lowercase())),
        _ => return Some(property.value.clone()),
    };
    problems.error(property.value_mark, message);
    None
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_are_ours_theirs_or_near() {
        for (written, name) in [
            ("bootstrapServers", "bootstrap.servers"),
            ("metadata.broker.list", "bootstrap.servers"),
            ("securityProtocol", "security.protocol"),
            ("sslCaLocation", "ssl.ca.location"),
            ("sasl.mechanisms", "sasl.mechanism"),
            ("fetch.min.bytes", "fetch.min.bytes"),
            ("debug", "debug"),
        ] {
            assert_eq!(known_name(written), Ok(name.to_owned()), "{written}");
        }
        for (written, part) in [
            ("group.id", "write `group`"),
            ("groupId", "write `group`"),
            ("auto.offset.reset", "write `start`"),
            ("max.poll.records", "batch: { rows: N }"),
            ("maxOffsetsPerTrigger", "batch: { rows: N }"),
            ("startingOffsets", "write `start`"),
            ("failOnDataLoss", "on_offset_out_of_range"),
            ("sasl.jaas.config", "`sasl.username` and `sasl.password`"),
            ("kafka.fetch.min.bytes", "write `fetch.min.bytes`"),
            ("kafka.group.id", "write `group`"),
            ("kafka_sasl_username", "write `sasl.username`"),
            ("kafka_bootstrap_servers", "write `bootstrap.servers`"),
            ("fetch.min.byte", "did you mean `fetch.min.bytes`?"),
            ("Fetch.Min.Bytes", "did you mean `fetch.min.bytes`?"),
            ("rebalance_cb", "call of the library"),
            ("schemaRegistryUrl", "not in this version"),
        ] {
            let message = known_name(written).unwrap_err();
            assert!(message.contains(part), "{written}: {message}");
        }
    }

    #[test]
    fn the_list_of_names_is_in_order_and_the_tables_name_real_ones() {
        assert!(PROPERTIES.is_sorted_by(|a, b| a.0 < b.0));
        assert!(PROPERTIES.len() > 150);
        for name in OURS.map(|(name, _)| name).into_iter().chain(PATHS).chain(PROGRAMS) {
            assert!(reader(name).is_some(), "{name}");
        }
        for (name, _) in FOREIGN {
            assert!(reader(name).is_none(), "{name} is one of librdkafka's");
        }
    }
}
