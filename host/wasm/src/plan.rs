//! What a component answered to `open`, checked against the schema that comes in.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{Field, Schema, SchemaRef};
use sluicebox_core::reject::Code;

/// Codes that a component may have: they are counted one by one.
const CODES_MAX: usize = 256;

/// The checked plan of a validator or transform.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Plan {
    /// Columns (indexes into the input) that cross the border, in order.
    pub(crate) columns: Vec<usize>,
    /// For a transform: the columns that it answers with, which all may hold nulls.
    pub(crate) answers: SchemaRef,
    /// Codes that its rejects may have.
    pub(crate) codes: Vec<Code>,
}

impl Plan {
    /// Checks names and codes.
    ///
    /// # Errors
    /// Words that say what does not fit.
    pub(crate) fn check(columns: &[String], answers: &Schema, codes: &[String], input: &Schema) -> Result<Self, String> {
        let index = |name: &String| {
            let known = || input.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>().join(", ");
            input.index_of(name).map_err(|_| format!("asks for the column `{name}`, which is not there; there are: {}", known()))
        };
        let columns = columns.iter().map(index).collect::<Result<Vec<_>, _>>()?;
        if let Some(twice) = (1..columns.len()).find(|i| columns[..*i].contains(&columns[*i])) {
            return Err(format!("asks for the column `{}` twice", input.field(columns[twice]).name()));
        }
        let names: Vec<&String> = answers.fields().iter().map(|f| f.name()).collect();
        if let Some(twice) = (1..names.len()).find(|i| names[..*i].contains(&names[*i])) {
            return Err(format!("answers with the column `{}` twice", names[twice]));
        }
        let code = |text: &String| Code::parse(text).ok_or_else(|| format!("has the code `{text}`; expected [a-z0-9_]{{1,64}}"));
        let codes: Vec<Code> = codes.iter().map(code).collect::<Result<_, _>>()?;
        if codes.len() > CODES_MAX {
            return Err(format!("has {} codes; at most {CODES_MAX} are allowed", codes.len()));
        }
        let fields: Vec<Field> = answers.fields().iter().map(|field| answered(field, input)).collect();
        Ok(Self { columns, answers: Arc::new(Schema::new(fields)), codes })
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

    /// An answered batch with the promised schema.
    ///
    /// # Errors
    /// Words that say which columns were promised.
    pub(crate) fn fit(&self, batch: &RecordBatch) -> Result<RecordBatch, String> {
        let (found, promised) = (batch.schema(), &self.answers);
        let same = |(a, b): (&Arc<Field>, &Arc<Field>)| a.name() == b.name() && a.data_type() == b.data_type();
        if found.fields().len() != promised.fields().len() || !found.fields().iter().zip(promised.fields()).all(same) {
            return Err(format!("answered with the columns {}; its plan promised {}", words(&found), words(promised)));
        }
        let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
        RecordBatch::try_new_with_options(promised.clone(), batch.columns().to_vec(), &options)
            .map_err(|error| format!("answered with a batch that is none: {error}"))
    }
}

/// An answered column may hold nulls, and keeps what is known of a column of the same name (its comment) where the guest says nothing.
fn answered(field: &Field, input: &Schema) -> Field {
    let known = input.field_with_name(field.name()).map(|f| f.metadata().clone()).unwrap_or_default();
    let metadata = if field.metadata().is_empty() { known } else { field.metadata().clone() };
    field.clone().with_nullable(true).with_metadata(metadata)
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

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::DataType;

    fn schema(names: &[&str]) -> Schema {
        Schema::new(names.iter().map(|name| Field::new(*name, DataType::Utf8, true)).collect::<Vec<_>>())
    }

    fn names(names: &[&str]) -> Vec<String> {
        names.iter().map(|name| (*name).to_owned()).collect()
    }

    #[test]
    fn answered_columns_take_their_place_and_new_ones_go_behind() {
        let input = schema(&["a", "b", "c"]);
        let plan = Plan::check(&names(&["c", "b"]), &schema(&["x", "b", "y"]), &[], &input).expect("fits");
        assert_eq!(plan.columns, [2, 1]);
        let (output, from) = plan.output(&input);
        assert_eq!(output.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["a", "b", "c", "x", "y"]);
        assert_eq!(from, [From::Input(0), From::Answer(1), From::Input(2), From::Answer(0), From::Answer(2)]);
    }

    #[test]
    fn what_does_not_fit_is_said() {
        let input = schema(&["a", "b"]);
        let check = |columns: &[&str], answers: &[&str], codes: &[&str]| {
            Plan::check(&names(columns), &schema(answers), &names(codes), &input).expect_err("refused")
        };
        assert_eq!(check(&["z"], &[], &[]), "asks for the column `z`, which is not there; there are: a, b");
        assert_eq!(check(&["a", "a"], &[], &[]), "asks for the column `a` twice");
        assert_eq!(check(&["a"], &["q", "q"], &[]), "answers with the column `q` twice");
        assert_eq!(check(&["a"], &[], &["Bad"]), "has the code `Bad`; expected [a-z0-9_]{1,64}");
    }
}
