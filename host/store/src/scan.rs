//! A scan: the segments of one table one after the other, columns mapped to the newest schema, read as they are asked for.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch, RecordBatchOptions, new_null_array};
use arrow_buffer::{Buffer, MutableBuffer};
use arrow_schema::{DataType, SchemaRef};
use redb::ReadOnlyTable;

use crate::catalog::Entry;
use crate::fault::{Fault, Result};
use crate::segment::{Chunk, Header, Kind, codec, small};
use crate::zero_copy;

/// Rows of a batch from a big segment: what a query engine likes to get.
const BATCH_ROWS: usize = 8192;

pub(crate) type Parts = ReadOnlyTable<u64, &'static [u8]>;

/// Reads the bytes of a chunk, verifies them, and copies only when they lie in more than one part.
pub(crate) fn read_chunk(parts: &Parts, chunk: &Chunk) -> Result<Buffer> {
    let read = |number: u64, crc: u32| {
        let value = parts.get(number)?.ok_or_else(|| Fault::Broken(format!("part {number} is missing")))?;
        if crc32fast::hash(value.value()) != crc {
            return Err(Fault::Broken(format!("the checksum of part {number} does not match")));
        }
        Ok(value)
    };
    if let [piece] = chunk.pieces.as_slice() {
        return Ok(zero_copy::buffer(read(chunk.first_part, piece.crc)?));
    }
    let mut whole = MutableBuffer::with_capacity(chunk.bytes() as usize);
    for (number, piece) in chunk.parts().zip(&chunk.pieces) {
        whole.extend_from_slice(read(number, piece.crc)?.value());
    }
    Ok(whole.into())
}

/// One column of a segment, in as many arrays as it has chunks. Columns that the segment's schema lacks are null.
pub(crate) fn read_column(
    parts: &Parts,
    header: &Header,
    schema: &SchemaRef,
    name: &str,
    data_type: &DataType,
) -> Result<Vec<ArrayRef>> {
    let Some((index, _)) = schema.column_with_name(name) else {
        return Ok(vec![new_null_array(data_type, header.rows as usize)]);
    };
    match header.kind {
        Kind::Small => {
            let bytes = read_chunk(parts, small_chunk(header)?)?;
            Ok(vec![small::decode(&bytes, schema.clone(), &[index])?.column(0).clone()])
        }
        Kind::Big => {
            let chunks = header.chunks.get(index).ok_or_else(|| Fault::Broken("a column has no chunks".into()))?;
            chunks.iter().map(|chunk| codec::decode(chunk.codec, read_chunk(parts, chunk)?, data_type)).collect()
        }
    }
}

fn small_chunk(header: &Header) -> Result<&Chunk> {
    header.chunks.first().and_then(|chunks| chunks.first()).ok_or_else(|| Fault::Broken("a segment has no rows".into()))
}

/// The batches of a table.
pub(crate) struct TableScan {
    parts: Parts,
    entry: Entry,
    segments: VecDeque<(u64, Header)>,
    /// Columns of the newest schema that are wanted, and their schema.
    wanted: Vec<usize>,
    output: SchemaRef,
    big: Option<BigCursor>,
}

impl TableScan {
    pub fn new(parts: Parts, entry: Entry, segments: VecDeque<(u64, Header)>, projection: Option<&[usize]>) -> Result<Self> {
        let schema = entry.schema();
        let wanted: Vec<usize> = projection.map_or_else(|| (0..schema.fields().len()).collect(), <[usize]>::to_vec);
        let output = Arc::new(schema.project(&wanted)?);
        Ok(Self { parts, entry, segments, wanted, output, big: None })
    }

    /// The next batch.
    pub fn next_batch(&mut self) -> Result<Option<RecordBatch>> {
        loop {
            if let Some(cursor) = &mut self.big {
                let batch = cursor.next(&self.parts, &self.output).map_err(|e| place(&self.entry, cursor.number, e))?;
                if batch.is_some() {
                    return Ok(batch);
                }
                self.big = None;
            }
            let Some((number, header)) = self.segments.pop_front() else { return Ok(None) };
            if self.wanted.is_empty() {
                return Ok(Some(count_only(&self.output, header.rows as usize)?));
            }
            match header.kind {
                Kind::Small => return self.small(&header).map(Some).map_err(|e| place(&self.entry, number, e)),
                Kind::Big => {
                    let cursor = BigCursor::new(number, header, &self.entry, &self.output);
                    self.big = Some(cursor.map_err(|e| place(&self.entry, number, e))?);
                }
            }
        }
    }

