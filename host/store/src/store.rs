//! [`RedbStore`]: the ports of the core over one file.

use std::path::Path;
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use arrow_schema::SchemaRef;
use sluicebox_core::audit::AuditDelta;
use sluicebox_core::commit::{Delta, Segment, Sequence};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::{PipelineName, TableName, TenantName};
use sluicebox_core::port::{Retention, Sink, Store};
use sluicebox_core::position::{Advance, Positions};
use sluicebox_core::query::{Snapshot, Snapshots};

use crate::catalog::{self, Entry, OURS};
use crate::evolve::{Evolution, evolve, storable};
use crate::fault::{self, Fault};
use crate::file::{Durable, StoreFile};
use crate::layout::{CATALOG, COUNTERS, META, PAUSED, PENDING, POSITIONS, SEQUENCES, take};
use crate::sink::{TableSink, Target};
use crate::snapshot::RedbSnapshot;
use crate::upkeep::{Upkeep, live_bytes};
use crate::{audit, commit, compact, pending, positions, rejects};

/// Memory for pages: enough for the columns of a query's current segments, since the system caches the file anyway.
const CACHE_BYTES: usize = 32 << 20;

/// How a store is opened.
#[derive(Debug, Clone)]
pub struct StoreOptions {
    /// Whose it is; the column `tenant` of the audit.
    pub tenant: TenantName,
    /// Identity that the store gets when the file is begun; it keeps the one that it has.
    pub new_id: String,
    /// Memory for pages of the file. More makes repeated queries over the same rows faster.
    pub cache_bytes: usize,
}

impl StoreOptions {
    /// The usual memory.
    pub fn new(tenant: TenantName, new_id: impl Into<String>) -> Self {
        Self { tenant, new_id: new_id.into(), cache_bytes: CACHE_BYTES }
    }
}

/// A tenant's store in a redb file.
pub struct RedbStore {
    file: StoreFile,
    tenant: TenantName,
    rejected: Target,
    upkeep: Upkeep,
    doubt: Mutex<Option<Doubt>>,
    /// Held while a table is registered, so that two pipelines cannot make the same one.
    registering: Mutex<()>,
}

/// A failed commit of which it is not known whether it took place.
struct Doubt {
    number: u64,
    deltas: Vec<(PipelineName, Vec<Advance>)>,
}

impl Doubt {
    fn has(&self, delta: &Delta) -> bool {
        !delta.advances.is_empty() && self.deltas.iter().any(|(p, a)| *p == delta.pipeline && *a == delta.advances)
    }
}

impl RedbStore {
    /// Opens the store at `path`; an empty file or none is begun.
    ///
    /// # Errors
    /// Another process holds it, it is broken, no store, or of a newer format; the message names the file and what to do.
    pub fn open(path: &Path, options: StoreOptions) -> Result<Self> {
        let file = StoreFile::open(path, options.cache_bytes, &options.new_id)?;
        Self::start(file, options.tenant)
    }

    /// As [`Self::open`], over another disk.
    #[cfg(test)]
    pub(crate) fn open_with(path: &Path, options: StoreOptions, opener: crate::file::Opener) -> Result<Self> {
        let file = StoreFile::open_with(path, options.cache_bytes, &options.new_id, opener, None)?;
        Self::start(file, options.tenant)
    }

    #[cfg(test)]
    pub(crate) fn file_for_tests(&self) -> &StoreFile {
        &self.file
    }

    fn start(file: StoreFile, tenant: TenantName) -> Result<Self> {
        let rejected = Self::own_tables(&file).map_err(|e| e.words(file.path()))?;
        Ok(Self { file, tenant, rejected, upkeep: Upkeep::default(), doubt: Mutex::default(), registering: Mutex::default() })
    }

    /// Makes `audit.rejected` in a new store and cleans up after a merge that a crash has cut off.
    fn own_tables(file: &StoreFile) -> fault::Result<Target> {
        let txn = file.read()?;
        let found = catalog::find(&txn.open_table(CATALOG)?, &TableName::rejected())?;
        let left_over = compact::left_over(&txn)?;
        drop(txn);
        let entry = match found {
            Some(entry) if entry.schema() == rejects::schema() && !left_over => entry,
            found => file.write(Durable::Now, |txn| {
                compact::clean(txn)?;
                let mut entry = match found {
                    Some(entry) => entry,
                    None => new_entry(txn, &TableName::rejected(), OURS, Retention::default())?,
                };
                if entry.versions.last() != Some(&rejects::schema()) {
                    entry.versions.push(rejects::schema());
                }
                catalog::put(txn, &entry)?;
                Ok(entry)
            })?,
        };
        Ok(target(&entry))
    }

    fn words<T>(&self, result: fault::Result<T>) -> Result<T> {
        result.map_err(|e| e.words(self.file.path()))
    }

