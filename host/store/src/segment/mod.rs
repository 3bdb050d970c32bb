//! The form of rows in the file.
//!
//! A segment is a header and chunks. A *small* segment, what a commit appends, has one chunk with all columns; a *big* one, what
//! compaction makes, has chunks per column, so that a query reads only the columns it names. A chunk lies in one or more parts, each
//! with a checksum.

pub(crate) mod big;
pub(crate) mod block;
pub(crate) mod codec;
pub(crate) mod cut;
pub(crate) mod small;
pub(crate) mod stats;

use crate::fault::{Fault, Result};
use crate::wire::{Reader, Writer};
use codec::Codec;
use stats::ColumnStats;

/// Which kind of segment.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Kind {
    /// All columns in one chunk.
    Small,
    /// Chunks per column.
    Big,
}

/// One part of a chunk: its length and its checksum.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Piece {
    pub len: u32,
    pub crc: u32,
}

/// Rows of one column (of all, in a small segment), encoded together.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Chunk {
    pub rows: u32,
    pub codec: Codec,
    /// Number of the first part; the others follow it.
    pub first_part: u64,
    pub pieces: Vec<Piece>,
}

impl Chunk {
    /// Numbers of its parts.
    pub fn parts(&self) -> std::ops::Range<u64> {
        self.first_part..self.first_part + self.pieces.len() as u64
    }

    /// Stored bytes.
    pub fn bytes(&self) -> u64 {
        self.pieces.iter().map(|p| u64::from(p.len)).sum()
    }

    pub fn write(&self, w: &mut Writer) {
        w.u32(self.rows);
        w.u8(self.codec as u8);
        w.u64(self.first_part);
        w.list(self.pieces.iter(), |w, piece| {
            w.u32(piece.len);
            w.u32(piece.crc);
        });
    }

    pub fn read(r: &mut Reader<'_>) -> Result<Self> {
        Ok(Self {
            rows: r.u32()?,
            codec: Codec::parse(r.u8()?)?,
            first_part: r.u64()?,
            pieces: r.list(|r| Ok(Piece { len: r.u32()?, crc: r.u32()? }))?,
        })
    }
}

/// What is known of a segment without reading its rows.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Header {
    pub kind: Kind,
    /// Version of the table's schema.
    pub version: u32,
    pub rows: u64,
    /// Least and one past the greatest offset of the records it was made from, over all partitions.
    pub offsets: (i64, i64),
    /// Times of the first and last commit that it holds rows of.
    pub committed: (i64, i64),
    /// Per column of the schema's version.
    pub columns: Vec<ColumnStats>,
    /// Small: one chunk. Big: the chunks of each column.
    pub chunks: Vec<Vec<Chunk>>,
}

impl Header {
    /// Stored bytes of the rows.
    pub fn bytes(&self) -> u64 {
        self.chunks.iter().flatten().map(Chunk::bytes).sum()
    }

    /// Numbers of all parts.
    pub fn parts(&self) -> impl Iterator<Item = u64> + '_ {
        self.chunks.iter().flatten().flat_map(Chunk::parts)
    }

    pub fn write(&self, w: &mut Writer) {
        w.u8(self.kind as u8);
        w.u32(self.version);
        w.u64(self.rows);
        for number in [self.offsets.0, self.offsets.1, self.committed.0, self.committed.1] {
            w.i64(number);
        }
        w.list(self.columns.iter(), |w, stats| stats.write(w));
        w.list(self.chunks.iter(), |w, chunks| w.list(chunks.iter(), |w, chunk| chunk.write(w)));
    }

    pub fn read(r: &mut Reader<'_>) -> Result<Self> {
        let kind = match r.u8()? {
            0 => Kind::Small,
            1 => Kind::Big,
            other => return Err(Fault::Broken(format!("unknown kind of segment {other}"))),
        };
        Ok(Self {
            kind,
            version: r.u32()?,
            rows: r.u64()?,
            offsets: (r.i64()?, r.i64()?),
            committed: (r.i64()?, r.i64()?),
            columns: r.list(ColumnStats::read)?,
            chunks: r.list(|r| r.list(Chunk::read))?,
        })
    }

    /// The value in the file.
    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        self.write(&mut w);
        w.sealed()
    }

    /// Reads the value in the file.
    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        Self::read(&mut Reader::sealed(bytes)?)
    }
}
