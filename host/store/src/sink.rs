//! The sink of a table: encodes on the lane that calls it, so that the commit only inserts bytes.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sluicebox_core::batch::Batch;
use sluicebox_core::commit::Segment;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::TableName;
use sluicebox_core::port::{Part, Sink};
use sluicebox_core::reject::Rejects;

use crate::fault;
use crate::segment::block::Encoder;
use crate::segment::{Header, small};
use crate::wire::{Reader, Writer};

/// Encodes batches for one table.
pub(crate) struct TableSink {
    label: String,
    target: Target,
    encoder: Encoder,
}

/// Where a segment goes: what the commit needs beside the bytes.
#[derive(Debug, Clone)]
pub(crate) struct Target {
    pub table: TableName,
    pub id: u32,
    pub version: u32,
    pub schema: SchemaRef,
}

impl TableSink {
    pub fn new(target: Target) -> Result<Self> {
        let encoder = Encoder::new().map_err(|e| Error::internal(e.to_string()))?;
        Ok(Self { label: format!("table {}", target.table), target, encoder })
    }
}

impl Sink for TableSink {
    fn name(&self) -> &str {
        &self.label
    }

    fn prepare(&mut self, batch: &Batch, _rejects: &mut Rejects) -> Result<Part> {
        if batch.rows.is_empty() {
            return Ok(Part::Segments(Vec::new()));
        }
        Ok(Part::Segments(vec![segment(&self.target, &mut self.encoder, &batch.columns).map_err(|e| e.at(&self.label))?]))
    }
}

/// The segment of some rows.
pub(crate) fn segment(target: &Target, encoder: &mut Encoder, rows: &RecordBatch) -> Result<Segment> {
    let misfit = |e: arrow_schema::ArrowError| Error::internal(format!("rows do not fit the table's schema: {e}"));
    let rows = RecordBatch::try_new(target.schema.clone(), rows.columns().to_vec()).map_err(misfit)?;
    let (header, bytes) = small::encode(encoder, target.version, &rows).map_err(misfit)?;
    let mut w = Writer::default();
    w.u32(target.id);
    header.write(&mut w);
    let (table, schema) = (target.table.clone(), target.schema.clone());
    Ok(Segment { table, schema, rows: header.rows, bytes, stats: w.0 })
}

/// The table's number and the header of a segment that [`segment`] made.
pub(crate) fn header(segment: &Segment) -> fault::Result<(u32, Header)> {
    let mut r = Reader::new(&segment.stats);
    Ok((r.u32()?, Header::read(&mut r)?))
}
