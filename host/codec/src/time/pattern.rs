//! `java.time` patterns: the letters that people use for dates and times; the rest is refused with words when a decoder is made.

use sluicebox_core::error::{Error, Result};

use super::iso::signed_offset;
use super::text::{Cursor, MONTHS, WEEKDAYS};
use super::zone::Zone;
use super::{Said, civil};
use crate::misfit::Misfit;

/// A compiled pattern.
#[derive(Debug)]
pub(crate) struct Pattern {
    items: Vec<Item>,
}

/// A piece of a pattern.
#[derive(Debug, Clone, PartialEq, Eq)]
enum Item {
    /// A number of between so many digits.
    Number(Field, usize, usize),
    /// A two-digit year of 2000 to 2099.
    ShortYear,
    Fraction(usize),
    /// Names, and how many letters of them (0: all).
    Month(usize),
    Weekday(usize),
    AmPm,
    /// An offset: whether minutes are parted by a colon, and the text that stands for zero.
    Offset {
        colons: bool,
        zero: &'static str,
    },
    /// `z`, `VV`: a zone's name.
    ZoneName,
    Literal(Vec<u8>),
    Optional(Vec<Item>),
}

#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Field {
    Year,
    Month,
    Day,
    DayOfYear,
    Hour,
    HalfDayHour,
    Minute,
    Second,
}

/// What has been read.
#[derive(Debug, Clone, Copy, Default)]
struct Fields {
    numbers: [Option<u32>; 8],
    micros: u32,
    weekday: Option<u32>,
    afternoon: Option<bool>,
    offset: Option<i32>,
    zulu: bool,
    zone: Option<Zone>,
}

impl Fields {
    fn get(&self, field: Field) -> Option<u32> {
        self.numbers[field as usize]
    }
}

impl Pattern {
    /// Compiles a pattern.
    pub(crate) fn compile(pattern: &str) -> Result<Self> {
        let wrong = |why: String| Error::config(format!("time pattern `{pattern}`: {why}"));
        let letters: Vec<char> = pattern.chars().collect();
        let mut pos = 0;
        let items = items(&letters, &mut pos, 0).map_err(&wrong)?;
        let has = |field| contains(&items, &|item| matches!(item, Item::Number(of, ..) if *of == field));
        let has_year = has(Field::Year) || contains(&items, &|item| *item == Item::ShortYear);
        let has_month = has(Field::Month) || contains(&items, &|item| matches!(item, Item::Month(_)));
        if !has_year || !(has_month || has(Field::DayOfYear)) {
            return Err(wrong("a date needs a year (yyyy) and a month (MM) or day of the year (DDD)".to_owned()));
        }
        if has(Field::HalfDayHour) != contains(&items, &|item| *item == Item::AmPm) {
            return Err(wrong("h (1 to 12) and a (AM or PM) need each other; H is the hour of 24".to_owned()));
        }
        Ok(Self { items })
    }

    /// What a text says.
    pub(crate) fn read(&self, text: &[u8]) -> Result<Said, Misfit> {
        let (mut at, mut fields) = (Cursor::new(text), Fields::default());
        run(&self.items, &mut at, &mut fields).filter(|()| at.at_end()).ok_or(Misfit::Text)?;
        fields.said()
    }
}

fn contains(items: &[Item], wanted: &dyn Fn(&Item) -> bool) -> bool {
    items.iter().any(|item| match item {
        Item::Optional(inner) => contains(inner, wanted),
        item => wanted(item),
    })
}

