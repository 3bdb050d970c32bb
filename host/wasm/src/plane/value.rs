//! Values of the record plane from Arrow and back.

use std::sync::Arc;

use arrow_array::builder::{BinaryBuilder, BooleanBuilder, PrimitiveBuilder, StringBuilder};
use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type, Int64Type,
    TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type, UInt16Type,
    UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef, RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field as ArrowField, Schema, SchemaRef, TimeUnit};

use super::nested;
use crate::bindings::record_types::{Field, Kind, Value};

/// The fields of a schema.
pub(super) fn fields(schema: &Schema) -> Vec<Field> {
    let field = |field: &Arc<ArrowField>| {
        let (kind, precision, scale) = kind(field.data_type());
        Field { name: field.name().clone(), kind, precision, scale }
    };
    schema.fields().iter().map(field).collect()
}

fn kind(data_type: &DataType) -> (Kind, u8, i8) {
    let plain = |kind| (kind, 0, 0);
    match data_type {
        DataType::Boolean => plain(Kind::Boolean),
        // More than a signed integer holds.
        DataType::UInt64 => (Kind::Decimal, 20, 0),
        data_type if data_type.is_integer() => plain(Kind::Integer),
        DataType::Float32 | DataType::Float64 => plain(Kind::Float),
        DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => plain(Kind::Text),
        DataType::Binary | DataType::LargeBinary | DataType::BinaryView => plain(Kind::Bytes),
        DataType::Decimal128(precision, scale) => (Kind::Decimal, *precision, *scale),
        DataType::Date32 => plain(Kind::Date),
        DataType::Timestamp(_, _) => plain(Kind::Timestamp),
        _ => plain(Kind::Json),
    }
}

/// The Arrow field of an answered column.
pub(super) fn arrow_field(field: &Field) -> Result<ArrowField, String> {
    let data_type = match field.kind {
        Kind::Boolean => DataType::Boolean,
        Kind::Integer => DataType::Int64,
        Kind::Float => DataType::Float64,
        Kind::Text | Kind::Json => DataType::Utf8,
        Kind::Bytes => DataType::Binary,
        Kind::Date => DataType::Date32,
        Kind::Timestamp => DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into())),
        Kind::Decimal if (1..=38).contains(&field.precision) && (0..=38).contains(&field.scale) => {
            DataType::Decimal128(field.precision, field.scale)
        }
        Kind::Decimal => return Err(format!("the column `{}` is decimal({},{})", field.name, field.precision, field.scale)),
    };
    Ok(ArrowField::new(&field.name, data_type, true))
}

/// All rows of a batch.
pub(super) fn rows(batch: &RecordBatch) -> Result<Vec<Vec<Value>>, String> {
    let mut rows: Vec<Vec<Value>> = (0..batch.num_rows()).map(|_| Vec::with_capacity(batch.num_columns())).collect();
    for column in batch.columns() {
        for (row, value) in rows.iter_mut().zip(column_values(column)?) {
            row.push(value);
        }
    }
    Ok(rows)
}

