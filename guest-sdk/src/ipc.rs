//! Arrow IPC messages, as they cross the border in the batch plane.
//!
//! A schema and a batch are one encapsulated message each: continuation marker, length, metadata, body. A batch is read without a
//! copy: its arrays lie in the message that came in.

use std::collections::HashMap;
use std::fmt;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::convert::fb_to_schema;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_ipc::{Message, root_as_message};
use arrow_schema::{ArrowError, Schema, SchemaRef};

/// Length of the marker and the length that stand before the metadata.
const PREFIX: usize = 8;
const MARKER: [u8; 4] = [0xFF; 4];

/// Reads a schema.
///
/// # Errors
/// The bytes are no message with a schema.
pub fn read_schema(bytes: &[u8]) -> Result<Schema, ArrowError> {
    let (message, _) = split(bytes)?;
    message.header_as_schema().map(fb_to_schema).ok_or_else(|| broken("the message holds no schema"))
}

/// Writes a schema.
///
/// # Errors
/// It has a type that IPC cannot carry.
pub fn write_schema(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    StreamWriter::try_new(Vec::new(), schema).map(|writer| writer.get_ref().clone())
}

/// Reads a batch of that schema; takes the bytes and makes arrays of them in place.
///
/// # Errors
/// The bytes are no message with a batch, or do not fit the schema.
pub fn read_batch(bytes: Vec<u8>, schema: &SchemaRef) -> Result<RecordBatch, ArrowError> {
    let bytes = Buffer::from_vec(bytes);
    let (message, body) = split(&bytes)?;
    let batch = message.header_as_record_batch().ok_or_else(|| broken("the message holds no batch"))?;
    let body = bytes.slice(body);
    let none = HashMap::new();
    RecordBatchDecoder::try_new(&body, batch, SchemaRef::clone(schema), &none, &message.version())?.read_record_batch()
}

/// Writes batches of one schema.
pub struct Writer(StreamWriter<Vec<u8>>);

impl fmt::Debug for Writer {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Writer")
    }
}

impl Writer {
    /// A writer for that schema.
    ///
    /// # Errors
    /// It has a type that IPC cannot carry.
    pub fn new(schema: &Schema) -> Result<Writer, ArrowError> {
        StreamWriter::try_new(Vec::new(), schema).map(Writer)
    }

    /// Writes a batch as a message.
    ///
    /// # Errors
    /// The batch cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        *self.0.get_mut() = Vec::with_capacity(batch.get_array_memory_size().next_multiple_of(64) + 1024);
        self.0.write(batch)?;
        Ok(std::mem::take(self.0.get_mut()))
    }
}

/// The metadata of a message, and where its body begins.
fn split(bytes: &[u8]) -> Result<(Message<'_>, usize), ArrowError> {
    let Some((prefix, rest)) = bytes.split_first_chunk::<PREFIX>() else { return Err(broken("a message is cut short")) };
    let [marker @ .., a, b, c, d] = *prefix;
    let len = u32::from_le_bytes([a, b, c, d]) as usize;
    if marker != MARKER || len > rest.len() {
        return Err(broken("a message is cut short or does not begin with its marker"));
    }
    let message = root_as_message(&rest[..len]).map_err(|e| broken(&e.to_string()))?;
    Ok((message, PREFIX + len))
}

fn broken(what: &str) -> ArrowError {
    ArrowError::IpcError(what.to_owned())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{ArrayRef, Decimal128Array, Int64Array, RecordBatch, RecordBatchOptions, StringArray};
    use arrow_schema::{DataType, Field, Schema};

    use super::{Writer, read_batch, read_schema, write_schema};

    #[test]
    fn reads_what_it_wrote() {
        let decimals = Decimal128Array::from(vec![Some(1), None, Some(-3)]).with_precision_and_scale(12, 2).unwrap();
        let batch = RecordBatch::try_from_iter_with_nullable([
            ("n", Arc::new(Int64Array::from(vec![Some(1), None, Some(3)])) as ArrayRef, true),
            ("t", Arc::new(StringArray::from(vec![None, Some("é"), Some("")])) as ArrayRef, true),
            ("d", Arc::new(decimals) as ArrayRef, true),
        ])
        .unwrap();
        let schema = Arc::new(read_schema(&write_schema(&batch.schema()).unwrap()).unwrap());
        assert_eq!(schema, batch.schema());
        let mut writer = Writer::new(&schema).unwrap();
        for part in [batch.clone(), batch.slice(1, 2), batch.slice(0, 0)] {
            assert_eq!(read_batch(writer.write(&part).unwrap(), &schema).unwrap(), part);
        }
    }

    #[test]
    fn keeps_the_rows_of_a_batch_without_columns() {
        let schema = Arc::new(Schema::empty());
        let rows = RecordBatchOptions::new().with_row_count(Some(7));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), vec![], &rows).unwrap();
        let bytes = Writer::new(&schema).unwrap().write(&batch).unwrap();
        assert_eq!(read_batch(bytes, &schema).unwrap().num_rows(), 7);
    }

    #[test]
    fn refuses_broken_bytes() {
        let schema = Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true)]));
        let message = write_schema(&schema).unwrap();
        assert!(read_batch(message.clone(), &schema).is_err());
        assert!(read_schema(&message[..message.len() / 2]).is_err());
        assert!(read_schema(&[]).is_err());
        assert!(read_schema(&[0; 64]).is_err());
    }
}
