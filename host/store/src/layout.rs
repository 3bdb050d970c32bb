//! What lies in the file: the redb tables, their keys and values, and the counters.
//!
//! A segment's rows are *parts*: values of a few power-of-two page runs under an 8-byte key, so that a part begins at a multiple of 16
//! in its page and is read without a copy. Part numbers come from one counter and are never used again; a segment's header says which
//! are its own.

use redb::{ReadableTable, Table, TableDefinition, WriteTransaction};

use crate::fault::{Fault, Result};

/// Version of everything below. A file with a higher one is refused.
pub(crate) const FORMAT: u64 = 1;

/// `format`, `id`.
pub(crate) const META: TableDefinition<'_, &str, &[u8]> = TableDefinition::new("meta");
/// Next numbers: `commit`, `part`, `segment`, `table`.
pub(crate) const COUNTERS: TableDefinition<'_, &str, u64> = TableDefinition::new("counters");
/// Schema and table name -> catalog entry.
pub(crate) const CATALOG: TableDefinition<'_, (&str, &str), &[u8]> = TableDefinition::new("catalog");
/// Table number and segment number -> header.
pub(crate) const SEGMENTS: TableDefinition<'_, (u32, u64), &[u8]> = TableDefinition::new("segments");
/// Part number -> bytes.
pub(crate) const PARTS: TableDefinition<'_, u64, &[u8]> = TableDefinition::new("parts");
/// Pipeline, cluster, topic id, partition.
pub(crate) type PositionKey = (&'static str, &'static str, [u8; 16], i32);
/// Topic name, next offset.
pub(crate) type Position = (&'static str, i64);
/// The position of each partition.
pub(crate) const POSITIONS: TableDefinition<'_, PositionKey, Position> = TableDefinition::new("positions");
/// Pipeline -> (last sequence number given out, last one applied).
pub(crate) const SEQUENCES: TableDefinition<'_, &str, (u64, u64)> = TableDefinition::new("sequences");
/// Pipeline and sequence number -> a delta that waits for its decider.
pub(crate) const PENDING: TableDefinition<'_, (&str, u64), &[u8]> = TableDefinition::new("pending");
/// Start of a run, its id, schema, table -> audit row.
pub(crate) const AUDIT: TableDefinition<'_, (i64, &str, &str, &str), &[u8]> = TableDefinition::new("audit");
/// Pipelines that an operator has paused.
pub(crate) const PAUSED: TableDefinition<'_, &str, ()> = TableDefinition::new("paused");
/// First part number -> count: parts of a compaction that is not finished. Deleted when the file is opened.
pub(crate) const UNFINISHED: TableDefinition<'_, u64, u64> = TableDefinition::new("unfinished");

/// Takes `count` numbers of a counter; gives the first.
pub(crate) fn take(counters: &mut Table<'_, &'static str, u64>, name: &'static str, count: u64) -> Result<u64> {
    let first = counters.get(name)?.map_or(1, |next| next.value());
    counters.insert(name, first + count)?;
    Ok(first)
}

/// Makes all tables of an empty file.
pub(crate) fn begin(txn: &WriteTransaction, id: &str) -> Result<()> {
    let mut meta = txn.open_table(META)?;
    meta.insert("format", &FORMAT.to_le_bytes()[..])?;
    meta.insert("id", id.as_bytes())?;
    txn.open_table(COUNTERS)?;
    txn.open_table(CATALOG)?;
    txn.open_table(SEGMENTS)?;
    txn.open_table(PARTS)?;
    txn.open_table(POSITIONS)?;
    txn.open_table(SEQUENCES)?;
    txn.open_table(PENDING)?;
    txn.open_table(AUDIT)?;
    txn.open_table(PAUSED)?;
    txn.open_table(UNFINISHED)?;
    Ok(())
}

/// Deletes parts by number.
pub(crate) fn delete_parts(txn: &WriteTransaction, numbers: impl IntoIterator<Item = u64>) -> Result<()> {
    let mut parts = txn.open_table(PARTS)?;
    for number in numbers {
        if parts.remove(number)?.is_none() {
            return Err(Fault::Broken(format!("part {number} is missing")));
        }
    }
    Ok(())
}
