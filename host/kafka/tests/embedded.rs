//! The source against the broker inside the process: everything that needs no real Kafka, in seconds.

#![expect(clippy::unwrap_used, reason = "helpers of tests")]

use std::time::{Duration, Instant};

use sluicebox_core::budget::Budget;
use sluicebox_core::port::{BatchLimits, Source, SourceEvent, SourceSettings, Sources};
use sluicebox_core::position::{PartitionId, Positions, TopicId};
use sluicebox_core::secret::Secret;
use sluicebox_core::start::{OutOfRange, Start};
use sluicebox_core::{Records, Retry};
use sluicebox_kafka::{EmbeddedBroker, KafkaSources, Message, check};

const PATIENCE: Duration = Duration::from_secs(20);

fn settings(broker: &EmbeddedBroker, topics: &[&str]) -> SourceSettings {
    SourceSettings {
        topics: topics.iter().map(|topic| (*topic).to_owned()).collect(),
        group: "g".into(),
        properties: broker.properties(),
        start: Start::Earliest,
        out_of_range: OutOfRange::Fail,
        batch: BatchLimits { rows: 10_000, bytes: 4 << 20, time: Duration::from_millis(200) },
        close_when_idle: false,
        stop_at_end: true,
        budget: Budget::new(64 << 20),
        positions: Positions::default(),
    }
}

fn open(settings: SourceSettings) -> Box<dyn Source> {
    KafkaSources::new().open(settings).unwrap()
}

fn next(source: &mut dyn Source) -> SourceEvent {
    source.next(PATIENCE).expect("an event in time")
}

/// All batches up to the end of the run.
fn until_end(source: &mut dyn Source) -> Vec<Records> {
    let mut batches = Vec::new();
    loop {
        match next(source) {
            SourceEvent::Batch(records) => batches.push(records),
            SourceEvent::Ended => return batches,
            SourceEvent::Failed(error) => panic!("{error}"),
            _ => {}
        }
    }
}

fn messages(range: std::ops::Range<usize>) -> Vec<Message> {
    range.map(|i| Message::of(format!("v{i}"))).collect()
}

fn values(batches: &[Records]) -> Vec<String> {
    let of = |b: &Records| (0..b.len()).map(|i| String::from_utf8(b.value(i).unwrap().to_vec()).unwrap()).collect::<Vec<_>>();
    batches.iter().flat_map(of).collect()
}

fn positions(batches: &[Records]) -> Positions {
    let mut positions = Positions::default();
    for advance in batches.iter().flat_map(Records::advances) {
        positions.apply(advance).expect("advances follow each other");
    }
    positions
}

#[test]
fn a_once_run_reads_everything_and_ends() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..25_000)).unwrap();
    let mut source = open(settings(&broker, &["t"]));
    let batches = until_end(&mut *source);
    assert_eq!(values(&batches), (0..25_000).map(|i| format!("v{i}")).collect::<Vec<_>>(), "each once, in order");
    assert!(batches.iter().all(|b| b.len() <= 10_000), "{:?}", batches.iter().map(Records::len).collect::<Vec<_>>());
    assert_eq!(positions(&batches).iter().map(|(_, p)| p).collect::<Vec<_>>(), [25_000]);
    let progress = source.progress();
    assert_eq!((progress.lag, progress.caught_up), (Some(0), true));
}

#[test]
fn b055_b099_each_partition_ends_where_it_was_at_start() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 6).unwrap();
    for partition in [0, 2, 3, 5] {
        broker.produce("t", partition, &messages(0..100)).unwrap();
    }
    let mut source =
        open(SourceSettings { batch: BatchLimits { rows: 7, bytes: 1 << 20, time: PATIENCE }, ..settings(&broker, &["t"]) });
    let mut batches = vec![loop {
        if let SourceEvent::Batch(records) = next(&mut *source) {
            break records;
        }
    }];
    // The run has begun: what comes now belongs to the next one.
    for partition in 0..6 {
        broker.produce("t", partition, &messages(100..150)).unwrap();
    }
    batches.extend(until_end(&mut *source));
    assert_eq!(values(&batches).len(), 400);
    let read = positions(&batches);
    assert_eq!(read.iter().map(|(p, o)| (p.partition, o)).collect::<Vec<_>>(), [(0, 100), (2, 100), (3, 100), (5, 100)]);

    // B096: the next run takes all that is there, from those positions.
    let again = until_end(&mut *open(SourceSettings { positions: read, ..settings(&broker, &["t"]) }));
    assert_eq!(values(&again).len(), 6 * 50);
}

