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

/// A struct that stands for a row, made by [`row!`](crate::row).
pub trait AsRow: Sized {
    /// The names of the columns.
    fn columns() -> Vec<String> {
        Self::fields().into_iter().map(|field| field.name).collect()
    }

    /// The columns.
    fn fields() -> Vec<Field>;

    /// Makes sure that a schema has the columns, with kinds that can be read.
    ///
    /// # Errors
    /// It has not; the message names the column.
    fn expect(schema: &[Field]) -> Result<()>;

    /// Reads the values of `columns()`.
    ///
    /// # Errors
    /// A value is missing or of another kind.
    fn read(values: Vec<Value>) -> Result<Self>;

    /// Writes the values of `fields()`.
    fn write(self) -> Vec<Value>;
}

/// Makes a struct of the columns that it names, each field an `Option` of the type written; see [`AsRow`](crate::record::AsRow) for what
/// it can and [`Cell`](crate::record::Cell) for the types.
///
/// ```
/// use sluicebox_guest_sdk::record::AsRow;
///
/// sluicebox_guest_sdk::row! {
///     /// What comes in.
///     struct Order { quantity: i64, note: String }
/// }
/// let order = Order { quantity: Some(2), note: None };
/// assert_eq!(Order::read(order.write()).map(|order| order.quantity), Ok(Some(2)));
/// ```
#[macro_export]
macro_rules! row {
    ($(#[$meta:meta])* $vis:vis struct $name:ident { $($field:ident: $type:ty),+ $(,)? }) => {
        $(#[$meta])*
        #[derive(Debug, Clone, PartialEq)]
        $vis struct $name {
            $(#[doc = concat!("The column `", stringify!($field), "`.")] $vis $field: Option<$type>,)+
        }

        impl $crate::record::AsRow for $name {
            fn fields() -> Vec<$crate::record::Field> {
                vec![$($crate::record::field(stringify!($field), <$type as $crate::record::Cell>::KIND)),+]
            }

            fn expect(schema: &[$crate::record::Field]) -> $crate::Result<()> {
                $($crate::record::expect::<$type>(schema, stringify!($field))?;)+
                Ok(())
            }

            fn read(values: Vec<$crate::record::Value>) -> $crate::Result<Self> {
                let mut values = values.into_iter();
                Ok($name { $($field: $crate::record::read_cell(values.next(), stringify!($field))?,)+ })
            }

            fn write(self) -> Vec<$crate::record::Value> {
                vec![$(self.$field.map_or($crate::record::Value::Null, <$type as $crate::record::Cell>::write)),+]
            }
        }
    };
}

/// Reads a value of a row.
///
/// # Errors
/// It is missing or of another kind.
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
