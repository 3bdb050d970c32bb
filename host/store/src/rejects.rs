//! Refused records as rows of `audit.rejected`: the columns that Starlake has, then where the record is and each of its errors.

use std::sync::Arc;

use arrow_array::builder::{
    BinaryBuilder, Int32Builder, Int64Builder, ListBuilder, StringBuilder, StructBuilder, TimestampMicrosecondBuilder,
};
use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{ArrowError, DataType, Field, Fields, Schema, SchemaRef, TimeUnit};
use sluicebox_core::commit::{Delta, RejectRow, Segment};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::reject::RowError;

use crate::segment::block::Encoder;
use crate::sink::{Target, segment};

/// The columns of `audit.rejected`.
pub(crate) fn schema() -> SchemaRef {
    let text = |name: &str| Field::new(name, DataType::Utf8, true);
    Arc::new(Schema::new(vec![
        text("jobid"),
        Field::new("timestamp", DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())), true),
        text("domain"),
        text("schema"),
        text("error"),
        text("path"),
        text("topic"),
        Field::new("partition", DataType::Int32, true),
        Field::new("offset", DataType::Int64, true),
        Field::new("key", DataType::Binary, true),
        Field::new("value", DataType::Binary, true),
        Field::new("errors", DataType::List(Arc::new(error_item())), true),
    ]))
}

fn error_fields() -> Fields {
    ["path", "code", "message"].map(|name| Field::new(name, DataType::Utf8, true)).into_iter().collect()
}

fn error_item() -> Field {
    Field::new("item", DataType::Struct(error_fields()), true)
}

/// The rejects of a delta as a segment, if there are any.
pub(crate) fn rejected(delta: &Delta, target: &Target) -> Result<Option<Segment>> {
    if delta.rejects.is_empty() {
        return Ok(None);
    }
    let rows = rows(delta).map_err(|e| Error::internal(e.to_string()))?;
    let mut encoder = Encoder::new().map_err(|e| Error::internal(e.to_string()))?;
    segment(target, &mut encoder, &rows).map(Some)
}

fn rows(delta: &Delta) -> Result<RecordBatch, ArrowError> {
    let rejects = &delta.rejects;
    let table = delta.audit.tables.first();
    let same = |text: Option<&str>| text_column(rejects.iter().map(|_| text));
    let mut times = TimestampMicrosecondBuilder::new().with_timezone("UTC");
    let (mut partitions, mut offsets) = (Int32Builder::new(), Int64Builder::new());
    let (mut keys, mut values) = (BinaryBuilder::new(), BinaryBuilder::new());
    for reject in rejects {
        times.append_value(delta.audit.at);
        partitions.append_value(reject.partition);
        offsets.append_value(reject.offset);
        keys.append_option(reject.key.as_deref());
        values.append_option(reject.value.as_deref());
    }
    let texts: Vec<String> = rejects.iter().map(error_text).collect();
    let topic = text_column(rejects.iter().map(|r| Some(&*r.topic)));
    let columns: Vec<ArrayRef> = vec![
        same(Some(&delta.audit.run.job_id)),
        Arc::new(times.finish()),
        same(table.map(|t| &*t.schema)),
        same(table.map(|t| &*t.table)),
        text_column(texts.iter().map(|t| Some(t.as_str()))),
        topic.clone(),
        topic,
        Arc::new(partitions.finish()),
        Arc::new(offsets.finish()),
        Arc::new(keys.finish()),
        Arc::new(values.finish()),
        error_lists(rejects),
    ];
    RecordBatch::try_new(schema(), columns)
}

fn text_column<'a>(texts: impl Iterator<Item = Option<&'a str>>) -> ArrayRef {
    let mut builder = StringBuilder::new();
    texts.for_each(|text| builder.append_option(text));
    Arc::new(builder.finish())
}

fn error_lists(rejects: &[RejectRow]) -> ArrayRef {
    let fields = StructBuilder::from_fields(error_fields(), rejects.len());
    let mut lists = ListBuilder::new(fields).with_field(error_item());
    for reject in rejects {
        for error in &reject.errors {
            let item = lists.values();
            for (index, text) in [error.path.as_str(), error.code.as_str(), error.message.as_str()].into_iter().enumerate() {
                if let Some(builder) = item.field_builder::<StringBuilder>(index) {
                    builder.append_value(text);
                }
            }
            item.append(true);
        }
        lists.append(true);
    }
    Arc::new(lists.finish())
}

/// All messages of a record in Starlake's words, each behind the path it is about, and the topic in place of the file.
fn error_text(reject: &RejectRow) -> String {
    let line = |error: &RowError| match error.path.as_str() {
        "" => error.message.clone(),
        path => format!("`{path}` {}", error.message),
    };
    let lines: Vec<String> = reject.errors.iter().map(line).collect();
    format!("ERR -> \n{}\n\nFILE -> {}", lines.join("\n"), reject.topic)
}
