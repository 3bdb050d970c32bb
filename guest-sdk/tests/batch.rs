//! Both roles of the batch plane, written as a user would, through the bytes that cross the border.

use std::sync::Arc;

use sluicebox_guest_sdk::arrow_array::cast::AsArray;
use sluicebox_guest_sdk::arrow_array::types::Int64Type;
use sluicebox_guest_sdk::arrow_array::{Array, ArrayRef, Int64Array, RecordBatch, StringArray};
use sluicebox_guest_sdk::arrow_schema::{DataType, Field, Schema};
use sluicebox_guest_sdk::batch::{Answer, Texts, Transform, Validator};
use sluicebox_guest_sdk::testing::{Host, logged};
use sluicebox_guest_sdk::{Context, Error, Rejects, Result, log};

/// Refuses texts longer than `max`.
struct Short {
    column: String,
    max: i64,
}

impl Validator for Short {
    const CODES: &[&str] = &["too_long"];

    fn open(context: &Context, schema: &Schema) -> Result<Self> {
        let max = context.settings.integer("max")?.ok_or("setting `max` is required")?;
        context.settings.finish()?;
        Texts::expect(schema, &context.column)?;
        Ok(Short { column: context.column.clone(), max })
    }

    fn validate(&self, batch: &RecordBatch, rejects: &mut Rejects) -> Result<()> {
        for (row, text) in Texts::of(batch.column(0))?.iter().enumerate() {
            if text.is_some_and(|text| text.chars().count() as i64 > self.max) {
                rejects.add(row, &self.column, "too_long", format!("more than {} characters", self.max));
            }
        }
        Ok(())
    }
}

/// Makes each row as many as its `n` says, numbered; refuses a negative one.
struct Repeat;

impl Transform for Repeat {
    const CODES: &[&str] = &["negative"];

    fn open(_: &Context, _: &Schema) -> Result<Self> {
        Ok(Repeat)
    }

    fn columns(&self) -> Vec<String> {
        vec!["n".to_owned()]
    }

    fn output(&self) -> Vec<Field> {
        vec![Field::new("copy", DataType::Int64, true)]
    }

    fn transform(&self, batch: &RecordBatch, rejects: &mut Rejects) -> Result<Answer> {
        let (mut copies, mut rows) = (Vec::new(), Vec::new());
        for (row, n) in batch.column(0).as_primitive::<Int64Type>().iter().enumerate() {
            let n = n.unwrap_or(0);
            if n < 0 {
                rejects.add(row, "n", "negative", "below zero");
            }
            for copy in 0..n {
                copies.push(copy);
                rows.push(row as u32);
            }
        }
        log::info("repeated");
        Ok(Answer::from_rows(vec![Arc::new(Int64Array::from(copies))], rows))
    }
}

fn batch() -> RecordBatch {
    RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(Int64Array::from(vec![Some(2), None, Some(-1), Some(1)])) as ArrayRef, true),
        ("note", Arc::new(StringArray::from(vec![Some("éé"), None, Some("abc"), Some("")])) as ArrayRef, true),
    ])
    .expect("a batch")
}

#[test]
fn a_validator_names_rows_and_codes() {
    let host = Host::with_settings(r#"{"max": 2}"#).on_column("note");
    let rejects = host.validate::<Short>(&batch()).unwrap();
    let found: Vec<_> = rejects.iter().map(|reject| (reject.row, reject.path.as_str(), reject.code.as_str())).collect();
    assert_eq!(found, [(2, "note", "too_long")]);
    assert_eq!(rejects[0].message, "more than 2 characters");
}

#[test]
fn a_transform_answers_with_rows_and_their_origin() {
    let answer = Host::with_settings("{}").transform::<Repeat>(&batch()).unwrap();
    assert_eq!(answer.origin, [0, 0, 3]);
    assert_eq!(answer.batch.schema().field(0).name(), "copy");
    assert_eq!(answer.batch.column(0).as_primitive::<Int64Type>().values(), &[0, 1, 0]);
    assert_eq!(answer.rejects.iter().map(|reject| reject.row).collect::<Vec<_>>(), [2]);
    assert_eq!(logged(), [(log::Level::Info, "repeated".to_owned())]);
    let empty = Host::with_settings("{}").transform::<Repeat>(&batch().slice(0, 0)).unwrap();
    assert_eq!(empty.batch.column(0).len(), 0);
}

fn words(error: Error) -> String {
    match error {
        Error::Fatal(words) => words,
        Error::Retry(words) => panic!("{words}"),
    }
}

#[test]
fn what_does_not_fit_is_told_when_opening() {
    for (settings, column, want) in [
        ("{}", "note", "setting `max` is required"),
        (r#"{"max":"x"}"#, "note", "setting `max` is a whole number, found \"x\""),
        (r#"{"max":1,"min":0}"#, "note", "unknown setting `min`: expected one of max"),
        (r#"{"max":1}"#, "n", "column `n` is Int64: expected text"),
        (r#"{"max":1}"#, "memo", "there is no column `memo`: expected one of n, note"),
        ("[", "note", "no JSON: a value is missing at byte 1"),
    ] {
        let error = Host::with_settings(settings).on_column(column).validate::<Short>(&batch()).unwrap_err();
        assert_eq!(words(error), want);
    }
}

/// Answers with a column that its plan does not have.
struct Wrong;

impl Transform for Wrong {
    fn open(_: &Context, _: &Schema) -> Result<Self> {
        Ok(Wrong)
    }

    fn columns(&self) -> Vec<String> {
        vec!["n".to_owned()]
    }

    fn output(&self) -> Vec<Field> {
        vec![Field::new("n", DataType::Utf8, true)]
    }

    fn transform(&self, batch: &RecordBatch, _: &mut Rejects) -> Result<Answer> {
        Ok(Answer::same(batch.columns().to_vec()))
    }
}

#[test]
fn an_answer_against_the_plan_is_an_error_with_words() {
    let words = words(Host::with_settings("{}").transform::<Wrong>(&batch()).unwrap_err());
    assert!(words.contains("expected Utf8 but found Int64"), "{words}");
}
