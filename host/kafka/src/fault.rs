//! Decides what an error of the client means for the pipeline: fail, wait, or nothing. No I/O.

use rdkafka::error::RDKafkaErrorCode;
use sluicebox_core::port::SourceEvent;
use sluicebox_core::{Domain, Error};

use crate::properties::fragment;

/// A refusal must repeat before it fails a start: a broker that is just stopping breaks a handshake too.
const REFUSALS: u32 = 2;

/// What an error means.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Fault {
    /// The broker, or TLS, refuses us: an edit mends it.
    Refused(String),
    /// Nobody answers.
    Away,
    /// Says why a connection failed; alone it means nothing, for others may stand.
    Hint(String),
    /// Handled by the client itself.
    Nothing,
}

fn classify(code: RDKafkaErrorCode, reason: &str) -> Fault {
    use RDKafkaErrorCode as Code;
    let reason = fragment(reason);
    let look = |at: &str| Fault::Refused(format!("{reason}; look at {at}"));
    match code {
        Code::SSL if reason.contains("certificate verify failed") || reason.contains("verify") => {
            look("`ssl.ca.location`: it must hold the authority that signed the broker's certificate")
        }
        Code::SSL => look("`security.protocol` (does this port speak TLS?) and at the `ssl.` properties"),
        Code::SaslAuthenticationFailed => look("`sasl.username`, `sasl.password` and `sasl.mechanism`"),
        Code::UnsupportedSASLMechanism => look("`sasl.mechanism`: the broker offers others"),
        Code::IllegalSASLState => look("`security.protocol`: this port asks for no login"),
        Code::Authentication if reason.contains("current SASL state") => look("`security.protocol`: this port asks for no login"),
        Code::Authentication if reason.contains("mechanism handshake failed") => {
            look("`sasl.mechanism`: the broker offers others")
        }
        Code::Authentication => look("`sasl.username`, `sasl.password`, `sasl.mechanism` and `security.protocol`"),
        Code::TopicAuthorizationFailed => look("the permissions of this user: it needs Read and Describe on the topic"),
        Code::GroupAuthorizationFailed => look("the permissions of this user: it needs Read on the group, or another `group.id`"),
        Code::ClusterAuthorizationFailed => look("the permissions of this user: it needs Describe on the cluster"),
        Code::AllBrokersDown => Fault::Away,
        Code::BrokerTransportFailure if reason.contains("SSL handshake failed") => {
            look("`security.protocol`: does this port speak TLS?")
        }
        Code::BrokerTransportFailure if reason.contains("security.protocol") => {
            Fault::Hint(format!("{reason}; look at `security.protocol`: does this port want TLS or a login?"))
        }
        Code::BrokerTransportFailure | Code::Resolve | Code::OperationTimedOut => Fault::Hint(reason),
        _ => Fault::Nothing,
    }
}

/// Whether the source can reach its cluster and its topics, and what was said of it. Says `Waiting` once for each cause and `Resumed`
/// when none is left.
#[derive(Debug, Default)]
pub(crate) struct Health {
    servers: String,
    started: bool,
    refusals: u32,
    refused: Option<String>,
    hint: Option<String>,
    cluster: Option<String>,
    reading: Option<String>,
    missing: Option<String>,
    said: Option<(u8, String)>,
}

impl Health {
    /// Of a cluster found through `servers`.
    pub(crate) fn new(servers: &str) -> Self {
        Self { servers: servers.to_owned(), ..Self::default() }
    }

    /// An error of the client as a whole, or of a request to the cluster.
    pub(crate) fn error(&mut self, code: RDKafkaErrorCode, reason: &str) -> Option<SourceEvent> {
        match classify(code, reason) {
            Fault::Refused(words) => {
                self.refusals += 1;
                let words = format!("the brokers at {} refuse us: {words}", self.servers);
                if !self.started && self.refusals >= REFUSALS {
                    return Some(failed(words));
                }
                if self.started {
                    self.cluster = Some(words);
                } else {
                    self.refused = Some(words);
                }
            }
            // Decided when nothing answers for some time.
            Fault::Away if self.refused.is_some() => {}
            Fault::Away => {
                let hint = self.hint.as_deref().unwrap_or("nobody answers");
                self.cluster.get_or_insert_with(|| format!("no broker at {} can be reached: {hint}", self.servers));
            }
            Fault::Hint(words) => self.hint = Some(words),
            Fault::Nothing => return None,
        }
        self.say()
    }

