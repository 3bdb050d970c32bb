//! Text of dates and timestamps, read as `java.time` reads it, without its leniency: a day or time that does not exist is refused,
//! never moved. Nothing here depends on the clock or the zone of the machine.

mod civil;
mod iso;
mod pattern;
mod text;
mod zone;

use sluicebox_core::column::TimeFormat;
use sluicebox_core::error::{Error, Result};

use crate::misfit::Misfit;
use civil::{DAY_MICROS, MICROS};
use pattern::Pattern;
use zone::Zone;

/// What a text says, before it becomes a day or an instant.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Said {
    /// Days since 1970.
    day: i64,
    /// Microseconds of the day; `None` where the text has a date only.
    time: Option<i64>,
    /// Seconds east of UTC.
    offset: Option<i32>,
    /// The offset was written as `Z`, which agrees with every zone.
    zulu: bool,
    /// A zone named in the text.
    zone: Option<Zone>,
}

impl Said {
    fn day(day: i64) -> Self {
        Self { day, time: None, offset: None, zulu: false, zone: None }
    }
}

#[derive(Debug)]
enum Format {
    Date,
    Instant,
    EpochSecond,
    EpochMilli,
    Named(sluicebox_core::column::NamedTimeFormat),
    Pattern(Pattern),
}

/// Reads the times of one column.
#[derive(Debug)]
pub(crate) struct TimeReader {
    format: Format,
    zone: Zone,
}

impl TimeReader {
    /// A reader of days.
    pub(crate) fn date(format: &TimeFormat) -> Result<Self> {
        Self::new(format, Format::Date, Zone::Utc)
    }

    /// A reader of instants; text without an offset is local time of the zone.
    pub(crate) fn timestamp(format: &TimeFormat, zone: &str) -> Result<Self> {
        let zone = Zone::parse(zone).ok_or_else(|| {
            Error::config(format!(
                "unknown time zone `{zone}`, expected a name such as Europe/Paris, or an offset such as +01:00"
            ))
        })?;
        Self::new(format, Format::Instant, zone)
    }

    fn new(format: &TimeFormat, auto: Format, zone: Zone) -> Result<Self> {
        let format = match format {
            TimeFormat::Auto => auto,
            TimeFormat::EpochSecond => Format::EpochSecond,
            TimeFormat::EpochMilli => Format::EpochMilli,
            TimeFormat::Named(named) => Format::Named(*named),
            TimeFormat::Pattern(pattern) => Format::Pattern(Pattern::compile(pattern)?),
        };
        Ok(Self { format, zone })
    }

    /// Whether values are counted from 1970.
    pub(crate) fn is_epoch(&self) -> bool {
        matches!(self.format, Format::EpochSecond | Format::EpochMilli)
    }

    /// The instant of a count since 1970.
    pub(crate) fn epoch_micros(&self, count: i64) -> Result<i64, Misfit> {
        let unit = if matches!(self.format, Format::EpochSecond) { MICROS } else { 1_000 };
        count.checked_mul(unit).map_or(Err(Misfit::Years), civil::in_years)
    }

    /// The UTC day of a count since 1970.
    pub(crate) fn epoch_day(&self, count: i64) -> Result<i32, Misfit> {
        day_number(self.epoch_micros(count)?.div_euclid(DAY_MICROS))
    }

    /// The day that a text says.
    pub(crate) fn day(&self, text: &[u8]) -> Result<i32, Misfit> {
        day_number(self.said(text)?.day)
    }

    /// The instant that a text says, in microseconds since 1970 UTC.
    #[inline]
    pub(crate) fn micros(&self, text: &[u8]) -> Result<i64, Misfit> {
        if matches!(self.format, Format::Instant | Format::Named(sluicebox_core::column::NamedTimeFormat::IsoInstant))
            && let Some(micros) = iso::utc_instant(text)
        {
            return Ok(micros);
        }
        self.instant(self.said(text)?)
    }

    fn said(&self, text: &[u8]) -> Result<Said, Misfit> {
        match &self.format {
            Format::Date => iso::day_or_month(text),
            Format::Instant => iso::instant_or_local(text),
            Format::Named(named) => iso::named(*named, text),
            Format::Pattern(pattern) => pattern.read(text),
            Format::EpochSecond | Format::EpochMilli => Err(Misfit::Text),
        }
    }

    fn instant(&self, said: Said) -> Result<i64, Misfit> {
        let local = said.day * DAY_MICROS + said.time.unwrap_or(0);
        let Some(offset) = said.offset else {
            return civil::in_years(said.zone.unwrap_or(self.zone).instant(local));
        };
        let instant = local - i64::from(offset) * MICROS;
        let agrees = |zone: Zone| said.zulu || zone.offset_at(instant) == offset;
        let named_agrees = said.zone.is_none_or(|zone| zone.offset_at(instant) == offset);
        if !named_agrees || (self.zone != Zone::Utc && !agrees(self.zone)) {
            return Err(Misfit::Offset);
        }
        civil::in_years(instant)
    }
}

fn day_number(day: i64) -> Result<i32, Misfit> {
    if (civil::FIRST_DAY..=civil::LAST_DAY).contains(&day) { Ok(day as i32) } else { Err(Misfit::Years) }
}

#[cfg(test)]
mod tests;
