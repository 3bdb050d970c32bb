//! The named formats, and the chains of the plain types.

use sluicebox_core::column::NamedTimeFormat;

use super::text::{Cursor, MONTHS, WEEKDAYS};
use super::zone::Zone;
use super::{Said, civil};
use crate::misfit::Misfit;

type Read<T> = Result<T, Misfit>;

/// Turns what is not there into a misfit of the text.
fn needed<T>(found: Option<T>) -> Read<T> {
    found.ok_or(Misfit::Text)
}

/// `2011-12-03T10:15:30Z` with a fraction at will: the fast way for the usual form; `None` leaves it to the slow way.
#[inline]
pub(crate) fn utc_instant(text: &[u8]) -> Option<i64> {
    let (head, tail) = text.split_first_chunk::<19>()?;
    let separators =
        head[4] == b'-' && head[7] == b'-' && matches!(head[10], b'T' | b' ') && head[13] == b':' && head[16] == b':';
    let mut wrong = !separators;
    let mut digit = |index: usize| {
        let digit = head[index].wrapping_sub(b'0');
        wrong |= digit > 9;
        u32::from(digit)
    };
    let year = digit(0) * 1000 + digit(1) * 100 + digit(2) * 10 + digit(3);
    let (month, day) = (digit(5) * 10 + digit(6), digit(8) * 10 + digit(9));
    let (hour, minute, second) = (digit(11) * 10 + digit(12), digit(14) * 10 + digit(15), digit(17) * 10 + digit(18));
    if wrong || year == 0 {
        return None;
    }
    let micros = match tail {
        [b'Z'] => 0,
        [b'.', digits @ .., b'Z'] if (1..=9).contains(&digits.len()) && digits.iter().all(u8::is_ascii_digit) => {
            let shown = digits.iter().take(6).fold(0, |value, digit| value * 10 + u32::from(digit - b'0'));
            shown * 10u32.pow(6u32.saturating_sub(digits.len() as u32))
        }
        _ => return None,
    };
    let day = civil::day(i64::from(year), month, day).ok()?;
    Some(day * civil::DAY_MICROS + civil::time(hour, minute, second, micros).ok()?)
}

/// The chain of plain timestamps: an instant, a local date-time in the column's zone, a date at the start of the day. Between date
/// and time stands `T` or a space.
pub(crate) fn instant_or_local(text: &[u8]) -> Read<Said> {
    let mut at = Cursor::new(text);
    let mut said = Said::day(date(&mut at)?);
    if at.eat_letter(b'T').or_else(|| at.eat(b' ')).is_some() {
        said.time = Some(time(&mut at)?);
        offset(&mut at, &mut said)?;
    }
    ended(at, said)
}

/// `2011-12-03`, or `2011-12` for its first day.
pub(crate) fn day_or_month(text: &[u8]) -> Read<Said> {
    let mut at = Cursor::new(text);
    let (year, month) = (year(&mut at)?, needed(at.eat(b'-').and_then(|()| at.two()))?);
    let day = if at.at_end() { 1 } else { needed(at.eat(b'-').and_then(|()| at.two()))? };
    ended(at, Said::day(civil::day(year, month, day)?))
}

/// Text in a named format.
pub(crate) fn named(format: NamedTimeFormat, text: &[u8]) -> Read<Said> {
    let mut at = Cursor::new(text);
    let at = &mut at;
    let said = match format {
        NamedTimeFormat::BasicIsoDate => basic_date(at)?,
        NamedTimeFormat::IsoLocalDate => Said::day(date(at)?),
        NamedTimeFormat::IsoOffsetDate => with_offset(at, date)?,
        NamedTimeFormat::IsoDate => with_offset_at_will(at, date)?,
        NamedTimeFormat::IsoOrdinalDate => with_offset_at_will(at, ordinal_date)?,
        NamedTimeFormat::IsoWeekDate => with_offset_at_will(at, week_date)?,
        NamedTimeFormat::IsoLocalDateTime => date_time(at, false)?,
        NamedTimeFormat::IsoOffsetDateTime => offset_date_time(at, false)?,
        NamedTimeFormat::IsoInstant => offset_date_time(at, true)?,
        NamedTimeFormat::IsoZonedDateTime => {
            let mut said = offset_date_time(at, false)?;
            region(at, &mut said)?;
            said
        }
        NamedTimeFormat::IsoDateTime => {
            let mut said = date_time(at, false)?;
            offset(at, &mut said)?;
            if said.offset.is_some() {
                region(at, &mut said)?;
            }
            said
        }
        NamedTimeFormat::Rfc1123DateTime => rfc_1123(at)?,
    };
    ended(*at, said)
}

