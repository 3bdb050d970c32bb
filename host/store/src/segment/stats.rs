//! Least and greatest value per column, by which a scan leaves segments out.
//!
//! Bounds may be wider than the values (a text is cut to a prefix), never narrower; a column without bounds is never left out for them.

use arrow_array::cast::AsArray;
use arrow_array::types::{
    ArrowPrimitiveType, Date32Type, Date64Type, Decimal128Type, Float32Type, Float64Type, Int8Type, Int16Type, Int32Type,
    Int64Type, TimestampMicrosecondType, TimestampMillisecondType, TimestampNanosecondType, TimestampSecondType, UInt8Type,
    UInt16Type, UInt32Type, UInt64Type,
};
use arrow_array::{Array, ArrayRef};
use arrow_schema::{DataType, TimeUnit};
use sluicebox_core::query::{Comparison, Scalar};

use crate::fault::{Fault, Result};
use crate::wire::{Reader, Writer};

/// Bytes kept of a text.
const PREFIX_BYTES: usize = 16;

/// What is known of one column of a segment.
#[derive(Debug, Clone, PartialEq, Default)]
pub(crate) struct ColumnStats {
    pub nulls: u64,
    /// No value is below.
    pub min: Option<Scalar>,
    /// No value is above.
    pub max: Option<Scalar>,
}

impl ColumnStats {
    /// Of an array.
    pub fn of(array: &ArrayRef) -> Self {
        let nulls = array.logical_null_count() as u64;
        let (min, max) = bounds(array).unwrap_or((None, None));
        Self { nulls, min, max }
    }

    /// Whether a row with `value comparison bound` may be among `rows` rows.
    pub fn may_hold(&self, rows: u64, comparison: Comparison, bound: &Scalar) -> bool {
        if self.nulls >= rows {
            return false;
        }
        let below = |limit: &Option<Scalar>| limit.as_ref().and_then(|limit| compare(bound, limit));
        use std::cmp::Ordering::{Greater, Less};
        let (to_min, to_max) = (below(&self.min), below(&self.max));
        match comparison {
            Comparison::Equal => to_min != Some(Less) && to_max != Some(Greater),
            Comparison::Less => to_min.is_none_or(|order| order == Greater),
            Comparison::LessOrEqual => to_min != Some(Less),
            Comparison::Greater => to_max.is_none_or(|order| order == Less),
            Comparison::GreaterOrEqual => to_max != Some(Greater),
        }
    }

    /// Of two sets of rows together; `rows` are theirs.
    #[must_use]
    pub fn merge(&self, rows: u64, other: &Self, other_rows: u64) -> Self {
        let nulls = self.nulls + other.nulls;
        if self.nulls >= rows {
            return Self { nulls, ..other.clone() };
        }
        if other.nulls >= other_rows {
            return Self { nulls, ..self.clone() };
        }
        let pick = |a: &Option<Scalar>, b: &Option<Scalar>, keep: std::cmp::Ordering| {
            let (a, b) = (a.as_ref()?, b.as_ref()?);
            Some(if compare(a, b)? == keep { a.clone() } else { b.clone() })
        };
        let min = pick(&self.min, &other.min, std::cmp::Ordering::Less);
        let max = pick(&self.max, &other.max, std::cmp::Ordering::Greater);
        Self { nulls, min, max }
    }

    pub fn write(&self, w: &mut Writer) {
        w.u64(self.nulls);
        w.option(self.min.as_ref(), write_scalar);
        w.option(self.max.as_ref(), write_scalar);
    }

    pub fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self { nulls: r.u64()?, min: r.option(read_scalar)?, max: r.option(read_scalar)? })
    }
}

fn compare(a: &Scalar, b: &Scalar) -> Option<std::cmp::Ordering> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a.cmp(b)),
        (Scalar::Float(a), Scalar::Float(b)) => a.partial_cmp(b),
        (Scalar::Text(a), Scalar::Text(b)) => Some(a.cmp(b)),
        (Scalar::Bool(a), Scalar::Bool(b)) => Some(a.cmp(b)),
        _ => None,
    }
}

fn write_scalar(w: &mut Writer, scalar: &Scalar) {
    match scalar {
        Scalar::Int(value) => {
            w.u8(0);
            w.i128(*value);
        }
        Scalar::Float(value) => {
            w.u8(1);
            w.u64(value.to_bits());
        }
        Scalar::Text(value) => {
            w.u8(2);
            w.text(value);
        }
        Scalar::Bool(value) => {
            w.u8(3);
            w.u8(u8::from(*value));
        }
    }
}

fn read_scalar(r: &mut Reader<'_>) -> Result<Scalar> {
    Ok(match r.u8()? {
        0 => Scalar::Int(r.i128()?),
        1 => Scalar::Float(f64::from_bits(r.u64()?)),
        2 => Scalar::Text(r.text()?.to_owned()),
        3 => Scalar::Bool(r.u8()? != 0),
        other => return Err(Fault::Broken(format!("unknown kind of statistic {other}"))),
    })
}

type Bounds = (Option<Scalar>, Option<Scalar>);

