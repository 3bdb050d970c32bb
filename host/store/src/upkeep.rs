//! Upkeep in slices: retention first, then compaction; and the clean end of a store.

use std::sync::{Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use crate::audit;
use crate::catalog;
use crate::compact::{self, Merge, Written};
use crate::fault::Result;
use crate::file::{Durable, StoreFile};
use crate::layout::{AUDIT, CATALOG, META, SEGMENTS};
use crate::retention;
use crate::snapshot::headers;

/// redb's own compaction moves about this many bytes a second on a slow disk.
const MOVED_BYTES_PER_SECOND: u64 = 100 << 20;
/// A file that is larger than its rows by less than this is left as it is.
const SLACK: f64 = 1.1;
/// Pages of the catalog, headers and free lists: not worth moving.
const SLACK_BYTES: u64 = 4 << 20;

/// What upkeep remembers from slice to slice.
#[derive(Default)]
struct Memory {
    merge: Option<Merge>,
    /// The commit after which nothing was left to do, and when retention has to look again.
    idle: Option<(u64, Option<i64>)>,
}

/// Retention and compaction of one store.
#[derive(Default)]
pub(crate) struct Upkeep(Mutex<Memory>);

impl Upkeep {
    fn memory(&self) -> MutexGuard<'_, Memory> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// One slice; `false` when nothing is left to do.
    pub fn slice(&self, file: &StoreFile, now: i64, last: bool) -> Result<bool> {
        let mut memory = self.memory();
        let busy = self.try_slice(&mut memory, file, now, last);
        if busy.is_err() {
            // What was written of a merge stays listed as unfinished; the next slice cleans it away.
            memory.merge = None;
        }
        busy
    }

    fn try_slice(&self, memory: &mut Memory, file: &StoreFile, now: i64, last: bool) -> Result<bool> {
        let commit = file.last_commit();
        let idle = memory.idle.is_some_and(|(at, next)| at == commit && next.is_none_or(|next| now < next));
        if idle && !last {
            return Ok(false);
        }
        memory.idle = None;
        let txn = file.read()?;
        let look = retention::look(&txn, now)?;
        if let Some(due) = look.due {
            drop(txn);
            memory.merge = None;
            file.write(Durable::Now, |txn| {
                compact::clean(txn)?;
                due.delete(txn)
            })?;
            return Ok(true);
        }
        let audit_next = forget_runs(file, &txn, now)?;
        if memory.merge.is_none() {
            if compact::left_over(&txn)? {
                drop(txn);
                file.write(Durable::Now, compact::clean)?;
                return Ok(true);
            }
            memory.merge = compact::find(&txn, last)?;
        }
        let Some(merge) = &mut memory.merge else {
            let next = [look.next, audit_next].into_iter().flatten().min();
            memory.idle = Some((file.last_commit(), next));
            return Ok(false);
        };
        let slice = merge.prepare(&txn)?;
        drop(txn);
        match file.write(Durable::Now, |txn| merge.write(txn, &slice))? {
            Written::Columns(columns, stats) => merge.written(columns, stats),
            Written::All => memory.merge = None,
        }
        Ok(true)
    }

    /// Merges what is left and gives free room back to the disk, as far as the time allows.
    pub fn finish(&self, file: &StoreFile, now: i64, budget: Duration) -> Result<()> {
        let started = Instant::now();
        while started.elapsed() < budget / 2 && self.slice(file, now, true)? {}
        let length = std::fs::metadata(file.path()).map(|m| m.len()).unwrap_or(0);
        let live = live_bytes(file)?;
        let left = budget.saturating_sub(started.elapsed());
        let worth = length as f64 > SLACK * live as f64 + SLACK_BYTES as f64;
        if worth && length / MOVED_BYTES_PER_SECOND <= left.as_secs() {
            file.compact()?;
        }
        Ok(())
    }
}

/// Bytes of all rows, as stored.
pub(crate) fn live_bytes(file: &StoreFile) -> Result<u64> {
    let txn = file.read()?;
    let segments = txn.open_table(SEGMENTS)?;
    let mut live = 0;
    for entry in catalog::all(&txn.open_table(CATALOG)?)? {
        live += headers(&segments, &entry)?.iter().map(|(_, header)| header.bytes()).sum::<u64>();
    }
    Ok(live)
}

/// Applies the retention of the audit; gives when to look again.
fn forget_runs(file: &StoreFile, txn: &redb::ReadTransaction, now: i64) -> Result<Option<i64>> {
    let meta = txn.open_table(META)?;
    let age = meta.get("audit_age")?.and_then(|v| v.value().try_into().ok().map(i64::from_le_bytes));
    let Some(age) = age else { return Ok(None) };
    let Some(oldest) = audit::oldest(&txn.open_table(AUDIT)?)? else { return Ok(None) };
    let due = oldest.saturating_add(age);
    if due >= now {
        return Ok(Some(due + 1));
    }
    file.write(Durable::Now, |txn| audit::forget_before(txn, now.saturating_sub(age)))?;
    Ok(Some(now))
}
