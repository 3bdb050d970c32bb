//! What the tests share: stores, deltas, and what a query sees.

use std::collections::BTreeMap;
use std::path::Path;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Float64Array, Int64Array, RecordBatch, StringArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sluicebox_core::audit::{AuditDelta, Run};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::commit::{Delta, RejectRow, Segment};
use sluicebox_core::error::Result;
use sluicebox_core::name::{PipelineName, TableName, TenantName};
use sluicebox_core::outcome::Counts;
use sluicebox_core::port::{Part, Retention, Sink, Store};
use sluicebox_core::position::{Advance, PartitionId, TopicId};
use sluicebox_core::query::{Bound, Snapshot, Snapshots};
use sluicebox_core::reject::{Code, Rejects, RowError};

use crate::{RedbStore, StoreOptions};

pub fn options() -> StoreOptions {
    StoreOptions::new(TenantName::new("acme"), "id-1")
}

pub fn open(path: &Path) -> RedbStore {
    RedbStore::open(path, options()).expect("opens")
}

pub fn pipeline() -> PipelineName {
    PipelineName::new("orders")
}

pub fn table() -> TableName {
    TableName::new("shop", "orders")
}

pub fn schema() -> SchemaRef {
    fields(&[("id", DataType::Int64), ("text", DataType::Utf8), ("price", DataType::Float64)])
}

pub fn fields(fields: &[(&str, DataType)]) -> SchemaRef {
    Arc::new(Schema::new(fields.iter().map(|(name, kind)| Field::new(*name, kind.clone(), true)).collect::<Vec<_>>()))
}

/// Rows whose `id` counts from `from`.
pub fn rows(from: i64, count: i64) -> RecordBatch {
    let ids = from..from + count;
    let texts = ids.clone().map(|id| (id % 5 != 0).then(|| format!("text {}", id % 1000)));
    let columns: Vec<ArrayRef> = vec![
        Arc::new(Int64Array::from_iter_values(ids.clone())),
        Arc::new(StringArray::from_iter(texts)),
        Arc::new(Float64Array::from_iter_values(ids.map(|id| id as f64 / 4.0))),
    ];
    RecordBatch::try_new(schema(), columns).expect("columns fit")
}

pub fn sink(store: &RedbStore) -> Box<dyn Sink> {
    store.table(&table(), &schema(), &pipeline(), Retention::default()).expect("registers")
}

pub fn segments(sink: &mut dyn Sink, rows: RecordBatch) -> Vec<Segment> {
    let batch = Batch { rows: Rows::Same(rows.num_rows()), columns: rows, records: Arc::default(), closed_at: 0 };
    let Part::Segments(segments) = sink.prepare(&batch, &mut Rejects::default()).expect("encodes");
    segments
}

pub fn partition(number: i32) -> PartitionId {
    PartitionId { cluster: "c1".into(), topic_id: TopicId([7; 16]), topic: "orders".into(), partition: number }
}

pub fn audit(at: i64) -> AuditDelta {
    let run = Run { job_id: "run-1".into(), started_at: 1_000_000, topics: vec!["orders".into()] };
    AuditDelta { run, tables: vec![table()], counts: Counts::default(), events: Vec::new(), at, ended: None }
}

/// A delta of `count` rows that come from as many records of partition 0.
pub fn delta(sink: &mut dyn Sink, from: i64, count: i64) -> Delta {
    let mut audit = audit(2_000_000 + from);
    audit.counts = Counts { consumed: count as u64, emitted: count as u64, rows: count as u64, ..Counts::default() };
    Delta {
        pipeline: pipeline(),
        advances: vec![Advance { partition: partition(0), from, to: from + count }],
        segments: segments(sink, rows(from, count)),
        rejects: Vec::new(),
        audit,
        records: Vec::new(),
    }
}

pub fn reject(offset: i64) -> RejectRow {
    RejectRow {
        topic: "orders".into(),
        partition: 3,
        offset,
        key: Some(b"k".to_vec()),
        value: None,
        errors: vec![RowError::new("a.b", Code::REQUIRED, "is required"), RowError::new("", Code::SYNTAX, "no JSON at byte 7")],
    }
}

pub fn position(store: &RedbStore) -> i64 {
    store.positions(&pipeline()).expect("reads").get(&partition(0)).unwrap_or(0)
}

pub fn scan(
    snapshot: &dyn Snapshot,
    table: &TableName,
    projection: Option<&[usize]>,
    bounds: &[Bound],
) -> Result<Vec<RecordBatch>> {
    snapshot.scan(table, projection, bounds)?.collect()
}

/// The ids in the table, each with how often it is there; checks that the other columns belong to them.
pub fn ids(store: &RedbStore) -> BTreeMap<i64, usize> {
    let snapshot = store.snapshot().expect("reads");
    let mut ids = BTreeMap::new();
    for batch in scan(&*snapshot, &table(), None, &[]).expect("scans") {
        let columns = batch.column(0).as_primitive::<Int64Type>();
        for id in columns.values() {
            *ids.entry(*id).or_default() += 1;
        }
        if let (Some(first), true) = (columns.values().first(), batch.num_columns() == 3) {
            let contiguous = columns.values().windows(2).all(|pair| pair[1] == pair[0] + 1);
            if contiguous {
                assert_eq!(batch, rows(*first, batch.num_rows() as i64));
            }
        }
    }
    ids
}

/// Asserts that exactly the records up to the position are there, once.
pub fn assert_exactly_once(store: &RedbStore) -> i64 {
    let next = position(store);
    let ids = ids(store);
    assert_eq!(ids.len() as i64, next, "rows and position");
    assert!(ids.iter().zip(0..).all(|((id, times), expected)| *id == expected && *times == 1));
    next
}