fn bounds(array: &ArrayRef) -> Option<Bounds> {
    let micros = |per_value: i128| move |value: i128| value * per_value;
    match array.data_type() {
        DataType::Int8 => ints::<Int8Type>(array, |v| v),
        DataType::Int16 => ints::<Int16Type>(array, |v| v),
        DataType::Int32 => ints::<Int32Type>(array, |v| v),
        DataType::Int64 => ints::<Int64Type>(array, |v| v),
        DataType::UInt8 => ints::<UInt8Type>(array, |v| v),
        DataType::UInt16 => ints::<UInt16Type>(array, |v| v),
        DataType::UInt32 => ints::<UInt32Type>(array, |v| v),
        DataType::UInt64 => ints::<UInt64Type>(array, |v| v),
        DataType::Date32 => ints::<Date32Type>(array, |v| v),
        DataType::Date64 => ints::<Date64Type>(array, |v| v.div_euclid(86_400_000)),
        DataType::Decimal128(..) => ints::<Decimal128Type>(array, |v| v),
        DataType::Timestamp(TimeUnit::Second, _) => ints::<TimestampSecondType>(array, micros(1_000_000)),
        DataType::Timestamp(TimeUnit::Millisecond, _) => ints::<TimestampMillisecondType>(array, micros(1_000)),
        DataType::Timestamp(TimeUnit::Microsecond, _) => ints::<TimestampMicrosecondType>(array, |v| v),
        DataType::Timestamp(TimeUnit::Nanosecond, _) => {
            // Rounded outwards, since the bounds are coarser than the values.
            let (min, max) = ints::<TimestampNanosecondType>(array, |v| v)?;
            let coarse = |scalar, up: i128| {
                if let Some(Scalar::Int(v)) = scalar { Some(Scalar::Int((v + up).div_euclid(1_000))) } else { None }
            };
            Some((coarse(min, 0), coarse(max, 999)))
        }
        DataType::Float32 => floats::<Float32Type>(array, f64::from),
        DataType::Float64 => floats::<Float64Type>(array, |v| v),
        DataType::Boolean => {
            let array = array.as_boolean();
            let (trues, valid) = (array.true_count(), array.len() - array.null_count());
            (valid > 0).then_some((Some(Scalar::Bool(trues == valid)), Some(Scalar::Bool(trues > 0))))
        }
        DataType::Utf8 => texts(array.as_string::<i32>().iter()),
        DataType::LargeUtf8 => texts(array.as_string::<i64>().iter()),
        DataType::Utf8View => texts(array.as_string_view().iter()),
        _ => None,
    }
}

fn ints<T: ArrowPrimitiveType>(array: &ArrayRef, scale: impl Fn(i128) -> i128) -> Option<Bounds>
where
    T::Native: Into<i128> + Ord,
{
    let array = array.as_primitive::<T>();
    let (min, max) =
        if array.null_count() == 0 { extremes(array.values().iter().copied())? } else { extremes(array.iter().flatten())? };
    Some((Some(Scalar::Int(scale(min.into()))), Some(Scalar::Int(scale(max.into())))))
}

fn extremes<V: Ord + Copy>(values: impl Iterator<Item = V> + Clone) -> Option<(V, V)> {
    let mut rest = values;
    let first = rest.next()?;
    Some(rest.fold((first, first), |(min, max), value| (min.min(value), max.max(value))))
}

/// Bounds of floats; none when one is not a number, since its place in the order depends on who compares.
fn floats<T: ArrowPrimitiveType>(array: &ArrayRef, widen: impl Fn(T::Native) -> f64) -> Option<Bounds> {
    let mut bounds: Option<(f64, f64)> = None;
    for value in array.as_primitive::<T>().iter().flatten() {
        let value = widen(value);
        if value.is_nan() {
            return None;
        }
        let (min, max) = bounds.unwrap_or((value, value));
        bounds = Some((min.min(value), max.max(value)));
    }
    bounds.map(|(min, max)| (Some(Scalar::Float(min)), Some(Scalar::Float(max))))
}

fn texts<'a>(values: impl Iterator<Item = Option<&'a str>>) -> Option<Bounds> {
    let mut values = values.flatten();
    let first = values.next()?;
    let (min, max) = values.fold((first, first), |(min, max), value| (min.min(value), max.max(value)));
    Some((Some(Scalar::Text(prefix(min).to_owned())), above(max).map(Scalar::Text)))
}

fn prefix(text: &str) -> &str {
    &text[..text.floor_char_boundary(PREFIX_BYTES)]
}

/// The text itself when it is short, else the next text after all that begin like it; `None` when there is none.
fn above(text: &str) -> Option<String> {
    let head = prefix(text);
    if head.len() == text.len() {
        return Some(text.to_owned());
    }
    let mut head = head.to_owned();
    while let Some(last) = head.pop() {
        // Skips the surrogates, which are no characters.
        let next = if last == '\u{d7ff}' { Some('\u{e000}') } else { char::from_u32(last as u32 + 1) };
        if let Some(next) = next {
            head.push(next);
            return Some(head);
        }
    }
    None
}

#[cfg(test)]
mod tests;
