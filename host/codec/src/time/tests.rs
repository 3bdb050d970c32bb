use super::*;
use sluicebox_core::column::NamedTimeFormat;

fn micros(format: &TimeFormat, zone: &str, text: &str) -> Result<i64, Misfit> {
    TimeReader::timestamp(format, zone).expect("a reader").micros(text.as_bytes())
}

fn day(format: &TimeFormat, text: &str) -> Result<i32, Misfit> {
    TimeReader::date(format).expect("a reader").day(text.as_bytes())
}

fn pattern(pattern: &str) -> TimeFormat {
    TimeFormat::Pattern(pattern.to_owned())
}

/// 2011-12-03T10:15:30Z
const TEN: i64 = 1_322_907_330_000_000;
/// 2011-12-03T00:00:00Z
const MIDNIGHT: i64 = 1_322_870_400_000_000;
const HOUR: i64 = 3_600_000_000;

#[test]
fn every_named_format_reads_its_own_text() {
    use NamedTimeFormat::*;
    for (format, text, expected) in [
        (BasicIsoDate, "20111203", MIDNIGHT),
        (BasicIsoDate, "20111203Z", MIDNIGHT),
        (BasicIsoDate, "20111203+0100", MIDNIGHT - HOUR),
        (IsoLocalDate, "2011-12-03", MIDNIGHT),
        (IsoOffsetDate, "2011-12-03+01:00", MIDNIGHT - HOUR),
        (IsoDate, "2011-12-03", MIDNIGHT),
        (IsoDate, "2011-12-03-02:00", MIDNIGHT + 2 * HOUR),
        (IsoLocalDateTime, "2011-12-03T10:15:30", TEN),
        (IsoLocalDateTime, "2011-12-03t10:15:30.5", TEN + 500_000),
        (IsoLocalDateTime, "2011-12-03T10:15", TEN - 30_000_000),
        (IsoOffsetDateTime, "2011-12-03T10:15:30+01:00", TEN - HOUR),
        (IsoZonedDateTime, "2011-12-03T10:15:30+01:00[Europe/Paris]", TEN - HOUR),
        (IsoZonedDateTime, "2011-12-03T10:15:30Z", TEN),
        (IsoDateTime, "2011-12-03T10:15:30", TEN),
        (IsoDateTime, "2011-12-03T10:15:30+01:00[Europe/Paris]", TEN - HOUR),
        (IsoOrdinalDate, "2011-337", MIDNIGHT),
        (IsoWeekDate, "2011-W48-6", MIDNIGHT),
        (IsoInstant, "2011-12-03T10:15:30Z", TEN),
        (IsoInstant, "2011-12-03T10:15:30.123456789Z", TEN + 123_456),
        (IsoInstant, "2011-12-03T11:15:30+01:00", TEN),
        (Rfc1123DateTime, "Sat, 3 Dec 2011 10:15:30 GMT", TEN),
        (Rfc1123DateTime, "3 Dec 2011 11:15:30 +0100", TEN),
    ] {
        assert_eq!(micros(&TimeFormat::Named(format), "UTC", text), Ok(expected), "{format:?} {text}");
    }
}

#[test]
fn what_is_no_time_is_refused() {
    use NamedTimeFormat::*;
    for (format, text, why) in [
        (IsoInstant, "2011-12-03T10:15:30", Misfit::Text),
        (IsoInstant, "2011-12-03T10:15Z", Misfit::Text),
        (IsoInstant, "2011-02-29T10:15:30Z", Misfit::NoSuchTime),
        (IsoInstant, "2016-12-31T23:59:60Z", Misfit::NoSuchTime),
        (IsoInstant, "2011-12-03T24:00:00Z", Misfit::NoSuchTime),
        (IsoInstant, "2011-12-03T10:15:30Z ", Misfit::Text),
        (IsoLocalDate, "2011-13-03", Misfit::NoSuchTime),
        (IsoLocalDate, "2011-1-03", Misfit::Text),
        (IsoOffsetDate, "2011-12-03", Misfit::Text),
        (IsoOffsetDateTime, "2011-12-03T10:15:30+19:00", Misfit::NoSuchTime),
        (IsoOrdinalDate, "2011-366", Misfit::NoSuchTime),
        (IsoWeekDate, "2011-W53-1", Misfit::NoSuchTime),
        (IsoZonedDateTime, "2011-12-03T10:15:30+02:00[Europe/Paris]", Misfit::Offset),
        (Rfc1123DateTime, "Fri, 3 Dec 2011 10:15:30 GMT", Misfit::NoSuchTime),
        (IsoInstant, "+10000-01-01T00:00:00Z", Misfit::Years),
        (IsoInstant, "-0001-01-01T00:00:00Z", Misfit::Years),
        (IsoInstant, "0000-01-01T00:00:00Z", Misfit::Years),
    ] {
        assert_eq!(micros(&TimeFormat::Named(format), "UTC", text), Err(why), "{format:?} {text}");
    }
}