    /// The result of a write; `landed` gives it when the write failed and the file, opened again, shows that it took place.
    fn certain<T>(&self, done: fault::Result<T>, landed: impl FnOnce() -> fault::Result<T>) -> Result<T> {
        match &done {
            Err(Fault::InDoubt(number, _)) if matches!(self.file.landed(*number), Ok(true)) => self.words(landed()),
            _ => self.words(done),
        }
    }

    /// Bytes of all rows, as stored: the file is larger by its indexes and by room that is free.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn live_bytes(&self) -> Result<u64> {
        self.words(live_bytes(&self.file))
    }

    /// Tables that a pipeline writes.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn tables_of(&self, pipeline: &PipelineName) -> Result<Vec<TableName>> {
        let tables = || {
            let all = catalog::all(&self.file.read()?.open_table(CATALOG)?)?;
            Ok(all.into_iter().filter(|entry| entry.owner == pipeline.as_str()).map(|entry| entry.name).collect())
        };
        self.words(tables())
    }

    /// Makes a delta durable as pending, for a decider outside: no query sees it. Its number is never used again.
    ///
    /// # Errors
    /// As for [`Store::commit`].
    pub fn stage(&self, delta: &Delta) -> Result<Sequence> {
        let rejected = rejects::rejected(delta, &self.rejected)?;
        let done = self.file.write(Durable::Now, |txn| {
            let staged = commit::stage(txn, delta, rejected.as_ref())?;
            pending::keep(txn, &staged)
        });
        self.certain(done, || {
            let newest = pending::newest(&self.file.read()?.open_table(PENDING)?, &delta.pipeline)?;
            newest.ok_or_else(|| Fault::Broken("a staged delta is missing".into()))
        })
    }

    /// Makes a pending delta visible: the decider has announced it. Durable as applied with the next commit; after a crash before it the
    /// delta is pending again.
    ///
    /// # Errors
    /// There is no such delta, its positions do not follow the stored ones, or the disk fails.
    pub fn apply(&self, pipeline: &PipelineName, sequence: Sequence) -> Result<()> {
        self.certain(self.file.write(Durable::Later, |txn| pending::apply(txn, pipeline, sequence)), || Ok(()))
    }

    /// Deletes a pending delta: the decider has refused it.
    ///
    /// # Errors
    /// There is no such delta, or the disk fails.
    pub fn withdraw(&self, pipeline: &PipelineName, sequence: Sequence) -> Result<()> {
        self.certain(self.file.write(Durable::Now, |txn| pending::withdraw(txn, pipeline, sequence)), || Ok(()))
    }

    /// The pending delta of a pipeline and the last one applied: what `settle` decides about at start.
    ///
    /// # Errors
    /// When the disk fails.
    pub fn sequences(&self, pipeline: &PipelineName) -> Result<(Option<Sequence>, Option<Sequence>)> {
        let read = || {
            let txn = self.file.read()?;
            let applied = txn.open_table(SEQUENCES)?.get(pipeline.as_str())?.map(|v| v.value().1).filter(|n| *n > 0);
            Ok((pending::newest(&txn.open_table(PENDING)?, pipeline)?, applied.map(Sequence)))
        };
        self.words(read())
    }

    /// A clean end: merges what is left of small segments and gives free room back to the disk, within `budget`. The store stays usable.
    ///
    /// # Errors
    /// When the disk fails or a segment is broken; nothing is lost then.
    pub fn finish(&self, now: i64, budget: Duration) -> Result<()> {
        self.words(self.upkeep.finish(&self.file, now, budget))
    }

    /// The deltas that are not in the store yet: after a commit in doubt, those of it that took place are left out.
    fn missing<'d>(&self, deltas: &'d [Delta]) -> Result<Vec<&'d Delta>> {
        let mut doubt = self.doubt.lock().unwrap_or_else(PoisonError::into_inner);
        let Some(known) = doubt.as_ref() else { return Ok(deltas.iter().collect()) };
        let landed = self.words(self.file.landed(known.number))?;
        let missing = deltas.iter().filter(|delta| !(landed && known.has(delta))).collect();
        *doubt = None;
        Ok(missing)
    }

    fn try_commit(&self, deltas: &[&Delta], rejected: &[Option<Segment>]) -> fault::Result<()> {
        self.file.write(Durable::Now, |txn| {
            for (delta, rejected) in deltas.iter().zip(rejected) {
                let staged = commit::stage(txn, delta, rejected.as_ref())?;
                commit::apply(txn, &staged)?;
                commit::next_sequence(txn, &delta.pipeline, true)?;
            }
            Ok(())
        })
    }

    fn register(&self, name: &TableName, schema: &SchemaRef, owner: &PipelineName, retention: Retention) -> fault::Result<Entry> {
        let found = catalog::find(&self.file.read()?.open_table(CATALOG)?, name)?;
        let mut entry = match &found {
            Some(entry) => {
                let mut entry = entry.clone();
                if let Evolution::Grown(schema) = evolve(&entry, owner, schema)? {
                    entry.versions.push(schema);
                }
                entry
            }
            None => Entry { name: name.clone(), id: 0, owner: owner.to_string(), retention, versions: vec![schema.clone()] },
        };
        entry.retention = retention;
        if found.as_ref() == Some(&entry) {
            return Ok(entry);
        }
        self.file.write(Durable::Now, |txn| {
            if found.is_none() {
                entry.id = take(&mut txn.open_table(COUNTERS)?, "table", 1)? as u32;
            }
            catalog::put(txn, &entry)?;
            Ok(entry)
        })
    }
}

