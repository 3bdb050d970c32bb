//! Metadata columns of the table `message`: what Kafka knows of a record besides its value. A payload column of the same name wins:
//! the caller asks only for those that the payload lacks.
//!
//! A privacy rule of the key hides `_kafka_key`; headers pass as they are. A key that its rule cannot hide refuses the record, once
//! something reads the key.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, ListBuilder, StringBuilder, StructBuilder};
use arrow_array::{ArrayRef, BinaryArray, Int32Array, Int64Array, RecordBatch, StringArray, TimestampMicrosecondArray};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema};
use sluicebox_core::batch::Batch;
use sluicebox_core::column::timestamp_type;
use sluicebox_core::reject::{Code, Rejects, RowError};

use super::protect::KeyProtect;

/// A metadata column.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Column {
    /// `Binary`; `Utf8` where a privacy rule hides it.
    Key,
    /// `Utf8`
    Topic,
    /// `Int32`
    Partition,
    /// `Int64`
    Offset,
    /// `Timestamp(Microsecond, UTC)`; null when the record has none.
    Timestamp,
    /// `List(Struct(key: Utf8, value: Binary))`, in order, repeats kept.
    Headers,
}

impl Column {
    /// All of them.
    pub const ALL: [Column; 6] = [Self::Key, Self::Topic, Self::Partition, Self::Offset, Self::Timestamp, Self::Headers];

    /// The name in SQL.
    pub fn name(self) -> &'static str {
        match self {
            Self::Key => "_kafka_key",
            Self::Topic => "_kafka_topic",
            Self::Partition => "_kafka_partition",
            Self::Offset => "_kafka_offset",
            Self::Timestamp => "_kafka_timestamp",
            Self::Headers => "_kafka_headers",
        }
    }

    fn data_type(self, key: &KeyProtect) -> DataType {
        match self {
            Self::Key if key.protects() => DataType::Utf8,
            Self::Key => DataType::Binary,
            Self::Topic => DataType::Utf8,
            Self::Partition => DataType::Int32,
            Self::Offset => DataType::Int64,
            Self::Timestamp => timestamp_type(),
            Self::Headers => DataType::List(Arc::new(Field::new_list_field(DataType::Struct(header_fields()), true))),
        }
    }

    fn values(self, batch: &Batch, key: &KeyProtect, rejects: &mut Rejects) -> ArrayRef {
        let records = &batch.records;
        let rows = || batch.rows.iter().map(|record| record as usize);
        match self {
            Self::Key if key.protects() => hidden_keys(batch, key, rejects),
            Self::Key => Arc::new(rows().map(|record| records.key(record)).collect::<BinaryArray>()),
            Self::Topic => Arc::new(StringArray::from_iter_values(rows().map(|record| &*records.partition(record).topic))),
            Self::Partition => Arc::new(Int32Array::from_iter_values(rows().map(|record| records.partition(record).partition))),
            Self::Offset => Arc::new(Int64Array::from_iter_values(rows().map(|record| records.offset(record)))),
            Self::Timestamp => {
                let micros = rows().map(|record| records.timestamp(record).and_then(|millis| millis.checked_mul(1000)));
                Arc::new(micros.collect::<TimestampMicrosecondArray>().with_timezone("UTC"))
            }
            Self::Headers => headers(batch),
        }
    }
}

/// Fields of the columns, marked as metadata so that `SELECT *` leaves them out.
pub fn fields(columns: &[Column], key: &KeyProtect) -> Vec<Field> {
    let mark = || [(sluicebox_core::column::METADATA_MARK.to_owned(), String::new())].into();
    columns.iter().map(|column| Field::new(column.name(), column.data_type(key), true).with_metadata(mark())).collect()
}

/// The batch with these columns behind its own. The row of a record whose key cannot be hidden stays, with a null there.
///
/// # Errors
/// When Arrow refuses the columns.
pub fn append(batch: Batch, columns: &[Column], key: &KeyProtect, rejects: &mut Rejects) -> Result<Batch, ArrowError> {
    if columns.is_empty() {
        return Ok(batch);
    }
    let mut all: Vec<_> = batch.columns.schema().fields().iter().cloned().collect();
    all.extend(fields(columns, key).into_iter().map(Arc::new));
    let mut values = batch.columns.columns().to_vec();
    values.extend(columns.iter().map(|column| column.values(&batch, key, rejects)));
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.rows.len()));
    let columns = RecordBatch::try_new_with_options(Arc::new(Schema::new(all)), values, &options)?;
    Ok(Batch { columns, ..batch })
}

fn hidden_keys(batch: &Batch, key: &KeyProtect, rejects: &mut Rejects) -> ArrayRef {
    let mut refused = None;
    let mut hidden = |record: u32| match key.apply(batch.records.key(record as usize)?) {
        Ok(text) => Some(text),
        Err(words) => {
            // A record may have many rows.
            if refused.replace(record) != Some(record) {
                rejects.add(record, RowError::new(Column::Key.name(), Code::PRIVACY, words));
            }
            None
        }
    };
    Arc::new(batch.rows.iter().map(&mut hidden).collect::<StringArray>())
}

fn header_fields() -> Fields {
    vec![Field::new("key", DataType::Utf8, true), Field::new("value", DataType::Binary, true)].into()
}

fn headers(batch: &Batch) -> ArrayRef {
    let builder = StructBuilder::new(header_fields(), vec![Box::new(StringBuilder::new()), Box::new(BinaryBuilder::new())]);
    let mut list = ListBuilder::new(builder);
    for record in batch.rows.iter() {
        for (name, value) in batch.records.headers().get(record as usize) {
            let entry = list.values();
            if let Some(names) = entry.field_builder::<StringBuilder>(0) {
                names.append_value(String::from_utf8_lossy(name));
            }
            if let Some(values) = entry.field_builder::<BinaryBuilder>(1) {
                values.append_option(value);
            }
            entry.append(true);
        }
        list.append(true);
    }
    Arc::new(list.finish())
}

#[cfg(test)]
mod tests;
