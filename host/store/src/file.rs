//! The redb file: opened or begun, refused with words, and opened again after the disk has failed.
//!
//! After an I/O error redb answers nothing until it is opened anew, so the next call does that: a disk that works again is all that
//! is needed. Each write transaction carries a number, so that after a failed commit the file itself tells whether it took place.

use std::fs::OpenOptions;
use std::io::Read;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::path::{Path, PathBuf};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{PoisonError, RwLock, RwLockReadGuard};

use redb::{Builder, CompactionError, Database, DatabaseError, Durability, ReadTransaction, ReadableDatabase, WriteTransaction};
use sluicebox_core::error::{Domain, Error};

use crate::fault::{Fault, Result, broken};
use crate::layout::{self, COUNTERS, FORMAT, META};
use crate::lock::{StoreLock, cannot_open};

/// Opens the database; tests put failing disks in here.
pub(crate) type Opener = Box<dyn Fn(&Builder) -> Result<Database, DatabaseError> + Send + Sync>;

/// Which commits wait for the disk.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Durable {
    /// On disk when the call returns.
    Now,
    /// Visible now, on disk with the next commit.
    Later,
}

#[derive(Default)]
struct State {
    db: Option<Database>,
    /// The number of a commit that failed, while it is not known whether it took place.
    doubt: Option<u64>,
    /// The last commit in doubt that turned out to have taken place.
    landed: Option<u64>,
}

/// The open file.
pub(crate) struct StoreFile {
    path: PathBuf,
    cache_bytes: usize,
    opener: Opener,
    state: RwLock<State>,
    id: String,
    last: AtomicU64,
    _lock: Option<StoreLock>,
}

impl StoreFile {
    /// Opens the file at `path`, or begins a store there with the identity `new_id`.
    pub fn open(path: &Path, cache_bytes: usize, new_id: &str) -> Result<Self, Error> {
        let lock = StoreLock::take(path)?;
        clear_if_never_begun(path)?;
        let at = path.to_owned();
        Self::open_with(path, cache_bytes, new_id, Box::new(move |builder| builder.create(&at)), Some(lock))
    }

    /// As [`Self::open`], with another disk under it.
    pub fn open_with(
        path: &Path,
        cache_bytes: usize,
        new_id: &str,
        opener: Opener,
        lock: Option<StoreLock>,
    ) -> Result<Self, Error> {
        let state = RwLock::new(State::default());
        let mut file =
            Self { path: path.to_owned(), cache_bytes, opener, state, id: String::new(), last: AtomicU64::new(0), _lock: lock };
        file.reopen().map_err(|e| opening_words(path, e))?;
        file.id = file.begin_or_check(new_id).map_err(|e| opening_words(path, e))?;
        Ok(file)
    }

    pub fn path(&self) -> &Path {
        &self.path
    }

    pub fn id(&self) -> &str {
        &self.id
    }

    /// A read transaction: the state after the last commit.
    pub fn read(&self) -> Result<ReadTransaction> {
        self.guarded(|db| Ok(db.begin_read()?))
    }

    /// One write transaction, decided when `work` succeeds; nothing is changed otherwise.
    pub fn write<T>(&self, durable: Durable, work: impl FnOnce(&WriteTransaction) -> Result<T>) -> Result<T> {
        let mut number = None;
        let state = self.ready()?;
        let done = match &state.db {
            Some(db) => write_in(db, durable, &mut number, work),
            None => Err(closed()),
        };
        drop(state);
        match done {
            Err(fault) if fault.needs_reopening() => Err(self.fail(fault, number)),
            Ok(value) => {
                self.last.fetch_max(number.unwrap_or(0), Ordering::AcqRel);
                Ok(value)
            }
            done => done,
        }
    }

    /// Closes the database after a fault of the disk. A commit of which it is not known whether it took place is noted.
    fn fail(&self, fault: Fault, commit: Option<u64>) -> Fault {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        state.db = None;
        match (fault, commit) {
            (Fault::Storage(cause), Some(number)) => {
                state.doubt = Some(number);
                Fault::InDoubt(number, cause)
            }
            (fault, _) => fault,
        }
    }

    /// Whether a commit that failed took place after all, as the file tells. Opens the file again.
    pub fn landed(&self, number: u64) -> Result<bool> {
        self.guarded(|_| Ok(()))?;
        Ok(self.state.read().unwrap_or_else(PoisonError::into_inner).landed == Some(number))
    }

    /// Number of the last write transaction of this process.
    pub fn last_commit(&self) -> u64 {
        self.last.load(Ordering::Acquire)
    }

    /// Moves pages to the front, cuts the file and closes it, when nothing reads it; the next call opens it again. All other calls wait.
    ///
    /// Closing cuts what compaction cannot, and records the free pages, so that opening after a kill is quick as ever.
    pub fn compact(&self) -> Result<()> {
        drop(self.ready()?);
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        match state.db.as_mut().map(Database::compact) {
            None | Some(Err(CompactionError::TransactionInProgress)) => Ok(()),
            Some(Ok(_)) => match state.db.take().map(Database::close) {
                None | Some(Ok(())) => Ok(()),
                Some(Err(error)) => Err(error.into()),
            },
            Some(Err(error)) => {
                drop(state);
                Err(self.fail(error.into(), None))
            }
        }
    }