#[test]
fn an_empty_topic_ends_at_once() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 3).unwrap();
    assert!(until_end(&mut *open(settings(&broker, &["t"]))).is_empty());
}

#[test]
fn b078_key_value_headers_and_time_arrive_as_they_were() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    let header = |name: &str, value: Option<&[u8]>| (name.to_owned(), value.map(<[u8]>::to_vec));
    let full = Message {
        key: Some(b"k".to_vec()),
        value: Some(vec![0xff, 0]),
        headers: vec![
            header("trace", Some(b"1")),
            header("trace", Some(b"2")),
            header("bin", Some(&[0xff, 0])),
            header("none", None),
            header("", Some(b"")),
        ],
        timestamp: Some(1_700_000_000_123),
    };
    let empty = Message { key: Some(Vec::new()), value: Some(Vec::new()), ..Message::default() };
    broker.produce("t", 0, &[full, Message::default(), empty]).unwrap();
    let batches = until_end(&mut *open(settings(&broker, &["t"])));
    let records = &batches[0];
    assert_eq!(
        (records.key(0), records.value(0), records.timestamp(0)),
        (Some(&b"k"[..]), Some(&[0xff, 0][..]), Some(1_700_000_000_123))
    );
    let headers: Vec<_> = records.headers().get(0).collect();
    let expected: [(&[u8], Option<&[u8]>); 5] =
        [(b"trace", Some(b"1")), (b"trace", Some(b"2")), (b"bin", Some(&[0xff, 0])), (b"none", None), (b"", Some(b""))];
    assert_eq!(headers, expected);
    assert_eq!((records.key(1), records.value(1)), (None, None), "a tombstone");
    assert_eq!((records.key(2), records.value(2)), (Some(&b""[..]), Some(&b""[..])), "empty is not absent");
    assert_eq!(records.headers().get(1).count() + records.headers().get(2).count(), 0);
}

#[test]
fn b072_all_codecs_are_built_in() {
    let broker = EmbeddedBroker::start().unwrap();
    for codec in ["gzip", "snappy", "lz4", "zstd"] {
        broker.create_topic(codec, 1).unwrap();
        let mut properties = broker.properties();
        properties.push(("compression.codec".into(), Secret::new(codec)));
        properties.retain(|(name, _)| name != "fetch.wait.max.ms");
        let mut producer = sluicebox_kafka::Producer::new(&properties).unwrap();
        messages(0..1000).iter().for_each(|message| producer.send(codec, Some(0), message).unwrap());
        assert_eq!(producer.flush().unwrap(), 1000);
        assert_eq!(values(&until_end(&mut *open(settings(&broker, &[codec])))).len(), 1000, "{codec}");
    }
}

#[test]
fn b061_b081_start_counts_once_and_for_partitions_seen_at_start_only() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..10)).unwrap();
    let mut source = open(SourceSettings {
        start: Start::Latest,
        stop_at_end: false,
        close_when_idle: true,
        ..settings(&broker, &["t", "late"])
    });
    let mut stored = Positions::default();
    loop {
        match next(&mut *source) {
            SourceEvent::Assigned { partition, position } => {
                assert_eq!((&*partition.topic, position), ("t", 10));
                stored.set(partition, position);
            }
            SourceEvent::Waiting(error) => {
                assert!(error.message.starts_with("topic late does not exist"), "{error}");
                assert_eq!(error.retry, Retry::Backoff);
            }
            other => panic!("{other:?}"),
        }
        if !stored.is_empty() && source.next(Duration::from_millis(300)).is_none() {
            break;
        }
    }
    // B060: other topics go on, and the one that appears is read from its oldest record although `start` says latest.
    broker.create_topic("late", 2).unwrap();
    broker.produce("late", 1, &messages(0..5)).unwrap();
    let (mut resumed, mut read) = (false, 0);
    while read < 5 {
        match next(&mut *source) {
            SourceEvent::Resumed => resumed = true,
            SourceEvent::Batch(records) => read += records.len(),
            SourceEvent::Assigned { partition, position } => assert_eq!((&*partition.topic, position), ("late", 0)),
            other => panic!("{other:?}"),
        }
    }
    assert!(resumed);
    source.stop();

    // Stopped before any record of t; what came meanwhile is read from the stored position.
    broker.produce("t", 0, &messages(10..15)).unwrap();
    let again = SourceSettings { start: Start::Latest, positions: stored, ..settings(&broker, &["t"]) };
    assert_eq!(values(&until_end(&mut *open(again))), ["v10", "v11", "v12", "v13", "v14"]);
}

