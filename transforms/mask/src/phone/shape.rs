//! Which groups of digits are a phone number.

use super::{Group, Separator};

/// Fewest digits of any form.
pub const DIGITS_MIN: usize = 8;
/// Most digits of any form (E.164), `00` not counted.
pub const DIGITS_MAX: usize = 15;
/// Fewest and most digits of a national number that begins with a zero.
const TRUNK_DIGITS: std::ops::RangeInclusive<usize> = 9..=12;

/// Countries whose plan is shorter than fifteen digits, country code included; a number that is followed by another one after a
/// space is cut there.
const SHORTER: &[(&str, usize)] = &[
    ("1", 11),
    ("7", 11),
    ("31", 11),
    ("32", 11),
    ("33", 11),
    ("34", 11),
    ("36", 11),
    ("41", 11),
    ("44", 12),
    ("45", 10),
    ("47", 10),
    ("48", 11),
    ("55", 13),
    ("61", 11),
    ("81", 12),
    ("82", 12),
    ("86", 13),
    ("91", 12),
    ("351", 12),
    ("353", 12),
    ("420", 12),
];

/// Groupings in use for numbers without `+`, `00`, `0` or parentheses: the digits of each group, the digits that the first may begin
/// with, and the separators that may stand between.
const SHAPES: &[(&[usize], &[u8], &[Separator])] = &[
    // North America and Italy: 555-123-4567
    (&[3, 3, 4], b"23456789", &[Separator::Space, Separator::Hyphen, Separator::Dot]),
    (&[1, 3, 3, 4], b"1", &[Separator::Space, Separator::Hyphen, Separator::Dot]),
    // Spain, Portugal, Poland: 612 345 678 (with dots it is an amount)
    (&[3, 3, 3], b"23456789", &[Separator::Space, Separator::Hyphen]),
    (&[2, 3, 2, 2], b"23456789", &[Separator::Space, Separator::Hyphen]),
    (&[3, 2, 2, 2], b"23456789", &[Separator::Space, Separator::Hyphen]),
    // Brazil: 11 91234-5678
    (&[2, 5, 4], b"123456789", &[Separator::Space, Separator::Hyphen]),
    // Mexico: 55 1234 5678
    (&[2, 4, 4], b"23456789", &[Separator::Space, Separator::Hyphen]),
    // China: 138 1234 5678
    (&[3, 4, 4], b"1", &[Separator::Space, Separator::Hyphen]),
    // India: 98765 43210
    (&[5, 5], b"6789", &[Separator::Space]),
    // Russia: 8 912 345-67-89
    (&[1, 3, 3, 2, 2], b"78", &[Separator::Space, Separator::Hyphen]),
];

/// Whether the groups, of `digits` digits in all, are a phone number.
pub fn is_phone(bytes: &[u8], groups: &[Group], digits: usize) -> bool {
    let first = groups[0];
    let head = &bytes[first.digit..first.digit + first.digits];
    if first.plus {
        return is_international(bytes, groups, 0, digits);
    }
    match head {
        [b'0', b'0', b'1'..=b'9', ..] => is_international(bytes, groups, 2, digits),
        [b'0', b'0'] if groups.len() > 1 => is_international(bytes, groups, 2, digits),
        [b'0', b'1'..=b'9', ..] => TRUNK_DIGITS.contains(&digits) && !is_something_else(groups),
        _ => is_with_area(groups, head, digits) || is_shape(groups, head),
    }
}

/// `skip` digits, then a country code and what its plan allows. A trunk zero in parentheses does not count.
fn is_international(bytes: &[u8], groups: &[Group], skip: usize, digits: usize) -> bool {
    let mut code = [0; 4];
    let all = groups.iter().flat_map(|group| &bytes[group.digit..group.digit + group.digits]);
    code.iter_mut().zip(all.skip(skip)).for_each(|(to, from)| *to = *from);
    let trunk = groups[1..].iter().any(|group| group.parentheses && group.digits == 1 && bytes[group.digit] == b'0');
    let most = SHORTER.iter().find(|(prefix, _)| code.starts_with(prefix.as_bytes())).map_or(DIGITS_MAX, |(_, most)| *most);
    let count = digits - skip - usize::from(trunk);
    code[0] != b'0' && (DIGITS_MIN..=most).contains(&count)
}

/// `07.1234567`, identity numbers of the shape `078-05-1120`, and `012345678/9`: no phone number ends in a single digit.
fn is_something_else(groups: &[Group]) -> bool {
    match groups {
        [_, .., last] if last.digits == 1 => true,
        [_, b] => b.before == Separator::Dot,
        [a, b, c] => [a.digits, b.digits, c.digits] == [3, 2, 4] && b.before == Separator::Hyphen,
        _ => false,
    }
}

/// `(555) 123-4567`, `1 (555) 123-4567`.
fn is_with_area(groups: &[Group], head: &[u8], digits: usize) -> bool {
    let (area, rest) = match groups {
        [area, rest @ ..] if area.parentheses => (area, rest),
        [_, area, rest @ ..] if area.parentheses && matches!(head, [b'1' | b'7' | b'8']) => (area, rest),
        _ => return false,
    };
    (2..=3).contains(&area.digits)
        && (9..=11).contains(&digits)
        && (1..=4).contains(&rest.len())
        && rest.iter().all(|group| (2..=5).contains(&group.digits))
}

fn is_shape(groups: &[Group], head: &[u8]) -> bool {
    SHAPES.iter().any(|(digits, begin, separators)| {
        digits.len() == groups.len()
            && begin.contains(&head[0])
            && groups.iter().zip(*digits).all(|(group, digits)| group.digits == *digits && !group.parentheses)
            && groups[1..].iter().all(|group| separators.contains(&group.before))
    })
}

const CURRENCIES: &[&str] =
    &["€", "$", "£", "¥", "₹", "EUR", "USD", "GBP", "CHF", "PLN", "SEK", "NOK", "DKK", "CZK", "JPY", "INR", "CNY"];

/// Whether a currency stands beside `start..end`, with or without a space.
pub fn is_amount(bytes: &[u8], start: usize, end: usize) -> bool {
    let before = bytes[..start].strip_suffix(b" ").unwrap_or(&bytes[..start]);
    let after = bytes[end..].strip_prefix(b" ").unwrap_or(&bytes[end..]);
    CURRENCIES.iter().any(|currency| before.ends_with(currency.as_bytes()) || after.starts_with(currency.as_bytes()))
}
