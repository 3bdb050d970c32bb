//! The log of a component: bounded, and silent where it could tell what a privacy rule protects (invariants 9, 10).

use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use crate::bindings::log::Level;

/// Lines of one batch that are kept.
const LINES_MAX: usize = 1_000;
/// Bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 4 << 10;

/// Whose log it is.
#[derive(Debug, Clone)]
pub(crate) struct Place {
    pub(crate) tenant: String,
    pub(crate) pipeline: String,
    pub(crate) component: String,
}

/// The log of all instances of a component in a pipeline.
#[derive(Clone)]
pub(crate) struct Log(Arc<Mutex<Lines>>);

struct Lines {
    place: Place,
    withheld: bool,
    kept: usize,
    dropped: u64,
}

impl Log {
    /// A log without lines.
    pub(crate) fn new(place: Place) -> Log {
        Log(Arc::new(Mutex::new(Lines { place, withheld: false, kept: 0, dropped: 0 })))
    }

    /// From now on calls see a column with a privacy rule: no line is kept.
    pub(crate) fn withhold(&self) {
        self.lines().withheld = true;
    }

    /// A line of the guest.
    pub(crate) fn write(&self, level: Level, message: &str) {
        let mut lines = self.lines();
        if lines.withheld || lines.kept >= LINES_MAX {
            lines.dropped += 1;
            return;
        }
        lines.kept += 1;
        let message = &message[..message.floor_char_boundary(LINE_BYTES_MAX)];
        let Place { tenant, pipeline, component } = &lines.place;
        match level {
            Level::Debug => tracing::debug!(tenant, pipeline, component, "{message}"),
            Level::Info => tracing::info!(tenant, pipeline, component, "{message}"),
            Level::Warn => tracing::warn!(tenant, pipeline, component, "{message}"),
            Level::Error => tracing::error!(tenant, pipeline, component, "{message}"),
        }
    }

    /// What the sandbox knows of a failed call, for whoever writes the component.
    pub(crate) fn failure(&self, error: &wasmtime::Error) {
        if tracing::enabled!(tracing::Level::DEBUG) {
            self.write(Level::Debug, &format!("{error:?}"));
        }
    }

    /// A batch ends: says how many lines were dropped, and counts anew.
    pub(crate) fn end_batch(&self) {
        let mut lines = self.lines();
        lines.kept = 0;
        let dropped = std::mem::take(&mut lines.dropped);
        let Place { tenant, pipeline, component } = &lines.place;
        if dropped > 0 && lines.withheld {
            tracing::debug!(
                tenant,
                pipeline,
                component,
                dropped,
                "log lines withheld: the component sees a column with a privacy rule"
            );
        } else if dropped > 0 {
            tracing::warn!(tenant, pipeline, component, dropped, "log lines beyond {LINES_MAX} a batch dropped");
        }
    }

    fn lines(&self) -> MutexGuard<'_, Lines> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

/// Bytes of standard output or error on their way to a log, line by line.
pub(crate) struct Stream {
    log: Log,
    level: Level,
    line: Vec<u8>,
}

impl Stream {
    /// A stream whose lines have this level.
    pub(crate) fn new(log: Log, level: Level) -> Stream {
        Stream { log, level, line: Vec::new() }
    }

    /// Takes bytes; a line is logged when it ends or is too long.
    pub(crate) fn write(&mut self, bytes: &[u8]) {
        for part in bytes.split_inclusive(|byte| *byte == b'\n') {
            for piece in part.chunks(LINE_BYTES_MAX) {
                self.line.extend_from_slice(piece);
                if self.line.ends_with(b"\n") || self.line.len() >= LINE_BYTES_MAX {
                    self.end_line();
                }
            }
        }
    }

    /// Logs what has been written of a line.
    pub(crate) fn end_line(&mut self) {
        let line = std::mem::take(&mut self.line);
        let text = String::from_utf8_lossy(&line);
        if !text.trim_end().is_empty() {
            self.log.write(self.level, text.trim_end());
        }
    }
}
