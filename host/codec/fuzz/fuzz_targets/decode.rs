//! Any bytes as the value of a record between two good ones: no panic, the neighbours are unharmed, every record gives a row or a
//! reject, and what is delivered is JSON to another parser too. Run with `cargo +nightly fuzz run decode` in `host/codec`.

#![no_main]

use libfuzzer_sys::fuzz_target;
use sluicebox_codec::{JsonDecoder, sample};
use sluicebox_core::Rejects;
use sluicebox_core::column::{Column, Kind, NamedTimeFormat, Pattern, TimeFormat};
use sluicebox_core::port::Decoder;

fn columns() -> Vec<Column> {
    let pattern = |written: &str| Pattern { written: written.to_owned(), regex: format!("^(?:{written})$") };
    let zone = || "Europe/Paris".to_owned();
    let mut columns = vec![
        Column::new("a", Kind::Text),
        Column::new("b", Kind::Variant),
        Column::new("c", Kind::Long),
        Column::new("d", Kind::Double),
        Column::new("e", Kind::Decimal { precision: 12, scale: 3 }),
        Column::new("f", Kind::Boolean { patterns: (pattern("1|y"), pattern("0|n")) }),
        Column::new("g", Kind::Date { format: TimeFormat::Auto }),
        Column::new("h", Kind::Timestamp { format: TimeFormat::Auto, zone: zone() }),
        Column::new("i", Kind::Timestamp { format: TimeFormat::Named(NamedTimeFormat::IsoDateTime), zone: zone() }),
        Column::new("j", Kind::Timestamp { format: TimeFormat::Pattern("d/M/yyyy[ HH:mm[:ss.SSS]] z".into()), zone: zone() }),
        Column::new("k", Kind::Byte),
        Column::new("s", Kind::Struct(vec![Column::new("x", Kind::Short), Column::new("y", Kind::Text)])),
    ];
    let mut list = Column::new("l", Kind::Struct(vec![Column::new("x", Kind::Text), Column::new("z", Kind::Long)]));
    list.array = true;
    columns.push(list);
    columns
}

fuzz_target!(|value: &[u8]| {
    let columns = columns();
    let mut decoder = JsonDecoder::new(&columns, &vec![true; columns.len()]).expect("a decoder");
    let good = br#"{"a":"neighbour","s":{"x":1},"l":[{"z":2}]}"#.as_slice();
    let mut rejects = Rejects::default();
    let records = sample::records([Some(good), Some(value), Some(good)]);
    let batch = decoder.decode(&records, 0, &mut rejects).expect("a batch");
    let rows: Vec<u32> = batch.rows.iter().collect();
    assert_eq!((rows.first(), rows.last()), (Some(&0), Some(&2)));
    assert_eq!(rows.len(), batch.columns.num_rows());
    assert!(!rejects.contains(0) && !rejects.contains(2));
    assert!(rows.contains(&1) || rejects.contains(1));
    let shallow = value.iter().filter(|byte| matches!(byte, b'[' | b'{')).count() < 100;
    if rows.contains(&1) && shallow {
        let json = value.strip_prefix(b"\xef\xbb\xbf").unwrap_or(value);
        assert!(serde_json::from_slice::<serde::de::IgnoredAny>(json).is_ok());
    }
});
