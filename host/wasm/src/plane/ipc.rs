//! Arrow IPC streams across the border. What comes back is foreign: each length and place in it is checked before the library, which
//! trusts them, is given it.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::{RecordBatchDecoder, read_dictionary};
use arrow_ipc::writer::StreamWriter;
use arrow_ipc::{Message, MessageHeader, root_as_message};
use arrow_schema::{Schema, SchemaRef};

/// Stands before each message.
const MARKER: [u8; 4] = [0xFF; 4];
/// Values of a column that an answer may have, those of nested columns too.
const VALUES_MAX: i64 = 1 << 31;

/// A stream with a schema and at most one batch.
pub(super) fn write(schema: &Schema, batch: Option<&RecordBatch>) -> Result<Vec<u8>, String> {
    let mut bytes = Vec::new();
    let written = StreamWriter::try_new(&mut bytes, schema).and_then(|mut writer| {
        if let Some(batch) = batch {
            writer.write(batch)?;
        }
        writer.finish()
    });
    written.map(|()| bytes).map_err(|error| format!("a batch cannot be written for the guest: {error}"))
}

/// Reads a stream without batches.
pub(super) fn read_schema(bytes: Vec<u8>) -> Result<SchemaRef, String> {
    guarded(|| read(Buffer::from_vec(bytes)))
        .map(|stream| stream.schema)
        .map_err(|why| format!("its schema is no Arrow IPC stream: {why}"))
}

/// Reads a stream with exactly one batch, whose arrays lie in the bytes.
pub(super) fn read_batch(bytes: Vec<u8>) -> Result<RecordBatch, String> {
    let stream = guarded(|| read(Buffer::from_vec(bytes)));
    let mut batches = stream.map_err(|why| format!("answered with bytes that are no Arrow IPC stream: {why}"))?.batches;
    match (batches.pop(), batches.len()) {
        (Some(batch), 0) => Ok(batch),
        (found, others) => {
            Err(format!("answered with {} batches in its stream, expected one", others + usize::from(found.is_some())))
        }
    }
}

/// Foreign bytes must not end the thread, whatever the library makes of them.
fn guarded<T>(read: impl FnOnce() -> Result<T, String>) -> Result<T, String> {
    catch_unwind(AssertUnwindSafe(read)).unwrap_or_else(|_| Err("it is malformed".to_owned()))
}

struct Stream {
    schema: SchemaRef,
    batches: Vec<RecordBatch>,
}

fn read(bytes: Buffer) -> Result<Stream, String> {
    let mut rest = bytes;
    let (schema, _) = next(&mut rest)?.ok_or("it is empty")?;
    let schema = message(&schema)?.header_as_schema().map(fb_to_schema).ok_or("it does not begin with a schema")?;
    let mut stream = Stream { schema: Arc::new(schema), batches: Vec::new() };
    let mut dictionaries: HashMap<i64, ArrayRef> = HashMap::new();
    while let Some((head, body)) = next(&mut rest)? {
        let message = message(&head)?;
        let version = message.version();
        if let Some(batch) = message.header_as_record_batch() {
            check(&batch, body.len())?;
            let decoder = RecordBatchDecoder::try_new(&body, batch, stream.schema.clone(), &dictionaries, &version);
            let batch = decoder.and_then(RecordBatchDecoder::read_record_batch).map_err(|error| error.to_string())?;
            stream.batches.push(batch);
        } else if let Some(dictionary) = message.header_as_dictionary_batch() {
            check(&dictionary.data().ok_or("a dictionary has no values")?, body.len())?;
            read_dictionary(&body, dictionary, &stream.schema, &mut dictionaries, &version).map_err(|error| error.to_string())?;
        } else {
            return Err(format!("it has a message of type {:?}", message.header_type()));
        }
    }
    Ok(stream)
}

/// Takes the next message off the stream: metadata and body. `None` at the end, with or without its mark.
fn next(rest: &mut Buffer) -> Result<Option<(Buffer, Buffer)>, String> {
    if rest.is_empty() {
        return Ok(None);
    }
    let Some((prefix, after)) = rest.split_first_chunk::<8>() else { return Err("a message is cut short".to_owned()) };
    let [a, b, c, d, length @ ..] = *prefix;
    if [a, b, c, d] != MARKER {
        return Err("a message does not begin with its marker".to_owned());
    }
    let head_len = u32::from_le_bytes(length) as usize;
    if head_len == 0 {
        return Ok(None);
    }
    if head_len > after.len() {
        return Err("a message is cut short".to_owned());
    }
    let head = rest.slice_with_length(prefix.len(), head_len);
    let body_len = usize::try_from(message(&head)?.bodyLength()).map_err(|_| "a message has a wrong length")?;
    if body_len > after.len() - head_len {
        return Err("the body of a message is cut short".to_owned());
    }
    let body = rest.slice_with_length(prefix.len() + head_len, body_len);
    rest.advance(prefix.len() + head_len + body_len);
    Ok(Some((head, body)))
}

fn message(head: &Buffer) -> Result<Message<'_>, String> {
    let message = root_as_message(head).map_err(|error| error.to_string())?;
    match message.header_type() {
        MessageHeader::NONE => Err("a message has no header".to_owned()),
        _ => Ok(message),
    }
}

/// The library slices buffers as it is told and allocates what a compressed one claims to need.
fn check(batch: &arrow_ipc::RecordBatch<'_>, body_len: usize) -> Result<(), String> {
    if batch.compression().is_some() {
        return Err("it is compressed".to_owned());
    }
    let body_len = body_len as i64;
    let inside = |buffer: &arrow_ipc::Buffer| {
        let (from, len) = (buffer.offset(), buffer.length());
        from >= 0 && len >= 0 && from.checked_add(len).is_some_and(|end| end <= body_len)
    };
    if !batch.buffers().is_some_and(|buffers| buffers.iter().all(inside)) {
        return Err("a buffer lies outside the body of its message".to_owned());
    }
    let sound = |node: &arrow_ipc::FieldNode| {
        (0..=VALUES_MAX).contains(&node.length()) && (0..=node.length()).contains(&node.null_count())
    };
    if !(0..=VALUES_MAX).contains(&batch.length()) || !batch.nodes().is_some_and(|nodes| nodes.iter().all(sound)) {
        return Err("a length is out of bounds".to_owned());
    }
    Ok(())
}

#[cfg(test)]
mod tests;
