//! Arrow IPC streams, as they cross the border in the batch plane: a schema is a stream without batches, a batch is a stream with
//! exactly one. A batch is read without a copy: its arrays lie in the bytes that came in.

use std::fmt;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::StreamDecoder;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};

/// What ends a stream: the marker of a message, and no length.
const END: [u8; 8] = [0xFF, 0xFF, 0xFF, 0xFF, 0, 0, 0, 0];

/// Reads a schema.
///
/// # Errors
/// The bytes are no stream.
pub fn read_schema(bytes: Vec<u8>) -> Result<SchemaRef, ArrowError> {
    let mut decoder = StreamDecoder::new();
    let mut bytes = Buffer::from_vec(bytes);
    if decoder.decode(&mut bytes)?.is_some() {
        return Err(broken("expected a schema, found a batch"));
    }
    decoder.schema().ok_or_else(|| broken("expected a schema, found none"))
}

/// Writes a schema.
///
/// # Errors
/// It has a type that IPC cannot carry.
pub fn write_schema(schema: &Schema) -> Result<Vec<u8>, ArrowError> {
    StreamWriter::try_new(Vec::new(), schema)?.into_inner()
}

/// Reads a batch; takes the bytes and makes arrays of them in place.
///
/// # Errors
/// The bytes are no stream of one batch.
pub fn read_batch(bytes: Vec<u8>) -> Result<RecordBatch, ArrowError> {
    let mut decoder = StreamDecoder::new();
    let mut bytes = Buffer::from_vec(bytes);
    let batch = decoder.decode(&mut bytes)?.ok_or_else(|| broken("expected a batch, found none"))?;
    match decoder.decode(&mut bytes)? {
        None => Ok(batch),
        Some(_) => Err(broken("expected one batch, found more")),
    }
}

/// Writes batches of one schema.
pub struct Writer {
    stream: StreamWriter<Vec<u8>>,
    /// The schema, as every stream begins.
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
    /// It has a type that IPC cannot carry.
    pub fn new(schema: &Schema) -> Result<Writer, ArrowError> {
        let mut stream = StreamWriter::try_new(Vec::new(), schema)?;
        let head = std::mem::take(stream.get_mut());
        Ok(Writer { stream, head })
    }

    /// Writes a batch as a stream.
    ///
    /// # Errors
    /// The batch cannot be written.
    pub fn write(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let bytes = self.stream.get_mut();
        bytes.reserve(self.head.len() + batch.get_array_memory_size() + 1024);
        bytes.extend_from_slice(&self.head);
        self.stream.write(batch)?;
        let mut bytes = std::mem::take(self.stream.get_mut());
        bytes.extend_from_slice(&END);
        Ok(bytes)
    }
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
        let schema = read_schema(write_schema(&batch.schema()).unwrap()).unwrap();
        assert_eq!(schema, batch.schema());
        let mut writer = Writer::new(&schema).unwrap();
        for part in [batch.clone(), batch.slice(1, 2), batch.slice(0, 0)] {
            assert_eq!(read_batch(writer.write(&part).unwrap()).unwrap(), part);
        }
    }

    #[test]
    fn keeps_the_rows_of_a_batch_without_columns() {
        let schema = Arc::new(Schema::empty());
        let rows = RecordBatchOptions::new().with_row_count(Some(7));
        let batch = RecordBatch::try_new_with_options(Arc::clone(&schema), vec![], &rows).unwrap();
        let bytes = Writer::new(&schema).unwrap().write(&batch).unwrap();
        assert_eq!(read_batch(bytes).unwrap().num_rows(), 7);
    }

    #[test]
    fn refuses_broken_bytes() {
        let schema = Schema::new(vec![Field::new("n", DataType::Int64, true)]);
        let head = write_schema(&schema).unwrap();
        assert!(read_batch(head.clone()).is_err());
        assert!(read_schema(head[..head.len() / 2].to_vec()).is_err());
        assert!(read_schema(Vec::new()).is_err());
        let batch = RecordBatch::new_empty(Arc::new(schema));
        let bytes = Writer::new(&batch.schema()).unwrap().write(&batch).unwrap();
        assert!(read_schema(bytes.clone()).is_err());
        assert!(read_batch(bytes[..bytes.len() - 9].to_vec()).is_err() || bytes.len() < 9);
        let more = [bytes.strip_suffix(&super::END).unwrap(), bytes.strip_prefix(head.strip_suffix(&super::END).unwrap()).unwrap()];
        assert_eq!(read_batch(more.concat()).unwrap_err().to_string(), "Ipc error: expected one batch, found more");
    }
}
