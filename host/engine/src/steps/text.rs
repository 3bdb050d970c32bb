//! The canonical text of a value: what a privacy rule works on, the same on every machine and for every split of the input.
//!
//! | type | text |
//! |---|---|
//! | text | as it is |
//! | variant | the JSON text as it was written: two spellings of one object are two texts |
//! | long, short, byte | decimal digits, with `-` below zero |
//! | decimal | digits with the declared scale: `12.50` |
//! | double | as in RFC 8785: shortest digits that read back the same, so that `1.0` and `1e0` are `1`, as the long `1` and the text `1` are |
//! | boolean | `true`, `false` |
//! | date | `2026-03-01` |
//! | timestamp | RFC 3339 in UTC: `2026-03-01T10:00:00Z`, and `2026-03-01T10:00:00.25Z` where there is a fraction, without zeros at its end |
//!
//! Arrays are protected element by element, structs only through the columns inside them. Null has no text and stays null.

use std::fmt::Write;

use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef, BooleanArray, PrimitiveArray, StringArray};
use arrow_schema::{DataType, TimeUnit};

const DAY_MICROS: i64 = 86_400_000_000;

/// A column whose values have a canonical text.
pub(super) enum Texts<'a> {
    Text(&'a StringArray),
    Byte(&'a PrimitiveArray<Int8Type>),
    Short(&'a PrimitiveArray<Int16Type>),
    Long(&'a PrimitiveArray<Int64Type>),
    Double(&'a PrimitiveArray<Float64Type>),
    Decimal(&'a PrimitiveArray<Decimal128Type>),
    Boolean(&'a BooleanArray),
    Date(&'a PrimitiveArray<Date32Type>),
    Timestamp(&'a PrimitiveArray<TimestampMicrosecondType>),
}

impl<'a> Texts<'a> {
    /// None for a type that no rule can protect as a whole.
    pub(super) fn of(values: &'a ArrayRef) -> Option<Self> {
        Some(match values.data_type() {
            DataType::Utf8 => Self::Text(values.as_string()),
            DataType::Int8 => Self::Byte(values.as_primitive()),
            DataType::Int16 => Self::Short(values.as_primitive()),
            DataType::Int64 => Self::Long(values.as_primitive()),
            DataType::Float64 => Self::Double(values.as_primitive()),
            DataType::Decimal128(_, _) => Self::Decimal(values.as_primitive()),
            DataType::Boolean => Self::Boolean(values.as_boolean()),
            DataType::Date32 => Self::Date(values.as_primitive()),
            DataType::Timestamp(TimeUnit::Microsecond, _) => Self::Timestamp(values.as_primitive()),
            _ => return None,
        })
    }

    /// The text of a value that is not null; `scratch` holds it where it had to be made.
    pub(super) fn get<'s>(&'s self, index: usize, scratch: &'s mut String) -> &'s str {
        scratch.clear();
        // Writing into a String cannot fail.
        let _ = match self {
            Self::Text(texts) => return texts.value(index),
            Self::Byte(values) => write!(scratch, "{}", values.value(index)),
            Self::Short(values) => write!(scratch, "{}", values.value(index)),
            Self::Long(values) => write!(scratch, "{}", values.value(index)),
            Self::Double(values) => double(values.value(index), scratch),
            Self::Decimal(values) => write!(scratch, "{}", values.value_as_string(index)),
            Self::Boolean(values) => write!(scratch, "{}", values.value(index)),
            Self::Date(values) => date(i64::from(values.value(index)), scratch),
            Self::Timestamp(values) => timestamp(values.value(index), scratch),
        };
        scratch
    }
}

/// A number as ECMAScript and RFC 8785 write it.
fn double(value: f64, out: &mut String) -> std::fmt::Result {
    if value == 0.0 {
        return out.write_char('0');
    }
    if !value.is_finite() {
        return out.write_str(if value.is_nan() {
            "NaN"
        } else if value > 0.0 {
            "Infinity"
        } else {
            "-Infinity"
        });
    }
    if value < 0.0 {
        out.push('-');
    }
    let scientific = format!("{:e}", value.abs());
    let (mantissa, exponent) = scientific.split_once('e').unwrap_or((&scientific, "0"));
    let digits = even(mantissa.replace('.', ""), value);
    let count = digits.len() as i32;
    // Where the point stands: the value is 0.DIGITS times ten to this power.
    let point = exponent.parse::<i32>().unwrap_or(0) + 1;
    match point {
        _ if count <= point && point <= 21 => write!(out, "{digits}{:0<1$}", "", (point - count) as usize),
        1..=21 => write!(out, "{}.{}", &digits[..point as usize], &digits[point as usize..]),
        -5..=0 => write!(out, "0.{:0<1$}{digits}", "", -point as usize),
        _ => {
            let dot = if count > 1 { "." } else { "" };
            write!(out, "{}{dot}{}e{:+}", &digits[..1], &digits[1..], point - 1)
        }
    }
}

/// Of two shortest texts that are as near to the value, the even one counts; the standard library takes the upper one. It happens with
/// 16 digits or more.
fn even(digits: String, value: f64) -> String {
    let count = digits.len();
    if count < 16 {
        return digits;
    }
    let exact = format!("{:.40e}", value.abs());
    let (mantissa, exponent) = exact.split_once('e').unwrap_or((&exact, "0"));
    let whole = mantissa.replace('.', "");
    let (lower, rest) = whole.split_at(count);
    let tie = rest.strip_prefix('5').is_some_and(|zeros| zeros.bytes().all(|b| b == b'0'));
    let is_even = lower.bytes().last().is_some_and(|digit| digit % 2 == 0);
    let reads_back = || format!("{}.{}e{exponent}", &lower[..1], &lower[1..]).parse() == Ok(value.abs());
    if tie && is_even && reads_back() { lower.to_owned() } else { digits }
}

/// A day that no calendar of ours has keeps its number, so that two of them stay two.
fn date(days: i64, out: &mut String) -> std::fmt::Result {
    match i32::try_from(days).ok().and_then(Date32Type::to_naive_date_opt) {
        Some(date) => write!(out, "{date}"),
        None => write!(out, "{days}d"),
    }
}

fn timestamp(micros: i64, out: &mut String) -> std::fmt::Result {
    date(micros.div_euclid(DAY_MICROS), out)?;
    let of_day = micros.rem_euclid(DAY_MICROS);
    let (seconds, fraction) = (of_day / 1_000_000, of_day % 1_000_000);
    write!(out, "T{:02}:{:02}:{:02}", seconds / 3600, seconds / 60 % 60, seconds % 60)?;
    if fraction > 0 {
        let fraction = format!("{fraction:06}");
        write!(out, ".{}", fraction.trim_end_matches('0'))?;
    }
    out.write_char('Z')
}

#[cfg(test)]
mod tests;
