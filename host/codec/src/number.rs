//! Numbers: the grammar of JSON in one pass, and exact values from the digits.

use crate::fault::{Fault, Parsed};
use crate::misfit::Misfit;
use crate::scan::Scanner;

/// A number that was read.
#[derive(Debug, Clone, Copy)]
pub(crate) struct Number<'a> {
    /// As written.
    pub(crate) text: &'a [u8],
    negative: bool,
    /// All digits without the point, when `exact`.
    mantissa: u64,
    /// Power of ten that the mantissa is multiplied with.
    exponent: i32,
    /// Whether the mantissa holds all digits.
    exact: bool,
}

/// Powers of ten that a double holds exactly.
const EXACT_POWERS: [f64; 23] = [
    1e0, 1e1, 1e2, 1e3, 1e4, 1e5, 1e6, 1e7, 1e8, 1e9, 1e10, 1e11, 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21,
    1e22,
];

impl<'a> Scanner<'a, '_> {
    /// Reads the number at the cursor.
    #[inline]
    pub(crate) fn number(&mut self) -> Parsed<Number<'a>> {
        let (data, start) = (self.data, self.pos);
        let negative = data.get(start) == Some(&b'-');
        let first = start + usize::from(negative);
        let (mut mantissa, mut pos) = (0u64, first);
        digits(data, &mut pos, &mut mantissa);
        let whole = pos - first;
        if whole == 0 || (whole > 1 && data[first] == b'0') {
            return self.broken_at(first, Fault::Number);
        }
        let (mut exponent, mut count) = (0i32, whole);
        if data.get(pos) == Some(&b'.') {
            pos += 1;
            let from = pos;
            digits(data, &mut pos, &mut mantissa);
            if pos == from {
                return self.broken_at(pos, Fault::Number);
            }
            count += pos - from;
            exponent = -i32::try_from(pos - from).unwrap_or(i32::MAX);
        }
        if let Some(b'e' | b'E') = data.get(pos) {
            let Some((power, end)) = power(data, pos + 1) else { return self.broken_at(pos, Fault::Number) };
            exponent = exponent.saturating_add(power);
            pos = end;
        }
        self.pos = pos;
        Ok(Number { text: &data[start..pos], negative, mantissa, exponent, exact: count <= 19 })
    }
}

#[inline(always)]
fn digits(data: &[u8], pos: &mut usize, mantissa: &mut u64) {
    while let Some(digit) = data.get(*pos).map(|byte| byte.wrapping_sub(b'0')).filter(|digit| *digit < 10) {
        *mantissa = mantissa.wrapping_mul(10).wrapping_add(u64::from(digit));
        *pos += 1;
    }
}

/// The exponent whose first byte is at `pos`, kept within what matters, and where it ends.
fn power(data: &[u8], mut pos: usize) -> Option<(i32, usize)> {
    let sign = data.get(pos).copied();
    pos += usize::from(matches!(sign, Some(b'+' | b'-')));
    let (from, mut power) = (pos, 0i32);
    while let Some(digit) = data.get(pos).filter(|byte| byte.is_ascii_digit()) {
        power = (power * 10 + i32::from(digit - b'0')).min(100_000_000);
        pos += 1;
    }
    (pos > from).then_some((if sign == Some(b'-') { -power } else { power }, pos))
}

impl Number<'_> {
    /// The value as an integer, when it is whole (`1.0` and `1e2` are) and fits.
    #[inline]
    pub(crate) fn integer(&self) -> Result<i64, Misfit> {
        if self.exact && self.exponent == 0 {
            return signed(self.negative, self.mantissa);
        }
        whole(self.text)
    }

    /// The nearest double; too large ones are refused, too small ones are zero with their sign.
    #[inline]
    pub(crate) fn double(&self) -> Result<f64, Misfit> {
        let power = self.exponent.unsigned_abs() as usize;
        if self.exact && self.mantissa < 1 << 53 && power < EXACT_POWERS.len() {
            let digits = self.mantissa as f64;
            let value = if self.exponent < 0 { digits / EXACT_POWERS[power] } else { digits * EXACT_POWERS[power] };
            return Ok(if self.negative { -value } else { value });
        }
        double(self.text)
    }

    /// The exact value times ten to the scale.
    #[inline]
    pub(crate) fn decimal(&self, precision: u8, scale: u8) -> Result<i128, Misfit> {
        let shift = self.exponent.saturating_add(i32::from(scale));
        if self.exact && (0..=18).contains(&shift) {
            let value = i128::from(self.mantissa) * 10i128.pow(shift as u32);
            return within(if self.negative { -value } else { value }, precision);
        }
        decimal(self.text, precision, scale)
    }
}

