//! Rows as text: a table for people, JSON, CSV. Every number keeps all its digits.

use anyhow::{Context, Result};
use arrow::array::{Array, ArrayRef, RecordBatch, StringArray};
use arrow::datatypes::{DataType, Field, Schema, SchemaRef};
use arrow::util::display::{ArrayFormatter, FormatOptions};
use std::sync::Arc;

use crate::cli::Format;

/// Formats rows.
///
/// JSON is one array of objects with explicit nulls: integers and decimals digit for digit, NaN and infinities as null, binary as
/// hexadecimal digits, times in ISO form. CSV has a header line; nested values stand as text.
///
/// # Errors
/// A type that cannot be written.
pub fn format(schema: &SchemaRef, batches: &[RecordBatch], format: Format) -> Result<String> {
    match format {
        Format::Table => table(schema, batches),
        Format::Json => json(batches),
        Format::Csv => csv(schema, batches),
    }
}

fn options() -> FormatOptions<'static> {
    FormatOptions::default().with_null("")
}

fn table(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<String> {
    let pretty = arrow::util::pretty::pretty_format_batches_with_schema(schema.clone(), batches)?;
    let rows: usize = batches.iter().map(RecordBatch::num_rows).sum();
    Ok(format!("{pretty}\n{rows} {}\n", if rows == 1 { "row" } else { "rows" }))
}

fn json(batches: &[RecordBatch]) -> Result<String> {
    let mut bytes = Vec::new();
    let mut writer =
        arrow::json::WriterBuilder::new().with_explicit_nulls(true).build::<_, arrow::json::writer::JsonArray>(&mut bytes);
    writer.write_batches(&batches.iter().collect::<Vec<_>>())?;
    writer.finish()?;
    let text = String::from_utf8(bytes).context("the JSON writer gave bytes that are no text")?;
    Ok(if text.is_empty() { "[]\n".into() } else { text + "\n" })
}

fn csv(schema: &SchemaRef, batches: &[RecordBatch]) -> Result<String> {
    let flat = |field: &Arc<Field>| {
        if field.data_type().is_nested() { Arc::new(Field::new(field.name(), DataType::Utf8, true)) } else { field.clone() }
    };
    let flat_schema = Arc::new(Schema::new(schema.fields().iter().map(flat).collect::<Vec<_>>()));
    let mut bytes = Vec::new();
    let mut writer = arrow::csv::WriterBuilder::new().with_header(true).build(&mut bytes);
    let none = RecordBatch::new_empty(flat_schema.clone());
    writer.write(&none)?;
    for batch in batches {
        let columns = batch.columns().iter().map(flatten).collect::<Result<Vec<_>>>()?;
        writer.write(&RecordBatch::try_new(flat_schema.clone(), columns)?)?;
    }
    drop(writer);
    String::from_utf8(bytes).context("the CSV writer gave bytes that are no text")
}

fn flatten(column: &ArrayRef) -> Result<ArrayRef> {
    if !column.data_type().is_nested() {
        return Ok(column.clone());
    }
    let options = options();
    let formatter = ArrayFormatter::try_new(column.as_ref(), &options)?;
    let text = |row: usize| column.is_valid(row).then(|| formatter.value(row).to_string());
    Ok(Arc::new((0..column.len()).map(text).collect::<StringArray>()))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow::array::{Decimal128Array, Float64Array, Int64Array, ListArray};
    use arrow::datatypes::Int64Type;

    fn batch() -> RecordBatch {
        let decimal =
            Decimal128Array::from(vec![Some(12345678901234567890123456789012345678), None]).with_precision_and_scale(38, 2);
        let columns: Vec<(&str, ArrayRef)> = vec![
            ("id", Arc::new(Int64Array::from(vec![9007199254740993, -1]))),
            ("price", Arc::new(decimal.expect("fits"))),
            ("x", Arc::new(Float64Array::from(vec![f64::NAN, -0.0]))),
            ("tags", Arc::new(ListArray::from_iter_primitive::<Int64Type, _, _>([Some(vec![Some(1), None]), None]))),
        ];
        RecordBatch::try_from_iter(columns).expect("columns fit")
    }

    #[test]
    fn b137_json_keeps_every_digit() {
        let text = format(&batch().schema(), &[batch()], Format::Json).expect("formats");
        assert_eq!(
            text,
            concat!(
                r#"[{"id":9007199254740993,"price":123456789012345678901234567890123456.78,"x":null,"tags":[1,null]},"#,
                r#"{"id":-1,"price":null,"x":-0.0,"tags":null}]"#,
                "\n"
            )
        );
        assert_eq!(format(&batch().schema(), &[], Format::Json).expect("formats"), "[]\n");
    }

    #[test]
    fn csv_has_a_header_and_nested_values_as_text() {
        let text = format(&batch().schema(), &[batch()], Format::Csv).expect("formats");
        assert_eq!(text.lines().next(), Some("id,price,x,tags"));
        assert_eq!(text.lines().nth(1), Some(r#"9007199254740993,123456789012345678901234567890123456.78,NaN,"[1, ]""#));
        assert_eq!(format(&batch().schema(), &[], Format::Csv).expect("formats"), "id,price,x,tags\n");
    }
}
