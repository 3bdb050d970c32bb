//! What a component answered to `open`, checked against the schema that comes in.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Field, Schema, SchemaRef};
use sluicebox_core::reject::Code;

/// The checked plan of a validator or transform.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// Columns (indexes into the input) that cross the border, in order.
    pub(crate) columns: Vec<usize>,
    /// For a transform: the columns that it answers with.
    pub(crate) answers: SchemaRef,
    /// Codes that its rejects may have.
    pub(crate) codes: Vec<Code>,
}

impl Plan {
    /// Checks names and codes; the message says what does not fit.
    pub(crate) fn check(columns: &[String], answers: SchemaRef, codes: &[String], input: &Schema) -> Result<Self, String> {
        let index = |name: &String| {
            let known = || input.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ");
            input.index_of(name).map_err(|_| format!("it asks for the column `{name}`, which is not there; there are: {}", known()))
        };
        let columns = columns.iter().map(index).collect::<Result<Vec<_>, _>>()?;
        if let Some(twice) = (1..columns.len()).find(|i| columns[..*i].contains(&columns[*i])) {
            return Err(format!("it asks for the column `{}` twice", input.field(columns[twice]).name()));
        }
        let names: Vec<&String> = answers.fields().iter().map(|f| f.name()).collect();
        if let Some(twice) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])) {
            return Err(format!("it answers with the column `{}` twice", names[twice]));
        }
        let code = |text: &String| Code::parse(text).ok_or_else(|| format!("its code `{text}` is not [a-z0-9_]{{1,64}}"));
        let codes = codes.iter().map(code).collect::<Result<_, _>>()?;
        Ok(Self { columns, answers, codes })
    }

    /// Schema of the batches that cross the border.
    pub(crate) fn crossing(&self, input: &Schema) -> SchemaRef {
        let fields: Vec<_> = self.columns.iter().map(|i| Arc::new(input.field(*i).clone())).collect();
        Arc::new(Schema::new(fields))
    }

    /// Where each column of the output comes from, and its schema: an answered column takes the place of the input's of that name, a new one
    /// goes behind all others.
    pub(crate) fn output(&self, input: &Schema) -> (SchemaRef, Vec<From>) {
        let mut fields: Vec<Arc<Field>> = Vec::new();
        let mut from = Vec::new();
        for (index, field) in input.fields().iter().enumerate() {
            match self.answers.index_of(field.name()) {
                Ok(answer) => {
                    fields.push(self.answers.fields()[answer].clone());
                    from.push(From::Answer(answer));
                }
                Err(_) => {
                    fields.push(field.clone());
                    from.push(From::Input(index));
                }
            }
        }
        for (answer, field) in self.answers.fields().iter().enumerate().filter(|(_, f)| input.index_of(f.name()).is_err()) {
            fields.push(field.clone());
            from.push(From::Answer(answer));
        }
        (Arc::new(Schema::new(fields)), from)
    }

    /// Whether an answered batch has the columns that were promised.
    pub(crate) fn fits(&self, batch: &RecordBatch) -> Result<(), String> {
        let (found, promised) = (batch.schema(), &self.answers);
        let same = |(a, b): (&Arc<Field>, &Arc<Field>)| a.name() == b.name() && a.data_type() == b.data_type();
        if found.fields().len() == promised.fields().len() && found.fields().iter().zip(promised.fields()).all(same) {
            return Ok(());
        }
        Err(format!("answered with the columns {}, but its plan promised {}", words(&found), words(promised)))
    }
}

/// Where a column of a transform's output comes from.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum From {
    /// A column of the input that travelled past the guest.
    Input(usize),
    /// A column that the guest answered.
    Answer(usize),
}

fn words(schema: &Schema) -> String {
    schema.fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect::<Vec<_>>().join(", ")
}
