//! The decoder equals arrow-json on objects without duplicate keys whose values fit the declared types.

use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::types::TimestampMicrosecondType;
use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Field, Fields, Schema};
use proptest::prelude::*;
use serde_json::{Map, Value};
use sluicebox_codec::{JsonDecoder, sample};
use sluicebox_core::Rejects;
use sluicebox_core::column::{Column, Kind, Pattern, TimeFormat};
use sluicebox_core::port::Decoder;

fn kind() -> impl Strategy<Value = (Kind, bool)> {
    let pattern = |written: &str| Pattern { written: written.into(), regex: format!("^(?:{written})$") };
    let leaf = prop_oneof![
        Just(Kind::Text),
        Just(Kind::Long),
        Just(Kind::Short),
        Just(Kind::Byte),
        Just(Kind::Double),
        Just(Kind::Decimal { precision: 18, scale: 3 }),
        Just(Kind::Boolean { patterns: (pattern("true"), pattern("false")) }),
        Just(Kind::Date { format: TimeFormat::Auto }),
        Just(Kind::Timestamp { format: TimeFormat::Auto, zone: "UTC".into() }),
    ];
    let tree = leaf.prop_recursive(2, 12, 4, |inner| {
        prop::collection::vec((inner, any::<bool>()), 1..4).prop_map(|kinds| Kind::Struct(columns(kinds)))
    });
    (tree, any::<bool>())
}

fn columns(kinds: Vec<(Kind, bool)>) -> Vec<Column> {
    let named = kinds.into_iter().enumerate().map(|(index, (kind, array))| {
        let mut column = Column::new(format!("c{index}"), kind);
        (column.array, column.empty_is_null) = (array, false);
        column
    });
    named.collect()
}

/// A value of the column, or null.
fn value(column: &Column) -> BoxedStrategy<Value> {
    let one = of_kind(&column.kind);
    let value = if column.array {
        prop::collection::vec(prop_oneof![1 => Just(Value::Null), 5 => one], 0..4).prop_map(Value::Array).boxed()
    } else {
        one
    };
    prop_oneof![1 => Just(Value::Null), 6 => value].boxed()
}

fn of_kind(kind: &Kind) -> BoxedStrategy<Value> {
    match kind {
        Kind::Text | Kind::Variant => any::<String>().prop_map(Value::String).boxed(),
        Kind::Long => any::<i64>().prop_map(Value::from).boxed(),
        Kind::Short => any::<i16>().prop_map(Value::from).boxed(),
        Kind::Byte => any::<i8>().prop_map(Value::from).boxed(),
        Kind::Double => prop_oneof![
            prop::num::f64::NORMAL | prop::num::f64::ZERO | prop::num::f64::SUBNORMAL,
            (-1_000_000i32..1_000_000).prop_map(|n| f64::from(n) / 100.0),
        ]
        .prop_map(Value::from)
        .boxed(),
        Kind::Decimal { .. } => (-999_999_999i64..999_999_999, 0u32..1000)
            .prop_map(|(whole, part)| Value::String(format!("{whole}.{part:03}")))
            .boxed(),
        Kind::Boolean { .. } => any::<bool>().prop_map(Value::from).boxed(),
        Kind::Date { .. } => day().prop_map(Value::String).boxed(),
        Kind::Timestamp { .. } => timestamp().prop_map(Value::String).boxed(),
        Kind::Struct(children) => object(children),
    }
}

fn day() -> impl Strategy<Value = String> {
    (1i32..9999, 1u32..=12, 1u32..=28).prop_map(|(year, month, day)| format!("{year:04}-{month:02}-{day:02}"))
}

fn timestamp() -> impl Strategy<Value = String> {
    let offset = prop_oneof![Just("Z"), Just("+01:00"), Just("-09:30")];
    let fraction = prop_oneof![Just(String::new()), "\\.[0-9]{1,6}"];
    (day(), 0u32..24, 0u32..60, 0u32..60, fraction, offset)
        .prop_map(|(day, h, m, s, fraction, offset)| format!("{day}T{h:02}:{m:02}:{s:02}{fraction}{offset}"))
}