fn new_entry(txn: &redb::WriteTransaction, name: &TableName, owner: &str, retention: Retention) -> fault::Result<Entry> {
    let id = take(&mut txn.open_table(COUNTERS)?, "table", 1)? as u32;
    Ok(Entry { name: name.clone(), id, owner: owner.to_owned(), retention, versions: Vec::new() })
}

fn target(entry: &Entry) -> Target {
    Target { table: entry.name.clone(), id: entry.id, version: entry.version(), schema: entry.schema() }
}

impl Snapshots for RedbStore {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        let open = || RedbSnapshot::new(self.file.read()?, self.file.path(), self.tenant.as_str());
        Ok(Arc::new(self.words(open())?))
    }
}

impl Store for RedbStore {
    fn id(&self) -> String {
        self.file.id().to_owned()
    }

    fn positions(&self, pipeline: &PipelineName) -> Result<Positions> {
        let read = || positions::load(&self.file.read()?.open_table(POSITIONS)?, pipeline);
        self.words(read())
    }

    fn table(&self, table: &TableName, schema: &SchemaRef, owner: &PipelineName, retention: Retention) -> Result<Box<dyn Sink>> {
        if table.schema == TableName::rejected().schema {
            let words = format!("table {table}: the schema `{}` is for rejects and audit; name another one", table.schema);
            return Err(Error::config(words));
        }
        let schema = storable(table, schema)?;
        let _alone = self.registering.lock().unwrap_or_else(PoisonError::into_inner);
        let entry = self.words(self.register(table, &schema, owner, retention))?;
        Ok(Box::new(TableSink::new(target(&entry))?))
    }

    fn commit(&self, deltas: &[Delta]) -> Result<()> {
        let missing = self.missing(deltas)?;
        if missing.is_empty() {
            return Ok(());
        }
        let rejected = missing.iter().map(|delta| rejects::rejected(delta, &self.rejected)).collect::<Result<Vec<_>>>()?;
        let Err(fault) = self.try_commit(&missing, &rejected) else { return Ok(()) };
        if let Fault::InDoubt(number, _) = &fault {
            if matches!(self.file.landed(*number), Ok(true)) {
                return Ok(());
            }
            let deltas = missing.iter().map(|delta| (delta.pipeline.clone(), delta.advances.clone())).collect();
            *self.doubt.lock().unwrap_or_else(PoisonError::into_inner) = Some(Doubt { number: *number, deltas });
        }
        Err(fault.words(self.file.path()))
    }

    fn audit(&self, pipeline: &PipelineName, audit: &AuditDelta) -> Result<()> {
        self.certain(self.file.write(Durable::Now, |txn| audit::record(txn, pipeline, audit)), || Ok(()))
    }

    fn retain_rejects(&self, retention: Retention) -> Result<()> {
        let write = || {
            self.file.write(Durable::Now, |txn| {
                let found = catalog::find(&txn.open_table(CATALOG)?, &TableName::rejected())?;
                let entry = found.ok_or_else(|| Fault::Broken("table audit.rejected is missing".into()))?;
                catalog::put(txn, &Entry { retention, ..entry })?;
                let mut meta = txn.open_table(META)?;
                match retention.age {
                    Some(age) => meta.insert("audit_age", (age.as_micros() as i64).to_le_bytes().as_slice())?,
                    None => meta.remove("audit_age")?,
                };
                Ok(())
            })
        };
        self.words(write())
    }

    fn maintain(&self, now: i64) -> Result<bool> {
        self.words(self.upkeep.slice(&self.file, now, false))
    }

    fn paused(&self, pipeline: &PipelineName) -> Result<bool> {
        let read = || Ok(self.file.read()?.open_table(PAUSED)?.get(pipeline.as_str())?.is_some());
        self.words(read())
    }

    fn set_paused(&self, pipeline: &PipelineName, paused: bool) -> Result<()> {
        self.words(self.file.write(Durable::Now, |txn| {
            let mut table = txn.open_table(PAUSED)?;
            if paused {
                table.insert(pipeline.as_str(), ())?;
            } else {
                table.remove(pipeline.as_str())?;
            }
            Ok(())
        }))
    }
}
