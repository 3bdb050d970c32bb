//! Compaction: neighbours among the segments of a table become one, in slices of a few milliseconds.
//!
//! A slice encodes some columns, outside any transaction, and inserts them as parts that no header names yet; they are listed as
//! unfinished, so that a crash leaves nothing behind. The last slice puts the new header in the place of the old ones in the same
//! transaction that deletes the old parts: a reader sees the old segments or the new one, the same rows either way.

use arrow_array::{ArrayRef, RecordBatch};
use arrow_select::concat::concat;
use redb::{ReadTransaction, ReadableTable, WriteTransaction};

use crate::catalog::{self, Entry};
use crate::commit::insert_parts;
use crate::fault::{Fault, Result};
use crate::layout::{CATALOG, PARTS, SEGMENTS, UNFINISHED, delete_parts};
use crate::plan::{ROWS_BIG, Size, next_merge};
use crate::scan::{Parts, read_column};
use crate::segment::block::Encoder;
use crate::segment::stats::ColumnStats;
use crate::segment::{Chunk, Header, Kind, big, small};
use crate::snapshot::headers;

/// Encoded bytes of one slice: what a disk takes in a few milliseconds.
const SLICE_BYTES: usize = 1 << 20;

/// A merge that is under way.
pub(crate) struct Merge {
    entry: Entry,
    sources: Vec<(u64, Header)>,
    /// Chunks of the columns that are done.
    done: Vec<Vec<Chunk>>,
    stats: Vec<ColumnStats>,
}

/// What one slice made, to be written in one transaction.
pub(crate) enum Slice {
    /// Chunks of some columns.
    Columns { columns: Vec<Vec<big::Encoded>>, stats: Vec<ColumnStats> },
    /// A whole small segment.
    Whole(Box<Header>, Vec<u8>),
}

/// Finds the next merge; `last` merges what is left too.
pub(crate) fn find(txn: &ReadTransaction, last: bool) -> Result<Option<Merge>> {
    let segments = txn.open_table(SEGMENTS)?;
    for entry in catalog::all(&txn.open_table(CATALOG)?)? {
        let all: Vec<(u64, Header)> = headers(&segments, &entry)?.into();
        let size = |(_, header): &(u64, Header)| Size { rows: header.rows, bytes: header.bytes(), big: header.kind == Kind::Big };
        let sizes: Vec<Size> = all.iter().map(size).collect();
        if let Some(range) = next_merge(&sizes, last) {
            let sources = all.into_iter().skip(range.start).take(range.len()).collect();
            return Ok(Some(Merge { entry, sources, done: Vec::new(), stats: Vec::new() }));
        }
    }
    Ok(None)
}

impl Merge {
    fn rows(&self) -> u64 {
        self.sources.iter().map(|(_, header)| header.rows).sum()
    }

    /// Reads and encodes the next slice.
    pub fn prepare(&self, txn: &ReadTransaction) -> Result<Slice> {
        let parts = txn.open_table(PARTS)?;
        let mut encoder = Encoder::new()?;
        if self.rows() < ROWS_BIG {
            return self.whole(&parts, &mut encoder);
        }
        let (mut columns, mut stats, mut bytes) = (Vec::new(), Vec::new(), 0);
        for index in self.done.len()..self.entry.schema().fields().len() {
            let array = self.column(&parts, index)?;
            let encoded = big::encode_column(&mut encoder, &array)?;
            bytes += encoded.iter().map(|chunk| chunk.bytes.len()).sum::<usize>();
            columns.push(encoded);
            stats.push(self.column_stats(index)?);
            if bytes >= SLICE_BYTES {
                break;
            }
        }
        Ok(Slice::Columns { columns, stats })
    }

    /// Writes a slice; `true` when the merge is done.
    pub fn write(&mut self, txn: &WriteTransaction, slice: &Slice) -> Result<Written> {
        match slice {
            Slice::Whole(header, bytes) => {
                let mut header = header.as_ref().clone();
                for chunk in header.chunks.iter_mut().flatten() {
                    chunk.first_part = insert_parts(txn, bytes, &chunk.pieces)?;
                }
                self.swap(txn, header)?;
                Ok(Written::All)
            }
            Slice::Columns { columns, stats } => {
                let placed = columns.iter().map(|chunks| place(txn, chunks)).collect::<Result<Vec<_>>>()?;
                let complete = self.done.len() + placed.len() == self.entry.schema().fields().len();
                if !complete {
                    let mut unfinished = txn.open_table(UNFINISHED)?;
                    for chunk in placed.iter().flatten() {
                        unfinished.insert(chunk.first_part, chunk.pieces.len() as u64)?;
                    }
                    return Ok(Written::Columns(placed, stats.clone()));
                }
                let all = |done: &[ColumnStats]| done.iter().chain(stats).cloned().collect();
                let header = self.header(Kind::Big, all(&self.stats), self.done.iter().cloned().chain(placed).collect());
                self.swap(txn, header)?;
                Ok(Written::All)
            }
        }
    }

