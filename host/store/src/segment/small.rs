//! Small segments: what a commit appends. Encoded on the lane, so that the commit only inserts bytes.

use arrow_array::RecordBatch;
use arrow_buffer::Buffer;
use arrow_schema::{ArrowError, SchemaRef};

use super::block::{self, Encoder};
use super::codec::Codec;
use super::cut::pieces;
use super::stats::ColumnStats;
use super::{Chunk, Header, Kind};
use crate::fault::Result;

/// Encodes rows. The header lacks what only the commit knows: part numbers, offsets and time.
pub(crate) fn encode(encoder: &mut Encoder, version: u32, batch: &RecordBatch) -> Result<(Header, Vec<u8>), ArrowError> {
    let bytes = encoder.encode(batch)?;
    let chunk = Chunk { rows: batch.num_rows() as u32, codec: Codec::Message, first_part: 0, pieces: pieces(&bytes) };
    let header = Header {
        kind: Kind::Small,
        version,
        rows: batch.num_rows() as u64,
        offsets: (0, 0),
        committed: (0, 0),
        columns: batch.columns().iter().map(ColumnStats::of).collect(),
        chunks: vec![vec![chunk]],
    };
    Ok((header, bytes))
}

/// Columns of a small segment, in the order of `projection`.
pub(crate) fn decode(bytes: &Buffer, schema: SchemaRef, projection: &[usize]) -> Result<RecordBatch> {
    block::decode(bytes, schema, Some(projection))
}
