//! Values that nobody reads: checked completely, kept nowhere. Nesting costs no stack.

use crate::fault::{Fault, Parsed};
use crate::scan::{DEPTH_MAX, Scanner};
use crate::string::Text;

/// The arrays and objects that are open, innermost last.
struct Open {
    /// A bit per level: whether it is an object.
    objects: u128,
    /// Levels open.
    levels: usize,
    /// Mark of the undeclared keys, per level.
    marks: [u32; DEPTH_MAX],
}

impl Scanner<'_, '_> {
    /// Checks the value at the cursor and steps over it; `depth` levels are open around it.
    #[inline]
    pub(crate) fn skip(&mut self, depth: usize) -> Parsed<()> {
        match self.token() {
            Some(b'{' | b'[') => self.skip_nested(depth),
            _ => self.skip_scalar(),
        }
    }

    #[inline]
    fn skip_scalar(&mut self) -> Parsed<()> {
        match self.peek() {
            Some(b'"') => self.skip_string(),
            Some(b'-' | b'0'..=b'9') => self.number().map(|_| ()),
            Some(b't') => self.literal("true"),
            Some(b'f') => self.literal("false"),
            Some(b'n') => self.literal("null"),
            _ => self.no_value(),
        }
    }

    fn skip_nested(&mut self, depth: usize) -> Parsed<()> {
        let mut open = Open { objects: 0, levels: 0, marks: [0; DEPTH_MAX] };
        loop {
            // A value begins here.
            match self.token() {
                Some(byte @ (b'{' | b'[')) => {
                    if self.open(&mut open, depth, byte == b'{')? {
                        continue;
                    }
                }
                _ => self.skip_scalar()?,
            }
            if !self.next_item(&mut open)? {
                return Ok(());
            }
        }
    }

    /// Opens an array or object. True when its first value follows, false when it was empty and is closed again.
    fn open(&mut self, open: &mut Open, depth: usize, object: bool) -> Parsed<bool> {
        if depth + open.levels >= DEPTH_MAX {
            return self.broken(Fault::Depth);
        }
        self.pos += 1;
        let bit = 1u128 << open.levels;
        open.objects = if object { open.objects | bit } else { open.objects & !bit };
        open.marks[open.levels] = self.work.keys.open() as u32;
        open.levels += 1;
        let closing = if object { b'}' } else { b']' };
        if self.token() == Some(closing) {
            self.pos += 1;
            open.levels -= 1;
            return Ok(false);
        }
        if object {
            self.undeclared_key(open.marks[open.levels - 1] as usize)?;
        }
        Ok(true)
    }

    /// After a value: true when another follows, false when everything is closed.
    fn next_item(&mut self, open: &mut Open) -> Parsed<bool> {
        while open.levels > 0 {
            let object = open.objects >> (open.levels - 1) & 1 == 1;
            let mark = open.marks[open.levels - 1] as usize;
            match (self.token(), object) {
                (Some(b','), true) => {
                    self.pos += 1;
                    self.token();
                    self.undeclared_key(mark)?;
                    return Ok(true);
                }
                (Some(b','), false) => {
                    self.pos += 1;
                    return Ok(true);
                }
                (Some(b'}'), true) => {
                    self.close_keys(mark)?;
                    self.pos += 1;
                }
                (Some(b']'), false) => self.pos += 1,
                (_, true) => return self.broken(Fault::CommaOrBrace),
                (_, false) => return self.broken(Fault::CommaOrBracket),
            }
            open.levels -= 1;
        }
        Ok(false)
    }

    /// A key and its colon, in an object none of whose keys is declared.
    fn undeclared_key(&mut self, mark: usize) -> Parsed<()> {
        if self.peek() != Some(b'"') {
            return self.broken(Fault::Key);
        }
        let at = self.pos;
        let key = self.string()?;
        self.note_key(mark, at, key)?;
        self.colon()
    }

    /// Remembers an undeclared key whose opening quote is at `at`.
    #[inline]
    pub(crate) fn note_key(&mut self, mark: usize, at: usize, key: Text<'_>) -> Parsed<()> {
        let work = &mut *self.work;
        let fresh = match key {
            Text::Plain(bytes) => work.keys.add(mark, self.data, at + 1, bytes.len()),
            Text::Escaped => work.keys.add_unescaped(mark, self.data, at + 1, &work.unescaped),
        };
        if fresh { Ok(()) } else { self.broken_at(at, Fault::DuplicateKey) }
    }

    /// The object with these undeclared keys ends.
    #[inline]
    pub(crate) fn close_keys(&mut self, mark: usize) -> Parsed<()> {
        match self.work.keys.close(mark, self.data) {
            None => Ok(()),
            Some(at) => self.broken_at(at - 1, Fault::DuplicateKey),
        }
    }

    /// Takes the colon behind a key.
    #[inline(always)]
    pub(crate) fn colon(&mut self) -> Parsed<()> {
        if self.token() != Some(b':') {
            return self.broken(Fault::Colon);
        }
        self.pos += 1;
        Ok(())
    }
}
