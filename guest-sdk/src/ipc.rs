//! Arrow IPC streams, as they cross the border in the batch plane: a schema is a stream without batches, a batch is a stream with
//! exactly one.
//!
//! A batch is read without a copy: its arrays lie in the bytes that came in. Reading and writing are done here and not by `arrow-ipc`,
//! of which only the message formats are used, because its readers and writers make components of 1.7 MB. Types of columns that can
//! cross: null, boolean, integers, floats of 32 and 64 bits, decimals of 128 bits, dates, times, timestamps, text and binary in all
//! layouts, lists, structs and maps. Others (dictionaries, unions, intervals, ...) may be in the batch all the same: columns that the
//! plan does not name travel past.

/// Matches a data type: those of numbers call `$numbers!(type)`, then the arms that follow.
macro_rules! match_type {
    ($data_type:expr, $numbers:ident, { $($arms:tt)* }) => {{
        use arrow_array::types::*;
        use arrow_schema::{DataType::*, TimeUnit::*};
        match $data_type {
            Int8 => $numbers!(Int8Type),
            Int16 => $numbers!(Int16Type),
            Int32 => $numbers!(Int32Type),
            Int64 => $numbers!(Int64Type),
            UInt8 => $numbers!(UInt8Type),
            UInt16 => $numbers!(UInt16Type),
            UInt32 => $numbers!(UInt32Type),
            UInt64 => $numbers!(UInt64Type),
            Float32 => $numbers!(Float32Type),
            Float64 => $numbers!(Float64Type),
            Decimal128(..) => $numbers!(Decimal128Type),
            Date32 => $numbers!(Date32Type),
            Date64 => $numbers!(Date64Type),
            Time32(Second) => $numbers!(Time32SecondType),
            Time32(_) => $numbers!(Time32MillisecondType),
            Time64(Microsecond) => $numbers!(Time64MicrosecondType),
            Time64(_) => $numbers!(Time64NanosecondType),
            Timestamp(Second, _) => $numbers!(TimestampSecondType),
            Timestamp(Millisecond, _) => $numbers!(TimestampMillisecondType),
            Timestamp(Microsecond, _) => $numbers!(TimestampMicrosecondType),
            Timestamp(Nanosecond, _) => $numbers!(TimestampNanosecondType),
            $($arms)*
        }
    }};
}

mod decode;
mod encode;

use std::fmt;
use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::{fb_to_schema, schema_to_fb_offset};
use arrow_ipc::{Message, MessageBuilder, MessageHeader, MetadataVersion, root_as_message};
use arrow_schema::{ArrowError, Schema, SchemaRef};
use flatbuffers::{FlatBufferBuilder, UnionWIPOffset, WIPOffset};

/// What stands before each message.
const MARKER: [u8; 4] = [0xFF; 4];
/// What ends a stream: a marker, and no length.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];
/// Bodies and their buffers begin at multiples of this, which suits every type.
const ALIGNMENT: usize = 64;

/// Reads a schema.
///
/// # Errors
/// The bytes are no stream.
pub fn read_schema(bytes: &[u8]) -> Result<SchemaRef, ArrowError> {
    let (message, _) = split(bytes)?;
    let schema = message.header_as_schema().ok_or_else(|| broken("expected a schema, found another message"))?;
    Ok(Arc::new(fb_to_schema(schema)))
}

/// Writes a schema.
///
/// # Errors
/// It has a type that cannot be written.
pub fn write_schema(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    let mut bytes = head(schema)?;
    bytes.extend_from_slice(&END);
    Ok(bytes)
}

/// Reads batches. The schema is read again only when it differs from that of the batch before.
#[derive(Debug, Default)]
pub struct Reader {
    /// The message with the schema, and what it says.
    known: Option<(Vec<u8>, SchemaRef)>,
}

impl Reader {
    /// Reads a batch; takes the bytes and makes arrays of them in place.
    ///
    /// # Errors
    /// The bytes are no stream of one batch, or have a type that cannot be read.
    pub fn read(&mut self, bytes: Vec<u8>) -> Result<RecordBatch, ArrowError> {
        let bytes = Buffer::from_vec(bytes);
        let (schema, at) = self.schema(&bytes)?;
        let (message, len) = split(&bytes[at..])?;
        let batch = message.header_as_record_batch().ok_or_else(|| broken("expected a batch, found another message"))?;
        let body_len = usize::try_from(message.bodyLength()).map_err(|_| broken("a message has a wrong length"))?;
        let rest = bytes.get(at + len..).and_then(|rest| rest.get(body_len..));
        match rest {
            None => return Err(broken("a message is cut short")),
            Some([]) => {}
            Some(rest) if rest.starts_with(&END) => {}
            Some(_) => return Err(broken("expected one batch, found more")),
        }
        decode::batch(&batch, &bytes.slice_with_length(at + len, body_len), schema)
    }

