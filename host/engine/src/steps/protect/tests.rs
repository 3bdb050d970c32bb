use std::sync::Arc;

use arrow_array::builder::{Int64Builder, ListBuilder, StringBuilder};
use arrow_array::{BooleanArray, Decimal128Array, Float64Array, Int64Array, StringArray};
use arrow_buffer::{NullBuffer, OffsetBuffer};
use proptest::prelude::*;
use sluicebox_core::column::Digest;
use sluicebox_core::secret::Secret;

use super::super::sample::{batch, schema, told};
use super::*;

const SHA256_OF_1: &str = "6b86b273ff34fce19d6b804eff5a3f5747ada4eaa22f1d49c01e52ddb7875b4b";
const SHA256_OF_EMPTY: &str = "e3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855";

fn column(name: &str, kind: Kind, privacy: Privacy) -> Column {
    Column { privacy, ..Column::new(name, kind) }
}

fn sha256(name: &str, kind: Kind) -> Column {
    column(name, kind, Privacy::Hash(Digest::Sha256))
}

fn protect(columns: &[Column], batch: Batch) -> (Batch, Vec<String>) {
    let protect = Protect::new(columns, &schema(columns)).expect("rules");
    let mut rejects = Rejects::default();
    let batch = protect.apply(batch, &mut rejects).expect("applies");
    assert_eq!(batch.columns.schema(), protect.output_schema());
    (batch, told(&rejects))
}

fn texts(values: &ArrayRef) -> Vec<Option<&str>> {
    values.as_string::<i32>().iter().collect()
}

#[test]
fn b177_null_stays_null_and_equal_texts_have_equal_digests() {
    let boolean = Kind::Boolean {
        patterns: std::array::from_fn(|_| sluicebox_core::column::Pattern { written: "".into(), regex: "".into() }).into(),
    };
    let columns = [
        sha256("text", Kind::Text),
        sha256("long", Kind::Long),
        sha256("double", Kind::Double),
        sha256("decimal", Kind::Decimal { precision: 12, scale: 2 }),
        sha256("boolean", boolean),
        sha256("variant", Kind::Variant),
    ];
    let decimal = Decimal128Array::from(vec![None, Some(1250), Some(100), None]).with_precision_and_scale(12, 2);
    let values: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![None, Some(""), Some("1"), Some("null")])),
        Arc::new(Int64Array::from(vec![None, Some(2), Some(1), None])),
        Arc::new(Float64Array::from(vec![None, Some(1.5), Some(1e0), None])),
        Arc::new(decimal.expect("a decimal")),
        Arc::new(BooleanArray::from(vec![None, Some(false), Some(true), None])),
        Arc::new(StringArray::from(vec![None, Some(r#"{"a":1,"b":2}"#), Some(r#"{"b":2,"a":1}"#), Some("null")])),
    ];
    let (hidden, errors) = protect(&columns, batch(&columns, values));
    assert_eq!(errors, [""; 0]);
    let at = |column: usize| texts(hidden.columns.column(column));
    let null = "74234e98afe7498fb5daf1f36ac2d78acc339464f950703b8c019892f982b90b";
    assert_eq!(at(0), [None, Some(SHA256_OF_EMPTY), Some(SHA256_OF_1), Some(null)]);
    assert_eq!(at(1)[2], Some(SHA256_OF_1));
    assert_eq!(at(2), [None, Some("9f29a130438b81170b92a42650f9a94291ecad60bd47af2a3886e75f7f728725"), Some(SHA256_OF_1), None]);
    assert_eq!(at(3)[1], Some("6d6cc696c282286ecbb59a9456f8e0011c75dacba2739ee494778150e188dae1"));
    assert_eq!(at(4)[2], Some("b5bea41b6c623f7c09f1bf24dcae58ebab3c0cdd90ad966bc43a45b44867e12b"));
    // A variant is its text as written: another spelling is another digest.
    assert_ne!(at(5)[1], at(5)[2]);
    assert_eq!((at(5)[0], at(5)[3]), (None, Some(null)));
}

#[test]
fn b179_a_value_that_its_rule_cannot_hide_refuses_the_record_without_showing_it() {
    let columns = [
        column("email", Kind::Text, Privacy::Email(Digest::Sha256)),
        column("ip", Kind::Text, Privacy::IpV4(2)),
        Column::new("n", Kind::Long),
    ];
    let values: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec![Some("a@b.co"), Some("0612345678"), None])),
        Arc::new(StringArray::from(vec!["10.1.2.3", "top secret", "10.1"])),
        Arc::new(Int64Array::from(vec![1, 2, 3])),
    ];
    let (hidden, errors) = protect(&columns, batch(&columns, values));
    assert_eq!(
        errors,
        [
            "1 email privacy: the privacy rule cannot be applied: the value is no e-mail address",
            "1 ip privacy: the privacy rule cannot be applied: the value is no IPv4 address",
            "2 ip privacy: the privacy rule cannot be applied: the value is no IPv4 address",
        ]
    );
    assert_eq!(texts(hidden.columns.column(0))[1..], [None, None]);
    assert_eq!(texts(hidden.columns.column(1)), [Some("10.1.0.0"), None, None]);
    assert_eq!(hidden.columns.column(2).as_ref(), &Int64Array::from(vec![1, 2, 3]) as &dyn Array);
}

