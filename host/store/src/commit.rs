//! The one transaction (invariant 2): rows, rejects, audit and positions of all deltas, or nothing.
//!
//! A delta is staged (its parts are inserted) and applied (its headers, positions and audit become visible). A commit that the store
//! decides does both at once; one that a Kafka transaction decides stages before it and applies after it, with the same code.

use redb::{ReadableTable, WriteTransaction};
use sluicebox_core::audit::AuditDelta;
use sluicebox_core::commit::{Delta, Segment};
use sluicebox_core::name::PipelineName;
use sluicebox_core::position::Advance;

use crate::audit;
use crate::fault::{Fault, Result};
use crate::layout::{COUNTERS, PARTS, SEGMENTS, SEQUENCES, take};
use crate::positions;
use crate::segment::{Header, Piece};
use crate::sink::header;

/// A delta whose parts are in the file and whose headers are not yet: seen by no query.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Staged {
    pub pipeline: PipelineName,
    pub advances: Vec<Advance>,
    /// Table number and header.
    pub headers: Vec<(u32, Header)>,
    pub audit: AuditDelta,
}

/// Inserts the parts of a delta. `rejected` is the segment of its rejects.
pub(crate) fn stage(txn: &WriteTransaction, delta: &Delta, rejected: Option<&Segment>) -> Result<Staged> {
    let offsets = offset_range(&delta.advances);
    let mut headers = Vec::new();
    for segment in delta.segments.iter().chain(rejected) {
        let (table, mut header) = header(segment)?;
        header.offsets = offsets;
        header.committed = (delta.audit.at, delta.audit.at);
        for chunk in header.chunks.iter_mut().flatten() {
            chunk.first_part = insert_parts(txn, &segment.bytes, &chunk.pieces)?;
        }
        headers.push((table, header));
    }
    let (pipeline, advances, audit) = (delta.pipeline.clone(), delta.advances.clone(), delta.audit.clone());
    Ok(Staged { pipeline, advances, headers, audit })
}

/// Makes a staged delta visible.
pub(crate) fn apply(txn: &WriteTransaction, staged: &Staged) -> Result<()> {
    positions::advance(txn, &staged.pipeline, &staged.advances)?;
    if !staged.headers.is_empty() {
        let first = take(&mut txn.open_table(COUNTERS)?, "segment", staged.headers.len() as u64)?;
        let mut segments = txn.open_table(SEGMENTS)?;
        for (number, (table, header)) in (first..).zip(&staged.headers) {
            segments.insert((*table, number), header.to_bytes().as_slice())?;
        }
    }
    audit::record(txn, &staged.pipeline, &staged.audit)
}

/// Inserts bytes as parts; gives the number of the first.
pub(crate) fn insert_parts(txn: &WriteTransaction, bytes: &[u8], pieces: &[Piece]) -> Result<u64> {
    let first = take(&mut txn.open_table(COUNTERS)?, "part", pieces.len() as u64)?;
    let mut parts = txn.open_table(PARTS)?;
    let mut rest = bytes;
    for (number, piece) in (first..).zip(pieces) {
        let (head, tail) =
            rest.split_at_checked(piece.len as usize).ok_or_else(|| Fault::Broken("a segment is cut short".into()))?;
        parts.insert(number, head)?;
        rest = tail;
    }
    Ok(first)
}

/// Gives the next sequence number of a pipeline out; `applied` says that its delta is applied in the same transaction.
pub(crate) fn next_sequence(txn: &WriteTransaction, pipeline: &PipelineName, applied: bool) -> Result<u64> {
    let mut sequences = txn.open_table(SEQUENCES)?;
    let (last, before) = sequences.get(pipeline.as_str())?.map_or((0, 0), |v| v.value());
    let next = last + 1;
    sequences.insert(pipeline.as_str(), (next, if applied { next } else { before }))?;
    Ok(next)
}

fn offset_range(advances: &[Advance]) -> (i64, i64) {
    let from = advances.iter().map(|a| a.from).min().unwrap_or(0);
    let to = advances.iter().map(|a| a.to).max().unwrap_or(0);
    (from, to)
}
