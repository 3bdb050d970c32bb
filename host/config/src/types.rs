//! Types of columns by name: the built-in ones and the user's.

use std::collections::BTreeMap;

use sluicebox_core::column::{Kind, NamedTimeFormat, Pattern, TimeFormat};

use crate::nearest::did_you_mean;
use crate::pattern;

/// Zone of text without an offset.
const ZONE_DEFAULT: &str = "UTC";
/// Digits of a decimal whose type does not say.
const DECIMAL_DEFAULT: (u8, i8) = (38, 9);
/// The most digits that 128 bits hold.
const PRECISION_MAX: u8 = 38;

const EMAIL: &str = r"[A-Za-z0-9._%+-]+@[A-Za-z0-9.-]+\.[A-Za-z]{2,6}";
const TRUE: &str = "(?i)true|yes|[y1]|t";
const FALSE: &str = "(?i)false|no|[n0]|f";
/// Between the texts that mean true and those that mean false.
const TRUE_FALSE: &str = "<-TF->";

const PLAIN: [&str; 17] = [
    "string",
    "longstring",
    "variant",
    "int",
    "integer",
    "long",
    "short",
    "byte",
    "double",
    "decimal",
    "boolean",
    "date",
    "timestamp",
    "epoch_second",
    "epoch_milli",
    "email",
    "struct",
];

/// Names of other systems, and ours.
const FOREIGN: [(&str, &str); 16] = [
    ("float", "double"),
    ("real", "double"),
    ("number", "long` or `double"),
    ("numeric", "decimal"),
    ("text", "string"),
    ("varchar", "string"),
    ("str", "string"),
    ("uuid", "string"),
    ("bigint", "long"),
    ("smallint", "short"),
    ("tinyint", "byte"),
    ("bool", "boolean"),
    ("datetime", "timestamp"),
    ("json", "variant"),
    ("object", "struct"),
    ("array", "TYPE` with `array: true"),
];

/// A type, ready for a column.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Type {
    pub(crate) kind: Kind,
    pub(crate) pattern: Option<Pattern>,
}

/// The user's types; None for one that is wrong.
pub(crate) type UserTypes = BTreeMap<String, Option<Type>>;

/// What a user's type says.
pub(crate) struct UserType<'a> {
    pub(crate) primitive: &'a str,
    pub(crate) pattern: &'a str,
    pub(crate) zone: Option<&'a str>,
}

/// The built-in type of a name; `struct` is an empty one. None when there is none, an error when its parameters are wrong.
pub(crate) fn built_in(name: &str) -> Result<Option<Type>, String> {
    let kind = match name {
        "string" | "longstring" => Kind::Text,
        "email" => return Ok(Some(Type { kind: Kind::Text, pattern: Some(pattern::parse(EMAIL)?) })),
        "variant" => Kind::Variant,
        "int" | "integer" | "long" => Kind::Long,
        "short" => Kind::Short,
        "byte" => Kind::Byte,
        "double" => Kind::Double,
        "decimal" => Kind::Decimal { precision: DECIMAL_DEFAULT.0, scale: DECIMAL_DEFAULT.1 },
        "boolean" => Kind::Boolean { patterns: (pattern::parse(TRUE)?, pattern::parse(FALSE)?) },
        "date" => Kind::Date { format: TimeFormat::Auto },
        "timestamp" => timestamp(TimeFormat::Auto),
        "epoch_second" => timestamp(TimeFormat::EpochSecond),
        "epoch_milli" => timestamp(TimeFormat::EpochMilli),
        "struct" => Kind::Struct(Vec::new()),
        _ => match (named_format(name), parameters(name)) {
            (Some(format), _) => timestamp(TimeFormat::Named(format)),
            (None, Some(parameters)) => decimal(parameters)?,
            (None, None) => return Ok(None),
        },
    };
    Ok(Some(Type { kind, pattern: None }))
}

/// Words for a type that there is not.
pub(crate) fn unknown(name: &str, users: &UserTypes) -> String {
    let hint = hint(name, names().map(|name| -> &str { name }).chain(users.keys().map(String::as_str)));
    let own = if users.is_empty() { "one of `types`" } else { &format!("one of `types` ({})", joined(users)) };
    format!(
        "unknown type `{name}`; expected a built-in type ({}, decimal(p,s), a named time format) or {own}{hint}",
        PLAIN.join(", ")
    )
}

/// Our name for another system's, or the nearest one.
fn hint<'a>(name: &str, candidates: impl IntoIterator<Item = &'a str>) -> String {
    let foreign = FOREIGN.iter().find(|(theirs, _)| theirs.eq_ignore_ascii_case(name));
    foreign.map_or_else(|| did_you_mean(name, candidates), |(_, ours)| format!("; did you mean `{ours}`?"))
}