/// `person: [{mail (Email), ids: [long] (sha256), city -> town}]`.
fn person() -> Column {
    let mail = column("mail", Kind::Text, Privacy::Email(Digest::Md5));
    let ids = Column { array: true, ..sha256("ids", Kind::Long) };
    let city = Column { rename: Some("town".into()), ..Column::new("city", Kind::Text) };
    Column { array: true, rename: Some("people".into()), ..Column::new("person", Kind::Struct(vec![mail, ids, city])) }
}

fn persons() -> ArrayRef {
    let mut ids = ListBuilder::new(Int64Builder::new());
    for list in [&[1, 2][..], &[], &[1], &[]] {
        list.iter().for_each(|id| ids.values().append_value(*id));
        ids.append(true);
    }
    let DataType::List(element) = person().decoded_type() else { panic!("a list") };
    let DataType::Struct(fields) = element.data_type().clone() else { panic!("a struct") };
    let children: Vec<ArrayRef> = vec![
        Arc::new(StringArray::from(vec!["john@doe.com", "under a null", "no address", "john@x.fr"])),
        Arc::new(ids.finish()),
        Arc::new(StringArray::from(vec!["Oslo", "Rome", "Bern", "Lima"])),
    ];
    let structs = StructArray::new(fields, children, Some(NullBuffer::from(vec![true, false, true, true])));
    Arc::new(ListArray::new(element, OffsetBuffer::new(vec![0, 2, 3, 4].into()), Arc::new(structs), None))
}

#[test]
fn nested_columns_are_hidden_and_renamed_in_place() {
    let columns = [person()];
    let (hidden, errors) = protect(&columns, batch(&columns, vec![persons()]));
    assert_eq!(errors, ["1 person[0].mail privacy: the privacy rule cannot be applied: the value is no e-mail address"]);
    let schema = hidden.columns.schema();
    assert_eq!(schema.field(0).name(), "people");
    let expected = r#"List(Struct("mail": Utf8, "ids": List(Utf8), "town": Utf8))"#;
    assert_eq!(schema.field(0).data_type().to_string(), expected);
    let list = hidden.columns.column(0).as_list::<i32>();
    let first = list.value(0);
    let structs = first.as_struct();
    assert_eq!(texts(structs.column(0))[0], Some("527bd5b5d689e2c32ae974c6229ff785@doe.com"));
    assert!(structs.is_null(1) && structs.column(0).is_null(1));
    let ids = structs.column(1).as_list::<i32>().value(0);
    let two = "d4735e3a265e16eee03f59718b9b5d03019c07d8b6c51f90da3a666eec13ab35";
    assert_eq!(texts(&ids), [Some(SHA256_OF_1), Some(two)]);
    assert_eq!(texts(structs.column(2))[0], Some("Oslo"));
}

#[test]
fn rows_outside_of_a_slice_are_not_looked_at() {
    let columns = [person()];
    for (from, rows, refused) in [(0, 1, 0), (1, 1, 1), (2, 1, 0), (1, 2, 1), (3, 0, 0)] {
        let (hidden, errors) = protect(&columns, batch(&columns, vec![persons()]).slice(from, rows));
        assert_eq!(errors.len(), refused, "{from} {rows}");
        assert_eq!(hidden.columns.num_rows(), rows);
    }
}

