//! Values that do not fit their column: why, and the words for it.

use sluicebox_core::reject::Code;

/// How many errors of one record are told one by one.
pub(crate) const ERRORS_MAX: usize = 20;

/// How many characters of a value a message quotes.
const QUOTED_MAX: usize = 64;

/// Why a value does not fit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Misfit {
    /// Another kind of JSON value than any that the type takes.
    Found(&'static str),
    /// Text that is no value of the type.
    Text,
    /// Too large or too small.
    Range,
    /// An integer type, and a number with a fraction.
    NotWhole,
    /// More digits after the point than the scale.
    Fraction,
    /// A number, and a format that reads text.
    UnitUnknown,
    /// A time that the calendar or the clock does not have.
    NoSuchTime,
    /// A year outside 1 to 9999.
    Years,
    /// An offset in the text that is not that of the column's zone.
    Offset,
    /// A scalar or an object where an array is declared.
    NotArray,
}

/// Column rules that a message needs.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Names<'a> {
    /// The primitive: `long`.
    pub(crate) primitive: &'a str,
    /// The type's name as the user wrote it.
    pub(crate) type_name: &'a str,
    /// Whether a privacy rule hides the value.
    pub(crate) hidden: bool,
}

impl Misfit {
    /// The message for a value that was written as `raw`.
    pub(crate) fn message(self, names: Names<'_>, raw: &[u8]) -> String {
        let Names { primitive, type_name, hidden } = names;
        let reason = match self {
            Misfit::NotArray => return quoted("is not an array".to_owned(), hidden, raw),
            Misfit::Found(kind) => return quoted(format!("expected to be a {primitive} but found {kind}"), hidden, raw),
            Misfit::Text => "",
            Misfit::Range => ", out of range",
            Misfit::NotWhole => ", not a whole number",
            Misfit::Fraction => ", more digits after the point than its scale",
            Misfit::UnitUnknown => ", a number needs the format epoch_second or epoch_milli",
            Misfit::NoSuchTime => ", no such day or time",
            Misfit::Years => ", outside the years 1 to 9999",
            Misfit::Offset => ", its offset is not that of the column's zone",
        };
        quoted(format!("cannot be converted to `{primitive}` with sl type `{type_name}`{reason}"), hidden, raw)
    }
}

/// Adds the value to a message, shortened, unless a rule hides it.
fn quoted(mut message: String, hidden: bool, raw: &[u8]) -> String {
    if !hidden {
        let text = String::from_utf8_lossy(&raw[..raw.len().min(QUOTED_MAX * 4 + 4)]);
        let shown: String = text.chars().take(QUOTED_MAX).collect();
        let more = if shown.len() < raw.len() { "…" } else { "" };
        message.push_str(": ");
        message.push_str(&shown);
        message.push_str(more);
    }
    message
}

/// One value that does not fit, before its path is looked up.
#[derive(Debug)]
pub(crate) struct Pending {
    /// Byte at which the value begins, or the object that lacks a column.
    pub(crate) at: usize,
    /// The column that the object lacks.
    pub(crate) absent: Option<String>,
    pub(crate) code: Code,
    pub(crate) message: String,
}

/// All values of one record that do not fit, bounded.
#[derive(Debug, Default)]
pub(crate) struct Errors {
    pub(crate) told: Vec<Pending>,
    /// How many there are beyond those told.
    pub(crate) more: usize,
}

impl Errors {
    /// Adds one; its words are made only when it is told.
    #[cold]
    pub(crate) fn add(&mut self, error: impl FnOnce() -> Pending) {
        if self.told.len() < ERRORS_MAX { self.told.push(error()) } else { self.more += 1 }
    }

    /// Whether every value fits.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.told.is_empty()
    }

    /// Forgets all.
    pub(crate) fn clear(&mut self) {
        self.told.clear();
        self.more = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const NAMES: Names<'static> = Names { primitive: "long", type_name: "int", hidden: false };

    #[test]
    fn messages_quote_a_shortened_value_and_nothing_that_is_hidden() {
        assert_eq!(Misfit::Text.message(NAMES, b"\"abc\""), r#"cannot be converted to `long` with sl type `int`: "abc""#);
        let long = format!("\"{}\"", "é".repeat(100));
        let message = Misfit::Found("string").message(NAMES, long.as_bytes());
        assert_eq!(message, format!("expected to be a long but found string: \"{}…", "é".repeat(63)));
        let hidden = Misfit::NotWhole.message(Names { hidden: true, ..NAMES }, b"1.5");
        assert_eq!(hidden, "cannot be converted to `long` with sl type `int`, not a whole number");
    }

    #[test]
    fn the_list_of_errors_is_bounded() {
        let mut errors = Errors::default();
        for _ in 0..50 {
            errors.add(|| Pending { at: 0, absent: None, code: Code::TYPE, message: String::new() });
        }
        assert_eq!((errors.told.len(), errors.more), (20, 30));
    }
}