fn column_values(column: &ArrayRef) -> Result<Vec<Value>, String> {
    let each = |value: &dyn Fn(usize) -> Value| {
        (0..column.len()).map(|i| if column.is_valid(i) { value(i) } else { Value::Null }).collect()
    };
    macro_rules! integers {
        ($type:ty) => {{
            let values = column.as_primitive::<$type>();
            each(&|i| Value::Integer(i64::from(values.value(i))))
        }};
    }
    macro_rules! micros {
        ($type:ty, $to_micros:expr) => {{
            let values = column.as_primitive::<$type>();
            let to_micros: fn(i64) -> i64 = $to_micros;
            each(&|i| Value::Integer(to_micros(values.value(i))))
        }};
    }
    Ok(match column.data_type() {
        DataType::Boolean => each(&|i| Value::Boolean(column.as_boolean().value(i))),
        DataType::Int8 => integers!(Int8Type),
        DataType::Int16 => integers!(Int16Type),
        DataType::Int32 => integers!(Int32Type),
        DataType::Int64 => integers!(Int64Type),
        DataType::UInt8 => integers!(UInt8Type),
        DataType::UInt16 => integers!(UInt16Type),
        DataType::UInt32 => integers!(UInt32Type),
        DataType::UInt64 => each(&|i| Value::Text(column.as_primitive::<UInt64Type>().value(i).to_string())),
        DataType::Float32 => each(&|i| Value::Float(column.as_primitive::<Float32Type>().value(i).into())),
        DataType::Float64 => each(&|i| Value::Float(column.as_primitive::<Float64Type>().value(i))),
        DataType::Utf8 => each(&|i| Value::Text(column.as_string::<i32>().value(i).to_owned())),
        DataType::LargeUtf8 => each(&|i| Value::Text(column.as_string::<i64>().value(i).to_owned())),
        DataType::Utf8View => each(&|i| Value::Text(column.as_string_view().value(i).to_owned())),
        DataType::Binary => each(&|i| Value::Bytes(column.as_binary::<i32>().value(i).to_vec())),
        DataType::LargeBinary => each(&|i| Value::Bytes(column.as_binary::<i64>().value(i).to_vec())),
        DataType::BinaryView => each(&|i| Value::Bytes(column.as_binary_view().value(i).to_vec())),
        DataType::Decimal128(_, _) => each(&|i| Value::Text(column.as_primitive::<Decimal128Type>().value_as_string(i))),
        DataType::Date32 => integers!(Date32Type),
        DataType::Timestamp(TimeUnit::Second, _) => micros!(TimestampSecondType, |t| t.saturating_mul(1_000_000)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => micros!(TimestampMillisecondType, |t| t.saturating_mul(1_000)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => micros!(TimestampMicrosecondType, |t| t),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => micros!(TimestampNanosecondType, |t| t.div_euclid(1_000)),
        _ => nested::texts(column)?.into_iter().map(|text| text.map_or(Value::Null, Value::Text)).collect(),
    })
}

/// Answered rows as a batch of the promised schema.
pub(super) fn batch(schema: &SchemaRef, rows: &[Vec<Value>]) -> Result<RecordBatch, String> {
    if let Some((index, row)) = rows.iter().enumerate().find(|(_, row)| row.len() != schema.fields().len()) {
        return Err(format!("answered row {index} with {} values for {} columns", row.len(), schema.fields().len()));
    }
    let column = |(index, field): (usize, &Arc<ArrowField>)| {
        let wrong = |row: usize| {
            format!("answered row {row} with a value that does not fit the column `{}` ({})", field.name(), field.data_type())
        };
        answered(field.data_type(), rows.len(), |row| &rows[row][index]).map_err(wrong)
    };
    let columns = schema.fields().iter().enumerate().map(column).collect::<Result<Vec<_>, _>>()?;
    let options = RecordBatchOptions::new().with_row_count(Some(rows.len()));
    RecordBatch::try_new_with_options(schema.clone(), columns, &options).map_err(|error| error.to_string())
}

/// One column; the number of the row that does not fit.
fn answered<'v>(data_type: &DataType, len: usize, value: impl Fn(usize) -> &'v Value) -> Result<ArrayRef, usize> {
    macro_rules! fill {
        ($builder:expr, $pattern:pat => $get:expr) => {{
            let mut builder = $builder;
            for row in 0..len {
                match value(row) {
                    Value::Null => builder.append_null(),
                    $pattern => builder.append_value($get.ok_or(row)?),
                    _ => return Err(row),
                }
            }
            Ok(Arc::new(builder.finish()) as ArrayRef)
        }};
    }
    fn primitive<T: ArrowPrimitiveType>(data_type: &DataType) -> PrimitiveBuilder<T> {
        PrimitiveBuilder::new().with_data_type(data_type.clone())
    }
    match data_type {
        DataType::Boolean => fill!(BooleanBuilder::new(), Value::Boolean(v) => Some(*v)),
        DataType::Int64 => fill!(primitive::<Int64Type>(data_type), Value::Integer(v) => Some(*v)),
        DataType::Float64 => fill!(primitive::<Float64Type>(data_type), Value::Float(v) => Some(*v)),
        DataType::Utf8 => fill!(StringBuilder::new(), Value::Text(v) => Some(v)),
        DataType::Binary => fill!(BinaryBuilder::new(), Value::Bytes(v) => Some(v)),
        DataType::Date32 => fill!(primitive::<Date32Type>(data_type), Value::Integer(v) => i32::try_from(*v).ok()),
        DataType::Decimal128(precision, scale) => {
            fill!(primitive::<Decimal128Type>(data_type), Value::Text(v) => decimal(v, *precision, *scale))
        }
        _ => fill!(primitive::<TimestampMicrosecondType>(data_type), Value::Integer(v) => Some(*v)),
    }
}

/// Decimal digits, exactly: more digits after the point than the scale has are only zeros.
fn decimal(text: &str, precision: u8, scale: i8) -> Option<i128> {
    let (negative, digits) = text.strip_prefix('-').map_or((false, text), |rest| (true, rest));
    let (whole, fraction) = digits.split_once('.').unwrap_or((digits, ""));
    let scale = usize::try_from(scale).ok()?;
    let numeric = |part: &str| part.bytes().all(|b| b.is_ascii_digit());
    if whole.is_empty() || !numeric(whole) || !numeric(fraction) || fraction.bytes().skip(scale).any(|b| b != b'0') {
        return None;
    }
    let unscaled: String =
        whole.bytes().chain(fraction.bytes().chain(std::iter::repeat(b'0')).take(scale)).map(char::from).collect();
    let value: i128 = unscaled.parse().ok()?;
    let fits = value < 10i128.checked_pow(u32::from(precision))?;
    fits.then_some(if negative { -value } else { value })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn decimals_are_exact() {
        for (text, expected) in [
            ("12.30", Some(1230)),
            ("-0.05", Some(-5)),
            ("7", Some(700)),
            ("1.230", Some(123)),
            ("1.234", None),
            ("123456.78", None),
            ("1e3", None),
            (".5", None),
            ("", None),
        ] {
            assert_eq!(decimal(text, 7, 2), expected, "{text}");
        }
    }

    #[test]
    fn what_crosses_comes_back() {
        use arrow_array::{
            BinaryArray, BooleanArray, Date32Array, Decimal128Array, Float64Array, Int64Array, StringArray,
            TimestampMicrosecondArray,
        };
        let decimals = Decimal128Array::from(vec![Some(-5), None]).with_precision_and_scale(12, 2).expect("fits");
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("b", Arc::new(BooleanArray::from(vec![Some(true), None])) as ArrayRef, true),
            ("i", Arc::new(Int64Array::from(vec![Some(i64::MIN), None])) as ArrayRef, true),
            ("f", Arc::new(Float64Array::from(vec![Some(-0.5), None])) as ArrayRef, true),
            ("t", Arc::new(StringArray::from(vec![Some("é"), None])) as ArrayRef, true),
            ("y", Arc::new(BinaryArray::from(vec![Some(&b"\xff"[..]), None])) as ArrayRef, true),
            ("d", Arc::new(decimals) as ArrayRef, true),
            ("a", Arc::new(Date32Array::from(vec![Some(-1), None])) as ArrayRef, true),
            ("s", Arc::new(TimestampMicrosecondArray::from(vec![Some(7), None]).with_timezone("UTC")) as ArrayRef, true),
        ])
        .expect("a batch");
        let fields = fields(&batch.schema()).iter().map(arrow_field).collect::<Result<Vec<_>, _>>().expect("known types");
        assert_eq!(Schema::new(fields).fields(), batch.schema().fields());
        let rows = rows(&batch).expect("crosses");
        assert_eq!(rows[0][5], Value::Text("-0.05".into()));
        assert!(rows[1].iter().all(|value| *value == Value::Null));
        assert_eq!(super::batch(&batch.schema(), &rows), Ok(batch.clone()));
        let short = super::batch(&batch.schema(), &[rows[0].clone(), rows[1][1..].to_vec()]);
        assert_eq!(short, Err("answered row 1 with 7 values for 8 columns".to_owned()));
        let mut wrong = rows;
        wrong[1][6] = Value::Integer(i64::from(i32::MAX) + 1);
        assert_eq!(
            super::batch(&batch.schema(), &wrong),
            Err("answered row 1 with a value that does not fit the column `a` (Date32)".to_owned())
        );
    }

    #[test]
    fn large_unsigned_numbers_keep_their_value() {
        use arrow_array::UInt64Array;
        let column = Arc::new(UInt64Array::from(vec![u64::MAX])) as ArrayRef;
        let batch = RecordBatch::try_from_iter([("u", column)]).expect("a batch");
        assert_eq!(fields(&batch.schema())[0].kind, Kind::Decimal);
        assert_eq!(rows(&batch), Ok(vec![vec![Value::Text("18446744073709551615".into())]]));
    }

    #[test]
    fn seconds_that_overflow_as_microseconds_are_clamped() {
        use arrow_array::TimestampSecondArray;
        let column = Arc::new(TimestampSecondArray::from(vec![2, i64::MAX])) as ArrayRef;
        let found = column_values(&column).expect("crosses");
        assert_eq!(found, [Value::Integer(2_000_000), Value::Integer(i64::MAX)]);
    }
}
