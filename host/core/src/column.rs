//! Declared columns: Starlake's attributes and types, checked.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Fields, TimeUnit};

use crate::name::ComponentName;
use crate::secret::Secret;

/// One declared column (an attribute, in Starlake's words), checked by the configuration.
///
/// Order of operations: `trim`, `empty_is_null`, `default`, required, type and pattern, validators, privacy, `rename`, `script`,
/// the pipeline's `filter`, `ignore`.
#[derive(Debug, Clone, PartialEq)]
pub struct Column {
    /// Name in the payload.
    pub name: String,
    /// Name from the rename on; [`Column::output_name`] gives the one that holds.
    pub rename: Option<String>,
    /// The type of the value, or of an element when [`Column::array`] is set.
    pub kind: Kind,
    /// The type's name as the user wrote it, for messages.
    pub type_name: String,
    /// Full-match pattern of the (user or built-in) type, for text.
    pub pattern: Option<Pattern>,
    /// Whether the value is an array of `kind`.
    pub array: bool,
    /// Whether an absent or null value rejects the record.
    pub required: bool,
    /// What hides the value.
    pub privacy: Privacy,
    /// White space to take off text before anything else.
    pub trim: Trim,
    /// Whether empty text counts as null (default true).
    pub empty_is_null: bool,
    /// Value in place of null; text, read like a value of the payload.
    pub default: Option<String>,
    /// SQL expression over the other columns; such a column is not read from the payload.
    pub script: Option<String>,
    /// Whether the column is left out after `filter`.
    pub ignore: bool,
    /// Validators that check it, in order.
    pub validate: Vec<ComponentName>,
    /// Words for people; becomes the `comment` metadata of the field.
    pub comment: Option<String>,
}

/// The primitive behind a type's name.
#[derive(Debug, Clone, PartialEq)]
pub enum Kind {
    /// Text: `string`, `longstring`, `email`, user types. Arrow `Utf8`.
    Text,
    /// Raw JSON of any kind, as written. Arrow `Utf8`.
    Variant,
    /// 64-bit integer: `long`, `int`, `integer`. Arrow `Int64`.
    Long,
    /// 16-bit integer. Arrow `Int16`.
    Short,
    /// 8-bit integer, or the code of a single character. Arrow `Int8`.
    Byte,
    /// 64-bit float. Arrow `Float64`.
    Double,
    /// Exact decimal. Arrow `Decimal128(precision, scale)`.
    Decimal {
        /// Digits in all, 1 to 38.
        precision: u8,
        /// Digits after the point.
        scale: i8,
    },
    /// Truth value. Arrow `Boolean`.
    Boolean {
        /// Texts that mean true, and texts that mean false; full match.
        patterns: (Pattern, Pattern),
    },
    /// Calendar day. Arrow `Date32`.
    Date {
        /// How text is read.
        format: TimeFormat,
    },
    /// Instant, in microseconds. Arrow `Timestamp(Microsecond, "UTC")`.
    Timestamp {
        /// How text is read.
        format: TimeFormat,
        /// Zone of text without an offset (IANA name; default `UTC`).
        zone: String,
    },
    /// Nested columns. Arrow `Struct`.
    Struct(Vec<Column>),
}

/// How the text of a date or timestamp is read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum TimeFormat {
    /// The chain of the plain types: instant, local date-time in the zone, date at the start of the day.
    Auto,
    /// Whole seconds since 1970 UTC, as number or text.
    EpochSecond,
    /// Milliseconds since 1970 UTC, as number or text.
    EpochMilli,
    /// One of `java.time`'s named formats, lower case: `iso_instant`, `rfc_1123_date_time`, …
    Named(NamedTimeFormat),
    /// A `java.time` pattern such as `dd/MM/yyyy HH:mm`.
    Pattern(String),
}

/// The named formats of `java.time.format.DateTimeFormatter`.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum NamedTimeFormat {
    /// `20111203`, with an offset at will.
    BasicIsoDate,
    /// `2011-12-03`
    IsoLocalDate,
    /// `2011-12-03+01:00`
    IsoOffsetDate,
    /// `2011-12-03` or `2011-12-03+01:00`
    IsoDate,
    /// `2011-12-03T10:15:30`
    IsoLocalDateTime,
    /// `2011-12-03T10:15:30+01:00`
    IsoOffsetDateTime,
    /// `2011-12-03T10:15:30+01:00[Europe/Paris]`
    IsoZonedDateTime,
    /// Local, offset or zoned.
    IsoDateTime,
    /// `2012-337`
    IsoOrdinalDate,
    /// `2012-W48-6`
    IsoWeekDate,
    /// `2011-12-03T10:15:30Z`
    IsoInstant,
    /// `Tue, 3 Jun 2008 11:05:30 GMT`
    Rfc1123DateTime,
}

impl NamedTimeFormat {
    /// All, with the names that users write.
    pub const ALL: [(&'static str, NamedTimeFormat); 12] = [
        ("basic_iso_date", Self::BasicIsoDate),
        ("iso_local_date", Self::IsoLocalDate),
        ("iso_offset_date", Self::IsoOffsetDate),
        ("iso_date", Self::IsoDate),
        ("iso_local_date_time", Self::IsoLocalDateTime),
        ("iso_offset_date_time", Self::IsoOffsetDateTime),
        ("iso_zoned_date_time", Self::IsoZonedDateTime),
        ("iso_date_time", Self::IsoDateTime),
        ("iso_ordinal_date", Self::IsoOrdinalDate),
        ("iso_week_date", Self::IsoWeekDate),
        ("iso_instant", Self::IsoInstant),
        ("rfc_1123_date_time", Self::Rfc1123DateTime),
    ];
}

/// A pattern as the user wrote it (Java's dialect) and as our regex library takes it: anchored for a full match, `.` matching
/// line ends, `\d \w \s` ASCII. The configuration has compiled it once.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Pattern {
    /// What the user wrote, for messages.
    pub written: String,
    /// What is compiled.
    pub regex: String,
}

