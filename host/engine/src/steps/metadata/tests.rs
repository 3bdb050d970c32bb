use arrow_array::Array;
use arrow_array::UInt32Array;
use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use sluicebox_core::batch::Rows;
use sluicebox_core::column::{Digest, METADATA_MARK, Privacy};
use sluicebox_core::record::{NO_TIMESTAMP, RecordRef, RecordsBuilder};

use super::super::sample::{partition, told};
use super::*;

/// Rows 0, 2 and 2 of three records.
fn batch() -> Batch {
    let mut builder = RecordsBuilder::default();
    let number = builder.partition(&partition(), 70);
    let mut push = |offset, timestamp, key| builder.push(number, RecordRef { offset, timestamp, key, value: Some(b"{}") });
    push(70, 1_500, Some(&b"a\xff"[..]));
    push(71, 0, None);
    push(75, NO_TIMESTAMP, Some(&b"john"[..]));
    for value in [&b"1"[..], b"2"] {
        builder.push_header(b"trace", Some(value));
    }
    builder.push_header(b"bin", Some(b"\xff\x00"));
    builder.push_header(b"none", None);
    let columns: ArrayRef = Arc::new(Int64Array::from(vec![1, 2, 3]));
    let columns = RecordBatch::try_from_iter([("n", columns)]).expect("a batch");
    Batch { columns, rows: Rows::Numbers(UInt32Array::from(vec![0, 2, 2])), records: Arc::new(builder.close()), closed_at: 0 }
}

fn key(privacy: Privacy) -> KeyProtect {
    KeyProtect::new(&privacy).expect("a rule")
}

fn appended(columns: &[Column], privacy: Privacy) -> (RecordBatch, Vec<String>) {
    let mut rejects = Rejects::default();
    let batch = append(batch(), columns, &key(privacy), &mut rejects).expect("columns");
    (batch.columns, told(&rejects))
}

#[test]
fn each_row_gets_what_kafka_knows_of_its_record() {
    let (columns, errors) = appended(&Column::ALL, Privacy::None);
    assert!(errors.is_empty());
    let names: Vec<_> = columns.schema().fields().iter().map(|f| f.name().clone()).collect();
    let expected = ["n", "_kafka_key", "_kafka_topic", "_kafka_partition", "_kafka_offset", "_kafka_timestamp", "_kafka_headers"];
    assert_eq!(names, expected);
    assert!(columns.schema().fields()[1..].iter().all(|f| f.metadata().contains_key(METADATA_MARK)));
    let keys: Vec<_> = columns.column(1).as_binary::<i32>().iter().collect();
    assert_eq!(keys, [Some(&b"a\xff"[..]), Some(b"john"), Some(b"john")]);
    assert_eq!(columns.column(2).as_string::<i32>().value(2), "orders");
    assert_eq!(columns.column(3).as_primitive::<Int32Type>().values(), &[3, 3, 3]);
    assert_eq!(columns.column(4).as_primitive::<Int64Type>().values(), &[70, 75, 75]);
    let times: Vec<_> = columns.column(5).as_primitive::<TimestampMicrosecondType>().iter().collect();
    assert_eq!(times, [Some(1_500_000), None, None]);
}

#[test]
fn b078_headers_keep_order_repeats_and_bytes() {
    let (columns, _) = appended(&[Column::Headers], Privacy::None);
    let headers = columns.column(1).as_list::<i32>();
    assert_eq!(headers.value(0).len(), 0);
    assert!(headers.is_valid(0));
    let of_row = headers.value(1);
    let names: Vec<_> = of_row.as_struct().column(0).as_string::<i32>().iter().flatten().map(str::to_owned).collect();
    assert_eq!(names, ["trace", "trace", "bin", "none"]);
    let values: Vec<_> = of_row.as_struct().column(1).as_binary::<i32>().iter().map(|v| v.map(<[u8]>::to_vec)).collect();
    assert_eq!(values, [Some(b"1".to_vec()), Some(b"2".to_vec()), Some(b"\xff\x00".to_vec()), None]);
}

#[test]
fn b175_a_key_with_a_rule_is_text_or_refuses_its_record_once() {
    let (columns, errors) = appended(&[Column::Key, Column::Headers], Privacy::Hash(Digest::Md5));
    assert!(errors.is_empty());
    let keys: Vec<_> = columns.column(1).as_string::<i32>().iter().flatten().collect();
    assert_eq!(keys[1..], ["527bd5b5d689e2c32ae974c6229ff785"; 2]);
    assert_eq!(columns.column(2).as_list::<i32>().value(1).len(), 4);

    let (columns, errors) = appended(&[Column::Key], Privacy::Email(Digest::Md5));
    assert_eq!(
        errors,
        [
            "0 _kafka_key privacy: the privacy rule cannot be applied: the value is no UTF-8 text",
            "2 _kafka_key privacy: the privacy rule cannot be applied: the value is no e-mail address",
        ]
    );
    assert_eq!(columns.column(1).null_count(), 3);
}

#[test]
fn only_the_wanted_columns_are_added() {
    assert_eq!(appended(&[], Privacy::None).0, batch().columns);
    let (columns, _) = appended(&[Column::Offset], Privacy::None);
    assert_eq!(columns.num_columns(), 2);
    assert_eq!(*columns.schema().field(1), fields(&[Column::Offset], &key(Privacy::None))[0]);
}
