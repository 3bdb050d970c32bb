//! Zones: from local time to the instant.

use chrono::{DateTime, MappedLocalTime, NaiveDateTime, Offset as _, TimeDelta, TimeZone as _};
use chrono_tz::Tz;

use super::civil::MICROS;

/// A zone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Zone {
    /// No offset.
    Utc,
    /// Seconds east of UTC.
    Fixed(i32),
    /// A region of the IANA database.
    Region(Tz),
}

impl Zone {
    /// A zone by its name (`Europe/Paris`, `UTC`, `Z`, `GMT`) or offset (`+01:00`, `UTC+1`).
    pub(crate) fn parse(name: &str) -> Option<Self> {
        if matches!(name, "Z" | "UTC" | "GMT" | "UT" | "Etc/UTC" | "Etc/GMT") {
            return Some(Zone::Utc);
        }
        if let Ok(region) = name.parse::<Tz>() {
            return Some(Zone::Region(region));
        }
        let offset = ["UTC", "GMT", "UT"].iter().find_map(|prefix| name.strip_prefix(prefix)).unwrap_or(name);
        fixed(offset).map(Zone::Fixed)
    }

    /// The instant of a local time, as `java.time` resolves it: of two, the earlier; of none (clocks jumped over it), as far after
    /// the jump as the text is after its begin. All in microseconds since 1970.
    pub(crate) fn instant(self, local: i64) -> i64 {
        let offset = match self {
            Zone::Utc => 0,
            Zone::Fixed(offset) => offset,
            Zone::Region(region) => naive(local).map_or(0, |local| local_offset(region, local)),
        };
        local - i64::from(offset) * MICROS
    }

    /// Seconds east of UTC at an instant.
    pub(crate) fn offset_at(self, instant: i64) -> i32 {
        match self {
            Zone::Utc => 0,
            Zone::Fixed(offset) => offset,
            Zone::Region(region) => {
                naive(instant).map_or(0, |instant| region.offset_from_utc_datetime(&instant).fix().local_minus_utc())
            }
        }
    }
}

fn naive(micros: i64) -> Option<NaiveDateTime> {
    DateTime::from_timestamp_micros(micros).map(|time| time.naive_utc())
}

fn local_offset(region: Tz, local: NaiveDateTime) -> i32 {
    let mut at = local;
    // A gap is at most a day long: walk back to before it, in steps no longer than any gap.
    for _ in 0..=100 {
        match region.offset_from_local_datetime(&at) {
            MappedLocalTime::Single(offset) => return offset.fix().local_minus_utc(),
            MappedLocalTime::Ambiguous(earlier, _) => return earlier.fix().local_minus_utc(),
            MappedLocalTime::None => at -= TimeDelta::minutes(15),
        }
    }
    region.offset_from_utc_datetime(&local).fix().local_minus_utc()
}

/// `±h`, `±hh`, `±hh:mm` or `±hhmm`.
fn fixed(text: &str) -> Option<i32> {
    let (sign, digits) = match text.as_bytes() {
        [b'+', digits @ ..] => (1, digits),
        [b'-', digits @ ..] => (-1, digits),
        _ => return None,
    };
    let number = |digits: &[u8]| -> Option<i32> { std::str::from_utf8(digits).ok()?.parse().ok().filter(|n| *n >= 0) };
    let (hours, minutes) = match digits {
        [_] | [_, _] => (number(digits)?, 0),
        [hours @ .., b':', a, b] | [hours @ .., a, b] => (number(hours)?, number(&[*a, *b])?),
        [] => return None,
    };
    (digits.iter().all(|byte| byte.is_ascii_digit() || *byte == b':') && hours <= 18 && minutes < 60)
        .then_some(sign * (hours * 3_600 + minutes * 60))
}
