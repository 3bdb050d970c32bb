//! Arrow IPC streams across the border.

use std::io::Cursor;
use std::panic::{AssertUnwindSafe, catch_unwind};

use arrow_array::RecordBatch;
use arrow_ipc::reader::StreamReader;
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{ArrowError, Schema, SchemaRef};

/// The most that an answer may hold.
const ANSWER_BYTES_MAX: usize = 64 << 20;

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
pub(super) fn read_schema(bytes: &[u8]) -> Result<SchemaRef, String> {
    guarded(|| Ok(StreamReader::try_new(Cursor::new(bytes), None)?.schema())).map_err(|error| format!("its schema is no Arrow IPC stream: {error}"))
}

/// Reads a stream with exactly one batch. Everything is checked: the bytes are foreign.
pub(super) fn read_batch(bytes: &[u8]) -> Result<RecordBatch, String> {
    if bytes.len() > ANSWER_BYTES_MAX {
        return Err(format!("answered with {} bytes, more than the {ANSWER_BYTES_MAX} allowed", bytes.len()));
    }
    let read = guarded(|| {
        let mut reader = StreamReader::try_new(Cursor::new(bytes), None)?;
        let first = reader.next().transpose()?;
        Ok((first, reader.next().is_some()))
    });
    match read.map_err(|error| format!("answered with bytes that are no Arrow IPC stream: {error}"))? {
        (Some(batch), false) => Ok(batch),
        (None, _) => Err("answered with an Arrow IPC stream without a batch".into()),
        (Some(_), true) => Err("answered with more than one batch".into()),
    }
}

/// Foreign bytes must not end the thread, whatever the library makes of them.
fn guarded<T>(read: impl FnOnce() -> Result<T, ArrowError>) -> Result<T, String> {
    match catch_unwind(AssertUnwindSafe(read)) {
        Ok(read) => read.map_err(|error| error.to_string()),
        Err(_) => Err("it is malformed".into()),
    }
}
