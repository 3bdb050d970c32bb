//! Rows as structs.

use super::{Field, Kind, Value};
use crate::json::Json;
use crate::{Error, Result};

/// A type that a field of a [`row!`](crate::row) may have. A field holds an `Option` of it, for every value may be null.
pub trait Cell: Sized {
    /// The kind of a column that it writes.
    const KIND: Kind;

    /// Whether it can be read from columns of that kind.
    fn reads(kind: Kind) -> bool {
        kind == Self::KIND
    }

    /// Reads a value that is not null; `None` where it is of another kind.
    fn read(value: Value) -> Option<Self>;

    /// Writes the value.
    fn write(self) -> Value;
}

impl Cell for bool {
    const KIND: Kind = Kind::Boolean;

    fn read(value: Value) -> Option<Self> {
        if let Value::Boolean(value) = value { Some(value) } else { None }
    }

    fn write(self) -> Value {
        Value::Boolean(self)
    }
}

/// Dates and timestamps can be read as the numbers they are.
impl Cell for i64 {
    const KIND: Kind = Kind::Integer;

    fn reads(kind: Kind) -> bool {
        matches!(kind, Kind::Integer | Kind::Date | Kind::Timestamp)
    }

    fn read(value: Value) -> Option<Self> {
        if let Value::Integer(value) = value { Some(value) } else { None }
    }

    fn write(self) -> Value {
        Value::Integer(self)
    }
}

impl Cell for f64 {
    const KIND: Kind = Kind::Float;

    fn read(value: Value) -> Option<Self> {
        if let Value::Float(value) = value { Some(value) } else { None }
    }

    fn write(self) -> Value {
        Value::Float(self)
    }
}

/// Decimals and nested values can be read as the text they cross as.
impl Cell for String {
    const KIND: Kind = Kind::Text;

    fn reads(kind: Kind) -> bool {
        matches!(kind, Kind::Text | Kind::Decimal | Kind::Json)
    }

    fn read(value: Value) -> Option<Self> {
        if let Value::Text(value) = value { Some(value) } else { None }
    }

    fn write(self) -> Value {
        Value::Text(self)
    }
}

impl Cell for Vec<u8> {
    const KIND: Kind = Kind::Bytes;

    fn read(value: Value) -> Option<Self> {
        if let Value::Bytes(value) = value { Some(value) } else { None }
    }

    fn write(self) -> Value {
        Value::Bytes(self)
    }
}

/// Nested values.
impl Cell for Json {
    const KIND: Kind = Kind::Json;

    fn read(value: Value) -> Option<Self> {
        if let Value::Text(text) = value { Json::parse(&text).ok() } else { None }
    }

    fn write(self) -> Value {
        Value::Text(self.to_string())
    }
}

/// A column of that name and kind; a decimal is given its digits by the caller.
pub fn field(name: &str, kind: Kind) -> Field {
    Field { name: name.to_owned(), kind, precision: 0, scale: 0 }
}

/// Makes sure that the schema has a column that can be read as `T`.
///
/// # Errors
/// It has not; the message names the column.
pub fn expect<T: Cell>(schema: &[Field], column: &str) -> Result<()> {
    let Some(field) = schema.iter().find(|field| field.name == column) else {
        let names: Vec<_> = schema.iter().map(|field| field.name.as_str()).collect();
        return Err(Error::Fatal(format!("there is no column `{column}`: expected one of {}", names.join(", "))));
    };
    if T::reads(field.kind) {
        return Ok(());
    }
    let (found, wanted) = (word(field.kind), word(T::KIND));
    Err(Error::Fatal(format!("column `{column}` is {found}: expected {wanted}")))
}

/// The word of the contract for a kind.
fn word(kind: Kind) -> &'static str {
    match kind {
        Kind::Boolean => "boolean",
        Kind::Integer => "integer",
        Kind::Float => "float",
        Kind::Text => "text",
        Kind::Bytes => "bytes",
        Kind::Decimal => "decimal",
        Kind::Date => "date",
        Kind::Timestamp => "timestamp",
        Kind::Json => "json",
    }
}

/// Makes a struct of the columns that it names, each field an `Option` of the type written:
///
/// ```
/// sluicebox_guest_sdk::row! {
///     /// What comes in.
///     struct Order { quantity: i64, note: String }
/// }
/// let order = Order { quantity: Some(2), note: None };
/// assert_eq!(Order::read(order.write()).map(|order| order.quantity), Ok(Some(2)));
/// ```
///
/// It has `columns()`, `fields()`, `expect(schema)`, `read(values)` and `write()`. Types: those that are [`Cell`].
#[macro_export]
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $(#[doc = concat!("The column `", stringify!($field), "`.")] $vis $field: Option<$type>,)+
        }

        // What comes in needs other functions than what goes out.
        #[allow(dead_code)]
        impl $name {
            /// The names of the columns.
            #[must_use]
            $vis fn columns() -> Vec<String> {
                vec![$(stringify!($field).to_owned()),+]
            }

            /// The columns.
            #[must_use]
            $vis fn fields() -> Vec<$crate::record::Field> {
                vec![$($crate::record::field(stringify!($field), <$type as $crate::record::Cell>::KIND)),+]
            }

            /// Makes sure that a schema has the columns, with kinds that can be read.
            $vis fn expect(schema: &[$crate::record::Field]) -> $crate::Result<()> {
                $($crate::record::expect::<$type>(schema, stringify!($field))?;)+
                Ok(())
            }

            /// Reads the values of `columns()`.
            $vis fn read(values: Vec<$crate::record::Value>) -> $crate::Result<Self> {
                let mut values = values.into_iter();
                Ok($name { $($field: $crate::record::read_cell(values.next(), stringify!($field))?,)+ })
            }

            /// Writes the values of `fields()`.
            #[must_use]
            $vis fn write(self) -> Vec<$crate::record::Value> {
                vec![$(self.$field.map_or($crate::record::Value::Null, <$type as $crate::record::Cell>::write)),+]
            }
        }
    };
}

/// Reads a value of a row.
#[doc(hidden)]
pub fn read_cell<T: Cell>(value: Option<Value>, column: &str) -> Result<Option<T>> {
    match value {
        None => Err(Error::Fatal(format!("the value of column `{column}` is missing"))),
        Some(Value::Null) => Ok(None),
        Some(value) => match T::read(value) {
            Some(value) => Ok(Some(value)),
            None => Err(Error::Fatal(format!("the value of column `{column}` is not {}", word(T::KIND)))),
        },
    }
}
