//! The calendar: days since 1970 from years, months, weeks, and back to nothing else.

use crate::misfit::Misfit;

/// Microseconds in a second.
pub(crate) const MICROS: i64 = 1_000_000;
/// Microseconds in a day.
pub(crate) const DAY_MICROS: i64 = 86_400 * MICROS;
/// 0001-01-01.
pub(crate) const FIRST_DAY: i64 = -719_162;
/// 9999-12-31.
pub(crate) const LAST_DAY: i64 = 2_932_896;

/// Days since 1970-01-01 of a day that exists.
#[inline]
pub(crate) fn day(year: i64, month: u32, day: u32) -> Result<i64, Misfit> {
    if !(1..=12).contains(&month) || day == 0 || (day > 28 && day > days_in_month(year, month)) {
        return Err(Misfit::NoSuchTime);
    }
    Ok(days(year, month, day))
}

/// Days since 1970-01-01 in the Gregorian calendar: years counted from March, so that the leap day comes last.
#[inline]
fn days(year: i64, month: u32, day: u32) -> i64 {
    let year = if month <= 2 { year - 1 } else { year };
    let era = year.div_euclid(400);
    let of_era = year.rem_euclid(400);
    let of_year = i64::from((153 * ((month + 9) % 12) + 2) / 5 + day - 1);
    era * 146_097 + of_era * 365 + of_era / 4 - of_era / 100 + of_year - 719_468
}

/// The day of the year, from 1.
pub(crate) fn ordinal(year: i64, ordinal: u32) -> Result<i64, Misfit> {
    let last = if is_leap(year) { 366 } else { 365 };
    if (1..=last).contains(&ordinal) { Ok(days(year, 1, 1) + i64::from(ordinal) - 1) } else { Err(Misfit::NoSuchTime) }
}

/// A day of an ISO week; weeks begin on Monday, the first has the first Thursday.
pub(crate) fn week(year: i64, week: u32, weekday: u32) -> Result<i64, Misfit> {
    let first = first_monday(year);
    let last = (first_monday(year + 1) - first) / 7;
    if !(1..=7).contains(&weekday) || week == 0 || i64::from(week) > last {
        return Err(Misfit::NoSuchTime);
    }
    Ok(first + i64::from(week - 1) * 7 + i64::from(weekday) - 1)
}

fn first_monday(year: i64) -> i64 {
    let fourth = days(year, 1, 4);
    fourth - i64::from(weekday(fourth)) + 1
}

/// 1 is Monday, 7 is Sunday.
pub(crate) fn weekday(day: i64) -> u32 {
    (day + 3).rem_euclid(7) as u32 + 1
}

fn days_in_month(year: i64, month: u32) -> u32 {
    match month {
        2 if is_leap(year) => 29,
        2 => 28,
        4 | 6 | 9 | 11 => 30,
        _ => 31,
    }
}

fn is_leap(year: i64) -> bool {
    year % 4 == 0 && (year % 100 != 0 || year % 400 == 0)
}

/// Microseconds of the day; leap seconds and hour 24 do not exist.
#[inline]
pub(crate) fn time(hour: u32, minute: u32, second: u32, micros: u32) -> Result<i64, Misfit> {
    if hour > 23 || minute > 59 || second > 59 {
        return Err(Misfit::NoSuchTime);
    }
    Ok(i64::from(hour * 3_600 + minute * 60 + second) * MICROS + i64::from(micros))
}

/// An instant of the years 1 to 9999 in UTC.
#[inline]
pub(crate) fn in_years(micros: i64) -> Result<i64, Misfit> {
    let years = FIRST_DAY * DAY_MICROS..(LAST_DAY + 1) * DAY_MICROS;
    if years.contains(&micros) { Ok(micros) } else { Err(Misfit::Years) }
}
