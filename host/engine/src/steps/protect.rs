//! Privacy: hides what a rule protects before anything is written anywhere, and gives columns their new names (nested ones too).
//!
//! A rule works on the canonical text of a value (see the table in `text.rs`) and gives text. Null stays null. A value that its rule
//! cannot hide becomes null and refuses its record with the code `privacy` (fails closed, invariant 9).

use std::ops::Range;
use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, RecordBatchOptions, StructArray};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sluicebox_core::batch::Batch;
use sluicebox_core::column::{Column, Kind, Privacy};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::reject::{Code, Rejects};

use super::place::{Faults, Locate, elements, nested};
use super::rule::{Misfit, Rule};
use super::text::Texts;

/// Bytes that one text column of a batch can hold.
const COLUMN_BYTES_MAX: usize = i32::MAX as usize;
/// What is set aside for the text of a value: a SHA-256.
const TEXT_BYTES: usize = 64;

/// The privacy rules and new names of a pipeline's columns.
pub struct Protect {
    columns: Vec<Protected>,
    output: SchemaRef,
}

struct Protected {
    name: String,
    array: bool,
    rule: Option<Rule>,
    children: Vec<Protected>,
    /// Type of a value, or of an element of an array, afterwards.
    output: DataType,
    /// Nothing is hidden and nothing inside has a new name.
    idle: bool,
}

impl Protect {
    /// Prepares the rules of the columns, which are those of the schema, in its order.
    ///
    /// # Errors
    /// A rule that can never be applied; columns that are not those of the schema.
    pub fn new(columns: &[Column], schema: &Schema) -> Result<Self> {
        let declared = columns.iter().map(|c| (c.name.as_str(), c.decoded_type()));
        if !declared.eq(schema.fields().iter().map(|f| (f.name().as_str(), f.data_type().clone()))) {
            return Err(Error::internal(format!("privacy: the batches have other columns than were declared: {schema}")));
        }
        let field = |c: &Column| {
            let field = Field::new(c.output_name(), c.protected_type(), true);
            let comment = c.comment.iter().map(|comment| ("comment".to_owned(), comment.clone()));
            field.with_metadata(comment.collect())
        };
        let output = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        Ok(Self { columns: columns.iter().map(Protected::new).collect::<Result<_>>()?, output })
    }

    /// Schema after privacy: new names, text where a rule hides the value.
    pub fn output_schema(&self) -> SchemaRef {
        self.output.clone()
    }

    /// Hides. The row of a record that is refused here stays, with a null in place of the value.
    ///
    /// # Errors
    /// Only faults that are no record's.
    pub fn apply(&self, batch: Batch, rejects: &mut Rejects) -> Result<Batch> {
        let mut columns = batch.columns.columns().to_vec();
        let mut faults = Faults::new(&batch.rows, rejects, Code::PRIVACY);
        for (column, protected) in columns.iter_mut().zip(&self.columns).filter(|(_, protected)| !protected.idle) {
            let locate = |row: usize| Some((row, protected.name.clone()));
            *column = protected.apply(column, 0..column.len(), &locate, &mut faults)?;
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.columns.num_rows()));
        let columns = RecordBatch::try_new_with_options(self.output.clone(), columns, &options).map_err(internal)?;
        Ok(Batch { columns, ..batch })
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("privacy: {error}"))
}

fn words(misfit: Misfit) -> String {
    format!("the privacy rule cannot be applied: the value {misfit}")
}

