//! How fast a store takes rows, how large the file is after a clean end, and how fast a query reads: `store_bench [millions] [columns]`.
//!
//! Prints a table: rows/s of encoding, of commits of 10,000 rows, of upkeep and of scans, the size of the file against its rows, and the
//! time to open it after a kill.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::{ArrayRef, BooleanArray, Float64Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use sluicebox_core::audit::{AuditDelta, Run};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::commit::Delta;
use sluicebox_core::error::Result;
use sluicebox_core::name::{PipelineName, TableName, TenantName};
use sluicebox_core::outcome::Counts;
use sluicebox_core::port::{Part, Sink, Store};
use sluicebox_core::position::{Advance, PartitionId, TopicId};
use sluicebox_core::query::{Scan, Snapshots};
use sluicebox_core::reject::Rejects;
use sluicebox_store::{RedbStore, StoreOptions};

const BATCH_ROWS: i64 = 10_000;

#[expect(clippy::print_stdout, reason = "it prints its figures")]
fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    let mut arguments = std::env::args().skip(1).map(|a| a.parse::<i64>());
    let millions = arguments.next().transpose()?.unwrap_or(1);
    let columns = arguments.next().transpose()?.unwrap_or(3);
    let folder = tempfile::tempdir()?;
    let path = folder.path().join("store.redb");
    let store = open(&path)?;
    let batches = millions * 1_000_000 / BATCH_ROWS;
    let sample = rows(0, columns)?;
    println!(
        "{} rows of {columns} columns, {} bytes in Arrow",
        batches * BATCH_ROWS,
        sample.get_array_memory_size() as i64 / BATCH_ROWS
    );
    let table = TableName::new("bench", "rows");
    let mut sink = store.table(&table, &sample.schema(), &PipelineName::new("bench"), Default::default())?;
    let (mut encoding, mut committing, mut keeping) = (Duration::ZERO, Duration::ZERO, Duration::ZERO);
    for number in 0..batches {
        let rows = rows(number * BATCH_ROWS, columns)?;
        let started = Instant::now();
        let delta = delta(&mut *sink, rows, number * BATCH_ROWS)?;
        encoding += started.elapsed();
        let started = Instant::now();
        store.commit(&[delta])?;
        committing += started.elapsed();
        if number % 4 == 0 {
            let started = Instant::now();
            store.maintain(0)?;
            keeping += started.elapsed();
        }
    }
    let rate = |time: Duration| format!("{:>9.0} rows/s", (batches * BATCH_ROWS) as f64 / time.as_secs_f64());
    println!("encode            {}", rate(encoding));
    println!("commit            {}", rate(committing));
    println!("upkeep beside     {keeping:?}, file {} MB", megabytes(&path));
    // A copy of the open file is what a kill leaves.
    let killed = folder.path().join("killed.redb");
    std::fs::copy(&path, &killed)?;
    std::fs::File::open(&killed)?.sync_all()?;
    let started = Instant::now();
    drop(open(&killed)?);
    println!("open after a kill {:?} of {} MB", started.elapsed(), megabytes(&killed));
    let started = Instant::now();
    store.finish(0, Duration::from_secs(300))?;
    println!("finish            {:?}", started.elapsed());
    let stored = megabytes(&path);
    for (label, projection) in
        [("scan all columns", None), ("scan one number", Some(&[0usize][..])), ("scan one text", Some(&[1][..]))]
    {
        let started = Instant::now();
        let read = count(store.snapshot()?.scan(&table, projection, &[])?)?;
        assert_eq!(read as i64, batches * BATCH_ROWS);
        println!("{label:<18}{}", rate(started.elapsed()));
    }
    let live = store.live_bytes()? >> 20;
    println!("memory            {}", memory());
    drop((sink, store));
    println!("file              {stored} MB, {} MB when closed, for {live} MB of rows", megabytes(&path));
    Ok(())
}

fn open(path: &Path) -> Result<RedbStore> {
    RedbStore::open(path, StoreOptions::new(TenantName::new("bench"), "bench"))
}

fn megabytes(path: &Path) -> u64 {
    std::fs::metadata(path).map_or(0, |m| m.len() >> 20)
}

fn memory() -> String {
    let status = std::fs::read_to_string("/proc/self/status").unwrap_or_default();
    status.lines().filter(|line| line.starts_with("VmHWM") || line.starts_with("VmRSS")).collect::<Vec<_>>().join(", ")
}

fn count(scan: Scan) -> Result<usize> {
    scan.map(|batch| batch.map(|batch| batch.num_rows())).sum()
}

fn delta(sink: &mut dyn Sink, rows: RecordBatch, from: i64) -> Result<Delta> {
    let partition = PartitionId { cluster: "c".into(), topic_id: TopicId::default(), topic: "t".into(), partition: 0 };
    let batch = Batch { rows: Rows::Same(rows.num_rows()), columns: rows, records: Arc::default(), closed_at: 0 };
    let Part::Segments(segments) = sink.prepare(&batch, &mut Rejects::default())?;
    let run = Run { job_id: "run".into(), started_at: 0, topics: vec!["t".into()] };
    let tables = segments.iter().map(|s| s.table.clone()).collect();
    Ok(Delta {
        pipeline: PipelineName::new("bench"),
        advances: vec![Advance { partition, from, to: from + BATCH_ROWS }],
        segments,
        rejects: Vec::new(),
        audit: AuditDelta { run, tables, counts: Counts::default(), events: Vec::new(), at: from, ended: None },
        records: Vec::new(),
    })
}

/// A number, a text of its own, a time; then texts with few values, floats, flags in turn.
fn rows(from: i64, columns: i64) -> std::result::Result<RecordBatch, arrow_schema::ArrowError> {
    let numbers = || from..from + BATCH_ROWS;
    let mixed = |n: i64| (n as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let column = |index: i64| -> ArrayRef {
        match index {
            0 => Arc::new(Int64Array::from_iter_values(numbers())),
            1 => Arc::new(StringArray::from_iter_values(numbers().map(|n| format!("user-{:016x}", mixed(n))))),
            2 => Arc::new(TimestampMicrosecondArray::from_iter_values(numbers().map(|n| 1_700_000_000_000_000 + n * 37))),
            n if n % 4 == 3 => Arc::new(StringArray::from_iter_values(
                numbers().map(|n| ["click", "view", "purchase"][(mixed(n) >> 60) as usize % 3]),
            )),
            n if n % 4 == 0 => Arc::new(Float64Array::from_iter_values(numbers().map(|n| mixed(n) as f64 / 7.0))),
            n if n % 4 == 1 => Arc::new(StringArray::from_iter_values(
                numbers().map(|n| format!("https://example.org/items/{}", mixed(n) >> 44)),
            )),
            _ => Arc::new(BooleanArray::from_iter(numbers().map(|n| Some(mixed(n) >> 63 == 1)))),
        }
    };
    RecordBatch::try_from_iter((0..columns).map(|index| (format!("c{index}"), column(index))))
}
