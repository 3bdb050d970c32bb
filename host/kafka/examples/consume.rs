//! How fast the source reads, beside `BaseConsumer::poll` on the same topic: 1,000,000 records of 217 bytes in the embedded broker.
//!
//! `cargo run --release -p sluicebox-kafka --example consume`

#![expect(clippy::print_stdout, reason = "it prints its figures")]

use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rdkafka::config::ClientConfig;
use rdkafka::consumer::{BaseConsumer, Consumer};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use sluicebox_core::budget::Budget;
use sluicebox_core::port::{BatchLimits, SourceEvent, SourceSettings, Sources};
use sluicebox_core::position::Positions;
use sluicebox_core::start::{OutOfRange, Start};
use sluicebox_kafka::{EmbeddedBroker, KafkaSources, Message};

const RECORDS: usize = 1_000_000;
const BYTES: usize = 217;

fn main() -> Result<()> {
    let broker = EmbeddedBroker::start()?;
    let begun = Instant::now();
    broker.fill("events", (0..RECORDS).map(|_| Message::of(vec![b'x'; BYTES])))?;
    let partitions = broker.topics()[0].1;
    println!("filled: {} krec/s, {partitions} partitions", rate(begun));
    for _ in 0..3 {
        println!("source: {} krec/s", source(&broker)?);
        println!("poll:   {} krec/s", poll(&broker, partitions)?);
    }
    Ok(())
}

fn rate(begun: Instant) -> u128 {
    RECORDS as u128 / begun.elapsed().as_millis().max(1)
}

fn source(broker: &EmbeddedBroker) -> Result<u128> {
    let settings = SourceSettings {
        topics: vec!["events".to_owned()],
        group: "bench".to_owned(),
        properties: broker.properties(),
        start: Start::Earliest,
        out_of_range: OutOfRange::Fail,
        batch: BatchLimits { rows: 10_000, bytes: 8 << 20, time: Duration::from_millis(100) },
        close_when_idle: false,
        stop_at_end: true,
        budget: Budget::new(64 << 20),
        positions: Positions::default(),
    };
    let begun = Instant::now();
    let mut source = KafkaSources::new().open(settings)?;
    let (mut records, mut bytes) = (0, 0);
    loop {
        match source.next(Duration::from_secs(30)).context("no event in 30 s")? {
            SourceEvent::Batch(batch) => {
                records += batch.len();
                bytes += batch.bytes();
            }
            SourceEvent::Ended => break,
            SourceEvent::Failed(error) => bail!(error),
            _ => {}
        }
    }
    ensure!((records, bytes) == (RECORDS, RECORDS * BYTES), "{records} records, {bytes} bytes");
    Ok(rate(begun))
}

fn poll(broker: &EmbeddedBroker, partitions: usize) -> Result<u128> {
    let mut config = ClientConfig::new();
    for (name, value) in broker.properties() {
        config.set(name, value.expose());
    }
    config.set("group.id", "poll").set("enable.auto.commit", "false").set("fetch.queue.backoff.ms", "5");
    config.set("queued.min.messages", "200000");
    let begun = Instant::now();
    let consumer: BaseConsumer = config.create()?;
    let mut list = TopicPartitionList::new();
    for partition in 0..partitions {
        list.add_partition_offset("events", partition as i32, Offset::Beginning)?;
    }
    consumer.assign(&list)?;
    let (mut records, mut bytes) = (0, 0);
    while records < RECORDS {
        let message = consumer.poll(Duration::from_secs(30)).context("no message in 30 s")??;
        records += 1;
        bytes += message.payload_len();
    }
    ensure!(bytes == RECORDS * BYTES, "{bytes} bytes");
    Ok(rate(begun))
}
