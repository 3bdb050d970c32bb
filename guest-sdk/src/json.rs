//! JSON as a small value: what settings are written in, and how nested values cross in the record plane.
//!
//! Numbers keep their text, so none loses digits. Nesting is bounded. Of equal keys the last one counts.

use std::fmt;

/// How deep lists and objects may nest.
const DEPTH_MAX: usize = 128;

/// A JSON value.
#[derive(Debug, Clone, PartialEq)]
pub enum Json {
    /// `null`
    Null,
    /// `true`, `false`
    Bool(bool),
    /// A number, as it was written.
    Number(String),
    /// A string.
    Text(String),
    /// A list.
    List(Vec<Json>),
    /// An object, in the order in which it was written.
    Object(Vec<(String, Json)>),
}

/// Where a text stops being JSON.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct JsonError {
    /// The byte.
    pub at: usize,
    /// What is wrong there.
    pub what: &'static str,
}

impl fmt::Display for JsonError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "no JSON: {} at byte {}", self.what, self.at)
    }
}

impl std::error::Error for JsonError {}

impl Json {
    /// Reads one value.
    ///
    /// # Errors
    /// The text is not JSON.
    pub fn parse(text: &str) -> Result<Json, JsonError> {
        let mut reader = Reader { text, at: 0 };
        let value = reader.value(0)?;
        reader.skip_space();
        if reader.at < text.len() { Err(reader.error("more than one value")) } else { Ok(value) }
    }

    /// The value of a key, where this is an object that has it.
    pub fn get(&self, key: &str) -> Option<&Json> {
        match self {
            Json::Object(entries) => entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value),
            _ => None,
        }
    }

    /// The text of a string.
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Json::Text(text) => Some(text),
            _ => None,
        }
    }

    /// The number, where it has that type's shape and range.
    pub fn as_number<T: std::str::FromStr>(&self) -> Option<T> {
        match self {
            Json::Number(text) => text.parse().ok(),
            _ => None,
        }
    }

    /// `true` or `false`.
    pub fn as_bool(&self) -> Option<bool> {
        match self {
            Json::Bool(value) => Some(*value),
            _ => None,
        }
    }

    /// The values of a list.
    pub fn as_list(&self) -> Option<&[Json]> {
        match self {
            Json::List(values) => Some(values),
            _ => None,
        }
    }
}

impl fmt::Display for Json {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Json::Null => f.write_str("null"),
            Json::Bool(value) => write!(f, "{value}"),
            Json::Number(text) => f.write_str(text),
            Json::Text(text) => write_text(f, text),
            Json::List(values) => {
                f.write_str("[")?;
                for (index, value) in values.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    write!(f, "{value}")?;
                }
                f.write_str("]")
            }
            Json::Object(entries) => {
                f.write_str("{")?;
                for (index, (key, value)) in entries.iter().enumerate() {
                    f.write_str(if index > 0 { "," } else { "" })?;
                    write_text(f, key)?;
                    write!(f, ":{value}")?;
                }
                f.write_str("}")
            }
        }
    }
}

fn write_text(f: &mut fmt::Formatter<'_>, text: &str) -> fmt::Result {
    f.write_str("\"")?;
    for c in text.chars() {
        match c {
            '"' => f.write_str("\\\"")?,
            '\\' => f.write_str("\\\\")?,
            '\n' => f.write_str("\\n")?,
            '\r' => f.write_str("\\r")?,
            '\t' => f.write_str("\\t")?,
            c if c < ' ' => write!(f, "\\u{:04x}", u32::from(c))?,
            c => fmt::Write::write_char(f, c)?,
        }
    }
    f.write_str("\"")
}

struct Reader<'a> {
    text: &'a str,
    at: usize,
}