/// Every built-in name.
fn names() -> impl Iterator<Item = &'static str> {
    PLAIN.into_iter().chain(NamedTimeFormat::ALL.into_iter().map(|(name, _)| name))
}

fn joined(users: &UserTypes) -> String {
    users.keys().map(String::as_str).collect::<Vec<_>>().join(", ")
}

/// The type that the user declares.
pub(crate) fn user(declared: &UserType<'_>) -> Result<Type, String> {
    let Some(primitive) = built_in(declared.primitive)? else {
        let hint = hint(declared.primitive, PLAIN);
        return Err(format!("unknown primitiveType `{}`; expected a built-in type{hint}", declared.primitive));
    };
    let pattern_text = declared.pattern;
    let mut whole = None;
    let kind = match primitive.kind {
        Kind::Struct(_) => {
            return Err("a type cannot have the primitiveType `struct`; write `type: struct` and `columns`".to_owned());
        }
        Kind::Date { .. } => Kind::Date { format: time_format(pattern_text)? },
        Kind::Timestamp { .. } => Kind::Timestamp { format: time_format(pattern_text)?, zone: zone(declared.zone)? },
        Kind::Boolean { .. } => boolean(pattern_text)?,
        Kind::Decimal { .. } if declared.zone.is_some() => {
            whole = Some(pattern::parse(pattern_text)?);
            decimal(declared.zone.unwrap_or_default())?
        }
        kind => {
            whole = Some(pattern::parse(pattern_text)?);
            kind
        }
    };
    if declared.zone.is_some() && !matches!(kind, Kind::Timestamp { .. } | Kind::Decimal { .. }) {
        return Err(
            "`zone` is for timestamp (a zone) and decimal (`precision,scale`); locales are not in this version".to_owned()
        );
    }
    Ok(Type { kind, pattern: whole })
}

/// Whether a type of this name is built in.
pub(crate) fn is_built_in(name: &str) -> bool {
    names().any(|built_in| built_in == name) || parameters(name).is_some()
}

fn timestamp(format: TimeFormat) -> Kind {
    Kind::Timestamp { format, zone: ZONE_DEFAULT.to_owned() }
}

fn named_format(name: &str) -> Option<NamedTimeFormat> {
    NamedTimeFormat::ALL.into_iter().find(|(known, _)| known.eq_ignore_ascii_case(name)).map(|(_, format)| format)
}

fn parameters(name: &str) -> Option<&str> {
    name.strip_prefix("decimal")?.trim_start().strip_prefix('(')?.strip_suffix(')')
}

fn decimal(parameters: &str) -> Result<Kind, String> {
    let numbers =
        parameters.split_once(',').and_then(|(p, s)| Some((p.trim().parse::<u8>().ok()?, s.trim().parse::<u8>().ok()?)));
    match numbers {
        Some((precision @ 1..=PRECISION_MAX, scale)) if scale <= precision => Ok(Kind::Decimal { precision, scale: scale as i8 }),
        _ => Err(format!(
            "found `{parameters}` as digits of a decimal; expected `precision,scale` with a precision from 1 to {PRECISION_MAX} and \
             a scale from 0 to the precision, such as `12,2`"
        )),
    }
}

fn boolean(pattern_text: &str) -> Result<Kind, String> {
    let Some((true_text, false_text)) = pattern_text.split_once(TRUE_FALSE) else {
        return Err(format!("the pattern of a boolean type has `{TRUE_FALSE}` between what means true and what means false"));
    };
    Ok(Kind::Boolean { patterns: (pattern::parse(true_text)?, pattern::parse(false_text)?) })
}

fn time_format(text: &str) -> Result<TimeFormat, String> {
    if let Some(format) = named_format(text) {
        return Ok(TimeFormat::Named(format));
    }
    match text.to_ascii_lowercase().as_str() {
        "epoch_second" => Ok(TimeFormat::EpochSecond),
        "epoch_milli" => Ok(TimeFormat::EpochMilli),
        _ => check_time_pattern(text).map(|()| TimeFormat::Pattern(text.to_owned())),
    }
}

/// Letters of `java.time` patterns, with `'text'` between quotes.
fn check_time_pattern(text: &str) -> Result<(), String> {
    let mut quoted = false;
    for c in text.chars() {
        if c == '\'' {
            quoted = !quoted;
        } else if !quoted && c.is_ascii_alphabetic() && !"GuyDMLdQqYwWEecFaBhKkHmsSAnNVvzOXxZp".contains(c) {
            let named = did_you_mean(text, NamedTimeFormat::ALL.map(|(name, _)| name));
            return Err(format!(
                "`{c}` is no letter of a time pattern; expected one such as yyyy-MM-dd HH:mm:ss, with text in `'`{named}"
            ));
        }
    }
    if quoted { Err("a quote `'` in a time pattern is not closed".to_owned()) } else { Ok(()) }
}

