//! A snapshot: one read transaction, so all tables as of one commit.

use std::collections::VecDeque;
use std::path::{Path, PathBuf};

use arrow_schema::SchemaRef;
use redb::{ReadTransaction, ReadableTable};
use sluicebox_core::error::{Domain, Error, Result};
use sluicebox_core::name::TableName;
use sluicebox_core::query::{Bound, Scan, Snapshot};

use crate::audit;
use crate::catalog::{self, Entry};
use crate::fault::{self, Fault};
use crate::layout::{AUDIT, CATALOG, PARTS, SEGMENTS};
use crate::scan::TableScan;
use crate::segment::Header;
use crate::segment::stats::ColumnStats;

/// The state after one commit.
pub(crate) struct RedbSnapshot {
    txn: ReadTransaction,
    path: PathBuf,
    tenant: String,
    tables: Vec<Entry>,
}

impl RedbSnapshot {
    pub fn new(txn: ReadTransaction, path: &Path, tenant: &str) -> fault::Result<Self> {
        let tables = catalog::all(&txn.open_table(CATALOG)?)?;
        Ok(Self { txn, path: path.to_owned(), tenant: tenant.to_owned(), tables })
    }

    fn entry(&self, table: &TableName) -> Result<&Entry> {
        let found = self.tables.iter().find(|entry| entry.name == *table);
        found.ok_or_else(|| Error::fatal(Domain::Config, format!("there is no table {table}")))
    }

    fn audit_scan(&self, projection: Option<&[usize]>) -> fault::Result<Scan> {
        let rows = audit::rows(&self.txn.open_table(AUDIT)?, &self.tenant)?;
        let rows = projection.map_or_else(|| Ok(rows.clone()), |columns| rows.project(columns))?;
        Ok(Box::new(std::iter::once(Ok(rows))))
    }

    fn table_scan(&self, entry: &Entry, projection: Option<&[usize]>, bounds: &[Bound]) -> fault::Result<Scan> {
        let mut segments = headers(&self.txn.open_table(SEGMENTS)?, entry)?;
        let mut wrong = None;
        segments.retain(|(_, header)| {
            may_hold(entry, header, bounds).unwrap_or_else(|fault| {
                wrong = Some(fault);
                true
            })
        });
        if let Some(fault) = wrong {
            return Err(fault);
        }
        let scan = TableScan::new(self.txn.open_table(PARTS)?, entry.clone(), segments, projection)?;
        let path = self.path.clone();
        let mut scan = Some(scan);
        Ok(Box::new(std::iter::from_fn(move || {
            let batch = scan.as_mut()?.next_batch().map_err(|e| e.words(&path)).transpose();
            if !matches!(batch, Some(Ok(_))) {
                // Done or broken: gives the snapshot back.
                scan = None;
            }
            batch
        })))
    }
}

/// The segments of a table in their order.
pub(crate) fn headers(
    table: &impl ReadableTable<(u32, u64), &'static [u8]>,
    entry: &Entry,
) -> fault::Result<VecDeque<(u64, Header)>> {
    let mut found = VecDeque::new();
    for row in table.range((entry.id, 0)..=(entry.id, u64::MAX))? {
        let (key, value) = row?;
        let number = key.value().1;
        let header = Header::from_bytes(value.value()).map_err(|e| e.at(format!("table {}, segment {number}", entry.name)))?;
        found.push_back((number, header));
    }
    Ok(found)
}

/// Whether a segment may hold rows that meet all bounds.
fn may_hold(entry: &Entry, header: &Header, bounds: &[Bound]) -> fault::Result<bool> {
    let newest = entry.schema();
    let schema = entry.schema_of(header.version)?;
    let absent = ColumnStats { nulls: header.rows, min: None, max: None };
    Ok(bounds.iter().all(|bound| {
        let Some(field) = newest.fields().get(bound.column) else { return true };
        let stats = schema.index_of(field.name()).ok().map_or(Some(&absent), |index| header.columns.get(index));
        stats.is_none_or(|stats| stats.may_hold(header.rows, bound.comparison, &bound.value))
    }))
}

impl Snapshot for RedbSnapshot {
    fn tables(&self) -> Vec<(TableName, SchemaRef)> {
        let mut tables: Vec<_> = self.tables.iter().map(|entry| (entry.name.clone(), entry.schema())).collect();
        tables.push((TableName::audit(), audit::schema()));
        tables.sort_by(|a, b| a.0.cmp(&b.0));
        tables
    }

    fn scan(&self, table: &TableName, projection: Option<&[usize]>, bounds: &[Bound]) -> Result<Scan> {
        let scan = if *table == TableName::audit() {
            self.audit_scan(projection)
        } else {
            self.table_scan(self.entry(table)?, projection, bounds)
        };
        scan.map_err(|e| e.words(&self.path))
    }

    fn row_count(&self, table: &TableName) -> Result<u64> {
        let rows = || -> fault::Result<u64> {
            if *table == TableName::audit() {
                use redb::ReadableTableMetadata;
                return Ok(self.txn.open_table(AUDIT)?.len()?);
            }
            let entry = self.entry(table).map_err(Fault::Port)?;
            Ok(headers(&self.txn.open_table(SEGMENTS)?, entry)?.iter().map(|(_, header)| header.rows).sum())
        };
        rows().map_err(|e| e.words(&self.path))
    }
}
