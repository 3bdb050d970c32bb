//! A cursor over the text of a time.

/// A cursor over bytes; each method takes what it asks for or leaves the cursor where it is.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Cursor<'t> {
    rest: &'t [u8],
}

impl<'t> Cursor<'t> {
    pub(crate) fn new(text: &'t [u8]) -> Self {
        Self { rest: text }
    }

    /// Whether everything has been taken.
    pub(crate) fn at_end(&self) -> bool {
        self.rest.is_empty()
    }

    /// What has not been taken.
    pub(crate) fn rest(&self) -> &'t [u8] {
        self.rest
    }

    /// Takes this many bytes.
    pub(crate) fn advance(&mut self, count: usize) {
        self.rest = self.rest.get(count..).unwrap_or_default();
    }

    /// Takes a byte.
    pub(crate) fn eat(&mut self, byte: u8) -> Option<()> {
        self.rest = self.rest.strip_prefix(&[byte])?;
        Some(())
    }

    /// Takes a byte whatever its case.
    pub(crate) fn eat_letter(&mut self, letter: u8) -> Option<()> {
        self.rest.first().filter(|byte| byte.eq_ignore_ascii_case(&letter))?;
        self.advance(1);
        Some(())
    }

    /// Takes exactly these bytes.
    pub(crate) fn eat_all(&mut self, bytes: &[u8]) -> Option<()> {
        self.rest = self.rest.strip_prefix(bytes)?;
        Some(())
    }

    /// Takes between `min` and `max` digits, as many as there are.
    pub(crate) fn digits(&mut self, min: usize, max: usize) -> Option<u32> {
        let count = self.rest.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
        if count < min {
            return None;
        }
        let value = self.rest[..count].iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
        self.advance(count);
        Some(value)
    }

    /// Takes exactly two digits.
    pub(crate) fn two(&mut self) -> Option<u32> {
        self.digits(2, 2)
    }

    /// Takes between `min` and `max` digits of a fraction of a second: microseconds, what is finer is cut off.
    pub(crate) fn fraction(&mut self, min: usize, max: usize) -> Option<u32> {
        let count = self.rest.iter().take(max).take_while(|byte| byte.is_ascii_digit()).count();
        if count < min {
            return None;
        }
        let digits = self.rest[..count].iter().map(|digit| u32::from(digit - b'0')).chain(std::iter::repeat(0));
        let micros = digits.take(6).fold(0, |value, digit| value * 10 + digit);
        self.advance(count);
        Some(micros)
    }

    /// Takes one of these names; the number of the one taken, from 1.
    pub(crate) fn name(&mut self, names: &[&str], any_case: bool, len: usize) -> Option<u32> {
        let is_here = |name: &&str| {
            let name = if len == 0 { name } else { &name[..len] };
            let here = self.rest.get(..name.len())?;
            let same = if any_case { here.eq_ignore_ascii_case(name.as_bytes()) } else { here == name.as_bytes() };
            same.then_some(name.len())
        };
        let (index, taken) = names.iter().enumerate().find_map(|(index, name)| Some((index, is_here(name)?)))?;
        self.advance(taken);
        Some(index as u32 + 1)
    }
}

/// Months in English.
pub(crate) const MONTHS: [&str; 12] =
    ["January", "February", "March", "April", "May", "June", "July", "August", "September", "October", "November", "December"];

/// Days of the week in English.
pub(crate) const WEEKDAYS: [&str; 7] = ["Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday"];
