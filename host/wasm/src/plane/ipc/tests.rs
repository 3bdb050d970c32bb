use arrow_array::types::Int32Type;
use arrow_array::{DictionaryArray, Int64Array, ListArray, StringArray};
use arrow_ipc::{BodyCompressionBuilder, MessageBuilder, MetadataVersion, RecordBatchBuilder};
use flatbuffers::FlatBufferBuilder;

use super::*;

fn batch() -> RecordBatch {
    let list = ListArray::from_iter_primitive::<Int32Type, _, _>(
        (0..50).map(|i| (i % 7 != 0).then(|| (0..i % 5).map(Some).collect::<Vec<_>>())),
    );
    let words: DictionaryArray<Int32Type> = (0..50).map(|i| Some(if i % 2 == 0 { "even" } else { "odd" })).collect();
    RecordBatch::try_from_iter_with_nullable([
        ("n", Arc::new(Int64Array::from_iter((0..50).map(|i| (i % 3 != 0).then_some(i)))) as ArrayRef, true),
        ("t", Arc::new(StringArray::from_iter((0..50).map(|i| (i % 4 != 0).then(|| "é".repeat(i))))) as ArrayRef, true),
        ("l", Arc::new(list) as ArrayRef, true),
        ("d", Arc::new(words) as ArrayRef, true),
    ])
    .expect("a batch")
}

#[test]
fn what_was_written_is_read() {
    let batch = batch();
    for part in [batch.clone(), batch.slice(7, 20), batch.slice(3, 0)] {
        let bytes = write(&part.schema(), Some(&part)).expect("writes");
        assert_eq!(read_batch(bytes.clone()), Ok(part.clone()));
        // The mark at the end may be left out.
        assert_eq!(read_batch(bytes[..bytes.len() - 8].to_vec()), Ok(part));
    }
    let bytes = write(&batch.schema(), None).expect("writes");
    assert_eq!(read_schema(bytes.clone()), Ok(batch.schema()));
    assert_eq!(read_batch(bytes), Err("answered with 0 batches in its stream, expected one".to_owned()));
}

#[test]
fn more_than_one_batch_is_refused() {
    let batch = batch();
    let mut bytes = Vec::new();
    let mut writer = StreamWriter::try_new(&mut bytes, &batch.schema()).expect("begins");
    writer.write(&batch).and_then(|()| writer.write(&batch)).and_then(|()| writer.finish()).expect("writes");
    assert_eq!(read_batch(bytes), Err("answered with 2 batches in its stream, expected one".to_owned()));
}

/// A message without a body that says its body is compressed: what it unpacks to could be of any size.
#[test]
fn compressed_bodies_are_refused_unread() {
    let mut builder = FlatBufferBuilder::new();
    let compression = BodyCompressionBuilder::new(&mut builder).finish();
    let (nodes, buffers) = (builder.create_vector::<arrow_ipc::FieldNode>(&[]), builder.create_vector::<arrow_ipc::Buffer>(&[]));
    let mut batch = RecordBatchBuilder::new(&mut builder);
    batch.add_nodes(nodes);
    batch.add_buffers(buffers);
    batch.add_compression(compression);
    let batch = batch.finish();
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(MessageHeader::RecordBatch);
    message.add_header(batch.as_union_value());
    let message = message.finish();
    builder.finish(message, None);
    let head = builder.finished_data();
    let mut bytes = write(&Schema::empty(), None).expect("writes");
    bytes.truncate(bytes.len() - 8);
    bytes.extend([0xFF; 4].into_iter().chain((head.len() as u32).to_le_bytes()).chain(head.iter().copied()));
    assert_eq!(read_batch(bytes), Err("answered with bytes that are no Arrow IPC stream: it is compressed".to_owned()));
}

/// Every cut and every change of a byte gives a batch or an error, and neither a panic nor an allocation beyond reason.
#[test]
fn b159_no_bytes_harm_the_host() {
    std::panic::set_hook(Box::new(|_| {}));
    let whole = write(&batch().schema(), Some(&batch())).expect("writes");
    for len in 0..whole.len() - 8 {
        assert!(read_batch(whole[..len].to_vec()).is_err(), "{len}");
    }
    let mut escaped = 0;
    for at in 0..whole.len() {
        for value in [0x00, 0x01, 0x7F, 0x80, 0xFF] {
            let mut bytes = whole.clone();
            bytes[at] = value;
            escaped += usize::from(
                read_batch(bytes) == Err("answered with bytes that are no Arrow IPC stream: it is malformed".to_owned()),
            );
        }
    }
    let _ = std::panic::take_hook();
    // What the checks let through to the library and made it panic: few cases, and those are caught.
    assert!(escaped < whole.len() / 20, "{escaped} of {}", whole.len() * 5);
}