fn zone(written: Option<&str>) -> Result<String, String> {
    let Some(zone) = written else { return Ok(ZONE_DEFAULT.to_owned()) };
    match zone.parse::<chrono_tz::Tz>() {
        Ok(zone) => Ok(zone.name().to_owned()),
        Err(_) => {
            let hint = did_you_mean(zone, chrono_tz::TZ_VARIANTS.iter().map(|zone| zone.name()));
            Err(format!("unknown zone `{zone}`; expected one such as UTC or Europe/Paris{hint}"))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn kind(name: &str) -> Kind {
        built_in(name).expect(name).expect(name).kind
    }

    #[test]
    fn built_in_types() {
        assert_eq!(kind("int"), Kind::Long);
        assert_eq!(kind("decimal"), Kind::Decimal { precision: 38, scale: 9 });
        assert_eq!(kind("decimal(12,2)"), Kind::Decimal { precision: 12, scale: 2 });
        assert_eq!(kind("decimal( 38 , 0 )"), Kind::Decimal { precision: 38, scale: 0 });
        assert_eq!(kind("iso_week_date"), timestamp(TimeFormat::Named(NamedTimeFormat::IsoWeekDate)));
        assert_eq!(kind("epoch_milli"), timestamp(TimeFormat::EpochMilli));
        assert_eq!(built_in("nonsense"), Ok(None));
        for wrong in ["decimal(39,2)", "decimal(0,0)", "decimal(5,6)", "decimal(5)", "decimal(a,b)", "decimal(5,-1)"] {
            assert!(built_in(wrong).is_err(), "{wrong}");
        }
        let Kind::Boolean { patterns: (yes, no) } = kind("boolean") else { panic!("boolean") };
        assert!(["TRUE", "y", "1", "t", "Yes"].iter().all(|text| pattern::matches(&yes, text) && !pattern::matches(&no, text)));
        assert!(["false", "N", "0", "f", "NO"].iter().all(|text| pattern::matches(&no, text) && !pattern::matches(&yes, text)));
        assert!(!pattern::matches(&yes, "truely"));
        let email = built_in("email").expect("email").and_then(|email| email.pattern).expect("a pattern");
        assert!(pattern::matches(&email, "a.b@example.com") && !pattern::matches(&email, "a@b"));
    }

    #[test]
    fn unknown_types_get_a_hint() {
        let users = UserTypes::from([("sku".to_owned(), None)]);
        for (name, hint) in [("lnog", "`long`"), ("float", "`double`"), ("skv", "`sku`"), ("iso_instnt", "`iso_instant`")] {
            let message = unknown(name, &users);
            assert!(message.ends_with(&format!("did you mean {hint}?")), "{message}");
        }
    }

    #[test]
    fn user_types() {
        let of = |primitive, pattern, zone| user(&UserType { primitive, pattern, zone });
        let paris = of("timestamp", "dd/MM/yyyy 'at' HH:mm", Some("Europe/Paris")).expect("a timestamp");
        let format = TimeFormat::Pattern("dd/MM/yyyy 'at' HH:mm".to_owned());
        assert_eq!(paris.kind, Kind::Timestamp { format, zone: "Europe/Paris".to_owned() });
        assert_eq!(
            of("date", "ISO_WEEK_DATE", None).expect("a date").kind,
            Kind::Date { format: TimeFormat::Named(NamedTimeFormat::IsoWeekDate) }
        );
        assert_eq!(of("decimal", ".+", Some("10,2")).expect("a decimal").kind, Kind::Decimal { precision: 10, scale: 2 });
        assert!(of("long", "[1-9]+", None).expect("a long").pattern.is_some());
        for (primitive, pattern, zone, part) in [
            ("boolean", "yes|no", None, "<-TF->"),
            ("timestamp", "yyyy-MM-dd", Some("Europe/Pari"), "did you mean `Europe/Paris`?"),
            ("timestamp", "iso_instnt", None, "did you mean `iso_instant`?"),
            ("double", ".+", Some("fr_FR"), "locales are not in this version"),
            ("lnog", ".+", None, "did you mean `long`?"),
            ("struct", ".+", None, "cannot have the primitiveType"),
            ("date", "dd 'of", None, "not closed"),
        ] {
            let message = of(primitive, pattern, zone).unwrap_err();
            assert!(message.contains(part), "{primitive} {pattern}: {message}");
        }
    }
}
