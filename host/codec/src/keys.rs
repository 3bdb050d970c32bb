//! Undeclared keys of the objects that are open, to find a key that comes twice.

use std::cmp::Ordering;

/// Up to this many keys of an object are compared one by one as they come; more are sorted once when the object closes.
const COMPARED_MAX: usize = 16;

/// A key: where its unescaped bytes lie.
#[derive(Debug, Clone, Copy)]
struct Key {
    /// First bytes and length, mixed: unequal for most unequal keys.
    mix: u64,
    start: usize,
    len: usize,
    /// In `unescaped` instead of in the value.
    unescaped: bool,
    /// Where the key stands in the value.
    at: usize,
}

/// Keys of all open objects, one object's after the other's.
#[derive(Debug, Default)]
pub(crate) struct Keys {
    keys: Vec<Key>,
    unescaped: Vec<u8>,
}

impl Keys {
    /// Forgets all: a new record begins.
    #[inline]
    pub(crate) fn clear(&mut self) {
        self.keys.clear();
        self.unescaped.clear();
    }

    /// Opens an object: the mark that its calls carry.
    #[inline]
    pub(crate) fn open(&self) -> usize {
        self.keys.len()
    }

    /// Adds a key that is written without escapes, `data[start..start + len]`; false when the object has it already.
    #[inline]
    pub(crate) fn add(&mut self, mark: usize, data: &[u8], start: usize, len: usize) -> bool {
        let key = Key { mix: mix(&data[start..start + len]), start, len, unescaped: false, at: start };
        self.insert(mark, data, key)
    }

    /// Adds a key that had escapes.
    pub(crate) fn add_unescaped(&mut self, mark: usize, data: &[u8], at: usize, bytes: &[u8]) -> bool {
        let start = self.unescaped.len();
        self.unescaped.extend_from_slice(bytes);
        let key = Key { mix: mix(bytes), start, len: bytes.len(), unescaped: true, at };
        self.insert(mark, data, key)
    }

    #[inline]
    fn insert(&mut self, mark: usize, data: &[u8], key: Key) -> bool {
        let open = &self.keys[mark..];
        let twice = open.len() < COMPARED_MAX
            && open.iter().any(|other| other.mix == key.mix && self.bytes(data, other) == self.bytes(data, &key));
        self.keys.push(key);
        !twice
    }

    /// Closes the object: where a key stands that the object had before, if there is one.
    #[inline]
    pub(crate) fn close(&mut self, mark: usize, data: &[u8]) -> Option<usize> {
        let twice = if self.keys.len() - mark > COMPARED_MAX { self.sorted_twice(mark, data) } else { None };
        self.keys.truncate(mark);
        twice
    }

    #[cold]
    fn sorted_twice(&self, mark: usize, data: &[u8]) -> Option<usize> {
        let mut keys = self.keys[mark..].to_vec();
        let order = |a: &Key, b: &Key| match a.mix.cmp(&b.mix) {
            Ordering::Equal => self.bytes(data, a).cmp(self.bytes(data, b)),
            other => other,
        };
        keys.sort_by(order);
        keys.windows(2).filter(|pair| order(&pair[0], &pair[1]).is_eq()).map(|pair| pair[1].at).min()
    }

    /// Whether the object has exactly these two keys.
    pub(crate) fn are(&self, mark: usize, data: &[u8], names: [&[u8]; 2]) -> bool {
        match &self.keys[mark..] {
            [a, b] => {
                let keys = [self.bytes(data, a), self.bytes(data, b)];
                keys == names || keys == [names[1], names[0]]
            }
            _ => false,
        }
    }

    fn bytes<'a>(&'a self, data: &'a [u8], key: &Key) -> &'a [u8] {
        let from = if key.unescaped { &self.unescaped } else { data };
        &from[key.start..key.start + key.len]
    }
}

#[inline]
fn mix(key: &[u8]) -> u64 {
    let mut head = [0; 8];
    let len = key.len().min(8);
    head[..len].copy_from_slice(&key[..len]);
    let tail = key.last().map_or(0, |last| u64::from(*last) << 32);
    u64::from_le_bytes(head) ^ tail ^ (key.len() as u64).wrapping_mul(0x9e37_79b9_7f4a_7c15)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn b013_a_key_that_comes_twice_is_found_however_many_there_are() {
        for count in [2usize, 16, 17, 18, 300] {
            let data: String = (0..count).map(|n| format!("key{n:05}")).collect();
            let again = format!("{data}key00001");
            let mut keys = Keys::default();
            let mark = keys.open();
            assert!((0..count).all(|n| keys.add(mark, data.as_bytes(), n * 8, 8)));
            assert_eq!(keys.close(mark, data.as_bytes()), None);
            assert!((0..count).all(|n| keys.add(mark, again.as_bytes(), n * 8, 8)));
            let told = !keys.add(mark, again.as_bytes(), count * 8, 8);
            let at_close = keys.close(mark, again.as_bytes());
            assert!(told || at_close == Some(count * 8), "{count}");
        }
    }

    #[test]
    fn objects_inside_do_not_see_the_keys_outside() {
        let data = b"aab";
        let mut keys = Keys::default();
        let outer = keys.open();
        assert!(keys.add(outer, data, 0, 1));
        let inner = keys.open();
        assert!(keys.add(inner, data, 1, 1));
        assert!(!keys.add_unescaped(inner, data, 2, b"a"));
        keys.close(inner, data);
        assert!(keys.add(outer, data, 2, 1));
        assert!(keys.are(outer, data, [b"b", b"a"]));
    }
}
