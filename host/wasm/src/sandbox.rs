//! The one wasmtime engine of the process, and the ticker that interrupts its guests.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, OnceLock};
use std::thread::Thread;
use std::time::Duration;

use sluicebox_core::error::{Error, Result};
use wasmtime::{Config, Engine};

/// How often a running guest's CPU time is looked at.
const TICK: Duration = Duration::from_millis(1);
/// Stack of a guest.
const STACK_BYTES: usize = 512 << 10;

/// The engine and its ticker. The ticker sleeps while no guest runs.
pub(crate) struct Sandbox {
    engine: Engine,
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
        let mut config = Config::new();
        config.epoch_interruption(true).max_wasm_stack(STACK_BYTES).concurrency_support(false);
        let engine = Engine::new(&config).map_err(|error| Error::internal(format!("cannot start the sandbox: {error:#}")))?;
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
        Ok(Self { engine, running, ticker: thread.thread().clone() })
    }

    pub(crate) fn engine(&self) -> &Engine {
        &self.engine
    }

    /// Keeps the ticker awake while a guest runs.
    pub(crate) fn run(&self) -> Running<'_> {
        if self.running.fetch_add(1, Ordering::AcqRel) == 0 {
            self.ticker.unpark();
        }
        Running(self)
    }
}

impl Drop for Running<'_> {
    fn drop(&mut self) {
        self.0.running.fetch_sub(1, Ordering::AcqRel);
    }
}
