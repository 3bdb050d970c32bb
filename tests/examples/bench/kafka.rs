//! The same against Apache Kafka, its own process on the same machine.

use anyhow::Result;
use sluicebox_codec::sample::big;
use sluicebox_tests::kafka::{Kafka, Options, Sent};

use super::figure::Figures;
use super::pipeline::{BIG, consume, ratio, spec, table};

/// Records of the big run.
pub const RECORDS: u64 = 2_000_000;
const PARTITIONS: i32 = 4;

/// `consume.big.kafka`, `table.big.kafka`.
pub fn run(figures: &mut Figures) -> Result<()> {
    let kafka = Kafka::start(Options::default())?;
    let bytes = fill(&kafka, RECORDS)?;
    let folder = tempfile::tempdir()?;
    let spec = spec(folder.path(), &BIG.replace("BROKER", &kafka.bootstrap()))?;
    let seconds = consume(&spec, RECORDS)?;
    figures.rate("consume.big.kafka", RECORDS, bytes, seconds);
    let seconds = table(&spec, RECORDS)?;
    figures.rate("table.big.kafka", RECORDS, bytes, seconds);
    ratio(figures, "big", "kafka");
    Ok(())
}

/// Fills the topic `events` with big records; answers with their bytes.
pub fn fill(kafka: &Kafka, records: u64) -> Result<u64> {
    kafka.create_topic("events", PARTITIONS, &[])?;
    let mut bytes = 0;
    let sent = (0..records).map(|n| {
        let mut value = Vec::with_capacity(224);
        big(n, &mut value);
        bytes += value.len() as u64;
        (Some((n % PARTITIONS as u64) as i32), None, Some(value)) as Sent
    });
    kafka.produce("events", sent)?;
    Ok(bytes)
}
