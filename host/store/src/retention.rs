//! Retention: whole segments go by the age of their last commit or while a table takes too many bytes, the oldest first.

use redb::{ReadTransaction, WriteTransaction};
use sluicebox_core::port::Retention;

use crate::catalog::{self, Entry};
use crate::fault::Result;
use crate::layout::{CATALOG, SEGMENTS, delete_parts};
use crate::segment::Header;
use crate::snapshot::headers;

/// Segments deleted in one slice.
const SLICE_SEGMENTS: usize = 64;

/// Segments that are due, of one table.
pub(crate) struct Due {
    table: u32,
    segments: Vec<(u64, Header)>,
}

/// What retention says at a time: what to delete, and when it has to look again if nothing is committed until then.
#[derive(Default)]
pub(crate) struct Look {
    pub due: Option<Due>,
    pub next: Option<i64>,
}

/// Looks for segments that are due.
pub(crate) fn look(txn: &ReadTransaction, now: i64) -> Result<Look> {
    let table = txn.open_table(SEGMENTS)?;
    let mut look = Look::default();
    for entry in catalog::all(&txn.open_table(CATALOG)?)? {
        if entry.retention == Retention::default() {
            continue;
        }
        let segments: Vec<(u64, Header)> = headers(&table, &entry)?.into();
        let due = due(&entry, &segments, now);
        if due > 0 {
            let segments = segments.into_iter().take(due.min(SLICE_SEGMENTS)).collect();
            return Ok(Look { due: Some(Due { table: entry.id, segments }), next: None });
        }
        if let (Some(age), Some((_, oldest))) = (entry.retention.age, segments.first()) {
            let at = oldest.committed.1.saturating_add(age.as_micros() as i64);
            look.next = Some(look.next.map_or(at, |next| next.min(at)));
        }
    }
    Ok(look)
}

/// How many of the oldest segments are due.
fn due(entry: &Entry, segments: &[(u64, Header)], now: i64) -> usize {
    let aged = entry.retention.age.map_or(0, |age| {
        let before = now.saturating_sub(age.as_micros() as i64);
        segments.iter().take_while(|(_, header)| header.committed.1 < before).count()
    });
    let over = entry.retention.bytes.map_or(0, |limit| {
        let mut total: u64 = segments.iter().map(|(_, header)| header.bytes()).sum();
        let too_much = |(_, header): &&(u64, Header)| {
            let over = total > limit;
            total -= header.bytes();
            over
        };
        segments.iter().take_while(too_much).count()
    });
    aged.max(over)
}

impl Due {
    /// Deletes them.
    pub fn delete(&self, txn: &WriteTransaction) -> Result<()> {
        let mut table = txn.open_table(SEGMENTS)?;
        for (number, _) in &self.segments {
            table.remove((self.table, *number))?;
        }
        drop(table);
        delete_parts(txn, self.segments.iter().flat_map(|(_, header)| header.parts()))
    }
}