#[test]
fn b131_years_1_to_9999_are_kept_and_others_refused() {
    for (text, expected) in [
        ("0001-01-01T00:00:00Z", Ok(-62_135_596_800_000_000)),
        ("9999-12-31T23:59:59Z", Ok(253_402_300_799_000_000)),
        ("2262-04-12T00:00:00Z", Ok(9_223_372_800_000_000)),
        ("0001-01-01T00:00:00+01:00", Err(Misfit::Years)),
        ("9999-12-31T23:59:59-01:00", Err(Misfit::Years)),
    ] {
        assert_eq!(micros(&TimeFormat::Auto, "UTC", text), expected, "{text}");
    }
    assert_eq!(day(&TimeFormat::Auto, "0001-01-01"), Ok(-719_162));
    assert_eq!(day(&TimeFormat::Auto, "9999-12-31"), Ok(2_932_896));
}

#[test]
fn b132_text_without_an_offset_is_of_the_columns_zone() {
    let text = "2024-01-01T00:00:00";
    let utc = 1_704_067_200_000_000;
    assert_eq!(micros(&TimeFormat::Auto, "UTC", text), Ok(utc));
    assert_eq!(micros(&TimeFormat::Auto, "Asia/Kolkata", text), Ok(utc - 5 * HOUR - HOUR / 2));
    assert_eq!(micros(&TimeFormat::Auto, "+01:00", text), Ok(utc - HOUR));
}

#[test]
fn gaps_go_forward_and_of_two_the_earlier_counts() {
    // 2024-03-31 02:30 does not exist in Paris: it is 03:30 summer time, 01:30 UTC. 2024-10-27 02:30 comes twice: first at 00:30 UTC.
    let instant = |text| micros(&TimeFormat::Auto, "UTC", text);
    let paris = |text| micros(&TimeFormat::Auto, "Europe/Paris", text);
    assert_eq!(paris("2024-03-31 02:30:00"), instant("2024-03-31 01:30:00"));
    assert_eq!(paris("2024-10-27 02:30:00"), instant("2024-10-27 00:30:00"));
    // Samoa had no 30 December 2011.
    assert_eq!(micros(&TimeFormat::Auto, "Pacific/Apia", "2011-12-30 12:00:00"), instant("2011-12-30 22:00:00"));
}

#[test]
fn an_offset_that_is_not_the_zones_is_refused() {
    let paris = |text| micros(&TimeFormat::Auto, "Europe/Paris", text);
    assert_eq!(paris("2011-12-03T10:15:30+01:00"), Ok(TEN - HOUR));
    assert_eq!(paris("2011-12-03T10:15:30+02:00"), Err(Misfit::Offset));
    assert_eq!(paris("2011-12-03T10:15:30Z"), Ok(TEN));
    assert_eq!(micros(&TimeFormat::Auto, "UTC", "2011-12-03T10:15:30+02:00"), Ok(TEN - 2 * HOUR));
}

#[test]
fn the_plain_types_have_a_chain() {
    assert_eq!(micros(&TimeFormat::Auto, "UTC", "2011-12-03 10:15:30"), Ok(TEN));
    assert_eq!(micros(&TimeFormat::Auto, "UTC", "2011-12-03"), Ok(MIDNIGHT));
    assert_eq!(micros(&TimeFormat::Auto, "UTC", "2011-12-03T10:15:30.1234567Z"), Ok(TEN + 123_456));
    assert_eq!(micros(&TimeFormat::Auto, "UTC", "2011-12-03T10:15:30."), Err(Misfit::Text));
    assert_eq!(micros(&TimeFormat::Auto, "UTC", "2011-12"), Err(Misfit::Text));
    assert_eq!(day(&TimeFormat::Auto, "2011-12-03"), Ok(15_311));
    assert_eq!(day(&TimeFormat::Auto, "2011-12"), Ok(15_309));
    assert_eq!(day(&TimeFormat::Auto, "2011-12-03T00:00:00Z"), Err(Misfit::Text));
}

