//! Sizes (`8MiB`, `64KB`) and durations (`100ms`, `7d`): a whole number and a unit.

use std::time::Duration;

const SIZES: [(&str, u64); 9] = [
    ("B", 1),
    ("KB", 1_000),
    ("KiB", 1 << 10),
    ("MB", 1_000_000),
    ("MiB", 1 << 20),
    ("GB", 1_000_000_000),
    ("GiB", 1 << 30),
    ("TB", 1_000_000_000_000),
    ("TiB", 1 << 40),
];

const DURATIONS: [(&str, u64); 5] = [("ms", 1), ("s", 1_000), ("m", 60_000), ("h", 3_600_000), ("d", 86_400_000)];

/// Bytes; a number alone is bytes. The error says what is wrong without quoting the text.
pub(crate) fn size(text: &str) -> Result<u64, String> {
    let (number, unit) = split(text)?;
    let factor = match unit {
        "" => Some(1),
        _ => SIZES.iter().find(|(name, _)| name.eq_ignore_ascii_case(unit)).map(|(_, factor)| *factor),
    };
    let units = || SIZES.map(|(name, _)| name).join(", ");
    let factor = factor.ok_or_else(|| format!("a size has one of the units {} (KiB is 1024 bytes, KB is 1000)", units()))?;
    number.checked_mul(factor).ok_or_else(|| "the size does not fit 64 bits".to_owned())
}

/// A span of time; `0` needs no unit.
pub(crate) fn duration(text: &str) -> Result<Duration, String> {
    let (number, unit) = split(text)?;
    let factor = match (number, unit) {
        (0, "") => 1,
        (number, "") => return Err(format!("a duration has a unit: {number}ms, {number}s, {number}m, {number}h or {number}d")),
        _ => DURATIONS
            .iter()
            .find(|(name, _)| *name == unit)
            .map(|(_, factor)| *factor)
            .ok_or_else(|| "a duration has one of the units ms, s, m, h, d".to_owned())?,
    };
    number.checked_mul(factor).map(Duration::from_millis).ok_or_else(|| "the duration does not fit 64 bits".to_owned())
}

/// Bytes with the greatest unit that divides them.
pub(crate) fn bytes_text(bytes: u64) -> String {
    let units = [("TiB", 1_u64 << 40), ("GiB", 1 << 30), ("MiB", 1 << 20), ("KiB", 1 << 10)];
    match units.iter().find(|(_, factor)| bytes >= *factor && bytes.is_multiple_of(*factor)) {
        Some((unit, factor)) => format!("{}{unit}", bytes / factor),
        None => format!("{bytes}B"),
    }
}

/// A span of time with the greatest unit that divides it.
pub(crate) fn duration_text(duration: Duration) -> String {
    let ms = duration.as_millis();
    let unit = DURATIONS.iter().rev().find(|(_, factor)| ms >= u128::from(*factor) && ms.is_multiple_of(u128::from(*factor)));
    unit.map_or_else(|| format!("{ms}ms"), |(unit, factor)| format!("{}{unit}", ms / u128::from(*factor)))
}

fn split(text: &str) -> Result<(u64, &str), String> {
    let digits = text.len() - text.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    let (number, unit) = text.split_at(digits);
    if number.is_empty() || unit.trim_start().starts_with(['.', ',', '_']) {
        return Err("it begins with a whole number and ends with a unit".to_owned());
    }
    let number = number.parse().map_err(|_| "the number does not fit 64 bits".to_owned())?;
    Ok((number, unit.trim()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sizes() {
        for (text, bytes) in [("8MiB", 8 << 20), ("64KB", 64_000), ("1 GiB", 1 << 30), ("12", 12), ("0", 0), ("3mib", 3 << 20)] {
            assert_eq!(size(text), Ok(bytes), "{text}");
        }
        for text in ["", "MiB", "8M", "1.5MiB", "-1KiB", "99999999999999999999", "99999999999TiB", "8 Mi B"] {
            assert!(size(text).is_err(), "{text}");
        }
    }

    #[test]
    fn durations() {
        for (text, ms) in [("100ms", 100), ("1s", 1_000), ("5m", 300_000), ("7d", 604_800_000), ("2 h", 7_200_000), ("0", 0)] {
            assert_eq!(duration(text), Ok(Duration::from_millis(ms)), "{text}");
        }
        assert_eq!(duration("10").unwrap_err(), "a duration has a unit: 10ms, 10s, 10m, 10h or 10d");
        for text in ["", "s", "1.5s", "10 seconds", "1M", "1m30s"] {
            assert!(duration(text).is_err(), "{text}");
        }
    }
}
