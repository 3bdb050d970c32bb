//! Nested values as JSON text.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_json::writer::{LineDelimited, WriterBuilder};
use arrow_schema::{Field, Schema};

/// The JSON text of each value; null values too, as `null`.
pub(super) fn texts(column: &ArrayRef) -> Result<Vec<String>, String> {
    let wrong = |error: arrow_schema::ArrowError| format!("a nested value cannot be written as JSON: {error}");
    let schema = Schema::new(vec![Field::new("v", column.data_type().clone(), true)]);
    let batch = RecordBatch::try_new(Arc::new(schema), vec![column.clone()]).map_err(wrong)?;
    let mut bytes = Vec::new();
    let mut writer = WriterBuilder::new().with_explicit_nulls(true).build::<_, LineDelimited>(&mut bytes);
    writer.write(&batch).and_then(|()| writer.finish()).map_err(wrong)?;
    drop(writer);
    let text = String::from_utf8(bytes).map_err(|error| format!("a nested value cannot be written as JSON: {error}"))?;
    Ok(text.lines().map(|line| line.trim_start_matches("{\"v\":").strip_suffix('}').unwrap_or("null").to_owned()).collect())
}