#[test]
fn b124_the_unit_of_a_number_is_declared() {
    let second = TimeReader::timestamp(&TimeFormat::EpochSecond, "UTC").expect("a reader");
    let milli = TimeReader::timestamp(&TimeFormat::EpochMilli, "UTC").expect("a reader");
    assert_eq!(second.epoch_micros(1_700_000_000), Ok(1_700_000_000_000_000));
    assert_eq!(milli.epoch_micros(1_700_000_000_000), Ok(1_700_000_000_000_000));
    assert_eq!(second.epoch_micros(1_700_000_000_000), Err(Misfit::Years));
    assert_eq!(milli.epoch_micros(i64::MIN), Err(Misfit::Years));
    assert_eq!(second.epoch_day(-1), Ok(-1));
}

#[test]
fn patterns_read_what_java_writes() {
    for (format, text, expected) in [
        ("yyyy-MM-dd HH:mm:ss", "2011-12-03 10:15:30", TEN),
        ("dd/MM/yyyy HH:mm", "03/12/2011 10:15", TEN - 30_000_000),
        ("d/M/yy h:mm:ss a", "3/12/11 10:15:30 AM", TEN),
        ("d/M/yy h:mm:ss a", "3/12/11 12:00:00 am", MIDNIGHT),
        ("yyyyMMddHHmmss", "20111203101530", TEN),
        ("yyyy-MM-dd'T'HH:mm:ss.SSSXXX", "2011-12-03T11:15:30.250+01:00", TEN + 250_000),
        ("yyyy-MM-dd'T'HH:mm:ss[.SSS]X", "2011-12-03T10:15:30Z", TEN),
        ("yyyy-MM-dd HH:mm:ssZ", "2011-12-03 11:15:30+0100", TEN),
        ("EEE MMM dd HH:mm:ss z yyyy", "Sat Dec 03 11:15:30 CET 2011", TEN),
        ("EEEE, d MMMM yyyy HH:mm:ss VV", "Saturday, 3 December 2011 11:15:30 Europe/Paris", TEN),
        ("DDD.yyyy", "337.2011", MIDNIGHT),
        ("yyyy 'o''clock' MM", "2011 o'clock 12", MIDNIGHT - 48 * HOUR),
    ] {
        assert_eq!(micros(&pattern(format), "UTC", text), Ok(expected), "{format} {text}");
    }
    for (format, text, why) in [
        ("yyyy-MM-dd", "2011-02-30", Misfit::NoSuchTime),
        ("yyyy-MM-dd", "2011-12-03 ", Misfit::Text),
        ("yyyy-MM-dd", "0000-12-03", Misfit::Years),
        ("yyyy-MM-dd hh a", "2011-12-03 13 PM", Misfit::NoSuchTime),
        ("EEE yyyy-MM-dd", "Mon 2011-12-03", Misfit::NoSuchTime),
    ] {
        assert_eq!(micros(&pattern(format), "UTC", text), Err(why), "{format} {text}");
    }
}

#[test]
fn b121_week_years_and_the_unknown_are_refused_with_words() {
    for (format, words) in [
        ("YYYY-MM-dd", "year of the week"),
        ("yyyy-'W'ww", "counts weeks"),
        ("HH:mm", "needs a year"),
        ("yyyy-MM-dd hh:mm", "need each other"),
        ("yyyyMd", "varying length"),
        ("yyyy-MM-dd'T", "not closed"),
        ("yyyy-MM-dd[ HH", "without"),
        ("G yyyy-MM", "not among the fields"),
    ] {
        let error = TimeReader::timestamp(&pattern(format), "UTC").expect_err(format);
        assert!(error.message.contains(words), "{format}: {error}");
    }
    assert!(TimeReader::timestamp(&TimeFormat::Auto, "Mars/Base").is_err());
    assert_eq!(day(&pattern("yyyy-MM-dd"), "2024-12-30"), Ok(20_087));
}
