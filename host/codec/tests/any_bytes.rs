//! Any bytes as a value: no panic, neighbours unharmed, a row or a reject for each record, and what is delivered is JSON to another
//! parser too. The fuzz target asks the same for longer.

use proptest::prelude::*;
use sluicebox_codec::{JsonDecoder, sample};
use sluicebox_core::Rejects;
use sluicebox_core::column::{Column, Kind, TimeFormat};
use sluicebox_core::port::Decoder;

fn columns() -> Vec<Column> {
    let mut list = Column::new("l", Kind::Struct(vec![Column::new("x", Kind::Text), Column::new("z", Kind::Long)]));
    list.array = true;
    vec![
        Column::new("a", Kind::Text),
        Column::new("b", Kind::Variant),
        Column::new("c", Kind::Long),
        Column::new("d", Kind::Decimal { precision: 12, scale: 3 }),
        Column::new("t", Kind::Timestamp { format: TimeFormat::Auto, zone: "Europe/Paris".into() }),
        Column::new("s", Kind::Struct(vec![Column::new("x", Kind::Double)])),
        list,
    ]
}

const WHOLE: &str = r#"{"a":"\u00e9\ud83d\ude00x","b":[{"k":[1,2.5e3]},null,true],"c":-12,"d":1.250,"t":"2024-03-31T02:30:00.5","s":{"x":-0.0},"l":[{"x":"é","z":1},null],"u":{"v":[false,""]}}"#;

/// A whole record with bytes put in, taken out, or changed.
fn damaged() -> impl Strategy<Value = Vec<u8>> {
    let byte = prop_oneof![prop::sample::select(b"{}[]:,\"\\ue0-+.9tfn \n".to_vec()), any::<u8>()];
    prop::collection::vec((any::<prop::sample::Index>(), byte, 0u8..3), 0..4).prop_map(|edits| {
        let mut bytes = WHOLE.as_bytes().to_vec();
        for (place, byte, edit) in edits {
            let at = place.index(bytes.len());
            match edit {
                0 => bytes[at] = byte,
                1 => bytes.insert(at, byte),
                _ => drop(bytes.remove(at)),
            }
        }
        bytes
    })
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(6_000))]

    #[test]
    fn cost_at_most_their_own_record(value in prop_oneof![4 => damaged(), 1 => prop::collection::vec(any::<u8>(), 0..40)]) {
        let columns = columns();
        let mut decoder = JsonDecoder::new(&columns, &vec![true; columns.len()]).expect("a decoder");
        let mut rejects = Rejects::default();
        let whole = WHOLE.as_bytes();
        let records = sample::records([Some(whole), Some(value.as_slice()), Some(whole)]);
        let batch = decoder.decode(&records, 0, &mut rejects).expect("a batch");
        let rows: Vec<u32> = batch.rows.iter().collect();
        prop_assert_eq!((rows.first(), rows.last()), (Some(&0), Some(&2)));
        prop_assert_eq!(batch.columns.slice(0, 1), batch.columns.slice(rows.len() - 1, 1));
        prop_assert!(!rejects.contains(0) && !rejects.contains(2));
        prop_assert!(rows.contains(&1) || rejects.contains(1));
        let delivered = rows.contains(&1);
        prop_assert!(!delivered || serde_json::from_slice::<serde_json::Value>(&value).is_ok() || value.starts_with(b"\xef\xbb\xbf"));
    }
}
