use arrow_array::cast::AsArray;
use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{Array, ArrayRef};
use sluicebox_core::column::{NamedTimeFormat, Pattern, Privacy, TimeFormat, Trim};

use super::*;
use crate::sample;

fn column(name: &str, kind: Kind) -> Column {
    Column::new(name, kind)
}

fn required(mut column: Column) -> Column {
    column.required = true;
    column
}

fn array(mut column: Column) -> Column {
    column.array = true;
    column
}

fn boolean() -> Kind {
    let pattern = |written: &str| Pattern { written: written.to_owned(), regex: format!("(?i)^(?:{written})$") };
    Kind::Boolean { patterns: (pattern("true|yes|[y1]|t"), pattern("false|no|[n0]|f")) }
}

struct Decoded {
    batch: Batch,
    rejects: Rejects,
}

impl Decoded {
    fn column(&self, name: &str) -> &ArrayRef {
        self.batch.columns.column_by_name(name).expect("the column")
    }

    fn texts(&self, name: &str) -> Vec<Option<&str>> {
        self.column(name).as_string::<i32>().iter().collect()
    }

    fn longs(&self, name: &str) -> Vec<Option<i64>> {
        self.column(name).as_primitive::<Int64Type>().iter().collect()
    }

    fn rows(&self) -> Vec<u32> {
        self.batch.rows.iter().collect()
    }

    /// Errors of a record as `path: code: message`.
    fn errors(&self, record: u32) -> Vec<String> {
        let errors = self.rejects.iter().filter(|(number, _)| *number == record).flat_map(|(_, errors)| errors);
        errors.map(|e| format!("{}: {}: {}", e.path, e.code, e.message)).collect()
    }
}

fn decode(columns: &[Column], values: &[&str]) -> Decoded {
    decode_bytes(columns, &values.iter().map(|value| Some(value.as_bytes())).collect::<Vec<_>>())
}

fn decode_bytes(columns: &[Column], values: &[Option<&[u8]>]) -> Decoded {
    let mut decoder = JsonDecoder::new(columns, &vec![true; columns.len()]).expect("a decoder");
    let mut rejects = Rejects::default();
    let batch = decoder.decode(&sample::records(values.iter().copied()), 0, &mut rejects).expect("a batch");
    Decoded { batch, rejects }
}

/// The one error of the one record.
fn error(columns: &[Column], value: &[u8]) -> String {
    let decoded = decode_bytes(columns, &[Some(value)]);
    let errors = decoded.errors(0);
    assert_eq!(errors.len(), 1, "{errors:?}");
    errors[0].clone()
}

