//! JSONTestSuite (Nicolas Seriot, MIT; its licence lies beside the files): what is JSON is delivered, what is not is rejected, what
//! is left to the parser has one answer, and the records beside it are unharmed.

use std::path::PathBuf;

use sluicebox_codec::{JsonDecoder, sample};
use sluicebox_core::Rejects;
use sluicebox_core::column::{Column, Kind};
use sluicebox_core::port::Decoder;

/// Files that are JSON, but break one of our rules: a key that comes twice.
const REFUSED: [&str; 2] = ["y_object_duplicated_key.json", "y_object_duplicated_key_and_value.json"];

/// Files that are left to the parser and that we deliver: numbers beyond a double, which a variant keeps as written. All others of
/// that kind (lone surrogates, invalid UTF-8, UTF-16, 500 levels, a byte order mark inside) are rejected.
const DELIVERED: [&str; 11] = [
    "i_number_double_huge_neg_exp.json",
    "i_number_huge_exp.json",
    "i_number_neg_int_huge_exp.json",
    "i_number_pos_double_huge_exp.json",
    "i_number_real_neg_overflow.json",
    "i_number_real_pos_overflow.json",
    "i_number_real_underflow.json",
    "i_number_too_big_neg_int.json",
    "i_number_too_big_pos_int.json",
    "i_number_very_big_negative_int.json",
    // Delivered where the mark begins the value.
    "i_structure_UTF-8_BOM_empty_object.json",
];

const GOOD: &[u8] = br#"{"v":"neighbour"}"#;

fn files() -> Vec<(String, Vec<u8>)> {
    let folder = PathBuf::from(env!("CARGO_MANIFEST_DIR")).join("tests/data/json-test-suite/test_parsing");
    let mut files: Vec<_> = std::fs::read_dir(folder)
        .expect("the folder")
        .map(|entry| {
            let entry = entry.expect("an entry");
            (entry.file_name().to_string_lossy().into_owned(), std::fs::read(entry.path()).expect("a file"))
        })
        .collect();
    files.sort();
    files
}

/// Whether the value between two good ones is delivered; the good ones always are.
fn delivered(name: &str, column: &str, value: &[u8]) -> bool {
    let mut decoder = JsonDecoder::new(&[Column::new(column, Kind::Variant)], &[true]).expect("a decoder");
    let mut rejects = Rejects::default();
    let records = sample::records([Some(GOOD), Some(value), Some(GOOD)]);
    let batch = decoder.decode(&records, 0, &mut rejects).expect("a batch");
    let rows: Vec<u32> = batch.rows.iter().collect();
    let middle = rows.contains(&1);
    assert!(rows.first() == Some(&0) && rows.last() == Some(&2), "{name}: {rows:?}");
    assert_eq!(rows.len(), if middle { 3 } else { 2 }, "{name}");
    let errors: Vec<_> = rejects.iter().map(|(record, errors)| (record, errors.len())).collect();
    assert_eq!(errors, if middle { vec![] } else { vec![(1, 1)] }, "{name}: {rejects:?}");
    middle
}

fn expected(name: &str) -> bool {
    (name.starts_with("y_") && !REFUSED.contains(&name)) || DELIVERED.contains(&name)
}

#[test]
fn each_file_inside_of_a_record() {
    let files = files();
    assert_eq!(files.len(), 318);
    for (name, bytes) in files {
        let wrapped = [b"{\"v\": ", bytes.as_slice(), b"}"].concat();
        let expected = expected(&name) && !name.contains("BOM");
        assert_eq!(delivered(&name, "v", &wrapped), expected, "{name} as a variant");
        assert_eq!(delivered(&name, "other", &wrapped), expected, "{name} undeclared");
    }
}

#[test]
fn each_file_that_is_an_object_as_the_record() {
    let objects = files().into_iter().filter(|(_, bytes)| {
        let text = bytes.strip_prefix(b"\xef\xbb\xbf").unwrap_or(bytes);
        text.trim_ascii_start().starts_with(b"{")
    });
    let mut count = 0;
    for (name, bytes) in objects {
        assert_eq!(delivered(&name, "v", &bytes), expected(&name), "{name}");
        count += 1;
    }
    assert!(count > 40, "{count}");
}