impl Protected {
    fn new(column: &Column) -> Result<Self> {
        let place = |error: Error| error.at(format!("column {}", column.name));
        let rule = column.privacy.protects().then(|| Rule::new(&column.privacy)).transpose().map_err(place)?;
        let children: Vec<Protected> = match &column.kind {
            Kind::Struct(_) if rule.is_some() => {
                return Err(place(Error::config("privacy is not for a struct; put it on the columns inside")));
            }
            Kind::Struct(children) => children.iter().map(Protected::new).collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        let idle = column.protected_type() == column.decoded_type() && !column.protects();
        let output = if rule.is_some() { DataType::Utf8 } else { column.kind.arrow_type(true) };
        Ok(Self { name: column.name.clone(), array: column.array, rule, children, output, idle })
    }

    /// Only what is in `range` is looked at; the rest of the answer, which no row reaches, is null or as it was.
    fn apply(&self, values: &ArrayRef, range: Range<usize>, locate: Locate<'_>, faults: &mut Faults<'_>) -> Result<ArrayRef> {
        if self.idle {
            return Ok(values.clone());
        }
        if !self.array {
            return self.scalars(values, range, locate, faults);
        }
        let list = values.as_list::<i32>();
        let hidden = elements(list, range, locate, |range, locate| self.scalars(list.values(), range, locate, faults))?;
        let field = Arc::new(Field::new_list_field(self.output.clone(), true));
        let list = ListArray::try_new(field, list.offsets().clone(), hidden, list.nulls().cloned());
        Ok(Arc::new(list.map_err(internal)?))
    }

    fn scalars(&self, values: &ArrayRef, range: Range<usize>, locate: Locate<'_>, faults: &mut Faults<'_>) -> Result<ArrayRef> {
        if let Some(rule) = &self.rule {
            faults.begin();
            return hide(rule, values, range, locate, faults).map_err(|error| error.at(format!("column {}", self.name)));
        }
        let DataType::Struct(fields) = &self.output else { return Err(internal("nested columns of what is no struct")) };
        let structs = values.as_struct();
        let mut columns = Vec::with_capacity(self.children.len());
        for (child, column) in self.children.iter().zip(structs.columns()) {
            columns.push(nested(structs, &child.name, locate, |locate| child.apply(column, range.clone(), locate, faults))?);
        }
        Ok(Arc::new(StructArray::try_new(fields.clone(), columns, structs.nulls().cloned()).map_err(internal)?))
    }
}

fn hide(rule: &Rule, values: &ArrayRef, range: Range<usize>, locate: Locate<'_>, faults: &mut Faults<'_>) -> Result<ArrayRef> {
    let texts = Texts::of(values).ok_or_else(|| internal(format!("no rule is for {}", values.data_type())))?;
    let mut hidden = StringBuilder::with_capacity(values.len(), range.len() * TEXT_BYTES);
    let (mut scratch, mut text, mut bytes) = (String::new(), String::new(), 0);
    hidden.append_nulls(range.start);
    for index in range.clone() {
        if values.is_null(index) {
            hidden.append_null();
            continue;
        }
        text.clear();
        match rule.apply(texts.get(index, &mut scratch), &mut text) {
            Ok(()) => {
                bytes += text.len();
                if bytes > COLUMN_BYTES_MAX {
                    return Err(Error::config("privacy: the protected text of one batch is over 2 GiB; lower `batch.rows`"));
                }
                hidden.append_value(&text);
            }
            Err(misfit) => {
                hidden.append_null();
                faults.add(locate(index), || words(misfit));
            }
        }
    }
    hidden.append_nulls(values.len() - range.end);
    Ok(Arc::new(hidden.finish()))
}

/// Privacy of the record key.
pub struct KeyProtect(Option<Rule>);

impl KeyProtect {
    /// Prepares the rule.
    ///
    /// # Errors
    /// A rule that can never be applied.
    pub fn new(privacy: &Privacy) -> Result<Self> {
        let rule = privacy.protects().then(|| Rule::new(privacy)).transpose();
        Ok(Self(rule.map_err(|error| error.at("key"))?))
    }

    /// Whether a rule hides the key.
    pub fn protects(&self) -> bool {
        self.0.is_some()
    }

    /// The protected key. Bytes that are no text are digested, or hidden, as they are; a rule that needs text refuses them.
    ///
    /// # Errors
    /// Why the rule cannot hide the key, in words that do not quote it: nothing of it may be shown. So it is, too, where there is no rule.
    pub fn apply(&self, key: &[u8]) -> Result<String, String> {
        let rule = self.0.as_ref().ok_or("the key has no privacy rule")?;
        let mut text = String::new();
        match std::str::from_utf8(key) {
            Ok(key) => rule.apply(key, &mut text),
            Err(_) => rule.digest(key, &mut text),
        }
        .map_err(words)?;
        Ok(text)
    }
}

#[cfg(test)]
mod tests;
