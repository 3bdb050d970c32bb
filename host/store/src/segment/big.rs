//! Big segments: what compaction makes. Each column has chunks of its own.

use arrow_array::{Array, ArrayRef};

use super::block::Encoder;
use super::codec::{self, Codec};
use super::cut::pieces;
use super::{Chunk, Piece};
use crate::fault::Result;

/// Bytes of values in a chunk before they are encoded: numbers then fill a run of 1 MiB, what compresses less.
const CHUNK_BYTES: usize = (1 << 20) - 4096;

/// An encoded chunk that has no part numbers yet.
pub(crate) struct Encoded {
    rows: u32,
    codec: Codec,
    pub bytes: Vec<u8>,
    pub pieces: Vec<Piece>,
}

impl Encoded {
    /// The chunk once its parts have numbers.
    pub fn placed(&self, first_part: u64) -> Chunk {
        Chunk { rows: self.rows, codec: self.codec, first_part, pieces: self.pieces.clone() }
    }
}

/// Encodes a column.
pub(crate) fn encode_column(encoder: &mut Encoder, array: &ArrayRef) -> Result<Vec<Encoded>> {
    let bytes = array.to_data().get_slice_memory_size()?;
    let count = bytes.div_ceil(CHUNK_BYTES).clamp(1, array.len().max(1));
    let rows = array.len().div_ceil(count).max(1);
    let chunk = |start: usize| {
        let slice = array.slice(start, rows.min(array.len() - start));
        let (codec, bytes) = codec::encode(encoder, &slice)?;
        Ok(Encoded { rows: slice.len() as u32, codec, pieces: pieces(&bytes), bytes })
    };
    (0..array.len()).step_by(rows).map(chunk).collect()
}
