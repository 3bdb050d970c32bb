//! The byte form of what the store keeps about rows: little-endian numbers and byte strings with their length, read with checks.

use crate::fault::{Fault, Result};

/// Writes values one after the other.
#[derive(Debug, Default)]
pub(crate) struct Writer(pub Vec<u8>);

impl Writer {
    pub fn u8(&mut self, value: u8) {
        self.0.push(value);
    }

    pub fn u32(&mut self, value: u32) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn u64(&mut self, value: u64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn i64(&mut self, value: i64) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn i128(&mut self, value: i128) {
        self.0.extend_from_slice(&value.to_le_bytes());
    }

    pub fn bytes(&mut self, value: &[u8]) {
        self.u32(value.len() as u32);
        self.0.extend_from_slice(value);
    }

    pub fn text(&mut self, value: &str) {
        self.bytes(value.as_bytes());
    }

    /// A list: its length, then each item.
    pub fn list<T>(&mut self, items: impl ExactSizeIterator<Item = T>, mut write: impl FnMut(&mut Self, T)) {
        self.u32(items.len() as u32);
        for item in items {
            write(self, item);
        }
    }

    /// A value that may be absent.
    pub fn option<T>(&mut self, value: Option<T>, write: impl FnOnce(&mut Self, T)) {
        self.u8(u8::from(value.is_some()));
        if let Some(value) = value {
            write(self, value);
        }
    }

    /// The bytes with a checksum after them.
    pub fn sealed(mut self) -> Vec<u8> {
        let crc = crc32fast::hash(&self.0);
        self.u32(crc);
        self.0
    }
}

/// Reads what a [`Writer`] wrote.
#[derive(Debug)]
pub(crate) struct Reader<'a>(&'a [u8]);

impl<'a> Reader<'a> {
    pub fn new(bytes: &'a [u8]) -> Self {
        Self(bytes)
    }

    /// Reads what [`Writer::sealed`] wrote.
    pub fn sealed(bytes: &'a [u8]) -> Result<Self> {
        let (content, crc) = bytes.split_last_chunk::<4>().ok_or_else(cut_short)?;
        if crc32fast::hash(content) != u32::from_le_bytes(*crc) {
            return Err(Fault::Broken("the checksum of a header does not match".into()));
        }
        Ok(Self(content))
    }

    fn array<const N: usize>(&mut self) -> Result<[u8; N]> {
        let (head, rest) = self.0.split_first_chunk::<N>().ok_or_else(cut_short)?;
        self.0 = rest;
        Ok(*head)
    }

    pub fn u8(&mut self) -> Result<u8> {
        Ok(self.array::<1>()?[0])
    }

    pub fn u32(&mut self) -> Result<u32> {
        self.array().map(u32::from_le_bytes)
    }

    pub fn u64(&mut self) -> Result<u64> {
        self.array().map(u64::from_le_bytes)
    }

    pub fn i64(&mut self) -> Result<i64> {
        self.array().map(i64::from_le_bytes)
    }

    pub fn i128(&mut self) -> Result<i128> {
        self.array().map(i128::from_le_bytes)
    }

    pub fn bytes(&mut self) -> Result<&'a [u8]> {
        let len = self.u32()? as usize;
        let (head, rest) = self.0.split_at_checked(len).ok_or_else(cut_short)?;
        self.0 = rest;
        Ok(head)
    }

    pub fn text(&mut self) -> Result<&'a str> {
        std::str::from_utf8(self.bytes()?).map_err(|e| Fault::Broken(e.to_string()))
    }

    pub fn list<T>(&mut self, mut read: impl FnMut(&mut Self) -> Result<T>) -> Result<Vec<T>> {
        let len = self.u32()?;
        (0..len).map(|_| read(self)).collect()
    }

    pub fn option<T>(&mut self, read: impl FnOnce(&mut Self) -> Result<T>) -> Result<Option<T>> {
        if self.u8()? == 0 { Ok(None) } else { read(self).map(Some) }
    }
}

fn cut_short() -> Fault {
    Fault::Broken("a header is cut short".into())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_written_is_read_and_a_flipped_bit_is_seen() {
        let mut w = Writer::default();
        w.u32(7);
        w.text("é");
        w.option(Some(-5), Writer::i64);
        w.option(None, Writer::i64);
        w.list([1u8, 2].into_iter(), Writer::u8);
        let mut bytes = w.sealed();
        let mut r = Reader::sealed(&bytes).expect("sealed");
        assert_eq!((r.u32().ok(), r.text().ok()), (Some(7), Some("é")));
        assert_eq!(r.option(Reader::i64).ok(), Some(Some(-5)));
        assert_eq!(r.option(Reader::i64).ok(), Some(None));
        assert_eq!(r.list(Reader::u8).ok(), Some(vec![1, 2]));
        assert!(r.u8().is_err());
        bytes[1] ^= 4;
        assert!(matches!(Reader::sealed(&bytes), Err(Fault::Broken(_))));
    }
}
