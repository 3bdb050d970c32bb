//! The canonical text of a value: what a privacy rule works on, the same on every machine and for every split of the input.
//!
//! | type | text |
//! |---|---|
//! | text, variant | as it is |
//! | integers | decimal digits |
//! | decimal | digits with the declared scale |
//! | double | shortest digits that read back the same, without an exponent |
//! | boolean | `true`, `false` |
//! | date | `2026-03-01` |
//! | timestamp | `2026-03-01T10:00:00Z`, with a fraction only when there is one |

use arrow_array::cast::AsArray;
use arrow_array::temporal_conversions::{date32_to_datetime, timestamp_us_to_datetime};
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use arrow_schema::DataType;

/// Gives each value's text to `each`, `None` for null.
pub(super) fn texts(values: &ArrayRef, mut each: impl FnMut(usize, Option<&str>)) {
    if let Some(texts) = values.as_string_opt::<i32>() {
        (0..texts.len()).for_each(|i| each(i, texts.is_valid(i).then(|| texts.value(i))));
        return;
    }
    for index in 0..values.len() {
        let text = values.is_valid(index).then(|| text(values, index));
        each(index, text.as_deref());
    }
}

fn text(values: &ArrayRef, index: usize) -> String {
    match values.data_type() {
        DataType::Int8 => values.as_primitive::<Int8Type>().value(index).to_string(),
        DataType::Int16 => values.as_primitive::<Int16Type>().value(index).to_string(),
        DataType::Int64 => values.as_primitive::<Int64Type>().value(index).to_string(),
        DataType::Float64 => values.as_primitive::<Float64Type>().value(index).to_string(),
        DataType::Boolean => values.as_boolean().value(index).to_string(),
        DataType::Decimal128(_, _) => values.as_primitive::<Decimal128Type>().value_as_string(index),
        DataType::Date32 => {
            let day = values.as_primitive::<Date32Type>().value(index);
            date32_to_datetime(day).map(|time| time.date().to_string()).unwrap_or_default()
        }
        DataType::Timestamp(_, _) => {
            let micros = values.as_primitive::<TimestampMicrosecondType>().value(index);
            timestamp_us_to_datetime(micros).map(|time| format!("{}Z", time.format("%Y-%m-%dT%H:%M:%S%.f"))).unwrap_or_default()
        }
        _ => String::new(),
    }
}
