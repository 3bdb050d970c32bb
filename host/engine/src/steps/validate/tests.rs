use std::sync::Arc;

use arrow_array::builder::{ListBuilder, StringBuilder};
use arrow_array::{Int64Array, ListArray, StringArray, StructArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use proptest::prelude::*;
use sluicebox_core::column::{Digest, Privacy};

use super::super::matcher::EMAIL;
use super::super::place::ERRORS_MAX;
use super::super::sample::{batch, schema, told, typed};
use super::*;

fn check(columns: &[Column], batch: &Batch) -> Rejects {
    let mut rejects = Rejects::default();
    Patterns::new(columns, &schema(columns)).expect("patterns").check(batch, &mut rejects);
    rejects
}

fn texts(values: &[Option<&str>]) -> ArrayRef {
    Arc::new(StringArray::from(values.to_vec()))
}

fn code() -> Column {
    typed("code", "code4", "[0-9]{4}")
}

#[test]
fn b181_a_partial_match_is_refused_in_the_words_of_the_type() {
    let columns = [code(), typed("pet", "pet", "cat|dog")];
    let codes = texts(&[Some("1234"), Some("abc1234x"), Some("1234\n"), None]);
    let pets = texts(&[Some("catalog"), Some("hotdog"), Some("dog"), Some("cat")]);
    assert_eq!(
        told(&check(&columns, &batch(&columns, vec![codes, pets]))),
        [
            "0 pet pattern: (pet) doesn't match pattern `cat|dog`: catalog",
            "1 code pattern: (code4) doesn't match pattern `[0-9]{4}`: abc1234x",
            "1 pet pattern: (pet) doesn't match pattern `cat|dog`: hotdog",
            "2 code pattern: (code4) doesn't match pattern `[0-9]{4}`: 1234\n",
        ]
    );
}

#[test]
fn b175_a_message_quotes_64_characters_and_nothing_of_a_protected_column() {
    let long = format!("{}{}", "é".repeat(64), "tail");
    let mut hidden = code();
    hidden.name = "hidden".into();
    hidden.privacy = Privacy::Hash(Digest::Sha256);
    let columns = [code(), hidden];
    let values = vec![texts(&[Some(&long)]), texts(&[Some(&long)])];
    let words = "(code4) doesn't match pattern `[0-9]{4}`";
    assert_eq!(
        told(&check(&columns, &batch(&columns, values))),
        [format!("0 code pattern: {words}: {}…", "é".repeat(64)), format!("0 hidden pattern: {words}")]
    );
}

#[test]
fn b183_empty_text_passes_plain_types_and_no_others() {
    let columns = [typed("s", "string", ".+"), typed("l", "longstring", ".+"), typed("u", "filled", ".+"), code()];
    let values = || texts(&[Some(""), None]);
    let found = check(&columns, &batch(&columns, vec![values(), values(), values(), values()]));
    assert_eq!(
        told(&found),
        ["0 u pattern: (filled) doesn't match pattern `.+`: ", "0 code pattern: (code4) doesn't match pattern `[0-9]{4}`: "]
    );
}

/// `a: [{b: [code], n}]`, with a null struct that has a wrong text under it.
#[test]
fn a_nested_value_is_named_by_its_path() {
    let mut inner = code();
    (inner.name, inner.array) = ("b".into(), true);
    let mut outer = Column::new("a", Kind::Struct(vec![Column::new("n", Kind::Long), inner.clone()]));
    outer.array = true;
    let columns = [outer];

    let mut lists = ListBuilder::new(StringBuilder::new());
    for list in [&["1234", "x"][..], &["y"], &[], &["z", "1111", "w"]] {
        list.iter().for_each(|text| lists.values().append_value(text));
        lists.append(true);
    }
    let arrow_schema::DataType::List(element) = columns[0].decoded_type() else { panic!("a list") };
    let arrow_schema::DataType::Struct(fields) = element.data_type().clone() else { panic!("a struct") };
    let valid = NullBuffer::from(vec![true, false, true, true]);
    let children: Vec<ArrayRef> = vec![Arc::new(Int64Array::from(vec![0; 4])), Arc::new(lists.finish())];
    let structs = StructArray::new(fields, children, Some(valid));
    let values: ArrayRef = Arc::new(ListArray::new(element, OffsetBuffer::new(vec![0, 2, 2, 4].into()), Arc::new(structs), None));

    let words = "(code4) doesn't match pattern `[0-9]{4}`";
    let whole = batch(&columns, vec![values]);
    let expected = [
        format!("0 a[0].b[1] pattern: {words}: x"),
        format!("2 a[1].b[0] pattern: {words}: z"),
        format!("2 a[1].b[2] pattern: {words}: w"),
    ];
    assert_eq!(told(&check(&columns, &whole)), expected);
    assert_eq!(told(&check(&columns, &whole.slice(1, 2))), expected[1..]);
}

#[test]
fn an_array_of_wrong_values_gives_a_bounded_list() {
    let mut many = code();
    many.array = true;
    let columns = [many.clone(), Column { name: "other".into(), ..many }];
    let mut lists = ListBuilder::new(StringBuilder::new());
    (0..1_000).for_each(|_| lists.values().append_value("x"));
    lists.append(true);
    let values: ArrayRef = Arc::new(lists.finish());
    let found = told(&check(&columns, &batch(&columns, vec![values.clone(), values])));
    assert_eq!(found.len(), 2 * (ERRORS_MAX + 1));
    assert_eq!(found[20], "0 code[20] pattern: wrong too, as others after it may be: 20 values of a column are listed");
    assert_eq!(found[21], "0 other[0] pattern: (code4) doesn't match pattern `[0-9]{4}`: x");
}

#[test]
fn a_pattern_that_does_not_compile_names_its_column() {
    let columns = [typed("code", "bad", "(")];
    let error = Patterns::new(&columns, &schema(&columns)).err().expect("refused");
    assert!(error.message.starts_with("column code: pattern `(`: "), "{error}");
}

proptest! {
    #[test]
    fn a_split_batch_gives_the_same_errors(values in prop::collection::vec("[0-9]{3,5}|[a-z]@b.co", 1..40), at in 0usize..40) {
        let columns = [code(), typed("email", "email", EMAIL)];
        let column: ArrayRef = Arc::new(StringArray::from(values.clone()));
        let whole = batch(&columns, vec![column.clone(), column]);
        let at = at.min(values.len());
        let mut parts = told(&check(&columns, &whole.slice(0, at)));
        parts.extend(told(&check(&columns, &whole.slice(at, values.len() - at))));
        prop_assert_eq!(parts, told(&check(&columns, &whole)));
    }
}

#[test]
fn what_lies_under_a_null_is_not_checked() {
    let columns = [Column { array: true, ..code() }];
    let mut lists = ListBuilder::new(StringBuilder::new());
    for text in ["x", "y"] {
        lists.values().append_value(text);
        lists.append(true);
    }
    let lists = lists.finish();
    let arrow_schema::DataType::List(element) = columns[0].decoded_type() else { panic!("a list") };
    let nulls = NullBuffer::from(vec![false, true]);
    let values: ArrayRef = Arc::new(ListArray::new(element, lists.offsets().clone(), lists.values().clone(), Some(nulls)));
    let words = "(code4) doesn't match pattern `[0-9]{4}`";
    assert_eq!(told(&check(&columns, &batch(&columns, vec![values]))), [format!("1 code[0] pattern: {words}: y")]);
}
