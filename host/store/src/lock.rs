//! One process holds a store: a lock file beside it, with the holder's process id for the words of the second one.

use std::fs::{File, OpenOptions};
use std::io::{Read, Seek, Write};
use std::path::{Path, PathBuf};

use rustix::fs::{FlockOperation, flock};
use sluicebox_core::error::{Domain, Error, Result};

/// The lock; given back when dropped or when the process ends in any way.
#[derive(Debug)]
pub(crate) struct StoreLock {
    _file: File,
}

impl StoreLock {
    /// Takes the lock of the store at `path`.
    pub fn take(path: &Path) -> Result<Self> {
        let beside = beside(path);
        let open = OpenOptions::new().read(true).write(true).create(true).truncate(false).open(&beside);
        let mut file = open.map_err(|e| cannot_open(path, &e))?;
        if let Err(error) = flock(&file, FlockOperation::NonBlockingLockExclusive) {
            return Err(if error == rustix::io::Errno::WOULDBLOCK {
                held(path, &mut file)
            } else {
                cannot_open(path, &error.into())
            });
        }
        // The id only serves the words; the lock itself is the kernel's.
        let written = file.set_len(0).and_then(|()| file.rewind()).and_then(|()| write!(file, "{}", std::process::id()));
        written.map_err(|e| cannot_open(path, &e))?;
        Ok(Self { _file: file })
    }
}

fn beside(path: &Path) -> PathBuf {
    let mut name = path.as_os_str().to_owned();
    name.push(".lock");
    name.into()
}

fn held(path: &Path, file: &mut File) -> Error {
    let mut holder = String::new();
    let known = file.take(32).read_to_string(&mut holder).is_ok() && !holder.trim().is_empty();
    let who = if known { format!("process {}", holder.trim()) } else { "another process".to_owned() };
    let mend = "stop that process, or give the command to the running host";
    Error::backoff(Domain::State, format!("store {} is in use by {who}; {mend}", path.display()))
}

/// Words for a file that cannot be opened at all.
pub(crate) fn cannot_open(path: &Path, error: &std::io::Error) -> Error {
    let mend = match error.kind() {
        std::io::ErrorKind::NotFound => "make the folder, or set `data` to one that exists",
        std::io::ErrorKind::PermissionDenied | std::io::ErrorKind::ReadOnlyFilesystem => {
            "give this user the right to write there"
        }
        _ => "see that the disk works and has space",
    };
    Error::fatal(Domain::State, format!("cannot open store {}: {error}; {mend}", path.display()))
}
