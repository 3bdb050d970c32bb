//! Records refused by a step or sink, and why.

use std::collections::BTreeMap;
use std::fmt;

/// A reject code: `[a-z0-9_]{1,64}`, a bounded vocabulary for counting.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct Code(std::borrow::Cow<'static, str>);

impl Code {
    /// The bytes are not the format that the pipeline expects.
    pub const SYNTAX: Code = Code::of("syntax");
    /// A value does not fit its declared type.
    pub const TYPE: Code = Code::of("type");
    /// A required column is absent or null.
    pub const REQUIRED: Code = Code::of("required");
    /// A value does not match its pattern.
    pub const PATTERN: Code = Code::of("pattern");
    /// A privacy rule could not be applied (fails closed).
    pub const PRIVACY: Code = Code::of("privacy");
    /// A cast, division or other computation of SQL failed on the row.
    pub const SQL: Code = Code::of("sql");
    /// A component trapped, overran a limit or answered nonsense on the record.
    pub const COMPONENT: Code = Code::of("component");

    const fn of(text: &'static str) -> Self {
        Self(std::borrow::Cow::Borrowed(text))
    }

    /// Takes a code from a component; `None` when it is not `[a-z0-9_]{1,64}`.
    pub fn parse(text: &str) -> Option<Self> {
        let allowed = |b: u8| b.is_ascii_lowercase() || b.is_ascii_digit() || b == b'_';
        (matches!(text.len(), 1..=64) && text.bytes().all(allowed)).then(|| Self(text.to_owned().into()))
    }

    /// The code.
    pub fn as_str(&self) -> &str {
        &self.0
    }
}

impl fmt::Display for Code {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.0)
    }
}

/// One thing that is wrong with a record.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RowError {
    /// Where in the record: `a.b[0]`, or empty for the record as a whole.
    pub path: String,
    /// What kind of fault.
    pub code: Code,
    /// Words for a person. May quote values; what a privacy rule protects is withheld where the reject is written.
    pub message: String,
}

impl RowError {
    /// An error at a path.
    pub fn new(path: impl Into<String>, code: Code, message: impl Into<String>) -> Self {
        Self { path: path.into(), code, message: message.into() }
    }
}

/// What is wrong with the records of one batch, by record number, all errors of a record together.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Rejects(BTreeMap<u32, Vec<RowError>>);

impl Rejects {
    /// Refuses a record, or adds an error to one that is refused already.
    pub fn add(&mut self, record: u32, error: RowError) {
        self.0.entry(record).or_default().push(error);
    }

    /// Whether the record is refused.
    pub fn contains(&self, record: u32) -> bool {
        self.0.contains_key(&record)
    }

    /// Refused records with their errors, in order.
    pub fn iter(&self) -> impl Iterator<Item = (u32, &[RowError])> {
        self.0.iter().map(|(record, errors)| (*record, errors.as_slice()))
    }

    /// How many records are refused.
    pub fn len(&self) -> usize {
        self.0.len()
    }

    /// Whether nothing is refused.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn codes_are_bounded() {
        assert!(Code::parse("luhn_2").is_some());
        for wrong in ["", "Luhn", "a b", "é", &"x".repeat(65)] {
            assert!(Code::parse(wrong).is_none(), "{wrong}");
        }
    }
}
