//! Privacy: hides what a rule protects before anything is written anywhere, and gives columns their new names.

use std::sync::Arc;

use arrow_array::builder::StringBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, ListArray, RecordBatch, StructArray};
use arrow_schema::{DataType, Field, Fields, Schema, SchemaRef};
use sluicebox_core::batch::Batch;
use sluicebox_core::column::{Column, Kind, Privacy};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::reject::{Code, Rejects, RowError};

use super::place::{Locate, elements};
use super::rule::Rule;
use super::text::texts;

/// The privacy rules and new names of a pipeline's columns.
pub struct Protect {
    columns: Vec<Protected>,
    output: SchemaRef,
    /// Whether columns pass as they are.
    idle: bool,
}

struct Protected {
    name: String,
    array: bool,
    rule: Option<Rule>,
    children: Vec<Protected>,
    output: DataType,
    idle: bool,
}

impl Protect {
    /// Prepares the rules of the columns, which are those of the schema, in its order.
    ///
    /// # Errors
    /// A rule that can never be applied.
    pub fn new(columns: &[Column], schema: &Schema) -> Result<Self> {
        if columns.len() != schema.fields().len() {
            return Err(Error::internal(format!("{} columns, but {} fields", columns.len(), schema.fields().len())));
        }
        let field = |c: &Column| {
            let field = Field::new(c.output_name(), c.protected_type(), true);
            let comment = c.comment.iter().map(|comment| ("comment".to_owned(), comment.clone()));
            field.with_metadata(comment.collect())
        };
        let output = Arc::new(Schema::new(columns.iter().map(field).collect::<Vec<_>>()));
        let columns: Vec<Protected> = columns.iter().map(Protected::new).collect::<Result<_>>()?;
        let idle = columns.iter().all(|c| c.idle);
        Ok(Self { columns, output, idle })
    }

    /// Schema after privacy: new names, text where a rule hides the value.
    pub fn output_schema(&self) -> SchemaRef {
        self.output.clone()
    }

    /// Hides. A value that its rule cannot hide rejects the record (fails closed): the row keeps a null there.
    ///
    /// # Errors
    /// Only faults that are no record's.
    pub fn apply(&self, batch: Batch, rejects: &mut Rejects) -> Result<Batch> {
        let mut columns = batch.columns.columns().to_vec();
        if !self.idle {
            for (column, protected) in columns.iter_mut().zip(&self.columns).filter(|(_, protected)| !protected.idle) {
                let locate = |row: usize| (row, protected.name.clone());
                let mut refuse = |row: usize, error: RowError| rejects.add(batch.rows.record(row), error);
                *column = protected.apply(column, &locate, &mut refuse)?;
            }
        }
        let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(batch.columns.num_rows()));
        let columns = RecordBatch::try_new_with_options(self.output.clone(), columns, &options).map_err(internal)?;
        Ok(Batch { columns, ..batch })
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(format!("privacy: {error}"))
}

impl Protected {
    fn new(column: &Column) -> Result<Self> {
        let place = |error: Error| error.at(format!("column {}", column.name));
        let rule = column.privacy.protects().then(|| Rule::new(&column.privacy)).transpose().map_err(place)?;
        let children = match &column.kind {
            Kind::Struct(children) => children.iter().map(Protected::new).collect::<Result<_>>()?,
            _ => Vec::new(),
        };
        let idle =
            column.protected_type() == column.decoded_type() && rule.is_none() && children.iter().all(|c: &Protected| c.idle);
        let output = if rule.is_some() { DataType::Utf8 } else { column.kind.arrow_type(true) };
        Ok(Self { name: column.name.clone(), array: column.array, rule, children, output, idle })
    }

    fn apply(&self, values: &ArrayRef, locate: Locate<'_>, refuse: &mut dyn FnMut(usize, RowError)) -> Result<ArrayRef> {
        if !self.array {
            return self.scalars(values, locate, refuse);
        }
        let list = values.as_list::<i32>();
        let inner = elements(list, locate, |locate| self.scalars(list.values(), locate, refuse))?;
        let field = Arc::new(Field::new_list_field(self.output.clone(), true));
        let hidden = ListArray::try_new(field, list.offsets().clone(), inner, list.nulls().cloned());
        Ok(Arc::new(hidden.map_err(internal)?))
    }

    fn scalars(&self, values: &ArrayRef, locate: Locate<'_>, refuse: &mut dyn FnMut(usize, RowError)) -> Result<ArrayRef> {
        if let Some(rule) = &self.rule {
            return Ok(hide(rule, values, locate, refuse));
        }
        if self.children.is_empty() {
            return Ok(values.clone());
        }
        let structs = values.as_struct();
        let mut columns = Vec::with_capacity(self.children.len());
        for (child, column) in self.children.iter().zip(structs.columns()) {
            let inside = |i: usize| {
                let (row, path) = locate(i);
                (row, format!("{path}.{}", child.name))
            };
            columns.push(child.apply(column, &inside, refuse)?);
        }
        let DataType::Struct(fields) = &self.output else { return Err(internal("nested columns of what is no struct")) };
        let fields: Fields = fields.clone();
        Ok(Arc::new(StructArray::try_new(fields, columns, structs.nulls().cloned()).map_err(internal)?))
    }
}

fn hide(rule: &Rule, values: &ArrayRef, locate: Locate<'_>, refuse: &mut dyn FnMut(usize, RowError)) -> ArrayRef {
    let mut hidden = StringBuilder::with_capacity(values.len(), values.len() * 32);
    let mut text = String::new();
    texts(values, |index, value| {
        let Some(value) = value else { return hidden.append_null() };
        text.clear();
        match rule.apply(value, &mut text) {
            Ok(()) => hidden.append_value(&text),
            Err(misfit) => {
                hidden.append_null();
                let (row, path) = locate(index);
                refuse(
                    row,
                    RowError::new(path, Code::PRIVACY, format!("the privacy rule cannot be applied: the value {misfit}")),
                );
            }
        }
    });
    Arc::new(hidden.finish())
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

    /// The protected key. Bytes that are no text are digested as they are where the rule is a digest; any other rule shows nothing of them,
    /// nor of a key that it cannot hide.
    pub fn apply(&self, key: &[u8]) -> Option<String> {
        let rule = self.0.as_ref()?;
        let mut text = String::new();
        let hidden = match std::str::from_utf8(key) {
            Ok(key) => rule.apply(key, &mut text).is_ok(),
            Err(_) => rule.digest(key, &mut text),
        };
        hidden.then_some(text)
    }
}

#[cfg(test)]
mod tests;
