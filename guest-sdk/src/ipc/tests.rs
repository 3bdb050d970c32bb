use std::sync::Arc;

use arrow_array::builder::{Int32Builder, ListBuilder, MapBuilder, StringBuilder};
use arrow_array::types::Int32Type;
use arrow_array::*;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema};

use super::{END, Reader, Writer, read_schema, write_schema};

/// A batch of five rows with every type of column that can cross.
fn batch() -> RecordBatch {
    let nulls = |row: i64| (row != 1).then_some(row);
    let numbers: Vec<_> = (0..5).map(nulls).collect();
    let texts = ["", "é", "x", "something longer than a view", "🙂"].map(|text| (text != "x").then_some(text)).to_vec();
    let mut lists = ListBuilder::new(StringBuilder::new());
    let mut maps = MapBuilder::new(None, StringBuilder::new(), Int32Builder::new());
    for (row, text) in texts.iter().enumerate() {
        for _ in 0..row {
            lists.values().append_option(*text);
            maps.keys().append_value("k");
            maps.values().append_option((row != 3).then_some(1));
        }
        lists.append(row != 2);
        maps.append(true).unwrap();
    }
    let ints = Int32Array::from_iter_values(0..10);
    let fixed = Field::new_list_field(DataType::Int32, true);
    let fixed = FixedSizeListArray::new(Arc::new(fixed), 2, Arc::new(ints), None);
    let booleans = BooleanArray::from(vec![Some(true), None, Some(false), Some(true), Some(true)]);
    let structure = StructArray::from(vec![
        (Arc::new(Field::new("n", DataType::Int64, true)), Arc::new(Int64Array::from(numbers.clone())) as ArrayRef),
        (Arc::new(Field::new("b", DataType::Boolean, true)), Arc::new(booleans.clone()) as ArrayRef),
    ]);
    let decimals = Decimal128Array::from_iter(numbers.iter().map(|n| n.map(i128::from))).with_precision_and_scale(12, 2).unwrap();
    let columns: Vec<(&str, ArrayRef)> = vec![
        ("int64", Arc::new(Int64Array::from(numbers.clone()))),
        ("int8", Arc::new(Int8Array::from(vec![1, 2, 3, 4, 5]))),
        ("uint16", Arc::new(UInt16Array::from(vec![1, 2, 3, 4, 5]))),
        ("float64", Arc::new(Float64Array::from(vec![1.5, f64::NAN.abs(), -0.0, f64::MAX, 0.0]))),
        ("decimal", Arc::new(decimals)),
        ("date", Arc::new(Date32Array::from(vec![Some(1), None, Some(3), None, Some(5)]))),
        ("timestamp", Arc::new(TimestampMicrosecondArray::from(numbers).with_timezone("UTC"))),
        ("boolean", Arc::new(booleans)),
        ("null", Arc::new(NullArray::new(5))),
        ("utf8", Arc::new(StringArray::from(texts.clone()))),
        ("large_utf8", Arc::new(LargeStringArray::from(texts.clone()))),
        ("utf8_view", Arc::new(StringViewArray::from(texts.clone()))),
        ("binary", Arc::new(BinaryArray::from_iter(texts.iter().map(|text| text.map(str::as_bytes))))),
        ("binary_view", Arc::new(BinaryViewArray::from_iter(texts.iter().map(|text| text.map(str::as_bytes))))),
        ("fixed_binary", Arc::new(FixedSizeBinaryArray::try_from_iter([b"ab", b"cd", b"ef", b"gh", b"ij"].iter()).unwrap())),
        ("list", Arc::new(lists.finish())),
        (
            "large_list",
            Arc::new(LargeListArray::from_iter_primitive::<Int32Type, _, _>((0..5).map(|n| Some(vec![Some(n); n as usize])))),
        ),
        ("fixed_list", Arc::new(fixed)),
        ("struct", Arc::new(structure)),
        ("map", Arc::new(maps.finish())),
    ];
    RecordBatch::try_from_iter_with_nullable(columns.into_iter().map(|(name, array)| (name, array, true))).unwrap()
}

fn slices() -> impl Iterator<Item = RecordBatch> {
    let batch = batch();
    (0..=5).flat_map(move |start| (0..=5 - start).map(move |len| (start, len))).map(move |(start, len)| batch.slice(start, len))
}