    /// A request to the cluster got no answer in its time: a refusal before it was no accident. (The client tells a refusal once, and
    /// keeps repeats to itself.)
    pub(crate) fn unanswered(&mut self, words: &str) -> Option<SourceEvent> {
        if let Some(refused) = self.refused.take() {
            return Some(failed(refused));
        }
        self.hint.get_or_insert_with(|| fragment(words));
        self.error(RDKafkaErrorCode::AllBrokersDown, "")
    }

    /// The cluster answered.
    pub(crate) fn answered(&mut self) -> Option<SourceEvent> {
        (self.cluster, self.hint, self.refused, self.refusals) = (None, None, None, 0);
        self.say()
    }

    /// A partition cannot be read although the cluster answers.
    pub(crate) fn unreadable(&mut self, code: RDKafkaErrorCode, topic: &str, reason: &str) -> Option<SourceEvent> {
        let words = match classify(code, reason) {
            Fault::Refused(words) | Fault::Hint(words) => words,
            Fault::Away | Fault::Nothing => fragment(reason),
        };
        let words = format!("topic {topic} cannot be read: {words}");
        if !self.started {
            return Some(failed(words));
        }
        self.reading = Some(words);
        self.say()
    }

    /// Something was read.
    pub(crate) fn read(&mut self) -> Option<SourceEvent> {
        if self.started && self.reading.is_none() {
            return None;
        }
        (self.started, self.reading) = (true, None);
        self.say()
    }

    /// Topics that the cluster does not have, of those asked for.
    pub(crate) fn missing(&mut self, topics: &[&str]) -> Option<SourceEvent> {
        self.missing = match topics {
            [] => None,
            [topic] => {
                Some(format!("topic {topic} does not exist: create it, or correct `from`; reading begins when it appears"))
            }
            more => Some(format!(
                "topics {} do not exist: create them, or correct `from`; reading begins when they appear",
                more.join(", ")
            )),
        };
        self.say()
    }

    /// The event for what has changed since the last one.
    fn say(&mut self) -> Option<SourceEvent> {
        let causes = [&self.cluster, &self.reading, &self.missing];
        let cause = causes.into_iter().zip(0u8..).find_map(|(words, kind)| words.clone().map(|words| (kind, words)));
        // The first words of a cause stand: an outage is said once, however it goes on.
        let same = |said: &(u8, String), now: &(u8, String)| said.0 == now.0 && (now.0 == 0 || said.1 == now.1);
        match (&self.said, cause) {
            (None, None) => None,
            (Some(_), None) => {
                self.said = None;
                Some(SourceEvent::Resumed)
            }
            (Some(said), Some(now)) if same(said, &now) => None,
            (_, Some(now)) => {
                let event = SourceEvent::Waiting(Error::backoff(Domain::Broker, now.1.clone()));
                self.said = Some(now);
                Some(event)
            }
        }
    }
}

fn failed(words: String) -> SourceEvent {
    SourceEvent::Failed(Error::fatal(Domain::Broker, words))
}

#[cfg(test)]
mod tests {
    use super::*;
    use RDKafkaErrorCode as Code;

    fn words(event: Option<SourceEvent>) -> String {
        match event {
            None => "-".into(),
            Some(SourceEvent::Waiting(error)) => format!("waiting: {error}"),
            Some(SourceEvent::Failed(error)) => format!("failed: {error}"),
            Some(other) => format!("{other:?}").to_lowercase(),
        }
    }