/// An object with some of the columns in any order, and fields that are not declared.
fn object(columns: &[Column]) -> BoxedStrategy<Value> {
    let declared: Vec<_> = columns.iter().map(|c| (Just(c.name.clone()), value(c), prop::bool::weighted(0.8))).collect();
    let undeclared = prop::collection::vec(("x[a-z]{0,3}", any::<String>()), 0..3);
    (declared, undeclared)
        .prop_flat_map(|(declared, undeclared)| {
            let fields: Vec<(String, Value)> = declared
                .into_iter()
                .filter(|(.., there)| *there)
                .map(|(name, value, _)| (name, value))
                .chain(undeclared.into_iter().map(|(name, text)| (name, serde_json::json!([{"deep": text}, null, 1.5]))))
                .collect();
            Just(fields).prop_shuffle()
        })
        .prop_map(|fields| Value::Object(fields.into_iter().collect::<Map<_, _>>()))
        .boxed()
}

/// JSON text: compact, with white space, or with everything beyond ASCII escaped.
fn written(value: &Value, style: u8) -> String {
    let compact = value.to_string();
    match style {
        0 => compact,
        1 => serde_json::to_string_pretty(value).expect("JSON"),
        _ => compact
            .chars()
            .map(|c| {
                let units = |c: char| c.encode_utf16(&mut [0; 2]).iter().map(|unit| format!("\\u{unit:04X}")).collect();
                // arrow-json 59 reads escaped pairs beyond U+1FFFF as another character, so those stay as they are.
                if c.is_ascii() || c > '\u{1ffff}' { c.to_string() } else { units(c) }
            })
            .collect(),
    }
}

/// The type with the zone written as an offset, which is all that arrow-json knows.
fn with_offset(kind: &DataType) -> DataType {
    let field = |field: &Field| field.clone().with_data_type(with_offset(field.data_type()));
    match kind {
        DataType::Timestamp(unit, Some(_)) => DataType::Timestamp(*unit, Some("+00:00".into())),
        DataType::List(item) => DataType::List(Arc::new(field(item))),
        DataType::Struct(fields) => DataType::Struct(fields.iter().map(|f| field(f)).collect::<Fields>()),
        other => other.clone(),
    }
}

fn by_arrow_json(columns: &[Column], rows: &[String]) -> RecordBatch {
    let fields: Vec<_> = columns.iter().map(|c| Field::new(&c.name, with_offset(&c.decoded_type()), true)).collect();
    let mut decoder = arrow_json::ReaderBuilder::new(Arc::new(Schema::new(fields))).build_decoder().expect("a decoder");
    for row in rows {
        assert_eq!(decoder.decode(row.as_bytes()).expect("JSON"), row.len());
    }
    decoder.flush().expect("values that fit").expect("rows")
}

/// Text of a column's cells: the same for both, whatever the zone is called.
fn cells(batch: &RecordBatch) -> Vec<arrow_array::ArrayRef> {
    batch.columns().iter().map(|array| renamed_zone(array)).collect()
}

fn renamed_zone(array: &arrow_array::ArrayRef) -> arrow_array::ArrayRef {
    let kind = with_offset(array.data_type());
    match &kind {
        DataType::Timestamp(..) => Arc::new(array.as_primitive::<TimestampMicrosecondType>().clone().with_data_type(kind)),
        DataType::List(item) => {
            let list = array.as_list::<i32>();
            let values = renamed_zone(list.values());
            Arc::new(arrow_array::ListArray::new(item.clone(), list.offsets().clone(), values, list.nulls().cloned()))
        }
        DataType::Struct(fields) => {
            let structs = array.as_struct();
            let children = structs.columns().iter().map(renamed_zone).collect();
            Arc::new(arrow_array::StructArray::new(fields.clone(), children, structs.nulls().cloned()))
        }
        _ => array.clone(),
    }
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(400))]

    #[test]
    fn the_same_columns_come_out(
        (columns, rows) in prop::collection::vec(kind(), 1..7).prop_map(columns).prop_flat_map(|columns| {
            let rows = prop::collection::vec((object(&columns), 0u8..3), 1..6);
            (Just(columns), rows)
        })
    ) {
        let rows: Vec<String> = rows.iter().map(|(value, style)| written(value, *style)).collect();
        let mut decoder = JsonDecoder::new(&columns, &vec![true; columns.len()]).expect("a decoder");
        let mut rejects = Rejects::default();
        let records = sample::records(rows.iter().map(|row| Some(row.as_bytes())));
        let batch = decoder.decode(&records, 0, &mut rejects).expect("a batch");
        prop_assert!(rejects.is_empty(), "{rejects:?} of {rows:?}");
        let expected = by_arrow_json(&columns, &rows);
        prop_assert_eq!(cells(&batch.columns), expected.columns().to_vec(), "{:?}", rows);
    }
}
