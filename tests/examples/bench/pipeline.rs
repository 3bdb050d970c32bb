//! The whole way: topic, validation, SQL, durable table; beside only consuming the same topic.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluicebox_codec::sample::{big, small};
use sluicebox_config::ConfigSource;
use sluicebox_config::spec::{Spec, Trigger};
use sluicebox_core::budget::Budget;
use sluicebox_core::port::{SourceEvent, SourceSettings, Sources, Store};
use sluicebox_core::position::Positions;
use sluicebox_core::query::Snapshots;
use sluicebox_engine::pipeline::Finish;
use sluicebox_kafka::{EmbeddedBroker, KafkaSources, Message};
use sluicebox_server::host::{TenantHost, connect};

use super::figure::Figures;

/// The pipeline over big records: one required column, one pattern, a projection and a filter.
pub const BIG: &str = r#"
connections: { broker: { type: kafka, options: { bootstrapServers: "BROKER" } } }
types: [{ name: event_id, pattern: "evt-[0-9a-f]{12}", primitiveType: string }]
pipelines:
  events:
    from: kafka:events
    connection: broker
    columns:
      - { name: event_id, type: event_id }
      - { name: user_id, type: string, required: true }
      - { name: event_type, type: string }
      - { name: ts, type: timestamp }
      - { name: page, type: string }
      - { name: seq, type: long }
      - { name: price, type: double }
      - { name: device, type: struct, columns: [{ name: os, type: string }, { name: v, type: long }] }
      - { name: tags, type: string, array: true }
      - { name: open, type: boolean }
    steps:
      - sql: SELECT user_id, event_type, ts, price, device FROM message WHERE event_type <> 'heartbeat'
    to: [{ table: events }]
"#;

/// The same over small records.
pub const SMALL: &str = r#"
connections: { broker: { type: kafka, options: { bootstrapServers: "BROKER" } } }
types: [{ name: word, pattern: "[a-z_]+", primitiveType: string }]
pipelines:
  events:
    from: kafka:events
    connection: broker
    columns:
      - { name: user_id, type: long, required: true }
      - { name: event_type, type: word }
      - { name: amount, type: double }
      - { name: active, type: boolean }
    steps:
      - sql: SELECT user_id, event_type, amount FROM message WHERE event_type <> 'heartbeat'
    to: [{ table: events }]
"#;

const BIG_RECORDS: u64 = 1_000_000;
const SMALL_RECORDS: u64 = 2_000_000;

/// `consume.*.embedded`, `table.*.embedded`.
pub fn embedded(figures: &mut Figures) -> Result<()> {
    for (shape, text, records, write) in
        [("big", BIG, BIG_RECORDS, big as fn(u64, &mut Vec<u8>)), ("small", SMALL, SMALL_RECORDS, small as fn(u64, &mut Vec<u8>))]
    {
        let broker = EmbeddedBroker::start()?;
        let mut bytes = 0;
        broker.fill("events", (0..records).map(|n| message(write, n, &mut bytes)))?;
        let folder = tempfile::tempdir()?;
        let mut spec = spec(folder.path(), &text.replace("BROKER", broker.bootstrap_servers()))?;
        connect(&mut spec, &broker, |_| true);
        let seconds = consume(&spec, records)?;
        figures.rate(&format!("consume.{shape}.embedded"), records, bytes, seconds);
        let seconds = table(&spec, records)?;
        figures.rate(&format!("table.{shape}.embedded"), records, bytes, seconds);
        ratio(figures, shape, "embedded");
    }
    Ok(())
}

/// Prints what share of only consuming the whole way reaches.
pub fn ratio(figures: &mut Figures, shape: &str, broker: &str) {
    let get = |what: &str| figures.get(&format!("{what}.{shape}.{broker}")).unwrap_or(f64::NAN);
    let ratio = get("table") / get("consume");
    figures.add(&format!("ratio.{shape}.{broker}"), ratio, "of only consuming");
}

/// One record of a shape.
pub fn message(write: fn(u64, &mut Vec<u8>), n: u64, bytes: &mut u64) -> Message {
    let mut value = Vec::with_capacity(224);
    write(n, &mut value);
    *bytes += value.len() as u64;
    Message::of(value)
}

/// A checked configuration with its stores in `folder`.
pub fn spec(folder: &Path, text: &str) -> Result<Spec> {
    let file = folder.join("sluicebox.yaml");
    std::fs::write(&file, text)?;
    let loaded = sluicebox_config::load(&ConfigSource { path: file, environment: &|_| None });
    if let Some(error) = loaded.errors.first() {
        bail!("{error}");
    }
    let mut spec = loaded.spec;
    spec.data = folder.join("data");
    spec.tenants[0].pipelines[0].trigger = Trigger::Once;
    Ok(spec)
}

/// Seconds to only consume the topic.
pub fn consume(spec: &Spec, records: u64) -> Result<f64> {
    let pipeline = &spec.tenants[0].pipelines[0];
    let settings = SourceSettings {
        topics: pipeline.source.topics.clone(),
        group: "bench".into(),
        properties: pipeline.source.properties.clone(),
        start: pipeline.source.start,
        out_of_range: pipeline.source.out_of_range,
        batch: pipeline.batch,
        close_when_idle: false,
        stop_at_end: true,
        budget: Budget::new(pipeline.memory),
        positions: Positions::default(),
    };
    let began = Instant::now();
    let mut source = KafkaSources::new().open(settings)?;
    let mut seen = 0;
    loop {
        match source.next(Duration::from_secs(30)).context("nothing came for 30 s")? {
            SourceEvent::Batch(batch) => seen += batch.len() as u64,
            SourceEvent::Ended => break,
            SourceEvent::Failed(error) | SourceEvent::Waiting(error) => bail!("{error}"),
            _ => {}
        }
    }
    let seconds = began.elapsed().as_secs_f64();
    source.stop();
    ensure!(seen == records, "{seen} of {records} records came");
    Ok(seconds)
}

/// Seconds until the table is durable; the rows are counted.
pub fn table(spec: &Spec, records: u64) -> Result<f64> {
    let tenant = &spec.tenants[0];
    let host = TenantHost::open(&spec.data, &tenant.name)?;
    let store: Arc<dyn Store> = host.store().clone();
    let began = Instant::now();
    host.start(&spec.data, tenant, Duration::from_secs(30), store)?;
    while !host.ended() {
        std::thread::park_timeout(Duration::from_millis(1));
    }
    let seconds = began.elapsed().as_secs_f64();
    for (_, finish) in host.stop(Duration::from_secs(30)) {
        ensure!(finish == Some(Finish::Done), "the pipeline did not end well: {finish:?}");
    }
    let heartbeats = records / 10 + u64::from(records % 10 > 3);
    let rows = host.store().snapshot()?.row_count(&sluicebox_core::name::TableName::new("public", "events"))?;
    ensure!(rows == records - heartbeats, "{rows} rows of {records} records with {heartbeats} heartbeats");
    Ok(seconds)
}
