//! How the JSON of a record can be broken. Words never quote the payload, which a privacy rule may protect.

/// What is broken.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fault {
    Ended,
    Value,
    Literal,
    Key,
    Colon,
    CommaOrBrace,
    CommaOrBracket,
    Number,
    Control,
    Escape,
    Surrogate,
    Unterminated,
    Utf8,
    DuplicateKey,
    Depth,
    SecondDocument,
    Trailing,
}

impl Fault {
    /// What was found and what was expected, before the words that say where.
    pub(crate) fn words(self) -> &'static str {
        match self {
            Fault::Ended => "the JSON ends early",
            Fault::Value => "expected a JSON value",
            Fault::Literal => "bare word that is not true, false or null (NaN and Infinity are no JSON)",
            Fault::Key => "expected a key in double quotes",
            Fault::Colon => "expected : after a key",
            Fault::CommaOrBrace => "expected , or } after a value",
            Fault::CommaOrBracket => "expected , or ] after a value",
            Fault::Number => "malformed number",
            Fault::Control => "control character in a string, which must be escaped",
            Fault::Escape => "unknown or incomplete escape in a string",
            Fault::Surrogate => "lone surrogate in a string escape",
            Fault::Unterminated => "string without its closing quote",
            Fault::Utf8 => "invalid UTF-8",
            Fault::DuplicateKey => "duplicate key in an object",
            Fault::Depth => "nested deeper than the depth limit of 128 levels",
            Fault::SecondDocument => "a second JSON document in one value",
            Fault::Trailing => "unexpected bytes after the JSON object",
        }
    }
}

/// Where the JSON of a value broke.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Broken {
    /// Byte within the value.
    pub(crate) at: usize,
    /// What is wrong there.
    pub(crate) fault: Fault,
}

/// Result of reading a piece of JSON.
pub(crate) type Parsed<T> = Result<T, Broken>;