impl Reader<'_> {
    fn error(&self, what: &'static str) -> JsonError {
        JsonError { at: self.at, what }
    }

    fn peek(&self) -> Option<u8> {
        self.text.as_bytes().get(self.at).copied()
    }

    fn skip_space(&mut self) {
        while matches!(self.peek(), Some(b' ' | b'\t' | b'\n' | b'\r')) {
            self.at += 1;
        }
    }

    fn take(&mut self, byte: u8) -> bool {
        self.skip_space();
        let found = self.peek() == Some(byte);
        self.at += usize::from(found);
        found
    }

    fn value(&mut self, depth: usize) -> Result<Json, JsonError> {
        if depth > DEPTH_MAX {
            return Err(self.error("nested too deep"));
        }
        self.skip_space();
        match self.peek() {
            Some(b'"') => self.text().map(Json::Text),
            Some(b'[') => self.list(depth),
            Some(b'{') => self.object(depth),
            Some(b'-' | b'0'..=b'9') => self.number(),
            _ => self.word(),
        }
    }

    fn word(&mut self) -> Result<Json, JsonError> {
        for (word, value) in [("null", Json::Null), ("true", Json::Bool(true)), ("false", Json::Bool(false))] {
            if self.text[self.at..].starts_with(word) {
                self.at += word.len();
                return Ok(value);
            }
        }
        Err(self.error("a value is missing"))
    }

    fn list(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut values = Vec::new();
        if self.take(b']') {
            return Ok(Json::List(values));
        }
        loop {
            values.push(self.value(depth + 1)?);
            if self.take(b']') {
                return Ok(Json::List(values));
            }
            if !self.take(b',') {
                return Err(self.error("`,` or `]` is missing"));
            }
        }
    }

    fn object(&mut self, depth: usize) -> Result<Json, JsonError> {
        self.at += 1;
        let mut entries = Vec::new();
        if self.take(b'}') {
            return Ok(Json::Object(entries));
        }
        loop {
            self.skip_space();
            let key = self.text()?;
            if !self.take(b':') {
                return Err(self.error("`:` is missing"));
            }
            entries.push((key, self.value(depth + 1)?));
            if self.take(b'}') {
                return Ok(Json::Object(entries));
            }
            if !self.take(b',') {
                return Err(self.error("`,` or `}` is missing"));
            }
        }
    }

    fn digits(&mut self) -> Result<(), JsonError> {
        let start = self.at;
        while matches!(self.peek(), Some(b'0'..=b'9')) {
            self.at += 1;
        }
        if self.at == start { Err(self.error("a digit is missing")) } else { Ok(()) }
    }

    fn number(&mut self) -> Result<Json, JsonError> {
        let start = self.at;
        self.at += usize::from(self.peek() == Some(b'-'));
        if self.peek() == Some(b'0') {
            self.at += 1;
        } else {
            self.digits()?;
        }
        if self.peek() == Some(b'.') {
            self.at += 1;
            self.digits()?;
        }
        if matches!(self.peek(), Some(b'e' | b'E')) {
            self.at += 1;
            self.at += usize::from(matches!(self.peek(), Some(b'+' | b'-')));
            self.digits()?;
        }
        Ok(Json::Number(self.text[start..self.at].to_owned()))
    }

    fn text(&mut self) -> Result<String, JsonError> {
        if self.peek() != Some(b'"') {
            return Err(self.error("`\"` is missing"));
        }
        self.at += 1;
        let mut out = String::new();
        loop {
            let plain = self.text[self.at..].bytes().take_while(|b| !matches!(b, b'"' | b'\\' | 0..=0x1F)).count();
            out.push_str(&self.text[self.at..self.at + plain]);
            self.at += plain;
            match self.peek() {
                Some(b'"') => {
                    self.at += 1;
                    return Ok(out);
                }
                Some(b'\\') => out.push(self.escape()?),
                Some(_) => return Err(self.error("a control character in a string")),
                None => return Err(self.error("a string does not end")),
            }
        }
    }

    fn escape(&mut self) -> Result<char, JsonError> {
        self.at += 1;
        let escaped = self.peek().ok_or_else(|| self.error("a string does not end"))?;
        let simple = match escaped {
            b'n' => '\n',
            b't' => '\t',
            b'r' => '\r',
            b'b' => '\u{8}',
            b'f' => '\u{c}',
            b'"' | b'\\' | b'/' => char::from(escaped),
            b'u' => return self.code_point(),
            _ => return Err(self.error("an unknown escape")),
        };
        self.at += 1;
        Ok(simple)
    }

    /// `uXXXX`, or two of them where the first is half of a pair.
    fn code_point(&mut self) -> Result<char, JsonError> {
        let high = self.unit()?;
        if !(0xD800..0xDC00).contains(&high) {
            return char::from_u32(high).ok_or_else(|| self.error("half a surrogate pair"));
        }
        if !self.text[self.at..].starts_with("\\u") {
            return Err(self.error("half a surrogate pair"));
        }
        self.at += 1;
        let low = self.unit()?;
        if !(0xDC00..0xE000).contains(&low) {
            return Err(self.error("half a surrogate pair"));
        }
        char::from_u32(0x1_0000 + ((high - 0xD800) << 10) + (low - 0xDC00)).ok_or_else(|| self.error("half a surrogate pair"))
    }

    fn unit(&mut self) -> Result<u32, JsonError> {
        let digits = self.text.get(self.at + 1..self.at + 5).filter(|digits| digits.bytes().all(|b| b.is_ascii_hexdigit()));
        let unit = digits.and_then(|digits| u32::from_str_radix(digits, 16).ok());
        let unit = unit.ok_or_else(|| self.error("four hexadecimal digits are missing"))?;
        self.at += 5;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::Json;

    #[test]
    fn reads_and_writes_each_kind_of_value() {
        let text = r#"{"a":[1,-2.50e+3,true,false,null],"b":{"c":"é\n\"\\\u0001"},"big":123456789012345678901234567890}"#;
        let value = Json::parse(text).unwrap();
        assert_eq!(value.to_string(), text);
        assert_eq!(value.get("a").and_then(Json::as_list).map(<[Json]>::len), Some(5));
        assert_eq!(value.get("b").and_then(|b| b.get("c")).and_then(Json::as_text), Some("é\n\"\\\u{1}"));
        assert_eq!(value.get("big").and_then(Json::as_number::<i64>), None);
        assert_eq!(value.get("a").and_then(Json::as_list).and_then(|list| list[1].as_number::<f64>()), Some(-2500.0));
    }

    #[test]
    fn reads_escapes_and_spaces() {
        assert_eq!(Json::parse(" [ \"\\uD83D\\uDE42\\/\\u00e9\" , { } ] ").unwrap().to_string(), "[\"🙂/é\",{}]");
        assert_eq!(Json::parse(r#"{"a":1,"a":2}"#).unwrap().get("a").and_then(Json::as_number::<i64>), Some(2));
    }

    #[test]
    fn refuses_what_is_no_json() {
        for (text, at) in [
            ("", 0),
            ("nul", 0),
            ("[1,]", 3),
            ("{\"a\" 1}", 5),
            ("01", 1),
            ("1.", 2),
            ("-", 1),
            ("\"a", 2),
            ("\"\\x\"", 2),
            ("\"\\ud800\"", 7),
            ("[1] 2", 4),
            ("{a:1}", 1),
            ("\"\n\"", 1),
            ("[1 2]", 3),
            ("\"\\u12é4\"", 2),
        ] {
            assert_eq!(Json::parse(text).unwrap_err().at, at, "{text}");
        }
        assert!(Json::parse(&"[".repeat(100_000)).is_err());
    }
}
