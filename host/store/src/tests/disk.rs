//! A disk in memory that fails where a test wants it to, or forgets what was not synced.

use std::io::{Error, ErrorKind};
use std::sync::{Arc, Mutex, MutexGuard};

use redb::{Builder, Database, DatabaseError, StorageBackend};

use crate::file::Opener;

#[derive(Debug, Default, Clone)]
struct Content {
    now: Vec<u8>,
    synced: Vec<u8>,
    /// Writes, syncs and changes of length so far.
    steps: u64,
    /// From this step on everything fails.
    fail_from: Option<(u64, ErrorKind)>,
}

/// The disk; clones are the same disk.
#[derive(Debug, Default, Clone)]
pub struct Disk(Arc<Mutex<Content>>);

impl Disk {
    fn content(&self) -> MutexGuard<'_, Content> {
        self.0.lock().expect("no test panics while it holds the disk")
    }

    pub fn steps(&self) -> u64 {
        self.content().steps
    }

    pub fn fail_from(&self, step: u64, kind: ErrorKind) {
        self.content().fail_from = Some((step, kind));
    }

    pub fn heal(&self) {
        self.content().fail_from = None;
    }

    /// What is left after the power is lost: only what was synced.
    pub fn power_lost(&self) -> Disk {
        Self::left(self.content().synced.clone())
    }

    /// What is left after a kill: all that was written.
    pub fn killed(&self) -> Disk {
        Self::left(self.content().now.clone())
    }

    /// A file that redb had not begun is emptied before it is opened, as a real one is.
    fn left(bytes: Vec<u8>) -> Disk {
        let now = if bytes.starts_with(&[0; 9]) { Vec::new() } else { bytes };
        Disk(Arc::new(Mutex::new(Content { synced: now.clone(), now, ..Content::default() })))
    }

    pub fn opener(&self) -> Opener {
        let disk = self.clone();
        Box::new(move |builder: &Builder| -> Result<Database, DatabaseError> { builder.create_with_backend(disk.clone()) })
    }

    fn step(&self) -> Result<MutexGuard<'_, Content>, Error> {
        let mut content = self.content();
        content.steps += 1;
        match content.fail_from {
            Some((step, kind)) if content.steps > step => Err(kind.into()),
            _ => Ok(content),
        }
    }
}

impl StorageBackend for Disk {
    fn len(&self) -> Result<u64, Error> {
        Ok(self.content().now.len() as u64)
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> Result<(), Error> {
        let content = self.content();
        let from = offset as usize;
        let bytes = content.now.get(from..from + out.len()).ok_or(ErrorKind::UnexpectedEof)?;
        out.copy_from_slice(bytes);
        Ok(())
    }

    fn set_len(&self, len: u64) -> Result<(), Error> {
        self.step()?.now.resize(len as usize, 0);
        Ok(())
    }

    fn sync_data(&self) -> Result<(), Error> {
        let mut content = self.step()?;
        content.synced = content.now.clone();
        Ok(())
    }

    fn write(&self, offset: u64, data: &[u8]) -> Result<(), Error> {
        let mut content = self.step()?;
        let from = offset as usize;
        content.now[from..from + data.len()].copy_from_slice(data);
        Ok(())
    }
}
