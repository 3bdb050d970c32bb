//! WASI with nothing behind it: for language runtimes that cannot start without it.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use wasmtime::component::Linker;
use wasmtime_wasi::random::Deterministic;
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtx};

use crate::state::State;

/// The versions of `wasi:io/poll` that a guest may name; none of them waits.
const POLL: [&str; 1] = ["wasi:io/poll@0.2.6"];

/// A context without files, network, environment or arguments. What is written to standard output and error is dropped.
pub(crate) fn context(closed_at: Arc<AtomicI64>) -> WasiCtx {
    let seed = || Deterministic::new((0..=255u8).map(|i| i.wrapping_mul(167).wrapping_add(13)).collect());
    let mut builder = WasiCtx::builder();
    builder.secure_random(seed()).insecure_random(seed()).insecure_random_seed(0x5c1c_eb0c);
    builder.wall_clock(Closed(closed_at)).monotonic_clock(Since(Instant::now()));
    builder.allow_tcp(false).allow_udp(false).allow_ip_name_lookup(false);
    builder.build()
}

/// Links WASI, and traps whoever waits.
pub(crate) fn link(linker: &mut Linker<State>) -> wasmtime::Result<()> {
    wasmtime_wasi::p2::add_to_linker_sync(linker)?;
    linker.allow_shadowing(true);
    for name in POLL {
        let mut poll = linker.instance(name)?;
        for function in ["poll", "[method]pollable.block"] {
            poll.func_new(function, |_, _, _, _| Err(wasmtime::Error::msg("a component has nothing to wait on: it may not sleep or poll")))?;
        }
    }
    linker.allow_shadowing(false);
    Ok(())
}

/// A wall clock that stands at the time the batch was closed.
struct Closed(Arc<AtomicI64>);

impl HostWallClock for Closed {
    fn resolution(&self) -> Duration {
        Duration::from_micros(1)
    }

    fn now(&self) -> Duration {
        Duration::from_micros(self.0.load(Ordering::Acquire).unsigned_abs())
    }
}

/// Time since the instance began: runtimes schedule by it.
struct Since(Instant);

impl HostMonotonicClock for Since {
    fn resolution(&self) -> u64 {
        1_000
    }

    fn now(&self) -> u64 {
        u64::try_from(self.0.elapsed().as_nanos()).unwrap_or(u64::MAX)
    }
}