    fn small(&self, header: &Header) -> Result<RecordBatch> {
        let schema = self.entry.schema_of(header.version)?;
        let places: Vec<Option<usize>> = self.output.fields().iter().map(|f| schema.index_of(f.name()).ok()).collect();
        let present: Vec<usize> = places.iter().flatten().copied().collect();
        let bytes = read_chunk(&self.parts, small_chunk(header)?)?;
        let mut found = small::decode(&bytes, schema.clone(), &present)?.columns().to_vec().into_iter();
        let column = |(place, field): (Option<usize>, &Arc<arrow_schema::Field>)| {
            place.and_then(|_| found.next()).unwrap_or_else(|| new_null_array(field.data_type(), header.rows as usize))
        };
        let columns = places.into_iter().zip(self.output.fields()).map(column).collect();
        Ok(RecordBatch::try_new(self.output.clone(), columns)?)
    }
}

fn place(entry: &Entry, segment: u64, fault: Fault) -> Fault {
    fault.at(format!("table {}, segment {segment}", entry.name))
}

fn count_only(schema: &SchemaRef, rows: usize) -> Result<RecordBatch> {
    let options = RecordBatchOptions::new().with_row_count(Some(rows));
    Ok(RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options)?)
}

/// Where a scan is in a big segment: each column in its own chunk.
struct BigCursor {
    number: u64,
    header: Header,
    row: usize,
    columns: Vec<ColumnCursor>,
}

struct ColumnCursor {
    /// Chunks of the column; `None` where the segment lacks it.
    index: Option<usize>,
    data_type: DataType,
    next_chunk: usize,
    array: Option<ArrayRef>,
    at: usize,
}

impl BigCursor {
    fn new(number: u64, header: Header, entry: &Entry, output: &SchemaRef) -> Result<Self> {
        let schema = entry.schema_of(header.version)?;
        let column = |field: &Arc<arrow_schema::Field>| {
            let (index, data_type) = (schema.index_of(field.name()).ok(), field.data_type().clone());
            ColumnCursor { index, data_type, next_chunk: 0, array: None, at: 0 }
        };
        let columns = output.fields().iter().map(column).collect();
        Ok(Self { number, header, row: 0, columns })
    }

    fn next(&mut self, parts: &Parts, output: &SchemaRef) -> Result<Option<RecordBatch>> {
        let left = self.header.rows as usize - self.row;
        if left == 0 {
            return Ok(None);
        }
        let mut len = left.min(BATCH_ROWS);
        for column in &mut self.columns {
            len = len.min(column.fill(parts, &self.header)?);
        }
        let columns = self.columns.iter_mut().map(|column| column.take(len)).collect();
        self.row += len;
        Ok(Some(RecordBatch::try_new(output.clone(), columns)?))
    }
}

impl ColumnCursor {
    /// Makes sure that rows are at hand; gives how many.
    fn fill(&mut self, parts: &Parts, header: &Header) -> Result<usize> {
        let Some(index) = self.index else { return Ok(usize::MAX) };
        loop {
            if let Some(array) = self.array.as_ref().filter(|array| array.len() > self.at) {
                return Ok(array.len() - self.at);
            }
            let chunk = header.chunks.get(index).and_then(|chunks| chunks.get(self.next_chunk));
            let chunk = chunk.ok_or_else(|| Fault::Broken("a column has too few rows".into()))?;
            self.array = Some(codec::decode(chunk.codec, read_chunk(parts, chunk)?, &self.data_type)?);
            self.next_chunk += 1;
            self.at = 0;
        }
    }

    fn take(&mut self, len: usize) -> ArrayRef {
        let slice = self.array.as_ref().map(|array| array.slice(self.at, len));
        self.at += len;
        slice.unwrap_or_else(|| new_null_array(&self.data_type, len))
    }
}