fn ended(at: Cursor<'_>, said: Said) -> Read<Said> {
    if at.at_end() { Ok(said) } else { Err(Misfit::Text) }
}

/// Four digits; more digits or a sign name a year outside of what is kept.
fn year(at: &mut Cursor<'_>) -> Read<i64> {
    let rest = at.rest();
    let digits = |text: &[u8]| text.iter().take_while(|byte| byte.is_ascii_digit()).count();
    if let Some(signed) = rest.strip_prefix(b"+").or_else(|| rest.strip_prefix(b"-"))
        && digits(signed) >= 4
    {
        return Err(Misfit::Years);
    }
    if digits(rest) > 4 {
        return Err(Misfit::Years);
    }
    match needed(at.digits(4, 4))? {
        0 => Err(Misfit::Years),
        year => Ok(i64::from(year)),
    }
}

fn date(at: &mut Cursor<'_>) -> Read<i64> {
    let year = year(at)?;
    let month = needed(at.eat(b'-').and_then(|()| at.two()))?;
    let day = needed(at.eat(b'-').and_then(|()| at.two()))?;
    civil::day(year, month, day)
}

fn ordinal_date(at: &mut Cursor<'_>) -> Read<i64> {
    let year = year(at)?;
    let ordinal = needed(at.eat(b'-').and_then(|()| at.digits(3, 3)))?;
    civil::ordinal(year, ordinal)
}

fn week_date(at: &mut Cursor<'_>) -> Read<i64> {
    let year = year(at)?;
    let week = needed(at.eat(b'-').and_then(|()| at.eat_letter(b'W')).and_then(|()| at.two()))?;
    let weekday = needed(at.eat(b'-').and_then(|()| at.digits(1, 1)))?;
    civil::week(year, week, weekday)
}

/// `20111203`, with `Z`, `+0100` or `+01` at will.
fn basic_date(at: &mut Cursor<'_>) -> Read<Said> {
    let (year, month, day) = (needed(at.digits(4, 4))?, needed(at.two())?, needed(at.two())?);
    if year == 0 {
        return Err(Misfit::Years);
    }
    let mut said = Said::day(civil::day(i64::from(year), month, day)?);
    if at.eat_letter(b'Z').is_some() {
        (said.offset, said.zulu) = (Some(0), true);
    } else if !at.at_end() {
        said.offset = Some(signed_offset(at, false)?);
    }
    Ok(said)
}

fn with_offset_at_will(at: &mut Cursor<'_>, date: impl Fn(&mut Cursor<'_>) -> Read<i64>) -> Read<Said> {
    let mut said = Said::day(date(at)?);
    offset(at, &mut said)?;
    Ok(said)
}

fn with_offset(at: &mut Cursor<'_>, date: impl Fn(&mut Cursor<'_>) -> Read<i64>) -> Read<Said> {
    let said = with_offset_at_will(at, date)?;
    if said.offset.is_some() { Ok(said) } else { Err(Misfit::Text) }
}

fn date_time(at: &mut Cursor<'_>, seconds: bool) -> Read<Said> {
    let mut said = Said::day(date(at)?);
    needed(at.eat_letter(b'T'))?;
    let before = *at;
    said.time = Some(time(at)?);
    if seconds && before.rest().len() - at.rest().len() < 8 {
        return Err(Misfit::Text);
    }
    Ok(said)
}

