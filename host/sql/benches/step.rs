//! A step over small and big batches: targets are 10 µs for one row and 20 µs for a thousand.

use std::hint::black_box;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use criterion::{Criterion, Throughput, criterion_group, criterion_main};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::port::Planner;
use sluicebox_core::reject::Rejects;
use sluicebox_sql::SqlPlanner;

const FILTER: &str = "SELECT user_id, event_type, ts FROM message WHERE event_type <> 'heartbeat'";
const COMPUTE: &str =
    "SELECT upper(event_type) AS e, amount * 2 + 1 AS a FROM message WHERE event_type IN ('click', 'view', 'heartbeat')";

fn batch(rows: usize) -> Batch {
    let types = ["click", "view", "heartbeat", "purchase"];
    let user: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| format!("user-{i}"))));
    let event: ArrayRef = Arc::new(StringArray::from_iter_values((0..rows).map(|i| types[i % types.len()])));
    let ts: ArrayRef = Arc::new(TimestampMicrosecondArray::from_iter_values((0..rows).map(|i| i as i64)).with_timezone("UTC"));
    let amount: ArrayRef = Arc::new(Int64Array::from_iter_values((0..rows).map(|i| i as i64)));
    let columns = RecordBatch::try_from_iter([("user_id", user), ("event_type", event), ("ts", ts), ("amount", amount)]);
    let columns = columns.expect("columns of one length");
    Batch { rows: Rows::Same(rows), columns, records: Arc::default(), closed_at: 0 }
}

fn steps(criterion: &mut Criterion) {
    for (name, sql) in [("filter", FILTER), ("compute", COMPUTE)] {
        let mut group = criterion.benchmark_group(name);
        for rows in [1, 1_000, 10_000] {
            let input = batch(rows);
            let mut step = SqlPlanner::new().sql("bench", sql, &input.columns.schema()).expect("plans");
            group.throughput(Throughput::Elements(rows as u64));
            group.bench_function(format!("{rows} rows"), |bencher| {
                bencher.iter(|| black_box(step.process(input.clone(), &mut Rejects::default()).expect("runs")));
            });
        }
        group.finish();
    }
}

criterion_group!(benches, steps);
criterion_main!(benches);