#[inline]
fn signed(negative: bool, magnitude: u64) -> Result<i64, Misfit> {
    let value = if negative { 0i64.checked_sub_unsigned(magnitude) } else { i64::try_from(magnitude).ok() };
    value.ok_or(Misfit::Range)
}

fn within(value: i128, precision: u8) -> Result<i128, Misfit> {
    if value.unsigned_abs() < 10u128.pow(u32::from(precision)) { Ok(value) } else { Err(Misfit::Range) }
}

/// A whole number written with a point, an exponent or many digits.
#[cold]
fn whole(text: &[u8]) -> Result<i64, Misfit> {
    match decimal(text, 38, 0) {
        Ok(value) => i64::try_from(value).map_err(|_| Misfit::Range),
        Err(Misfit::Fraction) => Err(Misfit::NotWhole),
        Err(other) => Err(other),
    }
}

/// Digits as text, `-` before them at will, `+` when `plus`.
pub(crate) fn integer_text(text: &[u8], plus: bool) -> Result<i64, Misfit> {
    let (negative, digits) = match text {
        [b'-', digits @ ..] => (true, digits),
        [b'+', digits @ ..] if plus => (false, digits),
        digits => (false, digits),
    };
    if digits.is_empty() || !digits.iter().all(u8::is_ascii_digit) {
        return Err(Misfit::Text);
    }
    let add = |sum: u64, digit: &u8| sum.checked_mul(10)?.checked_add(u64::from(digit - b'0'));
    digits.iter().try_fold(0u64, add).map_or(Err(Misfit::Range), |magnitude| signed(negative, magnitude))
}

/// The nearest double of text that [`is_number_text`] accepts.
pub(crate) fn double(text: &[u8]) -> Result<f64, Misfit> {
    let value: f64 = std::str::from_utf8(text).ok().and_then(|text| text.parse().ok()).ok_or(Misfit::Text)?;
    if value.is_finite() { Ok(value) } else { Err(Misfit::Range) }
}

/// Whether text is a number as the types `double` and `decimal` take it: a sign at will, digits, a point at will that has digits
/// behind it, an exponent at will.
pub(crate) fn is_number_text(text: &[u8]) -> bool {
    let unsigned = text.strip_prefix(b"-").or_else(|| text.strip_prefix(b"+")).unwrap_or(text);
    let (mut pos, mut ignored) = (0, 0);
    digits(unsigned, &mut pos, &mut ignored);
    if unsigned.get(pos) == Some(&b'.') {
        let from = pos + 1;
        pos = from;
        digits(unsigned, &mut pos, &mut ignored);
        if pos == from {
            return false;
        }
    }
    match unsigned.get(pos) {
        None => pos > 0,
        Some(b'e' | b'E') if pos > 0 => power(unsigned, pos + 1).is_some_and(|(_, end)| end == unsigned.len()),
        Some(_) => false,
    }
}