fn offset_date_time(at: &mut Cursor<'_>, seconds: bool) -> Read<Said> {
    let mut said = date_time(at, seconds)?;
    offset(at, &mut said)?;
    if said.offset.is_some() { Ok(said) } else { Err(Misfit::Text) }
}

/// `10:15`, `10:15:30` or `10:15:30.123456789`.
fn time(at: &mut Cursor<'_>) -> Read<i64> {
    let (hour, minute) = (needed(at.two())?, needed(at.eat(b':').and_then(|()| at.two()))?);
    let (mut second, mut micros) = (0, 0);
    if at.eat(b':').is_some() {
        second = needed(at.two())?;
        if at.eat(b'.').is_some() {
            micros = needed(at.fraction(1, 9))?;
        }
    }
    civil::time(hour, minute, second, micros)
}

/// `Z`, `+01:00` or `+01:00:00`, if there is one.
fn offset(at: &mut Cursor<'_>, said: &mut Said) -> Read<()> {
    if at.eat_letter(b'Z').is_some() {
        (said.offset, said.zulu) = (Some(0), true);
    } else if let Some(b'+' | b'-') = at.rest().first() {
        said.offset = Some(signed_offset(at, true)?);
    }
    Ok(())
}

/// An offset of at most 18 hours, with colons or without. Minutes may be left out where there are no colons.
pub(crate) fn signed_offset(at: &mut Cursor<'_>, colons: bool) -> Read<i32> {
    let sign = match at.rest().first() {
        Some(b'+') => 1,
        Some(b'-') => -1,
        _ => return Err(Misfit::Text),
    };
    at.advance(1);
    let hours = needed(at.two())?;
    let mut part = |needs: bool| {
        if colons && at.eat(b':').is_none() {
            return if needs { Err(Misfit::Text) } else { Ok(0) };
        }
        at.two().map_or(if colons || needs { Err(Misfit::Text) } else { Ok(0) }, Ok)
    };
    let (minutes, seconds) = (part(colons)?, part(false)?);
    let total = hours * 3_600 + minutes * 60 + seconds;
    if minutes > 59 || seconds > 59 || total > 18 * 3_600 {
        return Err(Misfit::NoSuchTime);
    }
    Ok(sign * total as i32)
}

/// `[Europe/Paris]`, if there is one.
fn region(at: &mut Cursor<'_>, said: &mut Said) -> Read<()> {
    if at.eat(b'[').is_some() {
        let end = needed(at.rest().iter().position(|byte| *byte == b']'))?;
        let name = std::str::from_utf8(&at.rest()[..end]).map_err(|_| Misfit::Text)?;
        said.zone = Some(needed(Zone::parse(name))?);
        at.advance(end + 1);
    }
    Ok(())
}

/// `Tue, 3 Jun 2008 11:05:30 GMT`; the day of the week and the seconds at will.
fn rfc_1123(at: &mut Cursor<'_>) -> Read<Said> {
    let weekday = at.name(&WEEKDAYS, true, 3);
    if weekday.is_some() {
        needed(at.eat_all(b", "))?;
    }
    let day = needed(at.digits(1, 2))?;
    let month = needed(at.eat(b' ').and_then(|()| at.name(&MONTHS, true, 3)))?;
    needed(at.eat(b' '))?;
    let mut said = Said::day(civil::day(year(at)?, month, day)?);
    if weekday.is_some_and(|weekday| weekday != civil::weekday(said.day)) {
        return Err(Misfit::NoSuchTime);
    }
    let (hour, minute) = (needed(at.eat(b' ').and_then(|()| at.two()))?, needed(at.eat(b':').and_then(|()| at.two()))?);
    let second = if at.eat(b':').is_some() { needed(at.two())? } else { 0 };
    said.time = Some(civil::time(hour, minute, second, 0)?);
    needed(at.eat(b' '))?;
    if at.rest().eq_ignore_ascii_case(b"GMT") {
        at.advance(3);
        (said.offset, said.zulu) = (Some(0), true);
    } else {
        said.offset = Some(signed_offset(at, false)?);
    }
    Ok(said)
}
