//! What can go wrong inside the store, and its translation into the core's error: whose fault, whether waiting helps, and words.

use std::io::ErrorKind;
use std::path::Path;

use sluicebox_core::error::{Domain, Error};

/// A fault on its way to the port.
#[derive(Debug)]
pub(crate) enum Fault {
    /// redb or the disk.
    Storage(Box<redb::Error>),
    /// Words for the port, made where the fault was seen.
    Port(Error),
    /// The file does not hold what was written.
    Broken(String),
    /// A commit failed and the file could not be read again to learn whether it took place; the number of the commit.
    InDoubt(u64, Box<redb::Error>),
}

/// A result inside the store.
pub(crate) type Result<T, E = Fault> = std::result::Result<T, E>;

macro_rules! storage_faults {
    ($($kind:ty),*) => {
        $(impl From<$kind> for Fault {
            fn from(error: $kind) -> Self {
                Fault::Storage(Box::new(error.into()))
            }
        })*
    };
}

storage_faults!(
    redb::StorageError,
    redb::TableError,
    redb::TransactionError,
    redb::CommitError,
    redb::DatabaseError,
    redb::CompactionError,
    redb::SetDurabilityError
);

impl From<Error> for Fault {
    fn from(error: Error) -> Self {
        Fault::Port(error)
    }
}

impl From<arrow_schema::ArrowError> for Fault {
    fn from(error: arrow_schema::ArrowError) -> Self {
        Fault::Broken(error.to_string())
    }
}

impl Fault {
    /// Whether redb refuses everything from here on, until the file is opened again.
    pub fn needs_reopening(&self) -> bool {
        use redb::Error as E;
        matches!(self, Fault::Storage(e) if matches!(**e, E::Io(_) | E::Backend(_) | E::PreviousIo | E::LockPoisoned(_) | E::DatabaseClosed))
    }

    /// The same fault with words before it that say where.
    #[must_use]
    pub fn at(self, place: impl std::fmt::Display) -> Self {
        match self {
            Fault::Broken(words) => Fault::Broken(format!("{place}: {words}")),
            Fault::Port(error) => Fault::Port(error.at(place)),
            storage => storage,
        }
    }

    /// The error of the port.
    pub fn words(self, path: &Path) -> Error {
        match self {
            Fault::Port(error) => error,
            Fault::Broken(words) => broken(path, &words),
            Fault::Storage(error) => storage_words(path, &error),
            Fault::InDoubt(_, error) => storage_words(path, &error),
        }
    }
}

/// A broken file.
pub(crate) fn broken(path: &Path, words: &str) -> Error {
    let mend = "put back a copy of the file, or move it away so that its pipelines load again";
    Error::fatal(Domain::State, format!("store {} is broken: {words}; {mend}", path.display()))
}

fn storage_words(path: &Path, error: &redb::Error) -> Error {
    let path_text = path.display();
    match error {
        redb::Error::Io(e) if matches!(e.kind(), ErrorKind::StorageFull | ErrorKind::QuotaExceeded | ErrorKind::FileTooLarge) => {
            Error::backoff(
                Domain::State,
                format!("store {path_text}: no space left ({e}); free space on that disk, then it goes on by itself"),
            )
        }
        redb::Error::Io(e) => Error::backoff(
            Domain::State,
            format!("store {path_text}: the disk failed ({e}); it is tried again until the disk works"),
        ),
        redb::Error::PreviousIo | redb::Error::DatabaseClosed | redb::Error::Backend(_) => Error::backoff(
            Domain::State,
            format!("store {path_text}: the disk failed before ({error}); the file is opened again"),
        ),
        redb::Error::Corrupted(words) => broken(path, words),
        other => Error::fatal(Domain::State, format!("store {path_text}: {other}")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicebox_core::Retry;

    #[test]
    fn a_full_disk_is_waited_for_and_named() {
        let full = redb::StorageError::Io(std::io::Error::from(ErrorKind::StorageFull));
        let error = Fault::from(full).words(Path::new("data/a/store.redb"));
        assert_eq!((error.domain, error.retry), (Domain::State, Retry::Backoff));
        assert!(error.message.contains("data/a/store.redb") && error.message.contains("no space left"), "{error}");
    }

    #[test]
    fn a_broken_file_is_not_waited_for() {
        let error = Fault::from(redb::StorageError::Corrupted("page".into())).words(Path::new("s.redb"));
        assert_eq!(error.retry, Retry::Never);
        assert!(error.message.contains("move it away"), "{error}");
    }
}