#[test]
fn a_once_run_over_a_missing_topic_reads_the_others_and_fails() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..10)).unwrap();
    let mut source = open(settings(&broker, &["t", "missing"]));
    let mut read = 0;
    let error = loop {
        match next(&mut *source) {
            SourceEvent::Batch(records) => read += records.len(),
            SourceEvent::Failed(error) => break error,
            SourceEvent::Ended => panic!("a topic is missing"),
            _ => {}
        }
    };
    assert_eq!(read, 10);
    assert!(error.message.contains("topic missing does not exist"), "{error}");
}

fn stored(broker: &EmbeddedBroker, topic: &str, id: Option<TopicId>, position: i64) -> Positions {
    let mut source = open(settings(broker, &[topic]));
    let partition = loop {
        if let SourceEvent::Assigned { partition, .. } = next(&mut *source) {
            break partition;
        }
    };
    [(PartitionId { topic_id: id.unwrap_or(partition.topic_id), ..partition }, position)].into_iter().collect()
}

#[test]
fn b058_a_position_that_is_gone_is_refused_or_leaves_a_gap() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..10)).unwrap();
    let positions = stored(&broker, "t", None, 50);
    let mut source = open(SourceSettings { positions: positions.clone(), ..settings(&broker, &["t"]) });
    let SourceEvent::Failed(error) = next(&mut *source) else { panic!("it must fail") };
    assert!(error.message.starts_with("t-0: offset 50 is wanted, but the broker has 0 to 10"), "{error}");
    for (out_of_range, taken, records) in [(OutOfRange::Earliest, 0, 10), (OutOfRange::Latest, 10, 0)] {
        let mut source = open(SourceSettings { positions: positions.clone(), out_of_range, ..settings(&broker, &["t"]) });
        let SourceEvent::Gap { gap, .. } = next(&mut *source) else { panic!("a gap comes first") };
        assert_eq!((gap.wanted, gap.taken), (50, taken));
        assert_eq!(values(&until_end(&mut *source)).len(), records);
    }
}

#[test]
fn a_topic_with_positions_of_another_id_is_not_continued() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..10)).unwrap();
    let positions = stored(&broker, "t", Some(TopicId([9; 16])), 5);
    let mut source = open(SourceSettings { positions, ..settings(&broker, &["t"]) });
    let SourceEvent::Failed(error) = next(&mut *source) else { panic!("it must fail") };
    assert!(error.message.contains("made again") && error.message.contains("new names"), "{error}");
}

#[test]
fn b066_b082_a_pipeline_that_takes_nothing_stops_the_reader_at_its_bounds() {
    let broker = EmbeddedBroker::start().unwrap();
    let message = Message::of(vec![b'x'; 1000]);
    broker.fill("t", std::iter::repeat_n(message, 20_000)).unwrap();
    let budget = Budget::new(2 << 20);
    let batch = BatchLimits { rows: 1000, bytes: 4 << 20, time: Duration::from_millis(10) };
    let mut source = open(SourceSettings { budget: budget.clone(), batch, ..settings(&broker, &["t"]) });
    let mut held = Vec::new();
    while held.len() < 2 {
        if let SourceEvent::Batch(records) = next(&mut *source) {
            held.push(records);
        }
    }
    assert!(source.next(Duration::from_millis(500)).is_none(), "the budget of 2 MiB holds two batches of 1 MB");
    assert_eq!(budget.used(), 2_000_000);
    assert!(!source.progress().caught_up);
    let mut rows: usize = held.drain(..).map(|b| b.len()).sum();
    // Each batch is dropped once it is counted, which gives its bytes back.
    loop {
        match next(&mut *source) {
            SourceEvent::Batch(records) => rows += records.len(),
            SourceEvent::Ended => break,
            other => panic!("{other:?}"),
        }
    }
    assert_eq!(rows, 20_000, "nothing is lost by waiting");
}

#[test]
fn a_batch_closes_when_nothing_is_waiting_and_the_lag_falls_to_zero() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    let batch = BatchLimits { rows: 100_000, bytes: 64 << 20, time: Duration::from_secs(60) };
    let mut source = open(SourceSettings { batch, stop_at_end: false, close_when_idle: true, ..settings(&broker, &["t"]) });
    for round in 0..3 {
        broker.produce("t", 0, &messages(0..10)).unwrap();
        let begun = Instant::now();
        let mut read = 0;
        while read < 10 {
            if let SourceEvent::Batch(records) = next(&mut *source) {
                read += records.len();
            }
        }
        assert!(begun.elapsed() < Duration::from_secs(10), "round {round} waited for the batch to fill");
    }
    let until = Instant::now() + PATIENCE;
    while source.progress().lag != Some(0) && Instant::now() < until {
        assert!(source.next(Duration::from_millis(50)).is_none());
    }
    assert_eq!(source.progress().lag, Some(0));
}