/// Items up to the end, or up to the `]` that closes an optional part.
fn items(letters: &[char], pos: &mut usize, depth: usize) -> Result<Vec<Item>, String> {
    let mut items: Vec<Item> = Vec::new();
    while let Some(&letter) = letters.get(*pos) {
        let item = match letter {
            'A'..='Z' | 'a'..='z' => {
                let count = letters[*pos..].iter().take_while(|next| **next == letter).count();
                *pos += count;
                field(letter, count)?
            }
            '\'' => Item::Literal(literal(letters, pos)?),
            '[' if depth < 8 => {
                *pos += 1;
                Item::Optional(self::items(letters, pos, depth + 1)?)
            }
            ']' if depth > 0 => {
                *pos += 1;
                return Ok(items);
            }
            '[' | ']' | '{' | '}' | '#' => return Err(format!("`{letter}` is not expected here; quote it as '{letter}'")),
            other => {
                *pos += 1;
                Item::Literal(other.to_string().into_bytes())
            }
        };
        let digits_follow = matches!(item, Item::Number(..) | Item::ShortYear | Item::Fraction(_));
        if digits_follow && matches!(items.last(), Some(Item::Number(_, min, max)) if min != max) {
            return Err("a field of varying length is followed by digits; write it with its full length (MM, dd, HH)".to_owned());
        }
        items.push(item);
    }
    if depth > 0 { Err("`[` without `]`".to_owned()) } else { Ok(items) }
}

/// Quoted text; two quotes are one.
fn literal(letters: &[char], pos: &mut usize) -> Result<Vec<u8>, String> {
    *pos += 1;
    if letters.get(*pos) == Some(&'\'') {
        *pos += 1;
        return Ok(b"'".to_vec());
    }
    let mut text = String::new();
    while let Some(&letter) = letters.get(*pos) {
        *pos += 1;
        if letter != '\'' {
            text.push(letter);
        } else if letters.get(*pos) == Some(&'\'') {
            *pos += 1;
            text.push('\'');
        } else {
            return Ok(text.into_bytes());
        }
    }
    Err("a quote is not closed".to_owned())
}

fn field(letter: char, count: usize) -> Result<Item, String> {
    let number = |field, digits| Item::Number(field, count, digits);
    Ok(match (letter, count) {
        ('y' | 'u', 4) => number(Field::Year, 4),
        ('y' | 'u', 2) => Item::ShortYear,
        ('y' | 'u', 1) => number(Field::Year, 4),
        ('M' | 'L', 1 | 2) => number(Field::Month, 2),
        ('M' | 'L', 3) => Item::Month(3),
        ('M' | 'L', 4) => Item::Month(0),
        ('d', 1 | 2) => number(Field::Day, 2),
        ('D', 1..=3) => number(Field::DayOfYear, 3),
        ('H', 1 | 2) => number(Field::Hour, 2),
        ('h', 1 | 2) => number(Field::HalfDayHour, 2),
        ('m', 1 | 2) => number(Field::Minute, 2),
        ('s', 1 | 2) => number(Field::Second, 2),
        ('S', 1..=9) => Item::Fraction(count),
        ('a', 1) => Item::AmPm,
        ('E', 1..=3) => Item::Weekday(3),
        ('E', 4) => Item::Weekday(0),
        ('z', 1..=3) | ('V', 2) => Item::ZoneName,
        ('X', 1 | 2) => Item::Offset { colons: false, zero: "Z" },
        ('X', 3) | ('Z', 5) => Item::Offset { colons: true, zero: "Z" },
        ('x', 1 | 2) | ('Z', 1..=3) => Item::Offset { colons: false, zero: "" },
        ('x', 3) => Item::Offset { colons: true, zero: "" },
        ('Y', _) => return Err("Y is the year of the week, wrong around New Year; write yyyy".to_owned()),
        ('w' | 'W' | 'e' | 'c', _) => {
            return Err(format!("`{letter}` counts weeks, which depend on the country; use the format iso_week_date"));
        }
        _ => {
            let written = letter.to_string().repeat(count);
            return Err(format!("`{written}` is not among the fields y M d D H h m s S a E z VV X x Z, or has too many letters"));
        }
    })
}