    fn guarded<T>(&self, work: impl FnOnce(&Database) -> Result<T>) -> Result<T> {
        let state = self.ready()?;
        let done = match &state.db {
            Some(db) => work(db),
            None => Err(closed()),
        };
        drop(state);
        match done {
            Err(fault) if fault.needs_reopening() => Err(self.fail(fault, None)),
            done => done,
        }
    }

    fn ready(&self) -> Result<RwLockReadGuard<'_, State>> {
        let state = self.state.read().unwrap_or_else(PoisonError::into_inner);
        if state.db.is_some() {
            return Ok(state);
        }
        drop(state);
        self.reopen()?;
        Ok(self.state.read().unwrap_or_else(PoisonError::into_inner))
    }

    fn reopen(&self) -> Result<()> {
        let mut state = self.state.write().unwrap_or_else(PoisonError::into_inner);
        if state.db.is_some() {
            return Ok(());
        }
        let mut builder = Builder::new();
        builder.set_cache_size(self.cache_bytes);
        // redb may panic over a file that something else has written into.
        let opened = catch_unwind(AssertUnwindSafe(|| (self.opener)(&builder)));
        let db = opened.unwrap_or_else(|_| Err(redb::StorageError::Corrupted("it cannot be read".into()).into()))?;
        if let Some(number) = state.doubt {
            if last_commit(&db)? >= number {
                state.landed = Some(number);
            }
            state.doubt = None;
        }
        state.db = Some(db);
        Ok(())
    }

    /// Begins an empty file; of another one checks that it is ours and reads its identity.
    fn begin_or_check(&self, new_id: &str) -> Result<String> {
        let txn = self.read()?;
        if txn.list_tables()?.next().is_none() {
            drop(txn);
            self.write(Durable::Now, |txn| layout::begin(txn, new_id))?;
            return Ok(new_id.to_owned());
        }
        let foreign = || Fault::Broken("it is a redb file, but none that Sluicebox has written".into());
        let meta = txn.open_table(META).map_err(|_| foreign())?;
        let format = meta.get("format")?.and_then(|v| v.value().try_into().ok().map(u64::from_le_bytes)).ok_or_else(foreign)?;
        if format > FORMAT {
            let words = format!(
                "it has format {format}, this version reads formats up to {FORMAT}; update sluicebox, or use another `data` folder"
            );
            return Err(Fault::Port(Error::fatal(Domain::State, words).at(format!("store {}", self.path.display()))));
        }
        let id = meta.get("id")?.ok_or_else(foreign)?;
        Ok(String::from_utf8_lossy(id.value()).into_owned())
    }
}

fn closed() -> Fault {
    Fault::Storage(Box::new(redb::Error::DatabaseClosed))
}

fn write_in<T>(
    db: &Database,
    durable: Durable,
    number: &mut Option<u64>,
    work: impl FnOnce(&WriteTransaction) -> Result<T>,
) -> Result<T> {
    let mut txn = db.begin_write()?;
    txn.set_quick_repair(durable == Durable::Now);
    if durable == Durable::Later {
        txn.set_durability(Durability::None)?;
    }
    let commit = layout::take(&mut txn.open_table(COUNTERS)?, "commit", 1)?;
    match work(&txn) {
        Ok(value) => {
            *number = Some(commit);
            txn.commit()?;
            Ok(value)
        }
        Err(fault) => {
            txn.abort()?;
            Err(fault)
        }
    }
}

fn last_commit(db: &Database) -> Result<u64> {
    let txn = db.begin_read()?;
    match txn.open_table(COUNTERS) {
        Ok(counters) => Ok(counters.get("commit")?.map_or(0, |next| next.value() - 1)),
        Err(redb::TableError::TableDoesNotExist(_)) => Ok(0),
        Err(e) => Err(e.into()),
    }
}

/// redb writes its magic number last, so a file that begins with zeros was cut off while it was begun and holds nothing.
fn clear_if_never_begun(path: &Path) -> Result<(), Error> {
    let Ok(mut file) = OpenOptions::new().read(true).write(true).open(path) else { return Ok(()) };
    let mut head = [0xff; 9];
    let known = file.read_exact(&mut head).is_ok();
    if known && head == [0; 9] {
        file.set_len(0).map_err(|e| cannot_open(path, &e))?;
    }
    Ok(())
}

fn opening_words(path: &Path, fault: Fault) -> Error {
    let Fault::Storage(error) = fault else { return fault.words(path) };
    let file = path.display();
    match *error {
        redb::Error::DatabaseAlreadyOpen => {
            let mend = "stop that process, or give the command to the running host";
            Error::fatal(Domain::State, format!("store {file} is in use by another process; {mend}"))
        }
        redb::Error::UpgradeRequired(version) => Error::fatal(
            Domain::State,
            format!("store {file} has an old file format ({version}); move it away so that its pipelines load again"),
        ),
        redb::Error::Io(e) if e.kind() == std::io::ErrorKind::InvalidData => broken(path, "it is no redb file"),
        redb::Error::Io(e) => cannot_open(path, &e),
        other => Fault::Storage(Box::new(other)).words(path),
    }
}
