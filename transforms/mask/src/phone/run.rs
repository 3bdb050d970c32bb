//! Digits as groups joined by separators.

/// What stands before a group.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Separator {
    /// Nothing: the first group, or one that touches a parenthesis.
    #[default]
    None,
    /// A space of any kind, with or without a parenthesis.
    Space,
    /// A hyphen of any kind.
    Hyphen,
    /// A dot.
    Dot,
    /// A slash.
    Slash,
}

/// Digits that stand together, with the `+` and the parentheses that belong to them.
#[derive(Debug, Clone, Copy, Default)]
pub struct Group {
    /// First byte, be it the parenthesis or the plus.
    pub start: usize,
    /// The first digit.
    pub digit: usize,
    /// The byte after the last one.
    pub end: usize,
    /// How many digits.
    pub digits: usize,
    /// What stands before it.
    pub before: Separator,
    /// Begins with a plus.
    pub plus: bool,
    /// Stands in parentheses.
    pub parentheses: bool,
    /// Part of a date.
    pub date: bool,
}

impl Group {
    /// Its digits as a number, capped.
    fn value(&self, bytes: &[u8]) -> u32 {
        let digits = &bytes[self.digit..self.digit + self.digits.min(9)];
        digits.iter().fold(0, |value, digit| value * 10 + u32::from(digit - b'0'))
    }
}

/// More groups than any phone number has; a longer run goes on as another.
const GROUPS_MAX: usize = 24;

/// Most digits of an area code, in parentheses.
const AREA_DIGITS_MAX: usize = 5;

/// Groups one after the other with one separator between them.
#[derive(Debug, Default)]
pub struct Run {
    groups: Vec<Group>,
    end: usize,
}

impl Run {
    /// The groups, in order.
    pub fn groups(&self) -> &[Group] {
        &self.groups
    }

    /// Where to go on reading.
    pub fn end(&self) -> usize {
        self.end
    }

    /// Reads the next run at or after `at`; `false` when there is none. Looks back no further than `start`.
    pub fn read(&mut self, bytes: &[u8], start: usize, at: usize) -> bool {
        self.groups.clear();
        let Some(digit) = bytes[at..].iter().position(u8::is_ascii_digit).map(|found| at + found) else { return false };
        let mut next = opening(bytes, start.max(at), digit);
        let mut before = Separator::None;
        while self.groups.len() < GROUPS_MAX
            && let Some(group) = group(bytes, next, before)
        {
            self.groups.push(group);
            self.end = group.end;
            let Some((separator, len)) = separator(&bytes[group.end..], group.parentheses) else { break };
            (before, next) = (separator, group.end + len);
        }
        if self.groups.is_empty() {
            // Digits of a word: passed over whole.
            self.end = digit + word_len(&bytes[digit..]);
        }
        self.mark_dates(bytes);
        true
    }

    /// Marks three groups that read as a date and stand apart from other groups.
    fn mark_dates(&mut self, bytes: &[u8]) {
        for at in 2..self.groups.len() {
            let after = self.groups.get(at + 1).map_or(Separator::None, |next| next.before);
            let [a, b, c] = [self.groups[at - 2], self.groups[at - 1], self.groups[at]];
            let apart = |separator| matches!(separator, Separator::None | Separator::Space);
            let joined = b.before == c.before && !apart(b.before);
            if joined && apart(a.before) && apart(after) && is_date([a, b, c].map(|group| (group.digits, group.value(bytes)))) {
                self.groups[at - 2..=at].iter_mut().for_each(|group| group.date = true);
            }
        }
    }
}

/// Year, month, day in one of the usual orders; years of two digits at the end only.
fn is_date(parts: [(usize, u32); 3]) -> bool {
    let year = |(digits, value)| digits == 4 && (1900..2100).contains(&value);
    let day = |(digits, value)| digits <= 2 && (1..=31).contains(&value);
    let month_among = |a: (usize, u32), b: (usize, u32)| day(a) && day(b) && (a.1 <= 12 || b.1 <= 12);
    let [a, b, c] = parts;
    (year(a) && month_among(b, c)) || ((year(c) || c.0 == 2) && month_among(a, b))
}

/// Where the plus and the parenthesis before a digit begin.
fn opening(bytes: &[u8], start: usize, digit: usize) -> usize {
    match bytes[start..digit] {
        [.., b'(', b'+'] => digit - 2,
        [.., b'+' | b'('] => digit - 1,
        _ => digit,
    }
}

/// The group at `at`; none where its digits touch a letter.
fn group(bytes: &[u8], at: usize, before: Separator) -> Option<Group> {
    let mut digit = at;
    let open = bytes.get(digit) == Some(&b'(');
    digit += usize::from(open);
    // A plus begins a run, and is never inside one.
    let plus = before == Separator::None && bytes.get(digit) == Some(&b'+');
    digit += usize::from(plus);
    let digits = bytes.get(digit..)?.iter().take_while(|b| b.is_ascii_digit()).count();
    let end = digit + digits;
    let after = bytes.get(end..)?;
    let extension = matches!(after, [b'x' | b'X', b'0'..=b'9', ..]);
    if digits == 0 || (!extension && after.first().is_some_and(u8::is_ascii_alphabetic)) {
        return None;
    }
    // Parentheses around a whole number are the sentence's, not the number's.
    let closed = open && digits <= AREA_DIGITS_MAX && after.first() == Some(&b')');
    let start = if open && !closed { at + 1 } else { at };
    Some(Group { start, digit, end: end + usize::from(closed), digits, before, plus, parentheses: closed, date: false })
}

/// The separator that `rest` begins with, and its length.
fn separator(rest: &[u8], after_parenthesis: bool) -> Option<(Separator, usize)> {
    let (separator, len) = match rest {
        [b' ', ..] => (Separator::Space, 1),
        [b'-', ..] => (Separator::Hyphen, 1),
        [b'.', ..] => (Separator::Dot, 1),
        [b'/', ..] => (Separator::Slash, 1),
        // No-break, narrow no-break and thin space.
        [0xC2, 0xA0, ..] => (Separator::Space, 2),
        [0xE2, 0x80, 0xAF | 0x89, ..] => (Separator::Space, 3),
        // Hyphen, no-break hyphen, figure and en dash.
        [0xE2, 0x80, 0x90..=0x93, ..] => (Separator::Hyphen, 3),
        [b'(', ..] => (Separator::None, 0),
        _ if after_parenthesis => (Separator::None, 0),
        _ => return None,
    };
    match rest.get(len) {
        Some(b'0'..=b'9' | b'(') => Some((separator, len)),
        _ => None,
    }
}

/// How many bytes of letters and digits `rest` begins with.
fn word_len(rest: &[u8]) -> usize {
    rest.iter().take_while(|b| b.is_ascii_alphanumeric()).count()
}
