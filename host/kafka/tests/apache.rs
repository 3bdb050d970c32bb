//! The source against Apache Kafka itself: what the embedded broker cannot show. One node serves all tests but the one that stops it.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::fmt::Debug;
use std::fmt::Write as _;
use std::sync::{Arc, Mutex, OnceLock};
use std::time::{Duration, Instant};

use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use sluicebox_core::budget::Budget;
use sluicebox_core::port::{BatchLimits, Source, SourceEvent, SourceSettings, Sources};
use sluicebox_core::position::{PartitionId, Positions};
use sluicebox_core::secret::Secret;
use sluicebox_core::start::{OutOfRange, Start};
use sluicebox_core::{Records, Retry};
use sluicebox_kafka::{KafkaSources, check};
use sluicebox_tests::kafka::{Kafka, Options, PASSWORD, Sent};

const PATIENCE: Duration = Duration::from_secs(30);

/// The node of all tests; it ends with this process.
fn kafka() -> &'static Kafka {
    static KAFKA: OnceLock<Kafka> = OnceLock::new();
    KAFKA.get_or_init(|| Kafka::start(Options { secure: true, ..Options::default() }).unwrap())
}

fn secrets(properties: Vec<(String, String)>) -> Vec<(String, Secret)> {
    properties.into_iter().map(|(name, value)| (name, Secret::new(value))).collect()
}

fn settings(kafka: &Kafka, topics: &[&str]) -> SourceSettings {
    SourceSettings {
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        group: format!("group-{}", topics[0]),
        properties: secrets(kafka.properties()),
        start: Start::Earliest,
        out_of_range: OutOfRange::Fail,
        batch: BatchLimits { rows: 10_000, bytes: 1 << 20, time: Duration::from_millis(200) },
        close_when_idle: false,
        stop_at_end: true,
        budget: Budget::new(64 << 20),
        positions: Positions::default(),
    }
}

fn continuous(kafka: &Kafka, topics: &[&str]) -> SourceSettings {
    SourceSettings { stop_at_end: false, close_when_idle: true, ..settings(kafka, topics) }
}

fn open_source(settings: SourceSettings) -> Box<dyn Source> {
    KafkaSources::new().open(settings).unwrap()
}

fn next(source: &mut dyn Source) -> SourceEvent {
    source.next(PATIENCE).expect("an event in time")
}

fn failure(source: &mut dyn Source) -> String {
    loop {
        match next(source) {
            SourceEvent::Failed(error) => return error.message,
            SourceEvent::Ended => panic!("it ended"),
            _ => {}
        }
    }
}

/// What was read, and where to go on.
#[derive(Debug, Default)]
struct Read {
    records: usize,
    positions: Positions,
}

impl Read {
    fn add(&mut self, records: &Records) {
        self.records += records.len();
        records.advances().iter().for_each(|advance| self.positions.apply(advance).unwrap());
    }

    /// Reads until there are so many records.
    fn until(&mut self, source: &mut dyn Source, records: usize) {
        while self.records < records {
            match next(source) {
                SourceEvent::Batch(batch) => self.add(&batch),
                SourceEvent::Failed(error) => panic!("{error}"),
                _ => {}
            }
        }
        assert_eq!(self.records, records);
    }
}

