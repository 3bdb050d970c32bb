//! A column of text, whichever of Arrow's three layouts it has.

use arrow_array::cast::AsArray;
use arrow_array::{Array, LargeStringArray, StringArray, StringViewArray};
use arrow_schema::{DataType, Schema};

use crate::{Error, Result};

/// A column of text.
#[derive(Debug, Clone, Copy)]
pub enum Texts<'a> {
    /// Offsets of 32 bits.
    Small(&'a StringArray),
    /// Offsets of 64 bits.
    Large(&'a LargeStringArray),
    /// Views.
    View(&'a StringViewArray),
}

impl<'a> Texts<'a> {
    /// The texts of a column.
    ///
    /// # Errors
    /// It is not text.
    pub fn of(column: &'a dyn Array) -> Result<Texts<'a>> {
        match column.data_type() {
            DataType::Utf8 => Ok(Texts::Small(column.as_string())),
            DataType::LargeUtf8 => Ok(Texts::Large(column.as_string())),
            DataType::Utf8View => Ok(Texts::View(column.as_string_view())),
            other => Err(Error::Fatal(format!("expected a column of text, found {other}"))),
        }
    }

    /// Makes sure, when opening, that the schema has that column and that it is text.
    ///
    /// # Errors
    /// It has not, or it is not; the message names the column.
    pub fn expect(schema: &Schema, column: &str) -> Result<()> {
        let Some((_, field)) = schema.column_with_name(column) else {
            let names: Vec<_> = schema.fields().iter().map(|field| field.name().as_str()).collect();
            return Err(Error::Fatal(format!("there is no column `{column}`: expected one of {}", names.join(", "))));
        };
        match field.data_type() {
            DataType::Utf8 | DataType::LargeUtf8 | DataType::Utf8View => Ok(()),
            other => Err(Error::Fatal(format!("column `{column}` is {other}: expected text"))),
        }
    }

    /// The text of each row; `None` for null.
    pub fn iter(self) -> impl Iterator<Item = Option<&'a str>> {
        (0..self.len()).map(move |row| self.get(row))
    }

    /// The text of a row; `None` for null.
    pub fn get(self, row: usize) -> Option<&'a str> {
        match self {
            Texts::Small(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::Large(array) => array.is_valid(row).then(|| array.value(row)),
            Texts::View(array) => array.is_valid(row).then(|| array.value(row)),
        }
    }

    /// How many rows.
    pub fn len(self) -> usize {
        match self {
            Texts::Small(array) => array.len(),
            Texts::Large(array) => array.len(),
            Texts::View(array) => array.len(),
        }
    }

    /// Whether there are none.
    pub fn is_empty(self) -> bool {
        self.len() == 0
    }
}