#[test]
fn writes_what_arrow_reads() {
    let writer = Writer::new(&batch().schema()).unwrap();
    for part in slices() {
        let bytes = writer.write(&part).unwrap();
        let read: Vec<_> = StreamReader::try_new(bytes.as_slice(), None).unwrap().map(Result::unwrap).collect();
        assert_eq!(format!("{read:?}"), format!("{:?}", [&part]));
    }
}

#[test]
fn reads_what_arrow_writes() {
    let mut reader = Reader::default();
    for part in slices() {
        let mut writer = StreamWriter::try_new(Vec::new(), &part.schema()).unwrap();
        writer.write(&part).unwrap();
        assert_eq!(format!("{:?}", reader.read(writer.into_inner().unwrap()).unwrap()), format!("{part:?}"));
    }
}

#[test]
fn reads_what_it_wrote_and_sees_another_schema() {
    let mut reader = Reader::default();
    for part in slices() {
        assert_eq!(reader.read(Writer::new(&part.schema()).unwrap().write(&part).unwrap()).unwrap().num_rows(), part.num_rows());
        let some = part.project(&[0, 9]).unwrap();
        assert_eq!(reader.read(Writer::new(&some.schema()).unwrap().write(&some).unwrap()).unwrap(), some);
    }
    let schema = batch().schema();
    assert_eq!(read_schema(&write_schema(&schema).unwrap()).unwrap(), schema);
}

#[test]
fn keeps_the_rows_of_a_batch_without_columns() {
    let schema = Arc::new(Schema::empty());
    let rows = RecordBatchOptions::new().with_row_count(Some(7));
    let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), vec![], &rows).unwrap();
    assert_eq!(Reader::default().read(Writer::new(&schema).unwrap().write(&batch).unwrap()).unwrap().num_rows(), 7);
}

#[test]
fn numbers_that_lie_askew_are_copied() {
    let batch = batch();
    let bytes = Writer::new(&batch.schema()).unwrap().write(&batch).unwrap();
    let mut askew = Vec::with_capacity(bytes.len() + 64);
    while (askew.as_ptr() as usize + askew.len()) % 8 != 1 {
        askew.push(0);
    }
    let skipped = askew.len();
    askew.extend_from_slice(&bytes);
    let buffer = arrow_buffer::Buffer::from_vec(askew).slice(skipped);
    let mut reader = Reader::default();
    let (schema, at) = reader.schema(&buffer).unwrap();
    let (message, len) = super::split(&buffer[at..]).unwrap();
    let read = super::decode::batch(&message.header_as_record_batch().unwrap(), &buffer.slice(at + len), schema).unwrap();
    assert_eq!(format!("{read:?}"), format!("{batch:?}"));
}

#[test]
fn refuses_broken_bytes() {
    let batch = batch();
    let head = write_schema(&batch.schema()).unwrap();
    let bytes = Writer::new(&batch.schema()).unwrap().write(&batch).unwrap();
    let read = |bytes: &[u8]| Reader::default().read(bytes.to_vec()).map_err(|error| error.to_string());
    assert_eq!(read(&head).unwrap_err(), "Ipc error: expected a message, found none");
    assert_eq!(read(&[]).unwrap_err(), "Ipc error: a message is cut short");
    for len in 0..bytes.len() - END.len() {
        assert!(read(&bytes[..len]).is_err());
    }
    let second = bytes.strip_prefix(head.strip_suffix(&END).unwrap()).unwrap();
    let two = [bytes.strip_suffix(&END).unwrap(), second].concat();
    assert_eq!(read(&two).unwrap_err(), "Ipc error: expected one batch, found more");
    assert!(read_schema(second).is_err());
    // No byte of the batch, whatever it becomes, may do more than an error.
    for at in head.len()..bytes.len() {
        let mut changed = bytes.clone();
        changed[at] ^= 0x81;
        let _ = read(&changed);
    }
}

#[test]
fn names_types_that_cannot_cross() {
    let dictionary = DataType::Dictionary(Box::new(DataType::Int32), Box::new(DataType::Utf8));
    let schema = Schema::new(vec![Field::new("d", dictionary, true)]);
    let error = Writer::new(&schema).unwrap_err().to_string();
    assert!(error.ends_with("columns of type Dictionary(Int32, Utf8) cannot be written"), "{error}");
}
