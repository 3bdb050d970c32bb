//! Bank account numbers: the country's length and a right checksum (ISO 13616, modulus 97).
//!
//! Letters of either case, one space, no-break space, hyphen or dot between characters. The number stands alone: no letter or
//! digit touches it, but for the word `IBAN` before it.

use crate::span::{Kind, Span};

/// Length by country, from the registry of IBAN formats.
const LENGTHS: &[(&[u8; 2], usize)] = &[
    (b"AD", 24),
    (b"AE", 23),
    (b"AL", 28),
    (b"AT", 20),
    (b"AZ", 28),
    (b"BA", 20),
    (b"BE", 16),
    (b"BG", 22),
    (b"BH", 22),
    (b"BI", 27),
    (b"BR", 29),
    (b"BY", 28),
    (b"CH", 21),
    (b"CR", 22),
    (b"CY", 28),
    (b"CZ", 24),
    (b"DE", 22),
    (b"DJ", 27),
    (b"DK", 18),
    (b"DO", 28),
    (b"EE", 20),
    (b"EG", 29),
    (b"ES", 24),
    (b"FI", 18),
    (b"FK", 18),
    (b"FO", 18),
    (b"FR", 27),
    (b"GB", 22),
    (b"GE", 22),
    (b"GI", 23),
    (b"GL", 18),
    (b"GR", 27),
    (b"GT", 28),
    (b"HN", 28),
    (b"HR", 21),
    (b"HU", 28),
    (b"IE", 22),
    (b"IL", 23),
    (b"IQ", 23),
    (b"IS", 26),
    (b"IT", 27),
    (b"JO", 30),
    (b"KW", 30),
    (b"KZ", 20),
    (b"LB", 28),
    (b"LC", 32),
    (b"LI", 21),
    (b"LT", 20),
    (b"LU", 20),
    (b"LV", 21),
    (b"LY", 25),
    (b"MC", 27),
    (b"MD", 24),
    (b"ME", 22),
    (b"MK", 19),
    (b"MN", 20),
    (b"MR", 27),
    (b"MT", 31),
    (b"MU", 30),
    (b"NI", 28),
    (b"NL", 18),
    (b"NO", 15),
    (b"OM", 23),
    (b"PK", 24),
    (b"PL", 28),
    (b"PS", 29),
    (b"PT", 25),
    (b"QA", 29),
    (b"RO", 24),
    (b"RS", 22),
    (b"RU", 33),
    (b"SA", 24),
    (b"SC", 31),
    (b"SD", 18),
    (b"SE", 24),
    (b"SI", 19),
    (b"SK", 24),
    (b"SM", 27),
    (b"SO", 23),
    (b"ST", 25),
    (b"SV", 28),
    (b"TL", 23),
    (b"TN", 24),
    (b"TR", 26),
    (b"UA", 29),
    (b"VA", 22),
    (b"VG", 24),
    (b"XK", 20),
    (b"YE", 30),
];

/// Adds the account numbers of `text[start..end]` to `found`, in order.
pub fn find(text: &str, start: usize, end: usize, found: &mut Vec<Span>) {
    let bytes = text.as_bytes();
    let mut at = start;
    while at + 4 <= end {
        if starts(&bytes[at..end])
            && stands_free(bytes, at)
            && let Some(len) = number_len(&bytes[at..end])
        {
            found.push(Span { start: at, end: at + len, kind: Kind::Iban });
            at += len;
        } else {
            at += 1;
        }
    }
}

/// Two letters, two digits.
fn starts(rest: &[u8]) -> bool {
    rest[0].is_ascii_alphabetic() && rest[1].is_ascii_alphabetic() && rest[2].is_ascii_digit() && rest[3].is_ascii_digit()
}

/// Whether nothing but `IBAN` touches the number from the left.
fn stands_free(bytes: &[u8], at: usize) -> bool {
    let before = &bytes[..at];
    let free = |rest: &[u8]| rest.last().is_none_or(|b| !b.is_ascii_alphanumeric());
    free(before) || before.split_last_chunk::<4>().is_some_and(|(rest, word)| word.eq_ignore_ascii_case(b"IBAN") && free(rest))
}

/// How many bytes the account number takes that begins here; `None` where it is none.
fn number_len(rest: &[u8]) -> Option<usize> {
    let country = [rest[0].to_ascii_uppercase(), rest[1].to_ascii_uppercase()];
    let want = LENGTHS.iter().find(|(code, _)| **code == country)?.1;
    let mut number = [0; 33];
    let (mut count, mut at) = (0, 0);
    while count < want {
        let byte = *rest.get(at)?;
        if byte.is_ascii_alphanumeric() {
            number[count] = byte;
            count += 1;
            at += 1;
            continue;
        }
        at += separator_len(&rest[at..])?;
        if !rest.get(at)?.is_ascii_alphanumeric() {
            return None;
        }
    }
    let ends = rest.get(at).is_none_or(|b| !b.is_ascii_alphanumeric());
    (ends && checksum(&number[..want]) == 1).then_some(at)
}

fn separator_len(rest: &[u8]) -> Option<usize> {
    match rest {
        [b' ' | b'-' | b'.', ..] => Some(1),
        [0xC2, 0xA0, ..] => Some(2),
        _ => None,
    }
}

/// The number modulo 97, its first four characters read last, letters as 10 to 35.
fn checksum(number: &[u8]) -> u32 {
    let (head, tail) = number.split_at(4);
    tail.iter().chain(head).fold(0, |rest, byte| match byte {
        b'0'..=b'9' => (rest * 10 + u32::from(byte - b'0')) % 97,
        letter => (rest * 100 + u32::from(letter.to_ascii_uppercase() - b'A') + 10) % 97,
    })
}

#[cfg(test)]
mod tests {
    use super::find;

    fn found(text: &str) -> Vec<&str> {
        let mut spans = Vec::new();
        find(text, 0, text.len(), &mut spans);
        spans.iter().map(|span| &text[span.start..span.end]).collect()
    }

    #[test]
    fn takes_numbers_with_the_countrys_length_and_checksum() {
        for number in [
            "DE89370400440532013000",
            "DE89 3704 0044 0532 0130 00",
            "de89 3704 0044 0532 0130 00",
            "GB82 WEST 1234 5698 7654 32",
            "NO93 8601 1117 947",
            "FR14-2004-1010-0505-0001-3M02-606",
            "MT84MALT011000012345MTLCAST001S",
            "BE68 5390 0754 7034",
            "CH93\u{a0}0076\u{a0}2011\u{a0}6238\u{a0}5295\u{a0}7",
            "LC55HEMM000100010012001200023015",
        ] {
            assert_eq!(found(number), [number]);
            let text = format!("Zahlung an «{number}», danke für 12 Stück.");
            assert_eq!(found(&text), [number], "{text}");
        }
        assert_eq!(found("IBAN:DE89370400440532013000."), ["DE89370400440532013000"]);
        assert_eq!(found("IBANDE89370400440532013000"), ["DE89370400440532013000"]);
        assert_eq!(found("DE89370400440532013000 50 EUR"), ["DE89370400440532013000"]);
    }

    #[test]
    fn leaves_what_is_no_account() {
        for text in [
            "DE89370400440532013001",
            "DE8937040044053201300",
            "DE893704004405320130000",
            "XDE89370400440532013000",
            "ZZ89370400440532013000",
            "DE89  3704 0044 0532 0130 00",
            "order AB12 3456 7890",
            "MA12",
            "DE89 3704 0044 0532 0130 0ü",
        ] {
            assert!(found(text).is_empty(), "{text}: {:?}", found(text));
        }
    }
}
