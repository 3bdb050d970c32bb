//! The one wasmtime engine of the process, what guests are linked with, and the ticker that interrupts them.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use sluicebox_core::error::{Error, Result};
use wasmtime::component::{HasSelf, Linker};
use wasmtime::{Config, Engine};

use crate::bindings::log;
use crate::state::State;
use crate::wasi;

/// How often a running guest's CPU time is looked at: the grain of its limit, of which the smallest is five.
const TICK: Duration = Duration::from_millis(1);
/// Stack of a guest; the threads that run pipelines have 2 MiB.
const STACK_BYTES: usize = 512 << 10;

/// The engine, the linker and the ticker. The ticker sleeps while no guest runs.
pub(crate) struct Sandbox {
    engine: Engine,
    linker: Linker<State>,
    running: Arc<AtomicUsize>,
    ticker: Thread,
}

/// A guest runs while this lives.
pub(crate) struct Running<'a>(&'a Sandbox);

impl Sandbox {
    /// The sandbox of the process, made at the first call.
    pub(crate) fn get() -> Result<&'static Sandbox> {
        static SANDBOX: OnceLock<Result<Sandbox>> = OnceLock::new();
        SANDBOX.get_or_init(Sandbox::start).as_ref().map_err(Clone::clone)
    }

    fn start() -> Result<Self> {
        let engine = Engine::new(&config()).map_err(|error| Error::internal(format!("cannot start the sandbox: {error:#}")))?;
        let linker = linker(&engine).map_err(|error| Error::internal(format!("cannot link the guests' imports: {error:#}")))?;
        let running = Arc::new(AtomicUsize::new(0));
        let tick = {
            let (engine, running) = (engine.clone(), running.clone());
            move || loop {
                if running.load(Ordering::Acquire) == 0 {
                    std::thread::park();
                } else {
                    std::thread::park_timeout(TICK);
                    engine.increment_epoch();
                }
            }
        };
        let spawned = std::thread::Builder::new().name("guest ticker".into()).spawn(tick);
        let thread = spawned.map_err(|error| Error::internal(format!("cannot start the guests' ticker: {error}")))?;
        Ok(Self { engine, linker, running, ticker: thread.thread().clone() })
    }

    /// Compiles and runs guests.
    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// What guests are granted.
    pub(crate) fn linker(&self) -> &Linker<State> {
        &self.linker
    }

    /// Keeps the ticker awake while a guest runs.
    pub(crate) fn run(&self) -> Running<'_> {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.ticker.unpark();
        }
        Running(self)
    }
}

/// Calls are synchronous and interrupted by epochs. Concurrency of the component model would cost each call half a microsecond.
fn config() -> Config {
    let mut config = Config::new();
    config.epoch_interruption(true).max_wasm_stack(STACK_BYTES).concurrency_support(false);
    config
}

fn linker(engine: &Engine) -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(engine);
    wasi::link(&mut linker)?;
    log::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}