#[test]
fn every_type_is_read() {
    let columns = [
        column("text", Kind::Text),
        column("raw", Kind::Variant),
        column("long", Kind::Long),
        column("short", Kind::Short),
        column("byte", Kind::Byte),
        column("double", Kind::Double),
        column("decimal", Kind::Decimal { precision: 9, scale: 2 }),
        column("truth", boolean()),
        column("day", Kind::Date { format: TimeFormat::Auto }),
        column("ts", Kind::Timestamp { format: TimeFormat::Auto, zone: "UTC".into() }),
    ];
    let decoded = decode(
        &columns,
        &[
            r#"{"text":"a\nb","raw":{"k": [1, 2.50, "\u00e9"]},"long":-5,"short":300,"byte":-7,"double":1.5,"decimal":12.3,"truth":true,"day":"2011-12-03","ts":"2011-12-03T10:15:30Z"}"#,
            r#"{ "ts" : null , "truth" : "No" , "byte" : "A" , "decimal" : "1e2", "double":"2.5", "short":"-3", "long":"12", "text" : 1.50 }"#,
        ],
    );
    assert_eq!(decoded.rejects, Rejects::default());
    assert_eq!(decoded.batch.rows, Rows::Same(2));
    assert_eq!(decoded.texts("text"), [Some("a\nb"), Some("1.50")]);
    assert_eq!(decoded.texts("raw"), [Some(r#"{"k": [1, 2.50, "\u00e9"]}"#), None]);
    assert_eq!(decoded.longs("long"), [Some(-5), Some(12)]);
    assert_eq!(decoded.column("short").as_primitive::<Int16Type>().values(), &[300, -3]);
    assert_eq!(decoded.column("byte").as_primitive::<Int8Type>().values(), &[-7, 65]);
    assert_eq!(decoded.column("double").as_primitive::<Float64Type>().values(), &[1.5, 2.5]);
    assert_eq!(decoded.column("decimal").as_primitive::<Decimal128Type>().values(), &[1230, 10_000]);
    assert_eq!(decoded.column("truth").as_boolean().iter().collect::<Vec<_>>(), [Some(true), Some(false)]);
    assert_eq!(decoded.column("day").as_primitive::<Date32Type>().iter().collect::<Vec<_>>(), [Some(15_311), None]);
    let times: Vec<_> = decoded.column("ts").as_primitive::<TimestampMicrosecondType>().iter().collect();
    assert_eq!(times, [Some(1_322_907_330_000_000), None]);
    let types: Vec<_> = columns.iter().map(Column::decoded_type).collect();
    assert_eq!(decoded.batch.columns.schema().fields().iter().map(|f| f.data_type().clone()).collect::<Vec<_>>(), types);
}

#[test]
fn structs_and_arrays_are_read_with_their_own_rules() {
    let item = vec![required(column("sku", Kind::Text)), column("n", Kind::Long)];
    let columns = [
        column("id", Kind::Long),
        column("place", Kind::Struct(vec![required(column("city", Kind::Text)), column("zip", Kind::Long)])),
        array(column("items", Kind::Struct(item))),
        array(column("tags", Kind::Text)),
    ];
    let decoded = decode(
        &columns,
        &[
            r#"{"id":1,"place":{"zip":7,"city":"Oslo"},"items":[{"sku":"a","n":1},{"n":2,"sku":"b"}],"tags":["x",null,"y"]}"#,
            r#"{"id":2,"place":null,"items":[],"tags":[]}"#,
            r#"{"id":3,"place":{},"items":[{"sku":"c"},{"n":"many"},7],"tags":"x"}"#,
            r#"{"id":4}"#,
        ],
    );
    assert_eq!(
        decoded.errors(2),
        [
            "place.city: required: is required",
            "items[1].n: type: cannot be converted to `long` with sl type `long`: \"many\"",
            "items[1].sku: required: is required",
            "items[2]: type: expected to be a struct but found number: 7",
            "tags: type: is not an array: \"x\"",
        ]
    );
    assert_eq!(decoded.rejects.len(), 1);
    let place = decoded.column("place").as_struct();
    assert_eq!((0..4).map(|row| place.is_null(row)).collect::<Vec<_>>(), [false, true, false, true]);
    assert_eq!(place.column(0).as_string::<i32>().iter().collect::<Vec<_>>(), [Some("Oslo"), None, None, None]);
    let items = decoded.column("items").as_list::<i32>();
    assert_eq!((0..4).map(|row| items.value_length(row)).collect::<Vec<_>>(), [2, 0, 3, 0]);
    assert!(items.is_null(3) && items.is_valid(1));
    let skus: Vec<_> = items.values().as_struct().column(0).as_string::<i32>().iter().collect();
    assert_eq!(skus, [Some("a"), Some("b"), Some("c"), None, None]);
    let tags = decoded.column("tags").as_list::<i32>();
    assert_eq!(tags.values().as_string::<i32>().iter().collect::<Vec<_>>(), [Some("x"), None, Some("y")]);
    assert!(tags.is_null(2));
}

#[test]
fn b006_one_value_of_the_wrong_type_costs_one_record() {
    let values: Vec<String> =
        (0..1_000).map(|n| if n == 500 { r#"{"n":[1]}"#.to_owned() } else { format!(r#"{{"n":{n}}}"#) }).collect();
    let decoded = decode(&[column("n", Kind::Long)], &values.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(decoded.rejects.iter().map(|(record, _)| record).collect::<Vec<_>>(), [500]);
    assert_eq!(decoded.errors(500), ["n: type: expected to be a long but found array: [1]"]);
    let expected: Vec<_> = (0..1_000).map(|n| (n != 500).then_some(n)).collect();
    assert_eq!(decoded.longs("n"), expected);
}

#[test]
fn b088_a_record_that_is_cut_short_costs_itself_only() {
    let values: Vec<String> =
        (0..100).map(|n| if n == 10 { r#"{"a":"x"#.to_owned() } else { format!(r#"{{"a":"v{n}"}}"#) }).collect();
    let decoded = decode(&[column("a", Kind::Text)], &values.iter().map(String::as_str).collect::<Vec<_>>());
    assert_eq!(decoded.batch.columns.num_rows(), 99);
    assert_eq!(decoded.rows()[..12], [0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 11, 12]);
    assert_eq!(decoded.texts("a")[9..11], [Some("v9"), Some("v11")]);
    assert_eq!(decoded.errors(10), ["a: syntax: string without its closing quote at byte 7"]);
}

#[test]
fn a_row_that_breaks_midway_leaves_nothing_behind() {
    let columns = [
        column("a", Kind::Text),
        array(column("l", Kind::Struct(vec![column("x", Kind::Text), array(column("y", Kind::Long))]))),
        column("s", Kind::Struct(vec![column("z", boolean())])),
        column("b", Kind::Text),
    ];
    let good = r#"{"a":"1","l":[{"x":"p","y":[1,2]},{"y":[3]}],"s":{"z":true},"b":"2"}"#;
    let whole = decode(&columns, &[good, good]);
    for cut in 1..good.len() {
        let decoded = decode(&columns, &[good, &good[..cut], good]);
        assert_eq!(decoded.batch.columns, whole.batch.columns, "cut at {cut}");
        assert_eq!(decoded.rows(), [0, 2], "cut at {cut}");
        assert_eq!(decoded.errors(1).len(), 1, "cut at {cut}");
    }
}

#[test]
fn a_tombstone_gives_no_row_and_no_reject() {
    let decoded = decode_bytes(&[column("a", Kind::Long)], &[Some(br#"{"a":1}"#), None, Some(br#"{"a":2}"#), Some(b"")]);
    assert_eq!(decoded.rows(), [0, 2]);
    assert_eq!(decoded.longs("a"), [Some(1), Some(2)]);
    assert_eq!(decoded.errors(3), [": syntax: the value is empty (zero bytes), expected a JSON object"]);
    assert_eq!(decoded.rejects.len(), 1);
}

#[test]
fn b004_a_fraction_never_goes_into_an_integer_column() {
    let values = [r#"{"price":100}"#, r#"{"price":99.5}"#, r#"{"price":1e2}"#];
    let decoded = decode(&[column("price", Kind::Long)], &values);
    assert_eq!(decoded.longs("price"), [Some(100), None, Some(100)]);
    assert_eq!(decoded.errors(1), ["price: type: cannot be converted to `long` with sl type `long`, not a whole number: 99.5"]);
    let doubles = decode(&[column("price", Kind::Double)], &values);
    assert_eq!(doubles.column("price").as_primitive::<Float64Type>().values(), &[100.0, 99.5, 100.0]);
    let exact = decode(&[column("price", Kind::Decimal { precision: 5, scale: 2 })], &values);
    assert_eq!(exact.column("price").as_primitive::<Decimal128Type>().values(), &[10_000, 9_950, 10_000]);
}

#[test]
fn b010_big_integers_keep_every_digit() {
    let columns = [column("device", Kind::Long), column("raw", Kind::Variant)];
    let decoded = decode(
        &columns,
        &[r#"{"device":9007199254740993,"raw":123456789012345678901234567890}"#, r#"{"device":9223372036854775808}"#],
    );
    assert_eq!(decoded.longs("device"), [Some(9_007_199_254_740_993), None]);
    assert_eq!(decoded.texts("raw")[0], Some("123456789012345678901234567890"));
    assert_eq!(
        decoded.errors(1),
        ["device: type: cannot be converted to `long` with sl type `long`, out of range: 9223372036854775808"]
    );
}

#[test]
fn b012_names_differ_by_case() {
    let decoded = decode(&[column("Id", Kind::Long), column("id", Kind::Long)], &[r#"{"id":2,"Id":1}"#]);
    assert_eq!((decoded.longs("Id"), decoded.longs("id")), (vec![Some(1)], vec![Some(2)]));
    assert!(JsonDecoder::new(&[column("a", Kind::Long), column("a", Kind::Text)], &[true, true]).is_err());
}

#[test]
fn b013_a_key_that_comes_twice_rejects_the_record_at_any_depth() {
    let columns =
        [column("amount", Kind::Long), column("v", Kind::Variant), column("s", Kind::Struct(vec![column("a", Kind::Long)]))];
    for (value, byte) in [
        (r#"{"amount":1,"amount":1000}"#, 12),
        (r#"{"amount":1,"\u0061mount":1000}"#, 12),
        (r#"{"x":1,"x":1}"#, 7),
        (r#"{"x":1,"amount":2,"\u0078":1}"#, 18),
        (r#"{"v":{"k":1,"k":2}}"#, 12),
        (r#"{"s":{"a":1,"a":2}}"#, 12),
        (r#"{"s":{"b":1,"b":2}}"#, 12),
        (r#"{"x":[{"y":{"k":1,"k":2}}]}"#, 18),
    ] {
        let decoded = decode(&columns, &[value]);
        assert_eq!(decoded.batch.columns.num_rows(), 0, "{value}");
        let told = decoded.errors(0);
        assert!(told[0].ends_with(&format!("syntax: duplicate key in an object at byte {byte}")), "{value}: {told:?}");
    }
    let fine = decode(&columns, &[r#"{"x":{"k":1},"y":{"k":1},"v":[{"k":1},{"k":2}]}"#]);
    assert_eq!(fine.rejects, Rejects::default());
}

#[test]
fn b013_many_undeclared_keys_cost_no_square() {
    let many: String = (0..200_000).map(|n| format!("\"k{n}\":0,")).collect();
    let good = format!("{{{many}\"a\":1}}");
    let bad = format!("{{{many}\"k77\":1}}");
    let decoded = decode(&[column("a", Kind::Long)], &[&good, &bad]);
    assert_eq!(decoded.longs("a"), [Some(1)]);
    assert_eq!(decoded.errors(1).len(), 1);
}

#[test]
fn b015_a_byte_order_mark_is_ignored_and_utf_16_is_named() {
    let columns = [column("a", Kind::Long)];
    let decoded = decode_bytes(&columns, &[Some(b"\xef\xbb\xbf{\"a\":1}"), Some(b"\xef\xbb\xbf")]);
    assert_eq!(decoded.longs("a"), [Some(1)]);
    let wide = |bytes: fn(u16) -> [u8; 2]| r#"{"a":1}"#.encode_utf16().flat_map(bytes).collect::<Vec<_>>();
    for value in [[vec![0xff, 0xfe], wide(u16::to_le_bytes)].concat(), wide(u16::to_be_bytes), wide(u16::to_le_bytes)] {
        assert_eq!(error(&columns, &value), ": syntax: the value is UTF-16, JSON must be UTF-8: let the producer write UTF-8");
    }
}

#[test]
fn b018_deep_nesting_is_rejected_wherever_it_is() {
    let columns = [column("n", Kind::Long), column("v", Kind::Variant), array(column("l", Kind::Text))];
    let deep = "[".repeat(100_000);
    let inside = |name: &str| format!("{{\"{name}\":{deep}");
    let values = [r#"{"n":1}"#, &deep, &inside("x"), &inside("v"), &inside("l"), &inside("n"), r#"{"n":2}"#];
    let decoded = decode(&columns, &values);
    assert_eq!(decoded.rows(), [0, 6]);
    assert_eq!(decoded.errors(1), [": syntax: expected a JSON object at the top, found an array"]);
    for record in 2..6 {
        assert!(decoded.errors(record)[0].contains("depth limit"), "{:?}", decoded.errors(record));
    }
    let nested = |levels: usize| format!("{{\"x\":{}{}}}", "[".repeat(levels), "]".repeat(levels));
    assert_eq!(decode(&columns, &[&nested(127)]).rejects.len(), 0);
    assert_eq!(decode(&columns, &[&nested(128)]).rejects.len(), 1);
}

#[test]
fn b020_b183_the_table_of_required_null_and_types() {
    let mut id = required(column("x", Kind::Long));
    let why = |column: &Column, value: &str| decode(std::slice::from_ref(column), &[value]).errors(0);
    assert_eq!(why(&id, r#"{"x":null}"#), ["x: required: can't be null"]);
    assert_eq!(why(&id, "{}"), ["x: required: is required"]);
    assert_eq!(why(&id, r#"{"x":""}"#), ["x: required: can't be null"]);
    for fine in [r#"{"x":1.0}"#, r#"{"x":1e2}"#, r#"{"x":"1"}"#] {
        assert_eq!(why(&id, fine), Vec::<String>::new(), "{fine}");
    }
    assert_eq!(why(&id, r#"{"x":1.5}"#).len(), 1);
    assert_eq!(why(&id, r#"{"x":true}"#), ["x: type: expected to be a long but found boolean: true"]);
    id.required = false;
    id.empty_is_null = false;
    assert_eq!(why(&id, r#"{"x":""}"#).len(), 1);
    assert_eq!(why(&id, r#"{"x":null}"#), Vec::<String>::new());
    let plain = decode(
        &[column("id", Kind::Long), column("age", Kind::Long), column("name", Kind::Text)],
        &[r#"{"id":1,"age":"abc","name":"A"}"#],
    );
    assert_eq!(plain.errors(0), ["age: type: cannot be converted to `long` with sl type `long`: \"abc\""]);
    assert_eq!((plain.longs("age"), plain.texts("name")), (vec![None], vec![Some("A")]));
}

#[test]
fn b050_an_envelope_is_named_unless_its_keys_are_declared() {
    let value = r#"{"schema":{"type":"struct"},"payload":{"id":1}}"#;
    let told = error(&[required(column("id", Kind::Long))], value.as_bytes());
    assert!(told.starts_with(": syntax: the value is an envelope {\"schema\", \"payload\"} of Kafka Connect"), "{told}");
    assert_eq!(decode(&[column("id", Kind::Long)], &[value, r#"{"id":1}"#]).rows(), [1]);
    let declared = decode(&[column("payload", Kind::Struct(vec![column("id", Kind::Long)]))], &[value]);
    assert_eq!(declared.rejects, Rejects::default());
    assert_eq!(decode(&[column("id", Kind::Long)], &[r#"{"schema":1,"payload":2,"id":3}"#]).longs("id"), [Some(3)]);
    let price = column("price", Kind::Decimal { precision: 9, scale: 2 });
    assert_eq!(
        error(&[price], br#"{"price":"E4g="}"#),
        "price: type: cannot be converted to `decimal` with sl type `decimal`: \"E4g=\""
    );
}

#[test]
fn the_prefix_of_a_registry_is_named_with_its_schema() {
    let told = error(&[column("a", Kind::Long)], b"\0\0\0\0\x2a{\"a\":1}");
    assert!(
        told.starts_with(": syntax: the value begins with the five-byte prefix of a schema registry (schema id 42)"),
        "{told}"
    );
}

#[test]
fn what_is_no_object_is_said() {
    for (value, found) in [
        ("[1]", "an array"),
        (" \"a\"", "a string"),
        ("12", "a number"),
        ("null", "null or a bare word"),
        ("  ", "white space only"),
    ] {
        assert_eq!(error(&[], value.as_bytes()), format!(": syntax: expected a JSON object at the top, found {found}"));
    }
    for (value, words) in [
        (r#"{"a":1}{"a":2}"#, "a second JSON document in one value at byte 7"),
        (r#"{"a":1}}"#, "unexpected bytes after the JSON object at byte 7"),
        (r#"{"a":NaN}"#, "bare word that is not true, false or null (NaN and Infinity are no JSON) at byte 5"),
        (r#"{"a":-Infinity}"#, "malformed number at byte 6"),
        (r#"{"a":1,}"#, "expected a key in double quotes at byte 7"),
        (r#"{"a" 1}"#, "expected : after a key at byte 5"),
        (r#"{"a":[1 2]}"#, "expected , or ] after a value at byte 8"),
        (r#"{"a":1 "b":2}"#, "expected , or } after a value at byte 7"),
        (r#"{"a":"\ud800"}"#, "lone surrogate in a string escape at byte 6"),
        (r#"{"a":"\x"}"#, "unknown or incomplete escape in a string at byte 6"),
        (r#"{"a":"#, "the JSON ends early at byte 5"),
        (r#"{"a":tru}"#, "bare word that is not true, false or null (NaN and Infinity are no JSON) at byte 5"),
    ] {
        let told = error(&[column("v", Kind::Variant)], value.as_bytes());
        assert_eq!(told, format!(": syntax: {words}"), "undeclared {value}");
        let declared = error(&[column("a", Kind::Variant)], value.as_bytes());
        assert!(declared.ends_with(words), "declared {value}: {declared}");
    }
}

#[test]
fn invalid_utf_8_costs_its_record_even_where_the_batch_joins_it() {
    let columns = [column("a", Kind::Text)];
    // The first value ends within a character whose second byte begins the next.
    let values: [Option<&[u8]>; 4] =
        [Some(b"{\"a\":\"x\"}\xc3"), Some(b"\xa9{\"a\":\"y\"}"), Some(b"{\"a\":\"\xff\"}"), Some("{\"a\":\"é\"}".as_bytes())];
    let decoded = decode_bytes(&columns, &values);
    assert_eq!(decoded.texts("a"), [Some("é")]);
    assert_eq!(decoded.errors(0), [": syntax: invalid UTF-8 at byte 9"]);
    assert_eq!(decoded.errors(1), [": syntax: invalid UTF-8 at byte 0"]);
    assert_eq!(decoded.errors(2), ["a: syntax: invalid UTF-8 at byte 6"]);
    let joined = decode_bytes(&columns, &values[..2]);
    assert_eq!(joined.errors(0), [": syntax: invalid UTF-8 at byte 9"]);
    assert_eq!(joined.errors(1), [": syntax: invalid UTF-8 at byte 0"]);
}

#[test]
fn trim_empty_and_default_come_in_their_order() {
    let mut city = column("city", Kind::Text);
    (city.trim, city.default) = (Trim::Both, Some("nowhere".into()));
    let mut n = column("n", Kind::Long);
    (n.trim, n.default) = (Trim::Left, Some("7".into()));
    let mut tags = array(column("tags", Kind::Text));
    tags.default = Some(r#"["a","b"]"#.into());
    let values = [r#"{"city":"  Oslo ","n":" 5","tags":["x"]}"#, r#"{"city":"   ","n":null}"#, "{}", r#"{"n":"5 "}"#];
    let decoded = decode(&[city.clone(), n.clone(), tags], &values);
    assert_eq!(decoded.texts("city"), [Some("Oslo"), Some("nowhere"), Some("nowhere"), Some("nowhere")]);
    assert_eq!(decoded.longs("n"), [Some(5), Some(7), Some(7), None]);
    assert_eq!(decoded.errors(3).len(), 1);
    let tags = decoded.column("tags").as_list::<i32>();
    assert_eq!((0..4).map(|row| tags.value_length(row)).collect::<Vec<_>>(), [1, 2, 2, 2]);
    n.default = Some("seven".into());
    let refused = JsonDecoder::new(&[n], &[true]).expect_err("a wrong default");
    assert_eq!(
        refused.message,
        "column `n`: the default does not fit the type: cannot be converted to `long` with sl type `long`: \"seven\""
    );
}

#[test]
fn columns_that_nothing_reads_are_checked_all_the_same() {
    let columns = [
        column("a", Kind::Text),
        required(column("b", Kind::Long)),
        array(column("c", Kind::Text)),
        column("d", Kind::Struct(vec![column("e", Kind::Text)])),
    ];
    let mut decoder = JsonDecoder::new(&columns, &[false, false, false, false]).expect("a decoder");
    for _ in 0..2 {
        let mut rejects = Rejects::default();
        let values = [r#"{"a":"x","b":1,"c":["p"],"d":{"e":"f"}}"#, r#"{"a":[],"c":1}"#, r#"{"b":2,"d":{"e":{}}}"#, "{"];
        let batch = decoder.decode(&sample::records(values.map(|v| Some(v.as_bytes()))), 5, &mut rejects).expect("a batch");
        assert_eq!((batch.columns.num_columns(), batch.columns.num_rows(), batch.closed_at), (0, 3, 5));
        let decoded = Decoded { batch, rejects };
        assert_eq!(
            decoded.errors(1),
            ["a: type: expected to be a string but found array: []", "c: type: is not an array: 1", "b: required: is required",]
        );
        assert_eq!(decoded.errors(2), ["d.e: type: expected to be a string but found object: {}"]);
    }
}

#[test]
fn what_a_rule_hides_is_in_no_message() {
    let mut card = column("card", Kind::Long);
    card.privacy = Privacy::Hide { text: String::new(), times: 1 };
    let mut inner = column("secret", Kind::Struct(vec![column("x", Kind::Long)]));
    inner.privacy = card.privacy.clone();
    let mut outer = column("outer", Kind::Struct(vec![card.clone()]));
    outer.array = true;
    let columns = [card, inner, outer];
    let decoded = decode(
        &columns,
        &[
            r#"{"card":"4111x","secret":{"x":"4111x"},"outer":[{"card":"4111x"},"4111x"]}"#,
            r#"{"card":"4111x","4111x":4111x}"#,
            r#"{"card":"4111x","secret":"4111x"#,
        ],
    );
    assert_eq!(decoded.errors(0).len(), 4);
    for (record, errors) in decoded.rejects.iter() {
        for error in errors {
            assert!(!error.message.contains("4111") && !error.path.contains("4111"), "{record}: {error:?}");
        }
    }
    assert_eq!(decoded.rejects.len(), 3);
}

#[test]
fn all_errors_of_a_record_are_told_up_to_a_bound() {
    let columns: Vec<_> = (0..100).map(|n| column(&format!("c{n}"), Kind::Long)).collect();
    let value: String = (0..100).map(|n| format!("\"c{n}\":\"x\"")).collect::<Vec<_>>().join(",");
    let decoded = decode(&columns, &[&format!("{{{value}}}")]);
    let errors = decoded.errors(0);
    assert_eq!(errors.len(), 21);
    assert!(errors[19].starts_with("c19: type"), "{}", errors[19]);
    assert_eq!(errors[20], ": type: and 80 more");
}

#[test]
fn names_with_quotes_spaces_and_many_columns_are_found() {
    let names = ["User Name", "a\"b", "back\\slash", "é", "select", "", "tab\t"];
    let mut columns: Vec<_> = names.iter().map(|name| column(name, Kind::Long)).collect();
    columns.extend((0..70).map(|n| column(&format!("c{n}"), Kind::Long)));
    let decoded = decode(&columns, &[r#"{"c69":8,"":6,"tab\t":7,"User Name":1,"a\"b":2,"back\\slash":3,"\u00e9":4,"select":5}"#]);
    assert_eq!(decoded.rejects, Rejects::default());
    let read: Vec<_> = names.iter().chain(["c69"].iter()).map(|name| decoded.longs(name)[0]).collect();
    assert_eq!(read, [1, 2, 3, 4, 5, 6, 7, 8].map(Some));
}

#[test]
fn b124_numbers_are_times_only_where_the_unit_is_declared() {
    let ts = |format| column("t", Kind::Timestamp { format, zone: "UTC".into() });
    let second = decode(&[ts(TimeFormat::EpochSecond)], &[r#"{"t":1700000000}"#, r#"{"t":"1700000000"}"#, r#"{"t":1.5}"#]);
    let times: Vec<_> = second.column("t").as_primitive::<TimestampMicrosecondType>().iter().collect();
    assert_eq!(times, [Some(1_700_000_000_000_000), Some(1_700_000_000_000_000), None]);
    for format in [TimeFormat::Auto, TimeFormat::Named(NamedTimeFormat::IsoInstant), TimeFormat::Pattern("yyyyMMdd".into())] {
        let told = error(&[ts(format)], br#"{"t":1700000000}"#);
        assert!(told.contains("a number needs the format epoch_second or epoch_milli"), "{told}");
    }
}

#[test]
fn bytes_shorts_doubles_and_truths_have_limits() {
    let wrong = |kind: Kind, value: &str| decode(&[column("x", kind)], &[&format!("{{\"x\":{value}}}")]).rejects.len();
    for (kind, values) in [
        (Kind::Byte, &["128", "-129", "\"12\"", "\"é\"", "1.5"][..]),
        (Kind::Short, &["32768", "\"-32769\"", "\"+1\""][..]),
        (Kind::Double, &["1e400", "\"NaN\"", "\"1,5\"", "\"1e400\"", "true"][..]),
        (Kind::Decimal { precision: 3, scale: 1 }, &["1.25", "100", "\"1.\""][..]),
        (boolean(), &["2", "\"maybe\"", "1.0"][..]),
    ] {
        for value in values {
            assert_eq!(wrong(kind.clone(), value), 1, "{kind:?} {value}");
        }
    }
    for (kind, values) in [
        (Kind::Byte, &["127", "-128", "\"~\"", "1e1"][..]),
        (Kind::Double, &["1e-400", "-0.0", "\".5\"", "12345678901234567890"][..]),
        (Kind::Decimal { precision: 3, scale: 1 }, &["99.9", "1.2500e1", "\"+9.9\""][..]),
        (boolean(), &["1", "0", "\"Y\"", "\"FALSE\""][..]),
    ] {
        for value in values {
            assert_eq!(wrong(kind.clone(), value), 0, "{kind:?} {value}");
        }
    }
    let mut int = column("x", Kind::Long);
    int.type_name = "int".into();
    assert_eq!(decode(&[int.clone()], &[r#"{"x":"+12"}"#]).longs("x"), [Some(12)]);
    int.type_name = "long".into();
    assert_eq!(decode(&[int], &[r#"{"x":"+12"}"#]).rejects.len(), 1);
}

#[test]
fn b131_years_outside_1_to_9999_are_refused_and_never_wrapped() {
    let ts = column("t", Kind::Timestamp { format: TimeFormat::Auto, zone: "UTC".into() });
    let decoded = decode(&[ts], &[r#"{"t":"9999-12-31T23:59:59Z"}"#, r#"{"t":"+12345-01-01T00:00:00Z"}"#]);
    let times: Vec<_> = decoded.column("t").as_primitive::<TimestampMicrosecondType>().iter().collect();
    assert_eq!(times, [Some(253_402_300_799_000_000), None]);
    assert!(decoded.errors(1)[0].contains("outside the years 1 to 9999"), "{:?}", decoded.errors(1));
}

#[test]
fn scripts_are_not_read_from_the_payload() {
    let mut total = column("total", Kind::Long);
    total.script = Some("a * 2".into());
    let mut decoder = JsonDecoder::new(&[column("a", Kind::Long), total], &[true, true]).expect("a decoder");
    assert_eq!(decoder.schema().fields().len(), 1);
    let mut rejects = Rejects::default();
    let batch = decoder.decode(&sample::records([Some(&br#"{"a":1,"total":"x"}"#[..])]), 0, &mut rejects).expect("a batch");
    assert_eq!((batch.columns.num_columns(), rejects.len()), (1, 0));
}

#[test]
fn a_batch_cut_anywhere_gives_the_same_rows() {
    let mut values: Vec<Vec<u8>> = (0..40)
        .map(|n| {
            let mut value = Vec::new();
            sample::big(n, &mut value);
            value
        })
        .collect();
    values[7] = b"{\"event_id\":".to_vec();
    values[9] = "{\"user_id\":\"é\",\"seq\":\"x\"}".as_bytes().to_vec();
    let columns = sample::big_columns();
    let mut decoder = JsonDecoder::new(&columns, &vec![true; columns.len()]).expect("a decoder");
    let mut read = |values: &[Vec<u8>], shift: u32| {
        let mut rejects = Rejects::default();
        let batch =
            decoder.decode(&sample::records(values.iter().map(|v| Some(v.as_slice()))), 0, &mut rejects).expect("a batch");
        let errors: Vec<_> = rejects.iter().map(|(record, errors)| (record + shift, errors.to_vec())).collect();
        (batch.columns, errors)
    };
    let (whole, errors) = read(&values, 0);
    assert_eq!((whole.num_rows(), errors.len()), (39, 2));
    for cut in 0..=values.len() {
        let (left, mut errors_left) = read(&values[..cut], 0);
        let (right, errors_right) = read(&values[cut..], cut as u32);
        let joined = arrow_select::concat::concat_batches(&whole.schema(), [&left, &right]).expect("joins");
        assert_eq!(joined, whole, "cut at {cut}");
        errors_left.extend(errors_right);
        assert_eq!(errors_left, errors, "cut at {cut}");
    }
}
