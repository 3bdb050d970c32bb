//! The scanner: a cursor over one value, with the fast search for the end of a string.

use crate::fault::{Broken, Fault, Parsed};
use crate::keys::Keys;
use crate::misfit::Errors;
use crate::wide::specials;

/// How deep arrays and objects may nest, the outermost object included.
pub(crate) const DEPTH_MAX: usize = 128;

/// What is reused from record to record.
#[derive(Debug, Default)]
pub(crate) struct Work {
    /// Text of the last string that had escapes.
    pub(crate) unescaped: Vec<u8>,
    /// Undeclared keys of the objects that are open.
    pub(crate) keys: Keys,
    /// Values of the record that do not fit.
    pub(crate) errors: Errors,
    /// Whether the record is an envelope of Kafka Connect instead of the payload.
    pub(crate) envelope: bool,
}

impl Work {
    /// A new record begins.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.errors.clear();
        self.envelope = false;
    }
}

/// A cursor over the bytes of one value.
pub(crate) struct Scanner<'a, 'w> {
    /// The value.
    pub(crate) data: &'a [u8],
    /// The value and whatever follows it in the batch, so that wide loads need no special case at its end.
    pub(crate) wide: &'a [u8],
    /// The next byte.
    pub(crate) pos: usize,
    pub(crate) work: &'w mut Work,
}

impl<'a, 'w> Scanner<'a, 'w> {
    /// A cursor at the first byte of a value of `len` bytes, at the start of `wide`.
    pub(crate) fn new(wide: &'a [u8], len: usize, work: &'w mut Work) -> Self {
        Self { data: &wide[..len], wide, pos: 0, work }
    }

    /// The next byte.
    #[inline(always)]
    pub(crate) fn peek(&self) -> Option<u8> {
        self.data.get(self.pos).copied()
    }

    /// Steps over white space and answers the byte after it.
    #[inline(always)]
    pub(crate) fn token(&mut self) -> Option<u8> {
        match self.peek() {
            Some(byte) if byte > b' ' => Some(byte),
            _ => self.token_after_space(),
        }
    }

    fn token_after_space(&mut self) -> Option<u8> {
        while let Some(b' ' | b'\n' | b'\r' | b'\t') = self.peek() {
            self.pos += 1;
        }
        self.peek()
    }

    /// A fault at the cursor.
    #[cold]
    pub(crate) fn broken<T>(&self, fault: Fault) -> Parsed<T> {
        self.broken_at(self.pos, fault)
    }

    /// A fault elsewhere.
    #[cold]
    pub(crate) fn broken_at<T>(&self, at: usize, fault: Fault) -> Parsed<T> {
        let fault = if at >= self.data.len() && fault != Fault::Unterminated { Fault::Ended } else { fault };
        Err(Broken { at: at.min(self.data.len()), fault })
    }

    /// Takes `true`, `false` or `null`.
    #[inline]
    pub(crate) fn literal(&mut self, word: &'static str) -> Parsed<()> {
        if self.data[self.pos..].starts_with(word.as_bytes()) {
            self.pos += word.len();
            return Ok(());
        }
        self.broken(Fault::Literal)
    }

    /// A value was expected here.
    #[cold]
    pub(crate) fn no_value<T>(&self) -> Parsed<T> {
        match self.peek() {
            Some(b'a'..=b'z' | b'A'..=b'Z') => self.broken(Fault::Literal),
            Some(b'+' | b'.') => self.broken(Fault::Number),
            _ => self.broken(Fault::Value),
        }
    }
}

/// Position of the first quote, backslash or control character at or after `pos`, or the length of `bytes`.
#[inline(always)]
pub(crate) fn special(bytes: &[u8], mut pos: usize) -> usize {
    while let Some(chunk) = bytes.get(pos..pos + 16).and_then(|chunk| <&[u8; 16]>::try_from(chunk).ok()) {
        let found = specials(chunk);
        if found != 0 {
            return pos + found.trailing_zeros() as usize;
        }
        pos += 16;
    }
    while bytes.get(pos).is_some_and(|byte| *byte >= b' ' && *byte != b'"' && *byte != b'\\') {
        pos += 1;
    }
    pos
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_search_goes_on_behind_whole_chunks_and_in_the_tail() {
        for place in 0..60 {
            let mut bytes = vec![b'x'; 60];
            bytes[place] = b'"';
            for from in 0..=place {
                assert_eq!(special(&bytes, from), place);
            }
            assert_eq!(special(&bytes, place + 1), 60);
        }
    }
}