#[test]
fn what_needs_no_rule_passes_untouched() {
    let columns = [Column { comment: Some("how many".into()), ..Column::new("n", Kind::Long) }];
    let values: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    let (passed, errors) = protect(&columns, batch(&columns, vec![values.clone()]));
    assert!(errors.is_empty() && Arc::ptr_eq(passed.columns.column(0), &values));
    assert_eq!(passed.columns.schema().field(0).metadata()["comment"], "how many");
}

#[test]
fn rules_that_can_never_be_applied_are_refused_at_start() {
    let refused = |column: Column| {
        Protect::new(std::slice::from_ref(&column), &schema(std::slice::from_ref(&column))).err().expect("refused").message
    };
    assert_eq!(
        refused(column("phone", Kind::Text, Privacy::HmacSha256(Secret::new("")))),
        "column phone: privacy: the key of hmac_sha256 is empty; expected one that nobody can guess"
    );
    assert_eq!(
        refused(sha256("a", Kind::Struct(vec![Column::new("b", Kind::Text)]))),
        "column a: privacy is not for a struct; put it on the columns inside"
    );
    assert!(Protect::new(&[Column::new("a", Kind::Text)], &schema(&[Column::new("a", Kind::Long)])).is_err());
}

#[test]
fn b175_a_key_is_hidden_or_refused() {
    let key = |privacy| KeyProtect::new(&privacy).expect("a rule");
    let sha256 = key(Privacy::Hash(Digest::Sha256));
    assert_eq!(sha256.apply(b"1").as_deref(), Ok(SHA256_OF_1));
    let binary = "ea5dbf9596d187e9500f23e9a680109475341cf4e81f7e043f7d97152c10772f";
    assert_eq!(sha256.apply(b"\xff\x00").as_deref(), Ok(binary));
    let keyed = key(Privacy::HmacSha256(Secret::new("k1")));
    assert_eq!(keyed.apply(b"0612345678").as_deref(), Ok("e503955db444193035443f8d9cedf4f56f64f5cd0a54fe9fb963d995f1788b91"));
    assert_eq!(keyed.apply(b"\xff\x00").as_deref(), Ok("cd2b33b223d87d98cbccecd1cc0180ce62cc33cae8865f7c8b872e355108d004"));
    assert_eq!(key(Privacy::Hide { text: "X".into(), times: 2 }).apply(b"\xff").as_deref(), Ok("XX"));
    let mask = key(Privacy::Mask { fill: '*', count: 2, left: 1, right: 1 });
    assert_eq!(mask.apply("Zoë".as_bytes()).as_deref(), Ok("Z**ë"));
    let words = "the privacy rule cannot be applied: the value is no UTF-8 text";
    assert_eq!(mask.apply(b"a\xffbc").err().as_deref(), Some(words));
    let words = "the privacy rule cannot be applied: the value is no e-mail address";
    assert_eq!(key(Privacy::Email(Digest::Md5)).apply(b"john").err().as_deref(), Some(words));
    assert!(!key(Privacy::None).protects() && key(Privacy::None).apply(b"raw").is_err());
}

proptest! {
    #[test]
    fn b177_a_split_batch_gives_the_same_rows(values in prop::collection::vec(prop::option::of("[a-c@.]{0,6}"), 1..30), at in 0usize..30) {
        let list = Column { array: true, ..column("list", Kind::Text, Privacy::Email(Digest::Md5)) };
        let mask = column("mask", Kind::Text, Privacy::Mask { fill: '*', count: 1, left: 1, right: 1 });
        let columns = [mask, list];
        let mut lists = ListBuilder::new(StringBuilder::new());
        for value in &values {
            lists.values().append_option(value.as_deref());
            lists.values().append_value("a@b.c");
            lists.append(value.is_some());
        }
        let whole = batch(&columns, vec![Arc::new(StringArray::from(values.clone())), Arc::new(lists.finish())]);
        let at = at.min(values.len());
        let (left, mut errors) = protect(&columns, whole.slice(0, at));
        let (right, more) = protect(&columns, whole.slice(at, values.len() - at));
        errors.extend(more);
        let (hidden, expected) = protect(&columns, whole);
        prop_assert_eq!(errors, expected);
        prop_assert_eq!(left.columns, hidden.columns.slice(0, at));
        prop_assert_eq!(right.columns, hidden.columns.slice(at, values.len() - at));
    }
}
