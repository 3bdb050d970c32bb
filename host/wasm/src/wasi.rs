//! WASI with nothing behind it: for language runtimes that cannot start without it.

use std::sync::atomic::{AtomicI64, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use bytes::Bytes;
use wasmtime::StoreContextMut;
use wasmtime::component::{Linker, Resource};
use wasmtime_wasi::cli::{IsTerminal, StdoutStream};
use wasmtime_wasi::p2::pipe::{MemoryInputPipe, MemoryOutputPipe};
use wasmtime_wasi::p2::{DynPollable, OutputStream, Pollable, StreamResult};
use wasmtime_wasi::{Deterministic, HostMonotonicClock, HostWallClock, WasiCtx, async_trait};

use crate::bindings::log::Level;
use crate::log::{Log, Stream};
use crate::state::State;

/// The interface with which guests wait, in the version that is linked; a guest with another 0.2 gets it too.
const POLL: &str = "wasi:io/poll@0.2.12";
/// Bytes that a guest may write to standard output at once.
const WRITE_BYTES_MAX: usize = 64 << 10;
/// Random bytes that a guest may ask for at once.
const RANDOM_BYTES_MAX: u64 = 1 << 20;
/// What one look at the monotonic clock moves it by, in nanoseconds.
const LOOK: u64 = 1_000;

/// A context without files, network, environment or arguments. Standard output and error go to the log.
pub(crate) fn context(clock: &Clock, log: &Log) -> WasiCtx {
    let random = || Deterministic::new((0..=255u8).map(|i| i.wrapping_mul(167).wrapping_add(13)).collect());
    let mut builder = WasiCtx::builder();
    builder.stdin(MemoryInputPipe::new("")).stdout(Output::new(log, Level::Info)).stderr(Output::new(log, Level::Warn));
    builder.secure_random(random()).insecure_random(random()).insecure_random_seed(0x5c1c_eb0c);
    builder.max_random_size(RANDOM_BYTES_MAX).wall_clock(clock.clone()).monotonic_clock(Looks::default());
    builder.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    builder.build()
}

/// Links WASI so that nobody waits: whatever is polled is ready.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    let mut poll = linker.instance(POLL)?;
    poll.func_wrap("poll", |_: StoreContextMut<'_, State>, (all,): (Vec<Resource<DynPollable>>,)| {
        Ok(((0..all.len() as u32).collect::<Vec<u32>>(),))
    })?;
    poll.func_wrap("[method]pollable.block", |_: StoreContextMut<'_, State>, (_,): (Resource<DynPollable>,)| Ok(()))?;
    poll.func_wrap("[method]pollable.ready", |_: StoreContextMut<'_, State>, (_,): (Resource<DynPollable>,)| Ok((true,)))?;
    linker.allow_shadowing(false);
    Ok(())
}

/// A wall clock that stands at the time the batch was closed.
#[derive(Clone, Default)]
pub(crate) struct Clock(Arc<AtomicI64>);

impl Clock {
    /// Sets it: microseconds since 1970 UTC.
    pub(crate) fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::Release);
    }
}

impl HostWallClock for Clock {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        Duration::from_micros(u64::try_from(self.0.load(Ordering::Acquire)).unwrap_or(0))
    }
}

/// A monotonic clock that counts how often it was looked at.
#[derive(Default)]
struct Looks(AtomicU64);

impl HostMonotonicClock for Looks {
    fn resolution(&self) -> u64 {
        LOOK
    }

    fn now(&self) -> u64 {
        self.0.fetch_add(LOOK, Ordering::AcqRel)
    }
}

/// Standard output or error.
#[derive(Clone)]
struct Output(Arc<Mutex<Stream>>);

impl Output {
    fn new(log: &Log, level: Level) -> Output {
        Output(Arc::new(Mutex::new(Stream::new(log.clone(), level))))
    }
}

impl IsTerminal for Output {
    fn is_terminal(&self) -> bool {
        false
    }
}

impl StdoutStream for Output {
    /// For an interface that is not linked.
    fn async_stream(&self) -> Box<dyn tokio::io::AsyncWrite + Send + Sync> {
        Box::new(MemoryOutputPipe::new(0))
    }

    fn p2_stream(&self) -> Box<dyn OutputStream> {
        Box::new(self.clone())
    }
}

impl OutputStream for Output {
    fn write(&mut self, bytes: Bytes) -> StreamResult<()> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner).write(&bytes);
        Ok(())
    }

    fn flush(&mut self) -> StreamResult<()> {
        Ok(())
    }

    fn check_write(&mut self) -> StreamResult<usize> {
        Ok(WRITE_BYTES_MAX)
    }
}

#[async_trait]
impl Pollable for Output {
    async fn ready(&mut self) {}
}
