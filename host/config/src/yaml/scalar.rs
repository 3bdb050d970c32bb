//! What a scalar means: YAML 1.2's core schema (chapter 10.3.2), in which `no`, `on` and `y` are text.

use super::Scalar;

/// What a scalar means.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(crate) enum Meaning {
    /// Nothing, `~`, `null`.
    Null,
    /// `true`, `false`.
    Boolean(bool),
    /// A whole number that fits 64 bits, signed or not.
    Integer(i128),
    /// Any other number, infinities and NaN too.
    Float(f64),
    /// Everything else.
    Text,
}

/// The meaning of a scalar.
pub(crate) fn meaning(scalar: &Scalar) -> Meaning {
    if !scalar.plain {
        return Meaning::Text;
    }
    match scalar.text.as_str() {
        "" | "~" | "null" | "Null" | "NULL" => Meaning::Null,
        "true" | "True" | "TRUE" => Meaning::Boolean(true),
        "false" | "False" | "FALSE" => Meaning::Boolean(false),
        text => number(text).unwrap_or(Meaning::Text),
    }
}

fn number(text: &str) -> Option<Meaning> {
    if let Some(octal) = text.strip_prefix("0o") {
        return radix(octal, 8);
    }
    if let Some(hexadecimal) = text.strip_prefix("0x") {
        return radix(hexadecimal, 16);
    }
    let unsigned = text.strip_prefix(['-', '+']).unwrap_or(text);
    match unsigned {
        ".inf" | ".Inf" | ".INF" if text.starts_with('-') => return Some(Meaning::Float(f64::NEG_INFINITY)),
        ".inf" | ".Inf" | ".INF" => return Some(Meaning::Float(f64::INFINITY)),
        ".nan" | ".NaN" | ".NAN" if unsigned.len() == text.len() => return Some(Meaning::Float(f64::NAN)),
        _ => {}
    }
    if unsigned.bytes().all(|byte| byte.is_ascii_digit()) && !unsigned.is_empty() {
        return match text.parse::<i128>() {
            Ok(integer) if integer >= i128::from(i64::MIN) && integer <= i128::from(u64::MAX) => Some(Meaning::Integer(integer)),
            _ => text.parse().ok().map(Meaning::Float),
        };
    }
    let float = unsigned.starts_with(|c: char| c.is_ascii_digit() || c == '.')
        && unsigned.bytes().any(|byte| byte.is_ascii_digit())
        && unsigned.bytes().all(|byte| matches!(byte, b'0'..=b'9' | b'.' | b'e' | b'E' | b'+' | b'-'));
    if float { text.parse().ok().map(Meaning::Float) } else { None }
}

fn radix(digits: &str, radix: u32) -> Option<Meaning> {
    let plain = !digits.is_empty() && digits.chars().all(|c| c.is_digit(radix));
    plain.then(|| u64::from_str_radix(digits, radix).ok()).flatten().map(|value| Meaning::Integer(i128::from(value)))
}
