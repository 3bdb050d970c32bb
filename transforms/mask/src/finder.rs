//! Finds all that is private in a text, and sees fast when nothing is.

use crate::span::{Kind, Span, gaps};
use crate::{email, iban, phone};

/// Which kinds to look for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Wanted {
    /// E-mail addresses.
    pub email: bool,
    /// Account numbers.
    pub iban: bool,
    /// Phone numbers.
    pub phone: bool,
}

impl Wanted {
    /// Those kinds.
    pub fn of(kinds: &[Kind]) -> Wanted {
        let has = |kind| kinds.contains(&kind);
        Wanted { email: has(Kind::Email), iban: has(Kind::Iban), phone: has(Kind::Phone) }
    }
}

/// What a first look over the bytes says; most texts end here.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
struct Glance {
    at_sign: bool,
    digits: usize,
    account_start: bool,
}

impl Glance {
    fn over(text: &[u8]) -> Glance {
        let mut digits = 0;
        let mut at_sign = false;
        // Short blocks, so that the counts fit a byte and the loops become vector instructions.
        for block in text.chunks(128) {
            digits += usize::from(block.iter().fold(0_u8, |count, byte| count + u8::from(byte.is_ascii_digit())));
            at_sign |= block.iter().fold(false, |found, byte| found | (*byte == b'@'));
        }
        let account_start = digits >= 2 && text.len() >= 15 && has_account_start(text);
        Glance { at_sign, digits, account_start }
    }
}

/// Whether two letters and two digits stand together somewhere.
fn has_account_start(text: &[u8]) -> bool {
    text.windows(4).fold(false, |found, four| {
        found
            | (four[0].is_ascii_alphabetic()
                & four[1].is_ascii_alphabetic()
                & four[2].is_ascii_digit()
                & four[3].is_ascii_digit())
    })
}

/// Looks into one text after the other, and keeps the room that it works in.
#[derive(Debug)]
pub struct Finder {
    wanted: Wanted,
    found: Vec<Span>,
    run: phone::Run,
}

impl Finder {
    /// Looks for those kinds.
    pub fn new(wanted: Wanted) -> Finder {
        Finder { wanted, found: Vec::new(), run: phone::Run::default() }
    }

    /// What is found in `text`, in order and without overlap.
    pub fn find(&mut self, text: &str) -> &[Span] {
        let Finder { wanted, found, run } = self;
        found.clear();
        let glance = Glance::over(text.as_bytes());
        if glance.at_sign && wanted.email {
            email::find(text, found);
        }
        if glance.account_start && wanted.iban {
            in_gaps(text, found, iban::find);
        }
        if glance.digits >= phone::DIGITS_MIN && wanted.phone {
            in_gaps(text, found, |text, start, end, found| phone::find(text, start, end, run, found));
        }
        found
    }
}

/// Looks where nothing was found yet.
fn in_gaps(text: &str, found: &mut Vec<Span>, mut find: impl FnMut(&str, usize, usize, &mut Vec<Span>)) {
    if found.is_empty() {
        return find(text, 0, text.len(), found);
    }
    let mut more = Vec::new();
    for (start, end) in gaps(found, text.len()) {
        find(text, start, end, &mut more);
    }
    if !more.is_empty() {
        found.append(&mut more);
        found.sort_unstable_by_key(|span| span.start);
    }
}

#[cfg(test)]
mod tests {
    use super::{Finder, Wanted};
    use crate::span::Kind;

    fn found(text: &str) -> Vec<(Kind, &str)> {
        Finder::new(Wanted::of(&Kind::ALL)).find(text).iter().map(|span| (span.kind, &text[span.start..span.end])).collect()
    }

    #[test]
    fn finds_every_kind_in_order() {
        assert_eq!(
            found("Bitte 0170 1234567 anrufen, DE89 3704 0044 0532 0130 00 belasten, an 491701234567@example.org schreiben ✓"),
            [
                (Kind::Phone, "0170 1234567"),
                (Kind::Iban, "DE89 3704 0044 0532 0130 00"),
                (Kind::Email, "491701234567@example.org"),
            ]
        );
    }

    #[test]
    fn looks_only_for_what_is_wanted() {
        let text = "ann@example.org 0170 1234567";
        assert!(Finder::new(Wanted::of(&[Kind::Iban])).find(text).is_empty());
        assert_eq!(Finder::new(Wanted::of(&[Kind::Phone])).find(text).len(), 1);
    }

    #[test]
    fn leaves_ordinary_text() {
        for text in
            ["", "é", "Leave it at the door, please", "order 5551234567 of 2026-12-01, 3 × 19.99 EUR", "日本語のメモ", "🙂"]
        {
            assert!(found(text).is_empty(), "{text}");
        }
    }

    #[test]
    fn sees_things_at_the_end_of_long_texts() {
        let text = format!("{} ann@example.org", "é".repeat(1000));
        assert_eq!(found(&text), [(Kind::Email, "ann@example.org")]);
        let text = format!("{} 0170 1234567", "x 1 ".repeat(1000));
        assert_eq!(found(&text), [(Kind::Phone, "0170 1234567")]);
    }
}
