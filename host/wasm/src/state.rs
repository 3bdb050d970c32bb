//! What the host keeps of one instance: its limits, its clock, its log.

use std::time::{Duration, Instant};

use rustix::time::{ClockId, clock_gettime};
use wasmtime::component::ResourceTable;
use wasmtime::{ResourceLimiter, UpdateDeadline};
use wasmtime_wasi::{WasiCtx, WasiCtxView, WasiView};

use crate::bindings::log::{self, Level};
use crate::bindings::{batch_types, record_types, types};
use crate::log::Log;
use crate::wasi::{self, Clock};

/// Elements of all tables of an instance. The largest language runtime seen needs 7,689.
pub(crate) const TABLE_ELEMENTS_MAX: usize = 20_000;
/// Handles that a guest may hold in the host.
const HANDLES_MAX: usize = 1_000;
/// Core instances of a component. The largest language runtime seen needs 38.
const INSTANCES_MAX: usize = 100;
/// Memories of a component, each of which takes address space.
const MEMORIES_MAX: usize = 16;
/// Tables of a component.
const TABLES_MAX: usize = 100;
/// The longest wall time of a call, whatever CPU time it has left.
pub(crate) const WALL_MAX: Duration = Duration::from_secs(30);

/// CPU time of this thread.
pub(crate) fn cpu_time() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), u32::try_from(time.tv_nsec).unwrap_or(0))
}

/// Why the host stopped a guest, or what it refused it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Stopped {
    /// It used up its CPU time.
    Cpu,
    /// It took [`WALL_MAX`].
    Wall,
    /// It wanted more memory than it may have.
    Memory,
    /// It wanted more than [`TABLE_ELEMENTS_MAX`].
    Tables,
}

/// Data of a store.
pub(crate) struct State {
    memory_max: usize,
    memory: usize,
    table: usize,
    deadline: (Duration, Instant),
    stopped: Option<Stopped>,
    wasi: WasiCtx,
    handles: ResourceTable,
    clock: Clock,
    log: Log,
}

impl State {
    /// Limits and log of a new instance.
    pub(crate) fn new(memory_max: usize, log: Log) -> Self {
        let mut handles = ResourceTable::new();
        handles.set_max_capacity(HANDLES_MAX);
        let clock = Clock::default();
        let wasi = wasi::context(&clock, &log);
        let deadline = (Duration::MAX, Instant::now());
        Self { memory_max, memory: 0, table: 0, deadline, stopped: None, wasi, handles, clock, log }
    }

    /// A call begins: it may use so much CPU time.
    pub(crate) fn begin(&mut self, cpu: Duration) {
        self.stopped = None;
        self.deadline = (cpu_time().saturating_add(cpu), Instant::now() + WALL_MAX);
    }

    /// A batch begins: the clock stands at its closing time (microseconds since 1970 UTC).
    pub(crate) fn begin_batch(&mut self, closed_at: i64) {
        self.clock.set(closed_at);
    }

    /// Looked at with every tick. Only the guest's own time counts as CPU time, so that a busy machine makes no verdicts.
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

    /// Why the host stopped the last call, or what it refused in it.
    pub(crate) fn stopped(&self) -> Option<Stopped> {
        self.stopped
    }

    /// Bytes of linear memory in use.
    pub(crate) fn memory(&self) -> usize {
        self.memory
    }
}

impl ResourceLimiter for State {
    fn memory_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.memory.saturating_sub(current).saturating_add(desired);
        let allowed = total <= self.memory_max;
        if allowed {
            self.memory = total;
        } else {
            self.stopped = Some(Stopped::Memory);
        }
        Ok(allowed)
    }

    fn table_growing(&mut self, current: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        let total = self.table.saturating_sub(current).saturating_add(desired);
        let allowed = total <= TABLE_ELEMENTS_MAX;
        if allowed {
            self.table = total;
        } else {
            self.stopped = Some(Stopped::Tables);
        }
        Ok(allowed)
    }

    fn instances(&self) -> usize {
        INSTANCES_MAX
    }

    fn memories(&self) -> usize {
        MEMORIES_MAX
    }

    fn tables(&self) -> usize {
        TABLES_MAX
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::log::Place;

    fn state(memory_max: usize) -> State {
        let place = Place { tenant: "t".into(), pipeline: "p".into(), component: "c".into() };
        State::new(memory_max, Log::new(place))
    }

    #[test]
    fn memories_share_one_bound() {
        let mut state = state(10);
        assert!(state.memory_growing(0, 6, None).expect("answers"));
        assert!(state.memory_growing(0, 4, None).expect("answers"));
        assert_eq!(state.stopped(), None);
        assert!(!state.memory_growing(6, 7, None).expect("answers"));
        assert_eq!((state.stopped(), state.memory()), (Some(Stopped::Memory), 10));
    }

    #[test]
    fn waiting_is_no_cpu_time_but_it_ends() {
        let mut state = state(10);
        state.begin(Duration::from_millis(5));
        let (_keep, silent) = std::sync::mpsc::channel::<()>();
        silent.recv_timeout(Duration::from_millis(30)).expect_err("nobody sends");
        assert!(matches!(state.tick(), UpdateDeadline::Continue(1)));
        state.deadline.1 = Instant::now();
        assert!(matches!(state.tick(), UpdateDeadline::Interrupt));
        assert_eq!(state.stopped(), Some(Stopped::Wall));
        state.begin(Duration::ZERO);
        assert!(matches!(state.tick(), UpdateDeadline::Interrupt));
        assert_eq!(state.stopped(), Some(Stopped::Cpu));
    }
}