    /// The schema that the stream begins with, and where it ends.
    fn schema(&mut self, bytes: &[u8]) -> Result<(SchemaRef, usize), ArrowError> {
        match &self.known {
            Some((head, schema)) if bytes.starts_with(head) => Ok((Arc::clone(schema), head.len())),
            _ => {
                let (_, len) = split(bytes)?;
                let schema = read_schema(bytes)?;
                self.known = Some((bytes[..len].to_vec(), Arc::clone(&schema)));
                Ok((schema, len))
            }
        }
    }
}

/// Writes batches of one schema.
pub struct Writer {
    /// The message with the schema, as every stream begins.
    head: Vec<u8>,
}

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

impl Writer {
    /// A writer for that schema.
    ///
    /// # Errors
    /// It has a type that cannot be written.
    pub fn new(schema: &Schema) -> Result<Writer, ArrowError> {
        head(schema).map(|head| Writer { head })
    }

    /// Writes a batch as a stream.
    ///
    /// # Errors
    /// It has a type that cannot be written.
    pub fn write(&self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let body = encode::Body::of(batch)?;
        let message = body.message(batch.num_rows());
        let mut bytes = Vec::with_capacity(self.head.len() + message.len() + body.len() + 2 * ALIGNMENT);
        bytes.extend_from_slice(&self.head);
        append(&mut bytes, &message);
        body.append(&mut bytes);
        bytes.extend_from_slice(&END);
        Ok(bytes)
    }
}

/// The message with a schema.
fn head(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    schema.fields().iter().try_for_each(|field| encode::check(field.data_type()))?;
    let mut builder = FlatBufferBuilder::new();
    let schema = schema_to_fb_offset(&mut builder, schema);
    let mut bytes = Vec::new();
    append(&mut bytes, &finish(builder, MessageHeader::Schema, schema.as_union_value(), 0));
    Ok(bytes)
}

/// The metadata of a message.
fn finish(
    mut builder: FlatBufferBuilder<'_>,
    kind: MessageHeader,
    header: WIPOffset<UnionWIPOffset>,
    body_len: usize,
) -> Vec<u8> {
    let mut message = MessageBuilder::new(&mut builder);
    message.add_version(MetadataVersion::V5);
    message.add_header_type(kind);
    message.add_bodyLength(body_len as i64);
    message.add_header(header);
    let root = message.finish();
    builder.finish(root, None);
    builder.finished_data().to_vec()
}

/// Appends the marker, the length and the metadata of a message, so that what follows is aligned.
fn append(bytes: &mut Vec<u8>, message: &[u8]) {
    let end = bytes.len() + MARKER.len() + size_of::<u32>() + message.len();
    let padding = end.next_multiple_of(ALIGNMENT) - end;
    bytes.extend_from_slice(&MARKER);
    // A message describes some columns; it has far less than 4 GiB.
    bytes.extend_from_slice(&((message.len() + padding) as u32).to_le_bytes());
    bytes.extend_from_slice(message);
    bytes.resize(bytes.len() + padding, 0);
}

/// The message that the bytes begin with, and the length of it with all that stands before its body.
fn split(bytes: &[u8]) -> Result<(Message<'_>, usize), ArrowError> {
    let Some(([m0, m1, m2, m3, l0, l1, l2, l3], rest)) = bytes.split_first_chunk() else {
        return Err(broken("a message is cut short"));
    };
    let len = u32::from_le_bytes([*l0, *l1, *l2, *l3]) as usize;
    if [*m0, *m1, *m2, *m3] != MARKER || len == 0 {
        return Err(broken("expected a message, found none"));
    }
    let message = rest.get(..len).ok_or_else(|| broken("a message is cut short"))?;
    let message = root_as_message(message).map_err(|error| broken(&error.to_string()))?;
    Ok((message, MARKER.len() + size_of::<u32>() + len))
}

fn broken(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}

#[cfg(test)]
mod tests;
