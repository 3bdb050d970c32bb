//! Strings: plain ones are borrowed, those with escapes are copied once.

use crate::fault::{Fault, Parsed};
use crate::scan::{Scanner, special};

/// A string that was read; `Escaped` ones lie in [`crate::scan::Work::unescaped`].
#[derive(Debug, Clone, Copy)]
pub(crate) enum Text<'a> {
    Plain(&'a [u8]),
    Escaped,
}

impl<'a> Scanner<'a, '_> {
    /// Reads the string whose opening quote is at the cursor. Whether its bytes are UTF-8 has been checked for the whole value.
    #[inline(always)]
    pub(crate) fn string(&mut self) -> Parsed<Text<'a>> {
        let start = self.pos + 1;
        let stop = special(self.wide, start);
        if self.data.get(stop) == Some(&b'"') {
            self.pos = stop + 1;
            return Ok(Text::Plain(&self.data[start..stop]));
        }
        self.escaped(start, stop)
    }

    /// The bytes of the string at the cursor.
    #[inline]
    pub(crate) fn string_bytes(&mut self) -> Parsed<&[u8]> {
        match self.string()? {
            Text::Plain(bytes) => Ok(bytes),
            Text::Escaped => Ok(&self.work.unescaped),
        }
    }

    /// Checks the string at the cursor and steps over it.
    #[inline]
    pub(crate) fn skip_string(&mut self) -> Parsed<()> {
        self.pos = special(self.wide, self.pos + 1);
        while self.string_goes_on()? {
            self.escape()?;
            self.pos = special(self.wide, self.pos);
        }
        Ok(())
    }

    #[cold]
    fn escaped(&mut self, start: usize, stop: usize) -> Parsed<Text<'a>> {
        let (mut from, data) = (start, self.data);
        self.work.unescaped.clear();
        self.pos = stop;
        loop {
            let plain = &data[from.min(data.len())..self.pos.min(data.len())];
            self.work.unescaped.extend_from_slice(plain);
            if !self.string_goes_on()? {
                return Ok(Text::Escaped);
            }
            let character = self.escape()?;
            self.work.unescaped.extend_from_slice(character.encode_utf8(&mut [0; 4]).as_bytes());
            from = self.pos;
            self.pos = special(self.wide, from);
        }
    }

    /// Takes the closing quote (false), or stays at a backslash (true).
    #[inline]
    fn string_goes_on(&mut self) -> Parsed<bool> {
        match self.peek() {
            Some(b'"') => {
                self.pos += 1;
                Ok(false)
            }
            Some(b'\\') => Ok(true),
            Some(_) => self.broken(Fault::Control),
            None => self.broken(Fault::Unterminated),
        }
    }

    /// Reads the escape whose backslash is at the cursor.
    fn escape(&mut self) -> Parsed<char> {
        let at = self.pos;
        self.pos += 2;
        Ok(match self.data.get(at + 1) {
            Some(b'"') => '"',
            Some(b'\\') => '\\',
            Some(b'/') => '/',
            Some(b'b') => '\u{8}',
            Some(b'f') => '\u{c}',
            Some(b'n') => '\n',
            Some(b'r') => '\r',
            Some(b't') => '\t',
            Some(b'u') => return self.unicode(at),
            _ => return self.broken_at(at, Fault::Escape),
        })
    }

    fn unicode(&mut self, at: usize) -> Parsed<char> {
        let first = self.unit(at)?;
        if !(0xd800..0xe000).contains(&first) {
            return char::from_u32(first).map_or_else(|| self.broken_at(at, Fault::Surrogate), Ok);
        }
        if first >= 0xdc00 || !self.data[self.pos..].starts_with(b"\\u") {
            return self.broken_at(at, Fault::Surrogate);
        }
        self.pos += 2;
        let second = self.unit(at + 6)?;
        if !(0xdc00..0xe000).contains(&second) {
            return self.broken_at(at, Fault::Surrogate);
        }
        let code = 0x10000 + ((first - 0xd800) << 10) + (second - 0xdc00);
        char::from_u32(code).map_or_else(|| self.broken_at(at, Fault::Surrogate), Ok)
    }

    /// Four hexadecimal digits.
    fn unit(&mut self, at: usize) -> Parsed<u32> {
        let Some(digits) = self.data.get(self.pos..self.pos + 4) else { return self.broken_at(at, Fault::Escape) };
        let mut unit = 0;
        for digit in digits {
            let Some(value) = char::from(*digit).to_digit(16) else { return self.broken_at(at, Fault::Escape) };
            unit = unit << 4 | value;
        }
        self.pos += 4;
        Ok(unit)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Work;

    fn read(json: &str) -> Result<String, Fault> {
        let mut work = Work::default();
        let mut scanner = Scanner::new(json.as_bytes(), json.len(), &mut work);
        let text = scanner.string_bytes().map_err(|broken| broken.fault)?.to_vec();
        let end = scanner.pos;
        let mut again = Scanner::new(json.as_bytes(), json.len(), &mut work);
        again.skip_string().expect("checks as it reads");
        assert_eq!(again.pos, end);
        Ok(String::from_utf8(text).expect("UTF-8"))
    }

    #[test]
    fn escapes_are_read() {
        assert_eq!(read(r#""plain é" tail"#).as_deref(), Ok("plain é"));
        assert_eq!(read(r#""\"\\\/\b\f\n\r\t""#).as_deref(), Ok("\"\\/\u{8}\u{c}\n\r\t"));
        assert_eq!(read(r#""a\u0041b\u00e9\u20AC\ud83d\ude00z""#).as_deref(), Ok("aAbé€😀z"));
        assert_eq!(read(r#""a string longer than one chunk, with an escape \u0000 inside of it""#).map(|t| t.len()), Ok(61));
    }

    #[test]
    fn broken_strings_are_named() {
        for (json, fault) in [
            (r#""open"#, Fault::Unterminated),
            (r#""a\x""#, Fault::Escape),
            (r#""a\u12g4""#, Fault::Escape),
            (r#""\ud800""#, Fault::Surrogate),
            (r#""\udc00""#, Fault::Surrogate),
            (r#""\ud800\u0041""#, Fault::Surrogate),
            (r#""\ud800\ud800""#, Fault::Surrogate),
            ("\"a\nb\"", Fault::Control),
        ] {
            assert_eq!(read(json), Err(fault), "{json}");
        }
    }
}
