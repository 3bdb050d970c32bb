//! Patterns of types: full match, over built text columns, nested ones and elements of arrays too. All errors of a row are collected
//! (up to a bound a column); nulls pass.
//!
//! The pattern `.+` of the types `string` and `longstring` is not run: the decoder has made empty text null, and where
//! `empty_is_null: false` keeps it, empty text is meant and passes. A user's type with that pattern refuses it.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef};
use arrow_schema::Schema;
use sluicebox_core::batch::Batch;
use sluicebox_core::column::{Column, Kind, Pattern};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::reject::{Code, Rejects};

use super::matcher::{ANYTHING, Matcher};
use super::place::{Faults, Locate, elements, nested};

/// The longest piece of a value that a message quotes, in characters.
const QUOTED_MAX: usize = 64;

/// Types whose `.+` says no more than "text".
const PLAIN_TYPES: [&str; 2] = ["string", "longstring"];

/// The patterns of a pipeline's columns.
pub struct Patterns {
    columns: Vec<(usize, Checked)>,
}

/// A column with a pattern on it or inside it.
struct Checked {
    name: String,
    array: bool,
    check: Option<Check>,
    children: Vec<(usize, Checked)>,
}

struct Check {
    matcher: Matcher,
    words: String,
    quote: bool,
}

impl Patterns {
    /// Compiles the patterns of the columns that the schema has.
    ///
    /// # Errors
    /// A pattern does not compile; a column of the schema is not what was declared.
    pub fn new(columns: &[Column], schema: &Schema) -> Result<Self> {
        let mut checked = Vec::new();
        for column in columns {
            let Ok(index) = schema.index_of(&column.name) else { continue };
            let Some(found) = Checked::new(column, false)? else { continue };
            let decoded = schema.field(index).data_type();
            if *decoded != column.decoded_type() {
                return Err(Error::internal(format!("column {}: decoded as {decoded}", column.name)));
            }
            checked.push((index, found));
        }
        Ok(Self { columns: checked })
    }

    /// Checks a batch.
    pub fn check(&self, batch: &Batch, rejects: &mut Rejects) {
        let mut faults = Faults::new(&batch.rows, rejects, Code::PATTERN);
        for (index, column) in &self.columns {
            let values = batch.columns.column(*index);
            let locate = |row: usize| Some((row, column.name.clone()));
            column.check(values, 0..values.len(), &locate, &mut faults);
        }
    }
}

/// Whether the pattern of a column can refuse a text.
fn refuses(column: &Column, pattern: &Pattern) -> bool {
    column.kind == Kind::Text && (pattern.written != ANYTHING || !PLAIN_TYPES.contains(&column.type_name.as_str()))
}

impl Checked {
    /// `hidden` says whether a rule protects what is around the column.
    fn new(column: &Column, hidden: bool) -> Result<Option<Self>> {
        let hidden = hidden || column.privacy.protects();
        let check = match column.pattern.as_ref().filter(|pattern| refuses(column, pattern)) {
            Some(pattern) => {
                let matcher = Matcher::new(pattern).map_err(|error| error.at(format!("column {}", column.name)))?;
                let words = format!("({}) doesn't match pattern `{}`", column.type_name, pattern.written);
                Some(Check { matcher, words, quote: !hidden })
            }
            None => None,
        };
        let mut children = Vec::new();
        if let Kind::Struct(columns) = &column.kind {
            for (index, child) in columns.iter().enumerate() {
                children.extend(Checked::new(child, hidden)?.map(|child| (index, child)));
            }
        }
        let anything = check.is_some() || !children.is_empty();
        Ok(anything.then(|| Self { name: column.name.clone(), array: column.array, check, children }))
    }

    fn check(&self, values: &ArrayRef, range: Range<usize>, locate: Locate<'_>, faults: &mut Faults<'_>) {
        if !self.array {
            return self.scalars(values, range, locate, faults);
        }
        let list = values.as_list::<i32>();
        elements(list, range, locate, |range, locate| self.scalars(list.values(), range, locate, faults));
    }

    fn scalars(&self, values: &ArrayRef, range: Range<usize>, locate: Locate<'_>, faults: &mut Faults<'_>) {
        if let Some(check) = &self.check {
            faults.begin();
            check.run(values, range.clone(), locate, faults);
        }
        for (index, child) in &self.children {
            let structs = values.as_struct();
            nested(structs, &child.name, locate, |locate| {
                child.check(structs.column(*index), range.clone(), locate, faults);
            });
        }
    }
}

impl Check {
    fn run(&self, values: &ArrayRef, range: Range<usize>, locate: Locate<'_>, faults: &mut Faults<'_>) {
        let texts = values.as_string::<i32>();
        for index in range {
            if texts.is_valid(index) && !self.matcher.matches(texts.value(index)) {
                faults.add(locate(index), || self.message(texts.value(index)));
            }
        }
    }

    #[cold]
    fn message(&self, value: &str) -> String {
        if !self.quote {
            return self.words.clone();
        }
        let end = value.char_indices().nth(QUOTED_MAX).map(|(end, _)| end);
        let (short, more) = end.map_or((value, ""), |end| (&value[..end], "…"));
        format!("{}: {short}{more}", self.words)
    }
}

#[cfg(test)]
mod tests;
