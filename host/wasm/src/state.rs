//! What the host keeps of one instance: its limits, its clock, its log.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::log::{self, Level};
use crate::bindings::{batch_types, record_types, types};
use crate::wasi;

/// Elements of all tables of an instance. The largest runtime seen needs 7,689.
const TABLE_ELEMENTS_MAX: usize = 20_000;
/// Handles that a guest may hold in the host.
const HANDLES_MAX: usize = 1_000;
/// Lines of one batch that are kept.
const LINES_MAX: usize = 1_000;
/// Bytes of a line that are kept.
const LINE_BYTES_MAX: usize = 4 << 10;
/// The longest wall time of a call, whatever CPU time it has left.
pub(crate) const WALL_MAX: Duration = Duration::from_secs(30);

/// CPU time of this thread.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Why the host stopped a guest.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It used up its CPU time.
    Cpu,
    /// It took [`WALL_MAX`].
    Wall,
    /// It wanted more memory or table room than it may have.
    Memory,
}

/// Data of a store.
pub(crate) struct State {
    memory_max: usize,
    memory: usize,
    table: usize,
    deadline: (Duration, Instant),
    /// Why the host stopped the last call, or what it refused in it.
    pub(crate) stopped: Option<Stopped>,
    wasi: WasiCtx,
    handles: ResourceTable,
    /// The batch's closing time, for the guest's wall clock: microseconds since 1970 UTC.
    pub(crate) closed_at: Arc<AtomicI64>,
    /// The guest's log.
    pub(crate) log: Log,
}

/// The log of a component.
pub(crate) struct Log {
    place: String,
    /// Whether lines are withheld: the call sees a column with a privacy rule.
    withheld: bool,
    lines: usize,
    dropped: u64,
}

impl State {
    pub(crate) fn new(memory_max: usize, place: String, withheld: bool) -> Self {
        let closed_at = Arc::new(AtomicI64::new(0));
        let mut handles = ResourceTable::new();
        handles.set_max_capacity(HANDLES_MAX);
        let log = Log { place, withheld, lines: 0, dropped: 0 };
        let wasi = wasi::context(closed_at.clone());
        let deadline = (Duration::MAX, Instant::now());
        Self { memory_max, memory: 0, table: 0, deadline, stopped: None, wasi, handles, closed_at, log }
    }

    /// A call begins: it may use so much CPU time.
    pub(crate) fn begin(&mut self, cpu: Duration) {
        self.stopped = None;
        self.deadline = (cpu_time().saturating_add(cpu), Instant::now() + WALL_MAX);
    }

    /// A batch begins: the clock stands, lines are counted anew.
    pub(crate) fn begin_batch(&mut self, closed_at: i64) {
        self.closed_at.store(closed_at, Ordering::Release);
        self.log.end_batch();
    }

    /// Looked at with every tick.
    pub(crate) fn tick(&mut self) -> UpdateDeadline {
        let (cpu, wall) = self.deadline;
        if cpu_time() >= cpu {
            self.stopped = Some(Stopped::Cpu);
        } else if Instant::now() >= wall {
            self.stopped = Some(Stopped::Wall);
        } else {
            return UpdateDeadline::Continue(1);
        }
        UpdateDeadline::Interrupt
    }
}

impl Log {
    fn end_batch(&mut self) {
        let dropped = std::mem::take(&mut self.dropped);
        if dropped > 0 {
            let why = if self.withheld { "withheld, for it sees a column with a privacy rule" } else { "left out" };
            tracing::info!("{}: {dropped} log lines {why}", self.place);
        }
        self.lines = 0;
    }

    fn write(&mut self, level: Level, message: &str) {
        if self.withheld || self.lines >= LINES_MAX {
            self.dropped += 1;
            return;
        }
        self.lines += 1;
        let mut end = message.len().min(LINE_BYTES_MAX);
        while !message.is_char_boundary(end) {
            end -= 1;
        }
        let (place, message) = (&self.place, &message[..end]);
        match level {
            Level::Debug => tracing::debug!("{place}: {message}"),
            Level::Info => tracing::info!("{place}: {message}"),
            Level::Warn => tracing::warn!("{place}: {message}"),
            Level::Error => tracing::error!("{place}: {message}"),
        }
    }
}

impl Drop for Log {
    fn drop(&mut self) {
        self.end_batch();
    }
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory - current.min(self.memory) + desired;
        let allowed = total <= self.memory_max;
        if allowed {
            self.memory = total;
        } else {
            self.stopped = Some(Stopped::Memory);
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.table - current.min(self.table) + desired;
        let allowed = total <= TABLE_ELEMENTS_MAX;
        if allowed {
            self.table = total;
        } else {
            self.stopped = Some(Stopped::Memory);
        }
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        64
    }

    fn memories(&self) -> usize {
        16
    }

    fn tables(&self) -> usize {
        64
    }
}

impl WasiView for State {
    fn ctx(&mut self) -> WasiCtxView<'_> {
        WasiCtxView { ctx: &mut self.wasi, table: &mut self.handles }
    }
}

impl log::Host for State {
    fn log(&mut self, level: Level, message: String) {
        self.log.write(level, &message);
    }
}

impl types::Host for State {}
impl batch_types::Host for State {}
impl record_types::Host for State {}
