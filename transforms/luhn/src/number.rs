//! The rules of a card number (ISO/IEC 7812): digits, how many, and the check digit.

use std::fmt;
use std::ops::RangeInclusive;

/// How many digits a card number has.
pub const DIGITS: RangeInclusive<usize> = 12..=19;

/// Why a text is no card number. Says nothing of the digits themselves: the column is likely private.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Fault {
    /// Something that is no digit, space or dash.
    Character,
    /// Too few digits or too many.
    Length(usize),
    /// The check digit is another.
    CheckDigit,
}

impl fmt::Display for Fault {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Fault::Character => f.write_str("a card number has digits, spaces and dashes only"),
            Fault::Length(digits) => {
                write!(f, "a card number has {} to {} digits, this one has {digits}", DIGITS.start(), DIGITS.end())
            }
            Fault::CheckDigit => f.write_str("the check digit is wrong"),
        }
    }
}

/// Checks a card number; spaces and dashes may stand anywhere.
///
/// # Errors
/// The first rule that it breaks.
pub fn check(text: &str) -> Result<(), Fault> {
    let mut digits = 0;
    // From the right, each second digit is doubled. Which ones those are is known at the end only, so both sums are kept.
    let mut sums = [0_u32; 2];
    for byte in text.bytes() {
        match byte {
            b'0'..=b'9' => {
                let digit = u32::from(byte - b'0');
                let doubled = if digit > 4 { 2 * digit - 9 } else { 2 * digit };
                sums = [sums[1] + doubled, sums[0] + digit];
                digits += 1;
            }
            b' ' | b'-' => {}
            _ => return Err(Fault::Character),
        }
    }
    if !DIGITS.contains(&digits) {
        return Err(Fault::Length(digits));
    }
    if sums[1] % 10 != 0 { Err(Fault::CheckDigit) } else { Ok(()) }
}

#[cfg(test)]
mod tests {
    use super::{Fault, check};

    #[test]
    fn takes_card_numbers() {
        for number in [
            "4111111111111111",
            "4111 1111 1111 1111",
            "4111-1111-1111-1111",
            "378282246310005",
            "6011111111111117",
            "5555555555554444",
            "30569309025904",
            "501800000009",
            "6304000000000000000",
            " 4111111111111111 ",
        ] {
            assert_eq!(check(number), Ok(()), "{number}");
        }
    }

    #[test]
    fn sees_each_changed_digit_and_swapped_neighbours() {
        let number = *b"4556737586899855";
        assert_eq!(check("4556737586899855"), Ok(()));
        for at in 0..number.len() {
            for other in (b'0'..=b'9').filter(|other| *other != number[at]) {
                let mut changed = number;
                changed[at] = other;
                assert_eq!(check(std::str::from_utf8(&changed).unwrap()), Err(Fault::CheckDigit));
            }
        }
        assert_eq!(check("5456737586899855"), Err(Fault::CheckDigit));
    }

    #[test]
    fn tells_what_is_wrong() {
        assert_eq!(check(""), Err(Fault::Length(0)));
        assert_eq!(check("41111111111"), Err(Fault::Length(11)));
        assert_eq!(check("41111111111111111111"), Err(Fault::Length(20)));
        assert_eq!(check("4111x11111111111"), Err(Fault::Character));
        assert_eq!(check("４１１１１１１１１１１１１１１１"), Err(Fault::Character));
        assert_eq!(Fault::Length(3).to_string(), "a card number has 12 to 19 digits, this one has 3");
    }
}