/// White space to take off.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Trim {
    /// None.
    #[default]
    None,
    /// At the start.
    Left,
    /// At the end.
    Right,
    /// At both ends.
    Both,
}

/// A digest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Digest {
    /// 32 hexadecimal digits.
    Md5,
    /// 40 hexadecimal digits.
    Sha1,
    /// 64 hexadecimal digits.
    Sha256,
    /// 128 hexadecimal digits.
    Sha512,
}

/// What hides a value. The protected value is text, whatever the type was.
#[derive(Debug, Clone, PartialEq, Default)]
pub enum Privacy {
    /// The value as it is.
    #[default]
    None,
    /// Empty text, or `text` repeated `times`.
    Hide {
        /// What stands in place of the value.
        text: String,
        /// How often.
        times: usize,
    },
    /// Lower-case hexadecimal digest of the UTF-8 bytes.
    Hash(Digest),
    /// Lower-case hexadecimal HMAC-SHA-256 of the UTF-8 bytes under the key.
    HmacSha256(Secret),
    /// First letters of words: `John Doe` is `J.D.`
    Initials,
    /// Digest of the local part, `@`, domain.
    Email(Digest),
    /// Left characters, `fill` repeated `count`, right characters.
    Mask {
        /// The character in between.
        fill: char,
        /// How many of it.
        count: usize,
        /// Characters kept at the start.
        left: usize,
        /// Characters kept at the end.
        right: usize,
    },
    /// The last `n` groups of an IPv4 address are `0`.
    IpV4(usize),
    /// The last `n` groups of an IPv6 address are `0`.
    IpV6(usize),
}

impl Privacy {
    /// Whether the rule hides anything.
    pub fn protects(&self) -> bool {
        *self != Privacy::None
    }
}

impl Column {
    /// A column that only has a name and a type.
    pub fn new(name: impl Into<String>, kind: Kind) -> Self {
        Self {
            name: name.into(),
            rename: None,
            type_name: String::new(),
            kind,
            pattern: None,
            array: false,
            required: false,
            privacy: Privacy::None,
            trim: Trim::None,
            empty_is_null: true,
            default: None,
            script: None,
            ignore: false,
            validate: Vec::new(),
            comment: None,
        }
    }

    /// The name from the rename on.
    pub fn output_name(&self) -> &str {
        self.rename.as_deref().unwrap_or(&self.name)
    }

    /// Whether a rule hides the column or something inside it.
    pub fn protects(&self) -> bool {
        self.privacy.protects() || matches!(&self.kind, Kind::Struct(children) if children.iter().any(Column::protects))
    }

    /// Type of a decoded value, before privacy.
    pub fn decoded_type(&self) -> DataType {
        self.wrap(self.kind.arrow_type(false))
    }

    /// Type after privacy: text where a rule hides the value.
    pub fn protected_type(&self) -> DataType {
        let inner = if self.privacy.protects() { DataType::Utf8 } else { self.kind.arrow_type(true) };
        self.wrap(inner)
    }

    fn wrap(&self, inner: DataType) -> DataType {
        if self.array { DataType::List(Arc::new(Field::new_list_field(inner, true))) } else { inner }
    }

    /// Field of the decoded column: payload name, nullable (a refused row has a null until it is taken out).
    pub fn decoded_field(&self) -> Field {
        Field::new(&self.name, self.decoded_type(), true)
    }
}

impl Kind {
    /// The Arrow type; `protected` asks for the one after privacy, which differs inside structs only.
    pub fn arrow_type(&self, protected: bool) -> DataType {
        match self {
            Kind::Text | Kind::Variant => DataType::Utf8,
            Kind::Long => DataType::Int64,
            Kind::Short => DataType::Int16,
            Kind::Byte => DataType::Int8,
            Kind::Double => DataType::Float64,
            Kind::Decimal { precision, scale } => DataType::Decimal128(*precision, *scale),
            Kind::Boolean { .. } => DataType::Boolean,
            Kind::Date { .. } => DataType::Date32,
            Kind::Timestamp { .. } => timestamp_type(),
            Kind::Struct(children) => {
                let field = |c: &Column| {
                    let (name, kind) =
                        if protected { (c.output_name(), c.protected_type()) } else { (c.name.as_str(), c.decoded_type()) };
                    Field::new(name, kind, true)
                };
                DataType::Struct(children.iter().map(field).collect::<Fields>())
            }
        }
    }
}

/// Marks the field of a metadata column (its key in the field's metadata): `SELECT *` leaves such columns out.
pub const METADATA_MARK: &str = "sluicebox.metadata";

/// The one timestamp type of decoded data: microseconds, UTC (years 1 to 9999 fit).
pub fn timestamp_type() -> DataType {
    DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn privacy_makes_text_and_keeps_the_rest() {
        let mut city = Column::new("city", Kind::Text);
        city.rename = Some("town".into());
        let mut zip = Column::new("zip", Kind::Long);
        zip.privacy = Privacy::Hash(Digest::Sha256);
        let mut address = Column::new("address", Kind::Struct(vec![city, zip]));
        address.array = true;
        assert!(address.protects());
        assert_eq!(address.decoded_type().to_string(), r#"List(Struct("city": Utf8, "zip": Int64))"#);
        assert_eq!(address.protected_type().to_string(), r#"List(Struct("town": Utf8, "zip": Utf8))"#);
    }
}
