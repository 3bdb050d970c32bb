//! One Arrow IPC message without its schema, which the catalog knows: a header of 16 bytes, metadata, buffers.

use std::collections::HashMap;

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_ipc::reader::RecordBatchDecoder;
use arrow_ipc::root_as_message;
use arrow_ipc::writer::{DictionaryTracker, IpcDataGenerator, IpcWriteContext, IpcWriteOptions};
use arrow_ipc::{CompressionType, MetadataVersion};
use arrow_schema::{ArrowError, SchemaRef};

use crate::fault::{Fault, Result};
use crate::zero_copy::checked_before;

/// Everything in a block begins at a multiple of this, enough for every Arrow type.
const ALIGNMENT: usize = 16;
const HEAD: usize = 16;

/// Encodes batches; keeps its buffers from one to the next.
pub(crate) struct Encoder {
    options: IpcWriteOptions,
    context: IpcWriteContext,
}

impl Encoder {
    /// An encoder that compresses nothing: encoding costs a twentieth of compressing, and compaction compresses what pays.
    pub fn new() -> Result<Self, ArrowError> {
        Self::compressing(None)
    }

    /// An encoder that compresses each buffer.
    pub fn compressing(compression: Option<CompressionType>) -> Result<Self, ArrowError> {
        let options = IpcWriteOptions::try_new(ALIGNMENT, false, MetadataVersion::V5)?.try_with_compression(compression)?;
        Ok(Self { options, context: IpcWriteContext::default() })
    }

    /// The block of a batch.
    pub fn encode(&mut self, batch: &RecordBatch) -> Result<Vec<u8>, ArrowError> {
        let mut tracker = DictionaryTracker::new(false);
        let (dictionaries, message) =
            IpcDataGenerator::default().encode(batch, &mut tracker, &self.options, &mut self.context)?;
        if !dictionaries.is_empty() {
            return Err(ArrowError::NotYetImplemented("dictionaries in a table".into()));
        }
        let metadata = message.ipc_message;
        let body_at = (HEAD + metadata.len()).next_multiple_of(ALIGNMENT);
        let mut bytes = Vec::with_capacity(body_at + message.arrow_data.len());
        bytes.extend_from_slice(&(metadata.len() as u32).to_le_bytes());
        bytes.extend_from_slice(&(body_at as u32).to_le_bytes());
        bytes.extend_from_slice(&(message.arrow_data.len() as u64).to_le_bytes());
        bytes.extend_from_slice(&metadata);
        bytes.resize(body_at, 0);
        bytes.extend_from_slice(&message.arrow_data);
        Ok(bytes)
    }
}

/// Decodes a block whose checksum has matched: columns of `projection` in its order, over the bytes where they are aligned.
pub(crate) fn decode(bytes: &Buffer, schema: SchemaRef, projection: Option<&[usize]>) -> Result<RecordBatch> {
    let number = |at: usize| bytes.get(at..at + 4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes);
    let (Some(metadata_len), Some(body_at)) = (number(0), number(4)) else { return Err(malformed("no header")) };
    let metadata = bytes.get(HEAD..HEAD + metadata_len as usize).ok_or_else(|| malformed("no metadata"))?;
    if body_at as usize > bytes.len() {
        return Err(malformed("no body"));
    }
    let message = root_as_message(metadata).map_err(|e| malformed(&e.to_string()))?;
    let batch = message.header_as_record_batch().ok_or_else(|| malformed("no rows"))?;
    let body = bytes.slice(body_at as usize);
    let version = message.version();
    let dictionaries = HashMap::new();
    let decoder = RecordBatchDecoder::try_new(&body, batch, schema, &dictionaries, &version)?;
    Ok(decoder.with_projection(projection).with_skip_validation(checked_before()).read_record_batch()?)
}

fn malformed(what: &str) -> Fault {
    Fault::Broken(format!("malformed rows: {what}"))
}