    /// Takes note of columns whose transaction has been committed.
    pub fn written(&mut self, columns: Vec<Vec<Chunk>>, stats: Vec<ColumnStats>) {
        self.done.extend(columns);
        self.stats.extend(stats);
    }

    fn swap(&self, txn: &WriteTransaction, header: Header) -> Result<()> {
        let mut segments = txn.open_table(SEGMENTS)?;
        for (number, _) in &self.sources {
            if segments.remove((self.entry.id, *number))?.is_none() {
                return Err(Fault::Broken(format!("table {}, segment {number} is missing", self.entry.name)));
            }
        }
        if let Some((first, _)) = self.sources.first() {
            segments.insert((self.entry.id, *first), header.to_bytes().as_slice())?;
        }
        drop(segments);
        txn.open_table(UNFINISHED)?.retain(|_, _| false)?;
        delete_parts(txn, self.sources.iter().flat_map(|(_, header)| header.parts()))
    }

    fn header(&self, kind: Kind, columns: Vec<ColumnStats>, chunks: Vec<Vec<Chunk>>) -> Header {
        let sources = || self.sources.iter().map(|(_, header)| header);
        let least = |part: fn(&Header) -> i64| sources().map(part).min().unwrap_or(0);
        let most = |part: fn(&Header) -> i64| sources().map(part).max().unwrap_or(0);
        Header {
            kind,
            version: self.entry.version(),
            rows: self.rows(),
            offsets: (least(|h| h.offsets.0), most(|h| h.offsets.1)),
            committed: (least(|h| h.committed.0), most(|h| h.committed.1)),
            columns,
            chunks,
        }
    }

    /// Few rows stay together in one chunk.
    fn whole(&self, parts: &Parts, encoder: &mut Encoder) -> Result<Slice> {
        let schema = self.entry.schema();
        let columns = (0..schema.fields().len()).map(|index| self.column(parts, index)).collect::<Result<Vec<_>>>()?;
        let (made, bytes) = small::encode(encoder, self.entry.version(), &RecordBatch::try_new(schema, columns)?)?;
        Ok(Slice::Whole(Box::new(self.header(Kind::Small, made.columns, made.chunks)), bytes))
    }

    fn column(&self, parts: &Parts, index: usize) -> Result<ArrayRef> {
        let newest = self.entry.schema();
        let field = newest.field(index);
        let mut arrays = Vec::new();
        for (number, header) in &self.sources {
            let schema = self.entry.schema_of(header.version)?;
            let place = |fault: Fault| fault.at(format!("table {}, segment {number}", self.entry.name));
            arrays.extend(read_column(parts, header, schema, field.name(), field.data_type()).map_err(place)?);
        }
        let arrays: Vec<&dyn arrow_array::Array> = arrays.iter().map(AsRef::as_ref).collect();
        Ok(concat(&arrays)?)
    }

    fn column_stats(&self, index: usize) -> Result<ColumnStats> {
        let newest = self.entry.schema();
        let mut merged: Option<(u64, ColumnStats)> = None;
        for (_, header) in &self.sources {
            let found = self.entry.schema_of(header.version)?.index_of(newest.field(index).name()).ok();
            let absent = ColumnStats { nulls: header.rows, min: None, max: None };
            let stats = found.and_then(|at| header.columns.get(at)).unwrap_or(&absent);
            merged = Some(match merged {
                None => (header.rows, stats.clone()),
                Some((rows, so_far)) => (rows + header.rows, so_far.merge(rows, stats, header.rows)),
            });
        }
        Ok(merged.unwrap_or_default().1)
    }
}

/// What a slice's transaction holds.
pub(crate) enum Written {
    /// Some columns; more follow.
    Columns(Vec<Vec<Chunk>>, Vec<ColumnStats>),
    /// The merge is done.
    All,
}

fn place(txn: &WriteTransaction, chunks: &[big::Encoded]) -> Result<Vec<Chunk>> {
    chunks.iter().map(|chunk| Ok(chunk.placed(insert_parts(txn, &chunk.bytes, &chunk.pieces)?))).collect()
}

/// Deletes what an unfinished merge has left.
pub(crate) fn clean(txn: &WriteTransaction) -> Result<()> {
    let mut unfinished = txn.open_table(UNFINISHED)?;
    let mut numbers = Vec::new();
    for row in unfinished.iter()? {
        let (first, count) = row?;
        numbers.extend(first.value()..first.value() + count.value());
    }
    unfinished.retain(|_, _| false)?;
    delete_parts(txn, numbers)
}

/// Whether there is something to clean.
pub(crate) fn left_over(txn: &ReadTransaction) -> Result<bool> {
    Ok(txn.open_table(UNFINISHED)?.first()?.is_some())
}
