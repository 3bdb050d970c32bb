//! Guards invariant 5 with real parts: SIGKILL at random instants while 2,000,000 records load from Apache Kafka; the table equals the input
//! exactly once, by count and by checksum.

use std::process::Stdio;
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use sluicebox_tests::kafka::{Kafka, Options, Sent};
use sluicebox_tests::program::{output, sluicebox};

const RECORDS: i64 = 2_000_000;
const PARTITIONS: i64 = 4;
const KILLS: usize = 50;

const CONFIG: &str = r#"
connections: { broker: { type: kafka, options: { bootstrapServers: "BROKER" } } }
pipelines:
  numbers:
    from: kafka:numbers
    trigger: once
    columns: [{ name: n, type: long, required: true }, { name: text, type: string }]
    batch: { rows: 5000 }
    to: [{ table: numbers }]
"#;

#[test]
fn b071_b143_fifty_kills_lose_and_repeat_nothing() -> Result<()> {
    let kafka = Kafka::start(Options::default())?;
    kafka.create_topic("numbers", PARTITIONS as i32, &[])?;
    kafka.produce("numbers", (0..RECORDS).map(record))?;
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("sluicebox.yaml"), CONFIG.replace("BROKER", &kafka.bootstrap()))?;

    let mut random = 0x2545_f491_4f6c_dd1d_u64;
    let mut kills = 0;
    while kills < KILLS {
        random ^= random << 13;
        random ^= random >> 7;
        random ^= random << 17;
        let life = Duration::from_millis(10 + random % 90);
        let mut child =
            sluicebox(folder.path(), &["--log", "off", "run", "--listen", "127.0.0.1:0"])?.stderr(Stdio::null()).spawn()?;
        let end = Instant::now() + life;
        while let Some(left) = end.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
        ensure!(child.try_wait()?.is_none(), "the load ended after {kills} kills: it is too short for this test");
        child.kill()?;
        child.wait()?;
        kills += 1;
    }
    let last = output(sluicebox(folder.path(), &["run", "--listen", "127.0.0.1:0"])?)?;
    ensure!(last.status.success(), "{}", String::from_utf8_lossy(&last.stderr));

    let sql =
        "SELECT count(*) AS rows, count(DISTINCT n) AS different, sum(n) AS sum, min(n) AS low, max(n) AS high FROM numbers";
    let answer = output(sluicebox(folder.path(), &["sql", "--output", "csv", sql])?)?;
    let expected = format!("{RECORDS},{RECORDS},{},0,{}", RECORDS * (RECORDS - 1) / 2, RECORDS - 1);
    let found = String::from_utf8_lossy(&answer.stdout);
    assert_eq!(found.lines().nth(1), Some(expected.as_str()), "{}", String::from_utf8_lossy(&answer.stderr));

    let sql = "SELECT sum(count) AS consumed, sum(\"countAccepted\") AS accepted FROM audit.audit";
    let answer = output(sluicebox(folder.path(), &["sql", "--output", "csv", sql])?)?;
    let found = String::from_utf8_lossy(&answer.stdout);
    assert_eq!(found.lines().nth(1), Some(format!("{RECORDS},{RECORDS}").as_str()), "the books of all runs add up to the input");
    Ok(())
}

fn record(n: i64) -> Sent {
    (Some((n % PARTITIONS) as i32), None, Some(format!("{{\"n\":{n},\"text\":\"record number {n}\"}}").into_bytes()))
}
