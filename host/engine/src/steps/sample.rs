//! Batches for the tests of the steps.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::column::{Column, Kind, Pattern};
use sluicebox_core::position::{PartitionId, TopicId};
use sluicebox_core::record::{RecordRef, Records, RecordsBuilder};
use sluicebox_core::reject::Rejects;

/// The partition of all records here: number and first offset differ, so that a mix-up shows.
pub(super) fn partition() -> PartitionId {
    PartitionId { cluster: "c".into(), topic_id: TopicId::default(), topic: "orders".into(), partition: 3 }
}

/// Records with these keys; offsets from 70.
pub(super) fn records(keys: &[Option<&[u8]>]) -> Records {
    let mut builder = RecordsBuilder::default();
    let number = builder.partition(&partition(), 70);
    for (index, key) in keys.iter().enumerate() {
        let offset = 70 + index as i64;
        builder.push(number, RecordRef { offset, timestamp: 1_000 + offset, key: *key, value: Some(b"{}") });
    }
    builder.close()
}

pub(super) fn schema(columns: &[Column]) -> Schema {
    Schema::new(columns.iter().map(Column::decoded_field).collect::<Vec<Field>>())
}

/// A batch of one row a record.
pub(super) fn batch(columns: &[Column], values: Vec<ArrayRef>) -> Batch {
    let rows = values.first().map_or(0, |values| values.len());
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    let columns = RecordBatch::try_new_with_options(Arc::new(schema(columns)), values, &options).expect("a batch");
    Batch { columns, rows: Rows::Same(rows), records: Arc::new(records(&vec![None; rows])), closed_at: 0 }
}

/// A text column with a pattern, written as in Java, that needs no translation.
pub(super) fn typed(name: &str, type_name: &str, pattern: &str) -> Column {
    let mut column = Column::new(name, Kind::Text);
    column.type_name = type_name.into();
    column.pattern = Some(Pattern { written: pattern.into(), regex: format!(r"(?s)\A(?:{pattern})\z") });
    column
}

/// All errors as `record path code: message`.
pub(super) fn told(rejects: &Rejects) -> Vec<String> {
    let line = |record: u32, e: &sluicebox_core::RowError| format!("{record} {} {}: {}", e.path, e.code, e.message);
    rejects.iter().flat_map(|(record, errors)| errors.iter().map(move |error| line(record, error))).collect()
}