fn run(items: &[Item], at: &mut Cursor<'_>, fields: &mut Fields) -> Option<()> {
    for item in items {
        match item {
            Item::Number(field, min, max) => fields.numbers[*field as usize] = Some(at.digits(*min, *max)?),
            Item::ShortYear => fields.numbers[Field::Year as usize] = Some(2000 + at.two()?),
            Item::Fraction(digits) => fields.micros = at.fraction(*digits, *digits)?,
            Item::Month(len) => fields.numbers[Field::Month as usize] = Some(at.name(&MONTHS, false, *len)?),
            Item::Weekday(len) => fields.weekday = Some(at.name(&WEEKDAYS, false, *len)?),
            Item::AmPm => fields.afternoon = Some(at.name(&["AM", "PM"], true, 2)? == 2),
            Item::Offset { colons, zero } => offset(at, fields, *colons, zero)?,
            Item::ZoneName => fields.zone(at)?,
            Item::Literal(text) => at.eat_all(text)?,
            Item::Optional(inner) => {
                let before = (*at, *fields);
                if run(inner, at, fields).is_none() {
                    (*at, *fields) = before;
                }
            }
        }
    }
    Some(())
}

fn offset(at: &mut Cursor<'_>, fields: &mut Fields, colons: bool, zero: &str) -> Option<()> {
    if !zero.is_empty() && at.eat_all(zero.as_bytes()).is_some() {
        (fields.offset, fields.zulu) = (Some(0), true);
        return Some(());
    }
    fields.offset = Some(signed_offset(at, colons).ok()?);
    Some(())
}

/// Short names that mean one offset, in hours. Others (`IST`, `BST`) mean different zones to different people and are refused.
const SHORT_ZONES: [(&str, i32); 14] = [
    ("WET", 0),
    ("WEST", 1),
    ("CET", 1),
    ("CEST", 2),
    ("EET", 2),
    ("EEST", 3),
    ("EST", -5),
    ("EDT", -4),
    ("CST", -6),
    ("CDT", -5),
    ("MST", -7),
    ("MDT", -6),
    ("PST", -8),
    ("PDT", -7),
];

impl Fields {
    fn zone(&mut self, at: &mut Cursor<'_>) -> Option<()> {
        let part = |byte: &u8| byte.is_ascii_alphanumeric() || matches!(byte, b'/' | b'_' | b'+' | b'-' | b':');
        let len = at.rest().iter().take_while(|byte| part(byte)).count();
        let name = std::str::from_utf8(&at.rest()[..len]).ok()?;
        if let Some((_, hours)) = SHORT_ZONES.iter().find(|(short, _)| *short == name) {
            self.offset = Some(hours * 3_600);
        } else if Zone::parse(name)? == Zone::Utc {
            (self.offset, self.zulu) = (Some(0), true);
        } else {
            self.zone = Zone::parse(name);
        }
        at.advance(len);
        Some(())
    }

    fn said(&self) -> Result<Said, Misfit> {
        let year = match self.get(Field::Year).ok_or(Misfit::Text)? {
            0 => return Err(Misfit::Years),
            year => i64::from(year),
        };
        let day = match (self.get(Field::DayOfYear), self.get(Field::Month)) {
            (Some(ordinal), _) => civil::ordinal(year, ordinal)?,
            (None, Some(month)) => civil::day(year, month, self.get(Field::Day).unwrap_or(1))?,
            (None, None) => return Err(Misfit::Text),
        };
        if self.weekday.is_some_and(|weekday| weekday != civil::weekday(day)) {
            return Err(Misfit::NoSuchTime);
        }
        Ok(Said { day, time: self.time()?, offset: self.offset, zulu: self.zulu, zone: self.zone })
    }

    fn time(&self) -> Result<Option<i64>, Misfit> {
        let half_day = match (self.get(Field::HalfDayHour), self.afternoon) {
            (Some(hour), Some(afternoon)) if (1..=12).contains(&hour) => Some(hour % 12 + if afternoon { 12 } else { 0 }),
            (Some(_), _) => return Err(Misfit::NoSuchTime),
            (None, _) => None,
        };
        let Some(hour) = half_day.or(self.get(Field::Hour)) else { return Ok(None) };
        let (minute, second) = (self.get(Field::Minute).unwrap_or(0), self.get(Field::Second).unwrap_or(0));
        civil::time(hour, minute, second, self.micros).map(Some)
    }
}