#[test]
fn b191_a_broker_that_is_away_is_said_once_and_comes_back() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..10)).unwrap();
    broker.set_down(true).unwrap();
    let mut source = open(SourceSettings { stop_at_end: false, close_when_idle: true, ..settings(&broker, &["t"]) });
    let SourceEvent::Waiting(error) = next(&mut *source) else { panic!("it waits") };
    assert!(error.message.starts_with("no broker at 127.0.0.1:"), "{error}");
    assert!(source.next(Duration::from_secs(4)).is_none(), "said once");
    broker.set_down(false).unwrap();
    let (mut resumed, mut read) = (false, 0);
    while read < 10 {
        match next(&mut *source) {
            SourceEvent::Resumed => resumed = true,
            SourceEvent::Batch(records) => read += records.len(),
            SourceEvent::Assigned { .. } => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(resumed);
    let begun = Instant::now();
    source.stop();
    assert!(begun.elapsed() < Duration::from_secs(5));
}

#[test]
fn the_embedded_broker_makes_room_and_refuses_what_it_would_drop() {
    let broker = EmbeddedBroker::start().unwrap();
    let message = |i: usize| Message::of(vec![b'x'; 1000]).with_key(i.to_string());
    assert_eq!(broker.fill("big", (0..20_000).map(message)).unwrap(), 20_000);
    assert_eq!(broker.topics(), [("big".to_owned(), 8)]);
    assert_eq!(values_len(&broker, "big"), 20_000, "nothing was dropped");

    let one_key = (0..10_000).map(|_| Message::of(vec![b'x'; 1000]).with_key("same"));
    let refused = broker.fill("hot", one_key).unwrap_err();
    assert!(refused.message.contains("use Apache Kafka"), "{refused}");

    broker.create_topic("small", 1).unwrap();
    assert_eq!(broker.produce("small", 0, &messages(0..100)).unwrap(), 100);
    let refused = broker.fill("small", (0..10_000).map(message)).unwrap_err();
    assert!(refused.message.contains("nothing was produced"), "{refused}");
    assert_eq!(values_len(&broker, "small"), 100);
    assert!(broker.create_topic("small", 1).is_err());
}

fn values_len(broker: &EmbeddedBroker, topic: &str) -> usize {
    until_end(&mut *open(settings(broker, &[topic]))).iter().map(Records::len).sum()
}

#[test]
fn the_group_is_told_positions_and_start_group_reads_them() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    broker.produce("t", 0, &messages(0..10)).unwrap();
    let mut source = open(SourceSettings { stop_at_end: false, close_when_idle: true, ..settings(&broker, &["t"]) });
    let mut read = 0;
    while read < 10 {
        if let SourceEvent::Batch(records) = next(&mut *source) {
            read += records.len();
            source.committed(records.advances());
        }
    }
    // At most once a second: the next second brings it.
    assert!(source.next(Duration::from_millis(2500)).is_none());
    source.stop();
    broker.produce("t", 0, &messages(10..13)).unwrap();
    let group = SourceSettings { start: Start::Group, ..settings(&broker, &["t"]) };
    assert_eq!(values(&until_end(&mut *open(group))), ["v10", "v11", "v12"]);
    let unknown = SourceSettings { start: Start::Group, group: "other".into(), ..settings(&broker, &["t"]) };
    assert_eq!(values(&until_end(&mut *open(unknown))).len(), 13, "a group that stands nowhere begins at the oldest record");
}

#[test]
fn check_names_cluster_and_topics_or_says_who_does_not_answer() {
    let broker = EmbeddedBroker::start().unwrap();
    broker.create_topic("t", 1).unwrap();
    let cluster = check(&broker.properties(), Duration::from_secs(10)).unwrap();
    assert_eq!((cluster.brokers, cluster.topics.as_slice()), (1, &["t".to_owned()][..]));
    assert!(!cluster.id.is_empty());
    let nobody = [("bootstrap.servers".to_owned(), Secret::new("127.0.0.1:1"))];
    let begun = Instant::now();
    let error = check(&nobody, Duration::from_secs(2)).unwrap_err();
    assert!(error.message.contains("127.0.0.1:1") && error.retry == Retry::Backoff, "{error}");
    assert!(begun.elapsed() < Duration::from_secs(5));
}
