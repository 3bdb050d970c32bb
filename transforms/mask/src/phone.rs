//! Phone numbers inside free text.
//!
//! Digits are read as *groups* joined by separators: a space, hyphen, dot, slash or nothing around parentheses. A run of groups, cut
//! only at spaces, is a phone number when it is one of these (the longest one wins):
//!
//! 1. **international**: `+` or `00`, a country code, 8 to 15 digits in all (fewer where the country's plan is shorter);
//! 2. **trunk prefix**: one leading `0` and 9 to 12 digits, bare or grouped: `0170 1234567`, `06 12 34 56 78`, `(030) 123-4567`;
//! 3. **area code in parentheses** and 9 to 11 digits: `(555) 123-4567`, `1 (555) 123-4567`, `8 (912) 345-67-89`;
//! 4. **a grouping that is in use** for 9 to 11 digits: `555-123-4567`, `612 345 678`, `138 1234 5678` (see [`shape`]).
//!
//! Never a phone number, whatever its digits: bare digits without `+`, `00` or `0` (an order number); dates and what touches them;
//! digits that touch a letter, `_`, `#` or, across a hyphen, dot or slash, more digits; a decimal; an amount beside a currency.

mod run;
mod shape;

use crate::span::{Kind, Span};
pub use run::Run;
use run::{Group, Separator};
pub use shape::DIGITS_MIN;

/// Adds the phone numbers of `text[start..end]` to `found`, in order. `run` is room to work in, whatever it holds.
pub fn find(text: &str, start: usize, end: usize, run: &mut Run, found: &mut Vec<Span>) {
    let bytes = &text.as_bytes()[..end];
    let mut at = start;
    while run.read(bytes, start, at) {
        at = run.end();
        let mut first = 0;
        while first < run.groups().len() {
            match longest(bytes, run, first) {
                Some(last) => {
                    let groups = run.groups();
                    found.push(Span { start: groups[first].start, end: groups[last].end, kind: Kind::Phone });
                    first = last + 1;
                }
                None => first += 1,
            }
        }
    }
}

/// The last group of the longest phone number that begins with group `first`.
fn longest(bytes: &[u8], run: &Run, first: usize) -> Option<usize> {
    let groups = run.groups();
    if !begins(bytes, run, first) {
        return None;
    }
    let mut digits: usize = groups[first..].iter().map(|group| group.digits).sum();
    for last in (first..groups.len()).rev() {
        if digits < shape::DIGITS_MIN {
            return None;
        }
        let number = &groups[first..=last];
        if digits <= shape::DIGITS_MAX + 1
            && ends(bytes, run, last)
            && !number.iter().any(|group| group.date)
            && shape::is_phone(bytes, number, digits)
            && (groups[first].plus || !shape::is_amount(bytes, groups[first].start, groups[last].end))
        {
            return Some(last);
        }
        digits -= groups[last].digits;
    }
    None
}

/// Whether a number may begin with this group: after a space, or where the run begins free of what would make it part of more.
fn begins(bytes: &[u8], run: &Run, first: usize) -> bool {
    let group = &run.groups()[first];
    if first > 0 {
        return group.before == Separator::Space;
    }
    match bytes[..group.start] {
        [] => true,
        [.., last] if last.is_ascii_alphanumeric() => false,
        [.., b'_' | b'#' | b'-' | b'/' | b'.' | b'%'] => false,
        [.., digit, b',' | b':'] => !digit.is_ascii_digit(),
        _ => true,
    }
}

/// Whether a number may end with this group.
fn ends(bytes: &[u8], run: &Run, last: usize) -> bool {
    let groups = run.groups();
    if let Some(next) = groups.get(last + 1) {
        return next.before == Separator::Space;
    }
    let end = groups[last].end;
    match bytes[end..] {
        [b'_' | b'%', ..] => false,
        [b'-' | b'/' | b'.' | b',' | b':', next, ..] => !next.is_ascii_alphanumeric(),
        // An extension.
        [b'x' | b'X', next, ..] => next.is_ascii_digit(),
        [next, ..] => !next.is_ascii_alphanumeric(),
        [] => true,
    }
}

#[cfg(test)]
mod tests;