    #[test]
    fn an_outage_is_said_once_and_its_end_too() {
        let mut health = Health::new("b:9092");
        assert_eq!(words(health.error(Code::BrokerTransportFailure, "connect refused")), "-");
        let said = words(health.error(Code::AllBrokersDown, "1/1 brokers are down"));
        assert_eq!(said, "waiting: no broker at b:9092 can be reached: connect refused");
        assert_eq!(words(health.error(Code::BrokerTransportFailure, "other words")), "-");
        assert_eq!(words(health.error(Code::AllBrokersDown, "")), "-");
        assert_eq!(words(health.unanswered("timed out")), "-");
        assert_eq!(words(health.answered()), "resumed");
        assert_eq!(words(health.answered()), "-");
    }

    #[test]
    fn b076_a_refusal_fails_a_start_and_names_the_property() {
        for (code, reason, property) in [
            (Code::SSL, "certificate verify failed: unable to get local issuer", "`ssl.ca.location`"),
            (Code::SSL, "SSL handshake failed: Disconnected", "`security.protocol`"),
            (
                Code::BrokerTransportFailure,
                "SSL handshake failed: Disconnected: connecting to a PLAINTEXT listener?",
                "`security.protocol`",
            ),
            (
                Code::Authentication,
                "SASL PLAIN mechanism handshake failed: Broker: Request not valid in current SASL state",
                "`security.protocol`: this port asks for no login",
            ),
            (
                Code::Authentication,
                "Authentication failed due to invalid credentials with SASL mechanism SCRAM-SHA-256",
                "`sasl.password`",
            ),
            (Code::Authentication, "SASL X mechanism handshake failed: Broker: Unsupported SASL mechanism", "`sasl.mechanism`"),
        ] {
            let mut health = Health::new("b:1");
            assert_eq!(words(health.error(code, reason)), "-", "a single one may be a broker that stops");
            let failed = words(health.error(code, reason));
            assert!(failed.starts_with("failed: the brokers at b:1 refuse us: ") && failed.contains(property), "{failed}");
        }
    }

    #[test]
    fn a_refusal_that_is_told_once_fails_when_nothing_answers_after_it() {
        let mut health = Health::new("b:1");
        assert_eq!(words(health.error(Code::SSL, "SSL handshake failed: Disconnected")), "-");
        assert_eq!(words(health.error(Code::AllBrokersDown, "1/1 brokers are down")), "-");
        assert!(words(health.unanswered("timed out")).starts_with("failed: the brokers at b:1 refuse us: SSL handshake failed"));
        assert_eq!(words(health.error(Code::SSL, "SSL handshake failed: Disconnected")).split(':').next(), Some("failed"));

        let mut accident = Health::new("b:1");
        accident.error(Code::SSL, "SSL handshake failed: Disconnected");
        assert_eq!(words(accident.answered()), "-");
        assert!(words(accident.unanswered("timed out")).starts_with("waiting: no broker at b:1"), "it answered in between");
    }

    #[test]
    fn a_refusal_later_waits() {
        let mut health = Health::new("b:1");
        health.read();
        let said = words(health.error(Code::Authentication, "SASL authentication error"));
        assert!(said.starts_with("waiting: the brokers at b:1 refuse us"), "{said}");
        assert_eq!(words(health.answered()), "resumed");
    }

    #[test]
    fn b060_missing_topics_are_named_and_an_outage_goes_before() {
        let mut health = Health::new("b:1");
        assert!(words(health.missing(&["a"])).contains("topic a does not exist"));
        assert_eq!(words(health.missing(&["a"])), "-");
        assert!(words(health.missing(&["a", "c"])).contains("topics a, c do not exist"));
        assert!(words(health.error(Code::AllBrokersDown, "")).contains("nobody answers"));
        assert!(words(health.answered()).contains("topics a, c do not exist"));
        assert_eq!(words(health.missing(&[])), "resumed");
    }

    #[test]
    fn what_may_not_be_read_fails_a_start_and_waits_later() {
        let mut health = Health::new("b:1");
        assert!(
            words(health.unreadable(Code::TopicAuthorizationFailed, "t", "no")).starts_with("failed: topic t cannot be read")
        );
        health.read();
        assert!(
            words(health.unreadable(Code::TopicAuthorizationFailed, "t", "no")).starts_with("waiting: topic t cannot be read")
        );
        assert_eq!(words(health.answered()), "-", "the cluster answers, the topic is still closed");
        assert_eq!(words(health.read()), "resumed");
    }
}
