//! Patterns of types: full match, over built text columns, nested ones too. All errors of a row are collected.
//!
//! The built-in pattern `.+` is not run: the decoder has made empty text null, and where `empty_is_null: false` keeps it, empty text passes.

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::Schema;
use regex::Regex;
use sluicebox_core::batch::Batch;
use sluicebox_core::column::{Column, Kind};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::reject::{Code, Rejects, RowError};

use super::place::{Locate, elements, used};

/// The longest piece of a value that a message quotes.
const QUOTED_MAX: usize = 64;

/// The patterns of a pipeline's columns.
pub struct Patterns {
    columns: Vec<(usize, Checked)>,
}

/// A column with a pattern on it or inside it.
struct Checked {
    name: String,
    array: bool,
    pattern: Option<Matcher>,
    children: Vec<(usize, Checked)>,
}

struct Matcher {
    regex: Regex,
    words: String,
    quote: bool,
}

impl Patterns {
    /// Compiles the patterns of the columns that the schema has.
    ///
    /// # Errors
    /// A pattern does not compile.
    pub fn new(columns: &[Column], schema: &Schema) -> Result<Self> {
        let mut checked = Vec::new();
        for column in columns {
            let Ok(index) = schema.index_of(&column.name) else { continue };
            checked.extend(Checked::new(column, column.protects())?.map(|c| (index, c)));
        }
        Ok(Self { columns: checked })
    }

    /// Checks a batch.
    pub fn check(&self, batch: &Batch, rejects: &mut Rejects) {
        for (index, column) in &self.columns {
            let locate = |row: usize| (row, column.name.clone());
            column.check(batch.columns.column(*index), &locate, &mut |row, error| rejects.add(batch.rows.record(row), error));
        }
    }
}

impl Checked {
    fn new(column: &Column, protected: bool) -> Result<Option<Self>> {
        let pattern = column.pattern.as_ref().filter(|pattern| pattern.written != ".+");
        let compile = |pattern: &sluicebox_core::column::Pattern| {
            let regex =
                Regex::new(&pattern.regex).map_err(|error| Error::config(format!("column {}: pattern: {error}", column.name)))?;
            let words = format!("({}) doesn't match pattern `{}`", column.type_name, pattern.written);
            Ok::<_, Error>(Matcher { regex, words, quote: !protected })
        };
        let pattern = pattern.map(compile).transpose()?;
        let mut children = Vec::new();
        if let Kind::Struct(columns) = &column.kind {
            for (index, child) in columns.iter().enumerate() {
                children.extend(Checked::new(child, protected || child.protects())?.map(|c| (index, c)));
            }
        }
        let anything = pattern.is_some() || !children.is_empty();
        Ok(anything.then(|| Self { name: column.name.clone(), array: column.array, pattern, children }))
    }

    fn check(&self, values: &ArrayRef, locate: Locate<'_>, refuse: &mut dyn FnMut(usize, RowError)) {
        if !self.array {
            return self.scalars(values, 0..values.len(), locate, refuse);
        }
        let list = values.as_list::<i32>();
        elements(list, locate, |locate| self.scalars(list.values(), used(list), locate, refuse));
    }

    fn scalars(
        &self,
        values: &ArrayRef,
        range: std::ops::Range<usize>,
        locate: Locate<'_>,
        refuse: &mut dyn FnMut(usize, RowError),
    ) {
        if let Some(matcher) = &self.pattern {
            let texts = values.as_string::<i32>();
            for index in range.clone().filter(|i| texts.is_valid(*i)) {
                if !matcher.regex.is_match(texts.value(index)) {
                    let (row, path) = locate(index);
                    refuse(row, RowError::new(path, Code::PATTERN, matcher.message(texts.value(index))));
                }
            }
        }
        for (index, child) in &self.children {
            let inside = |i: usize| {
                let (row, path) = locate(i);
                (row, format!("{path}.{}", child.name))
            };
            child.check(values.as_struct().column(*index), &inside, refuse);
        }
    }
}

impl Matcher {
    fn message(&self, value: &str) -> String {
        if !self.quote {
            return self.words.clone();
        }
        let short: String = value.chars().take(QUOTED_MAX).collect();
        format!("{}: {short}", self.words)
    }
}

#[cfg(test)]
mod tests;