/// A whole run that ends.
fn once(settings: SourceSettings) -> Read {
    let mut read = Read { positions: settings.positions.clone(), ..Read::default() };
    let mut source = open_source(settings);
    loop {
        match next(&mut *source) {
            SourceEvent::Batch(records) => read.add(&records),
            SourceEvent::Ended => break,
            SourceEvent::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
    assert!(source.progress().caught_up);
    read
}

/// Records that take turns over so many partitions.
fn records(count: i32, partitions: i32) -> impl Iterator<Item = Sent> {
    (0..count).map(move |i| (Some(i % partitions), Some(i.to_string().into_bytes()), Some(vec![b'x'; 100])))
}

#[test]
fn it_consumes_everything_and_tells_the_group() {
    let kafka = kafka();
    kafka.create_topic("all", 3, &[]).unwrap();
    assert_eq!(kafka.produce("all", records(60_000, 3)).unwrap(), 60_000);
    let mut source = open_source(continuous(kafka, &["all"]));
    let mut read = Read::default();
    while read.records < 60_000 {
        if let SourceEvent::Batch(batch) = next(&mut *source) {
            read.add(&batch);
            source.committed(batch.advances());
        }
    }
    let until = Instant::now() + PATIENCE;
    while kafka.group_offset("group-all", "all", 2).unwrap() != Some(20_000) && Instant::now() < until {
        drop(source.next(Duration::from_millis(100)));
    }
    assert_eq!(kafka.group_offset("group-all", "all", 2).unwrap(), Some(20_000));
    source.stop();
    let group = SourceSettings { start: Start::Group, ..settings(kafka, &["all"]) };
    assert_eq!(once(group).records, 0, "the group stands at the end");
    // Far in the future: no record is that late.
    let late = SourceSettings { start: Start::Time(4_000_000_000_000), ..settings(kafka, &["all"]) };
    assert_eq!(once(late).records, 0);
    let early = SourceSettings { start: Start::Time(1_000_000_000_000), ..settings(kafka, &["all"]) };
    assert_eq!(once(early).records, 60_000);
}

#[test]
fn a_group_with_live_members_is_left_alone() {
    let kafka = kafka();
    kafka.create_topic("live", 1, &[]).unwrap();
    kafka.produce("live", records(10, 1)).unwrap();
    let mut config: ClientConfig = kafka.properties().into_iter().collect();
    let member: BaseConsumer = config.set("group.id", "group-live").set("enable.auto.commit", "false").create().unwrap();
    member.subscribe(&["live"]).unwrap();
    let until = Instant::now() + PATIENCE;
    while member.assignment().unwrap().count() == 0 && Instant::now() < until {
        drop(member.poll(Duration::from_millis(50)));
    }
    assert_eq!(member.assignment().unwrap().count(), 1);
    let mut source = open_source(continuous(kafka, &["live"]));
    let mut read = 0;
    while read < 10 {
        if let SourceEvent::Batch(batch) = next(&mut *source) {
            read += batch.len();
            source.committed(batch.advances());
        }
    }
    assert!(source.next(Duration::from_millis(2500)).is_none(), "a refused commit is no event");
    assert_eq!(kafka.group_offset("group-live", "live", 0).unwrap(), None);
}

#[test]
fn b191_a_broker_stopped_and_started_costs_nothing() {
    let mut kafka = Kafka::start(Options::default()).unwrap();
    kafka.create_topic("t", 2, &[]).unwrap();
    kafka.produce("t", records(1000, 2)).unwrap();
    let mut source = open_source(continuous(&kafka, &["t"]));
    let mut read = Read::default();
    read.until(&mut *source, 1000);
    kafka.stop().unwrap();
    let SourceEvent::Waiting(error) = next(&mut *source) else { panic!("it waits") };
    assert!(error.message.starts_with("no broker at 127.0.0.1:") && error.retry == Retry::Backoff, "{error}");
    assert!(source.next(Duration::from_secs(3)).is_none(), "said once");
    kafka.restart().unwrap();
    kafka.produce("t", records(1000, 2)).unwrap();
    let mut resumed = false;
    while read.records < 2000 {
        match next(&mut *source) {
            SourceEvent::Resumed => resumed = true,
            SourceEvent::Batch(batch) => read.add(&batch),
            other => panic!("{other:?}"),
        }
    }
    // What the client has fetched by then may come before the cluster's next answer.
    while !resumed {
        resumed = matches!(next(&mut *source), SourceEvent::Resumed);
    }
    assert_eq!(read.records, 2000);
}

#[test]
fn all_ways_to_log_in_read() {
    let kafka = kafka();
    kafka.create_topic("login", 1, &[]).unwrap();
    kafka.produce("login", records(100, 1)).unwrap();
    for properties in [
        kafka.sasl_tls("SCRAM-SHA-256"),
        kafka.sasl_tls("SCRAM-SHA-512"),
        kafka.sasl_tls("PLAIN"),
        kafka.sasl("SCRAM-SHA-256"),
        kafka.sasl("PLAIN"),
        kafka.tls(),
    ] {
        let way = format!("{:?}", &properties[1..3]);
        let settings = SourceSettings { properties: secrets(properties), ..settings(kafka, &["login"]) };
        assert_eq!(once(settings).records, 100, "{way}");
    }
}

#[test]
fn b076_a_refused_login_or_tls_fails_a_start_and_names_the_property() {
    let kafka = kafka();
    kafka.create_topic("refused", 1, &[]).unwrap();
    let with = |mut properties: Vec<(String, String)>, changes: &[(&str, &str)]| {
        for (name, value) in changes {
            properties.retain(|(known, _)| known != name);
            properties.push(((*name).to_owned(), (*value).to_owned()));
        }
        secrets(properties)
    };
    let scram = || kafka.sasl_tls("SCRAM-SHA-256");
    let open_port = kafka.bootstrap();
    for (properties, property) in [
        (with(scram(), &[("ssl.ca.location", &kafka.other_authority())]), "`ssl.ca.location`"),
        (with(scram(), &[("bootstrap.servers", &open_port)]), "`security.protocol`"),
        (with(kafka.sasl("PLAIN"), &[("bootstrap.servers", &open_port)]), "`security.protocol`"),
        (with(scram(), &[("sasl.password", "wrong-secret")]), "`sasl.password`"),
        (with(kafka.sasl("PLAIN"), &[("sasl.password", "wrong-secret")]), "`sasl.password`"),
        (with(scram(), &[("sasl.username", "nobody")]), "`sasl.username`"),
        (
            with(
                kafka.sasl("OAUTHBEARER"),
                &[("enable.sasl.oauthbearer.unsecure.jwt", "true"), ("sasl.oauthbearer.config", "principal=app")],
            ),
            "`sasl.mechanism`",
        ),
    ] {
        let begun = Instant::now();
        let mut source = open_source(SourceSettings { properties: properties.clone(), ..continuous(kafka, &["refused"]) });
        let words = failure(&mut *source);
        assert!(words.contains(property) && !words.contains("secret"), "{property}: {words}");
        let error = check(&properties, Duration::from_secs(10)).unwrap_err();
        assert!(error.message.contains(property) && error.retry == Retry::Never, "{property}: {error}");
        assert!(begun.elapsed() < Duration::from_secs(10), "{property} took {:?}", begun.elapsed());
    }
    let nobody = with(kafka.properties(), &[("bootstrap.servers", "127.0.0.1:1")]);
    let mut source = open_source(SourceSettings { properties: nobody, ..continuous(kafka, &["refused"]) });
    let SourceEvent::Waiting(error) = next(&mut *source) else { panic!("nobody listens: it waits") };
    assert!(error.message.contains("127.0.0.1:1"), "{error}");
}

#[test]
fn b053_b056_a_once_run_over_transactions_ends_with_the_exact_count() {
    let kafka = kafka();
    kafka.create_topic("transactions", 3, &[]).unwrap();
    kafka.transaction("writer", "transactions", records(1000, 3), true).unwrap();
    kafka.transaction("writer", "transactions", records(500, 3), false).unwrap();
    kafka.transaction("writer", "transactions", records(200, 2), true).unwrap();
    kafka.transaction("writer", "transactions", records(50, 3), false).unwrap();
    let open = kafka.begin("other", "transactions", records(30, 3)).unwrap();
    let read = once(settings(kafka, &["transactions"]));
    assert_eq!(read.records, 1200, "aborted ones never, open ones not yet");
    let ends: Vec<i64> = read.positions.iter().map(|(_, position)| position).collect();
    let high: Vec<i64> = (0..3).map(|partition| kafka.watermarks("transactions", partition).unwrap().1).collect();
    assert_eq!(ends, [high[0] - 10, high[1] - 10, high[2] - 10], "past all markers, up to the open transaction");

    open.commit().unwrap();
    let again = once(SourceSettings { positions: read.positions, ..settings(kafka, &["transactions"]) });
    assert_eq!(again.records, 30);
    let ends: Vec<i64> = again.positions.iter().map(|(_, position)| position).collect();
    let high: Vec<i64> = (0..3).map(|partition| kafka.watermarks("transactions", partition).unwrap().1).collect();
    assert_eq!(ends, high, "markers are behind the positions, so no lag is left");
    let mut source = open_source(SourceSettings { positions: again.positions, ..settings(kafka, &["transactions"]) });
    let events: Vec<_> =
        std::iter::from_fn(|| Some(next(&mut *source))).take_while(|e| !matches!(e, SourceEvent::Ended)).collect();
    assert!(events.iter().all(|event| matches!(event, SourceEvent::Assigned { .. })), "{events:?}");
    assert_eq!(source.progress().lag, Some(0));
}

#[test]
fn b061_partitions_added_later_are_read_from_their_first_record() {
    let kafka = kafka();
    kafka.create_topic("grows", 2, &[]).unwrap();
    kafka.produce("grows", records(10, 2)).unwrap();
    let mut source = open_source(SourceSettings { start: Start::Latest, ..continuous(kafka, &["grows"]) });
    for _ in 0..2 {
        assert!(matches!(next(&mut *source), SourceEvent::Assigned { position: 5, .. }));
    }
    kafka.set_partitions("grows", 4).unwrap();
    kafka.produce("grows", records(400, 4)).unwrap();
    let mut read = Read::default();
    read.until(&mut *source, 400);
    assert!(source.next(Duration::from_millis(300)).is_none());
}

/// Positions of all partitions as a first run would store them, moved to `position`.
fn at(kafka: &Kafka, topic: &str, position: i64) -> Positions {
    let read = once(settings(kafka, &[topic]));
    read.positions.iter().map(|(partition, _)| (partition.clone(), position)).collect()
}

#[test]
fn b058_records_deleted_before_a_start() {
    let kafka = kafka();
    kafka.create_topic("deleted", 1, &[]).unwrap();
    kafka.produce("deleted", records(6000, 1)).unwrap();
    let positions = at(kafka, "deleted", 100);
    kafka.delete_records("deleted", 0, 5000).unwrap();
    let settings = || SourceSettings { positions: positions.clone(), ..settings(kafka, &["deleted"]) };
    let words = failure(&mut *open_source(settings()));
    assert!(words.starts_with("deleted-0: offset 100 is wanted, but the broker has 5000 to 6000: 4900 records"), "{words}");
    for (out_of_range, taken, count) in [(OutOfRange::Earliest, 5000, 1000), (OutOfRange::Latest, 6000, 0)] {
        let mut source = open_source(SourceSettings { out_of_range, ..settings() });
        let SourceEvent::Gap { gap, .. } = next(&mut *source) else { panic!("a gap comes first") };
        assert_eq!((gap.wanted, gap.taken), (100, taken));
        assert!(matches!(next(&mut *source), SourceEvent::Assigned { position, .. } if position == taken));
        let mut read = Read::default();
        read.until(&mut *source, count);
        assert!(matches!(next(&mut *source), SourceEvent::Ended));
    }
}

#[test]
fn b058_records_deleted_under_a_running_reader() {
    let kafka = kafka();
    kafka.create_topic("shrinks", 1, &[]).unwrap();
    let record = |_| (Some(0), None, Some(vec![b'x'; 1000]));
    kafka.produce("shrinks", (0..30_000).map(record)).unwrap();
    for out_of_range in [OutOfRange::Earliest, OutOfRange::Fail] {
        kafka.produce("shrinks", (0..30_000).map(record)).unwrap();
        let high = kafka.watermarks("shrinks", 0).unwrap().1;
        // A small budget: the reader comes to a stand after a few megabytes, and 30 are there.
        let budget = Budget::new(2 << 20);
        let mut source = open_source(SourceSettings { out_of_range, budget, ..settings(kafka, &["shrinks"]) });
        let first = loop {
            if let SourceEvent::Batch(records) = next(&mut *source) {
                break records;
            }
        };
        kafka.delete_records("shrinks", 0, high - 100).unwrap();
        let mut read = Read::default();
        read.add(&first);
        drop(first);
        let mut gap = None;
        let error = loop {
            match next(&mut *source) {
                SourceEvent::Batch(records) => read.add(&records),
                SourceEvent::Gap { partition, gap: seen } => {
                    assert_eq!(read.positions.get(&partition), Some(seen.wanted), "the batch before the gap came first");
                    read.positions.set(partition, seen.taken);
                    gap = Some(seen);
                }
                SourceEvent::Assigned { position, .. } => assert_eq!(position, high - 100),
                SourceEvent::Ended => break None,
                SourceEvent::Failed(error) => break Some(error.message),
                other => panic!("{other:?}"),
            }
        };
        if out_of_range == OutOfRange::Fail {
            let words = error.expect("it fails");
            assert!(words.contains(&format!("but the broker has {} to {high}", high - 100)), "{words}");
        } else {
            assert_eq!(error, None);
            let gap = gap.expect("a gap");
            assert_eq!(gap.taken, high - 100);
            assert_eq!(read.records as i64, gap.wanted + 100, "all before the gap, and all after it");
        }
    }
}

#[test]
fn a_topic_made_again_is_never_continued() {
    let kafka = kafka();
    for (topic, again) in [("again-short", 10), ("again-long", 3000)] {
        kafka.create_topic(topic, 1, &[]).unwrap();
        kafka.produce(topic, records(1000, 1)).unwrap();
        let mut source = open_source(continuous(kafka, &[topic]));
        let mut read = Read::default();
        read.until(&mut *source, 1000);
        kafka.delete_topic(topic).unwrap();
        kafka.create_topic(topic, 1, &[]).unwrap();
        let words = failure(&mut *source);
        assert!(words.contains(&format!("topic {topic} was deleted and made again")), "{words}");
        assert!(words.contains("new names"), "{words}");
        kafka.produce(topic, records(again, 1)).unwrap();
        let words = failure(&mut *open_source(SourceSettings { positions: read.positions.clone(), ..settings(kafka, &[topic]) }));
        assert!(words.contains("made again"), "a start sees it too: {words}");
        // Accepted: the store forgets the old positions.
        assert_eq!(once(settings(kafka, &[topic])).records, again as usize);
    }
}

#[test]
fn a_topic_made_again_and_filled_at_once_gives_no_record_at_old_positions() {
    let kafka = kafka();
    for round in 0..5 {
        let topic = &*format!("again-fast-{round}");
        kafka.create_topic(topic, 1, &[]).unwrap();
        kafka.produce(topic, records(10, 1)).unwrap();
        let mut source = open_source(continuous(kafka, &[topic]));
        let mut read = Read::default();
        read.until(&mut *source, 10);
        kafka.delete_topic(topic).unwrap();
        kafka.create_topic(topic, 1, &[]).unwrap();
        kafka.produce(topic, records(3000, 1)).unwrap();
        loop {
            match next(&mut *source) {
                SourceEvent::Batch(records) => panic!("{} records of the new topic", records.len()),
                SourceEvent::Failed(error) => break assert!(error.message.contains("made again"), "{error}"),
                _ => {}
            }
        }
    }
}

#[test]
fn b060_a_topic_deleted_under_a_reader_is_named_and_others_go_on() {
    let kafka = kafka();
    kafka.create_topic("stays", 1, &[]).unwrap();
    kafka.create_topic("goes", 1, &[]).unwrap();
    kafka.produce("goes", records(10, 1)).unwrap();
    let mut source = open_source(continuous(kafka, &["stays", "goes"]));
    let mut read = Read::default();
    read.until(&mut *source, 10);
    kafka.delete_topic("goes").unwrap();
    let words = loop {
        if let SourceEvent::Waiting(error) = next(&mut *source) {
            break error.message;
        }
    };
    assert!(words.starts_with("topic goes does not exist"), "{words}");
    kafka.produce("stays", records(10, 1)).unwrap();
    read.until(&mut *source, 20);
    let stays: Vec<&PartitionId> =
        read.positions.iter().map(|(partition, _)| partition).filter(|p| &*p.topic == "stays").collect();
    assert_eq!(stays.len(), 1);
}

/// Keeps every line that anybody logs.
#[derive(Clone, Default)]
struct Lines(Arc<Mutex<String>>);

struct Writer<'a>(&'a mut String);

impl tracing::field::Visit for Writer<'_> {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn Debug) {
        writeln!(self.0, "{field}={value:?}").unwrap();
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, _: &tracing::Metadata<'_>) -> bool {
        true
    }
    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }
    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}
    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}
    fn event(&self, event: &tracing::Event<'_>) {
        event.record(&mut Writer(&mut self.0.lock().unwrap()));
    }
    fn enter(&self, _: &tracing::span::Id) {}
    fn exit(&self, _: &tracing::span::Id) {}
}

#[test]
fn b173_no_secret_is_logged_even_when_librdkafka_tells_everything() {
    let kafka = kafka();
    let lines = Lines::default();
    tracing::subscriber::set_global_default(lines.clone()).unwrap();
    kafka.create_topic("secret", 1, &[]).unwrap();
    kafka.produce("secret", records(10, 1)).unwrap();
    for mechanism in ["PLAIN", "SCRAM-SHA-256"] {
        let mut properties = kafka.sasl_tls(mechanism);
        properties.push(("debug".into(), "all".into()));
        let settings = SourceSettings { properties: secrets(properties), ..settings(kafka, &["secret"]) };
        assert!(!format!("{settings:?}").contains(PASSWORD));
        assert_eq!(once(settings).records, 10);
    }
    let text = lines.0.lock().unwrap().clone();
    assert!(text.lines().count() > 100, "librdkafka was asked to tell everything");
    assert!(!text.contains(PASSWORD));
}
