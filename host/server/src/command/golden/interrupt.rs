//! A store that dies: lets one commit through, then refuses as if the process were gone.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use arrow::datatypes::SchemaRef;
use sluicebox_core::audit::AuditDelta;
use sluicebox_core::commit::Delta;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::{PipelineName, TableName};
use sluicebox_core::port::{Retention, Sink, Store};
use sluicebox_core::position::Positions;
use sluicebox_core::query::{Snapshot, Snapshots};

/// One life of a store.
pub(super) struct InterruptedStore {
    inner: Arc<dyn Store>,
    /// Whether the one commit's answer is lost: it is durable, but nobody learns of it.
    answer_lost: bool,
    dead: AtomicBool,
}

impl InterruptedStore {
    pub(super) fn new(inner: Arc<dyn Store>, answer_lost: bool) -> Self {
        Self { inner, answer_lost, dead: AtomicBool::new(false) }
    }

    fn alive(&self) -> Result<()> {
        if self.dead.load(Ordering::Acquire) { Err(died()) } else { Ok(()) }
    }
}

fn died() -> Error {
    Error::internal("interrupted by the test")
}

impl Snapshots for InterruptedStore {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        self.inner.snapshot()
    }
}

impl Store for InterruptedStore {
    fn id(&self) -> String {
        self.inner.id()
    }

    fn positions(&self, pipeline: &PipelineName) -> Result<Positions> {
        self.inner.positions(pipeline)
    }

    fn table(&self, table: &TableName, schema: &SchemaRef, owner: &PipelineName, retention: Retention) -> Result<Box<dyn Sink>> {
        self.inner.table(table, schema, owner, retention)
    }

    fn commit(&self, deltas: &[Delta]) -> Result<()> {
        self.alive()?;
        // The positions at which partitions begin are no step of the load: a life that only stored them would not get on.
        let moves = deltas.iter().any(|delta| delta.advances.iter().any(|advance| advance.from != advance.to));
        self.inner.commit(deltas)?;
        if moves {
            self.dead.store(true, Ordering::Release);
            if self.answer_lost {
                return Err(died());
            }
        }
        Ok(())
    }

    fn audit(&self, pipeline: &PipelineName, audit: &AuditDelta) -> Result<()> {
        // The end of a life that died is not written; a life with nothing left to do ends well.
        if self.dead.load(Ordering::Acquire) { Ok(()) } else { self.inner.audit(pipeline, audit) }
    }

    fn retain_rejects(&self, retention: Retention) -> Result<()> {
        self.inner.retain_rejects(retention)
    }

    fn maintain(&self, now: i64) -> Result<bool> {
        // A life that is over tidies nothing up.
        if self.dead.load(Ordering::Acquire) { Ok(false) } else { self.inner.maintain(now) }
    }

    fn paused(&self, pipeline: &PipelineName) -> Result<bool> {
        self.inner.paused(pipeline)
    }

    fn set_paused(&self, pipeline: &PipelineName, paused: bool) -> Result<()> {
        self.inner.set_paused(pipeline, paused)
    }
}