/// The exact value, times ten to the scale, of text that is a number.
pub(crate) fn decimal(text: &[u8], precision: u8, scale: u8) -> Result<i128, Misfit> {
    let exponent_at = text.iter().position(|byte| matches!(byte, b'e' | b'E')).unwrap_or(text.len());
    let exponent = power(text, exponent_at + 1).map_or(0, |(power, _)| i64::from(power));
    let (mut value, mut zeros, mut behind_point, mut fraction) = (0i128, 0u32, false, 0i64);
    for byte in &text[..exponent_at] {
        match byte {
            b'.' => behind_point = true,
            b'0'..=b'9' => {
                fraction += i64::from(behind_point);
                let digit = i128::from(byte - b'0');
                match (digit, value) {
                    (0, 0) => {}
                    (0, _) => zeros += 1,
                    _ => {
                        let shifted = 10i128.checked_pow(zeros + 1).and_then(|power| value.checked_mul(power));
                        let too_long = if behind_point { Misfit::Fraction } else { Misfit::Range };
                        value = shifted.and_then(|value| value.checked_add(digit)).ok_or(too_long)?;
                        zeros = 0;
                    }
                }
            }
            _ => {}
        }
    }
    if value == 0 {
        return Ok(0);
    }
    let shift = i64::from(zeros) + exponent - fraction + i64::from(scale);
    let shift = u32::try_from(shift).map_err(|_| if shift < 0 { Misfit::Fraction } else { Misfit::Range })?;
    let value = 10i128.checked_pow(shift).and_then(|power| value.checked_mul(power)).ok_or(Misfit::Range)?;
    within(if text.first() == Some(&b'-') { -value } else { value }, precision)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::scan::Work;

    fn read<T>(json: &str, as_value: impl Fn(&Number<'_>) -> T) -> Result<T, Fault> {
        let mut work = Work::default();
        let mut scanner = Scanner::new(json.as_bytes(), json.len(), &mut work);
        scanner.number().map(|number| as_value(&number)).map_err(|broken| broken.fault)
    }

    #[test]
    fn b010_integers_keep_every_digit() {
        let integer = |json| read(json, |n| n.integer()).expect("a number");
        assert_eq!(integer("9007199254740993"), Ok(9_007_199_254_740_993));
        assert_eq!(integer("9223372036854775807"), Ok(i64::MAX));
        assert_eq!(integer("-9223372036854775808"), Ok(i64::MIN));
        assert_eq!(integer("9223372036854775808"), Err(Misfit::Range));
        assert_eq!(integer("-9223372036854775809"), Err(Misfit::Range));
        assert_eq!(integer("99999999999999999999999999999999999999999999"), Err(Misfit::Range));
        assert_eq!(integer("-0"), Ok(0));
    }

    #[test]
    fn b183_whole_numbers_may_be_written_with_point_or_exponent() {
        let integer = |json| read(json, |n| n.integer()).expect("a number");
        assert_eq!(integer("1.0"), Ok(1));
        assert_eq!(integer("1e2"), Ok(100));
        assert_eq!(integer("1200e-2"), Ok(12));
        assert_eq!(integer("-1.50e1"), Ok(-15));
        assert_eq!(integer("1.0000000000000000000000000000"), Ok(1));
        assert_eq!(integer("9223372036854775807.0"), Ok(i64::MAX));
        assert_eq!(integer("0e400"), Ok(0));
        assert_eq!(integer("1.5"), Err(Misfit::NotWhole));
        assert_eq!(integer("1e-1"), Err(Misfit::NotWhole));
        assert_eq!(integer("1e400"), Err(Misfit::Range));
    }

    #[test]
    fn doubles_are_the_nearest_ones() {
        for json in [
            "0.1",
            "-2.5",
            "1e22",
            "1e23",
            "123456789012345678",
            "4.35",
            "5e-324",
            "1.7976931348623157e308",
            "1e-400",
            "0.30000000000000004",
        ] {
            let expected: f64 = json.parse().expect("a float");
            assert_eq!(read(json, |n| n.double()), Ok(Ok(expected)), "{json}");
        }
        assert_eq!(read("-0.0", |n| n.double()).map(|v| v.map(f64::is_sign_negative)), Ok(Ok(true)));
        assert_eq!(read("1e400", |n| n.double()), Ok(Err(Misfit::Range)));
    }

    #[test]
    fn decimals_come_from_the_digits() {
        let decimal = |json| read(json, |number| number.decimal(5, 2)).expect("a number");
        assert_eq!(decimal("1.1"), Ok(110));
        assert_eq!(decimal("-999.99"), Ok(-99_999));
        assert_eq!(decimal("1.2300000"), Ok(123));
        assert_eq!(decimal("12e1"), Ok(12_000));
        assert_eq!(decimal("1.234"), Err(Misfit::Fraction));
        assert_eq!(decimal("1000"), Err(Misfit::Range));
        assert_eq!(decimal("0.00000000000000000000000000000000000000000000000000"), Ok(0));
        let wide = |json| read(json, |number| number.decimal(38, 9)).expect("a number");
        assert_eq!(wide("12345678901234567890123456789.123456789"), Ok(12_345_678_901_234_567_890_123_456_789_123_456_789));
        assert_eq!(wide("123456789012345678901234567890"), Err(Misfit::Range));
    }

    #[test]
    fn the_grammar_is_that_of_json() {
        for wrong in ["-", "01", "1.", "1.e1", "1e", "1e+", "-a", ".5", "-01"] {
            assert!(read(wrong, |_| ()).is_err(), "{wrong}");
        }
        assert_eq!(read("0123", |n| n.text.len()), Err(Fault::Number));
        assert_eq!(read("12,", |n| n.text.len()), Ok(2));
    }

    #[test]
    fn text_that_is_a_number() {
        for right in ["1", "-1", "+1.5", ".5", "1e5", "1E-5"] {
            assert!(is_number_text(right.as_bytes()), "{right}");
        }
        for wrong in ["", "+", "1.", "NaN", "inf", "1e", "1 ", "0x1", "e5", "1_0"] {
            assert!(!is_number_text(wrong.as_bytes()), "{wrong}");
        }
        assert_eq!(integer_text(b"+12", true), Ok(12));
        assert_eq!(integer_text(b"+12", false), Err(Misfit::Text));
        assert_eq!(integer_text(b"1.0", true), Err(Misfit::Text));
        assert_eq!(integer_text(b"-9223372036854775808", false), Ok(i64::MIN));
        assert_eq!(integer_text(b"9223372036854775808", false), Err(Misfit::Range));
    }
}
