//! From a JSON scalar to the value of a typed column: one converter per type.

use arrow_array::ArrowPrimitiveType;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int64Type, TimestampMicrosecondType};
use regex::bytes::Regex;
use sluicebox_core::Result;
use sluicebox_core::column::{Kind, Pattern};
use sluicebox_core::error::Error;

use crate::misfit::Misfit;
use crate::number::{self, Number};
use crate::time::TimeReader;

/// Makes the value of a column from what JSON has.
pub(crate) trait Convert {
    /// What comes out.
    type Out;
    /// From a number.
    fn number(&self, number: &Number<'_>) -> Result<Self::Out, Misfit>;
    /// From the text of a string.
    fn text(&self, text: &[u8]) -> Result<Self::Out, Misfit>;
    /// From `true` or `false`.
    fn truth(&self, _: bool) -> Result<Self::Out, Misfit> {
        Err(Misfit::Found("boolean"))
    }
}

/// A converter whose values are cells of the Arrow type `Cell`.
pub(crate) trait ConvertCell: Convert<Out = <Self::Cell as ArrowPrimitiveType>::Native> {
    /// The Arrow type.
    type Cell: ArrowPrimitiveType;
}

/// `long`, `int`, `integer`.
#[derive(Debug)]
pub(crate) struct ToLong {
    /// Whether text may have a plus sign.
    pub(crate) plus: bool,
}

impl Convert for ToLong {
    type Out = i64;

    #[inline]
    fn number(&self, number: &Number<'_>) -> Result<i64, Misfit> {
        number.integer()
    }

    fn text(&self, text: &[u8]) -> Result<i64, Misfit> {
        number::integer_text(text, self.plus)
    }
}

impl ConvertCell for ToLong {
    type Cell = Int64Type;
}

/// `short`.
#[derive(Debug)]
pub(crate) struct ToShort;

impl Convert for ToShort {
    type Out = i16;

    fn number(&self, number: &Number<'_>) -> Result<i16, Misfit> {
        number.integer()?.try_into().map_err(|_| Misfit::Range)
    }

    fn text(&self, text: &[u8]) -> Result<i16, Misfit> {
        number::integer_text(text, false)?.try_into().map_err(|_| Misfit::Range)
    }
}

impl ConvertCell for ToShort {
    type Cell = Int16Type;
}

/// `byte`: a number, or the code of a single character.
#[derive(Debug)]
pub(crate) struct ToByte;

impl Convert for ToByte {
    type Out = i8;

    fn number(&self, number: &Number<'_>) -> Result<i8, Misfit> {
        number.integer()?.try_into().map_err(|_| Misfit::Range)
    }

    fn text(&self, text: &[u8]) -> Result<i8, Misfit> {
        match text {
            [code] => i8::try_from(*code).map_err(|_| Misfit::Range),
            _ if std::str::from_utf8(text).is_ok_and(|text| text.chars().count() == 1) => Err(Misfit::Range),
            _ => Err(Misfit::Text),
        }
    }
}

impl ConvertCell for ToByte {
    type Cell = Int8Type;
}

/// `double`.
#[derive(Debug)]
pub(crate) struct ToDouble;

impl Convert for ToDouble {
    type Out = f64;

    #[inline]
    fn number(&self, number: &Number<'_>) -> Result<f64, Misfit> {
        number.double()
    }

    fn text(&self, text: &[u8]) -> Result<f64, Misfit> {
        if number::is_number_text(text) { number::double(text) } else { Err(Misfit::Text) }
    }
}

impl ConvertCell for ToDouble {
    type Cell = Float64Type;
}

/// `decimal(p,s)`.
#[derive(Debug)]
pub(crate) struct ToDecimal {
    pub(crate) precision: u8,
    pub(crate) scale: u8,
}

impl Convert for ToDecimal {
    type Out = i128;

    fn number(&self, number: &Number<'_>) -> Result<i128, Misfit> {
        number.decimal(self.precision, self.scale)
    }

    fn text(&self, text: &[u8]) -> Result<i128, Misfit> {
        if number::is_number_text(text) { number::decimal(text, self.precision, self.scale) } else { Err(Misfit::Text) }
    }
}

impl ConvertCell for ToDecimal {
    type Cell = Decimal128Type;
}

/// `boolean`: the literals, and text or numbers that a pattern matches.
#[derive(Debug)]
pub(crate) struct ToBoolean {
    yes: Regex,
    no: Regex,
}

impl ToBoolean {
    pub(crate) fn new(patterns: &(Pattern, Pattern)) -> Result<Self> {
        let compile = |pattern: &Pattern| {
            Regex::new(&pattern.regex).map_err(|e| Error::config(format!("pattern `{}` does not compile: {e}", pattern.written)))
        };
        Ok(Self { yes: compile(&patterns.0)?, no: compile(&patterns.1)? })
    }
}

impl Convert for ToBoolean {
    type Out = bool;

    fn number(&self, number: &Number<'_>) -> Result<bool, Misfit> {
        self.text(number.text)
    }

    fn text(&self, text: &[u8]) -> Result<bool, Misfit> {
        if self.yes.is_match(text) {
            return Ok(true);
        }
        if self.no.is_match(text) { Ok(false) } else { Err(Misfit::Text) }
    }

    fn truth(&self, value: bool) -> Result<bool, Misfit> {
        Ok(value)
    }
}

/// `date`.
#[derive(Debug)]
pub(crate) struct ToDate(pub(crate) TimeReader);

impl Convert for ToDate {
    type Out = i32;

    fn number(&self, number: &Number<'_>) -> Result<i32, Misfit> {
        if self.0.is_epoch() { self.0.epoch_day(number.integer()?) } else { Err(Misfit::UnitUnknown) }
    }

    fn text(&self, text: &[u8]) -> Result<i32, Misfit> {
        if self.0.is_epoch() { self.0.epoch_day(number::integer_text(text, false)?) } else { self.0.day(text) }
    }
}

impl ConvertCell for ToDate {
    type Cell = Date32Type;
}

/// `timestamp`.
#[derive(Debug)]
pub(crate) struct ToTimestamp(pub(crate) TimeReader);

impl Convert for ToTimestamp {
    type Out = i64;

    fn number(&self, number: &Number<'_>) -> Result<i64, Misfit> {
        if self.0.is_epoch() { self.0.epoch_micros(number.integer()?) } else { Err(Misfit::UnitUnknown) }
    }

    #[inline]
    fn text(&self, text: &[u8]) -> Result<i64, Misfit> {
        if self.0.is_epoch() { self.0.epoch_micros(number::integer_text(text, false)?) } else { self.0.micros(text) }
    }
}

impl ConvertCell for ToTimestamp {
    type Cell = TimestampMicrosecondType;
}

/// The primitive's name, for messages.
pub(crate) fn primitive(kind: &Kind) -> &'static str {
    match kind {
        Kind::Text => "string",
        Kind::Variant => "variant",
        Kind::Long => "long",
        Kind::Short => "short",
        Kind::Byte => "byte",
        Kind::Double => "double",
        Kind::Decimal { .. } => "decimal",
        Kind::Boolean { .. } => "boolean",
        Kind::Date { .. } => "date",
        Kind::Timestamp { .. } => "timestamp",
        Kind::Struct(_) => "struct",
    }
}
