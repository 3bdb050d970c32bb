//! Components: the only crate that knows wasmtime.
//!
//! A component is opened as a step or a validator. It runs in a sandbox with bounds on memory, tables and CPU time, reaches nothing but a log
//! (invariant 7), and when a call fails, the guilty rows are found by halves and refused alone (invariant 6).
//!
//! What a guest sees of the world is the same on every run: the wall clock stands at the time the batch was closed (at 1970 in `open`), the
//! monotonic clock moves by a microsecond with each look at it, random numbers are the same for each instance. There is nothing to wait on:
//! whatever a guest polls is ready at once. What it writes to standard output and error goes to its log.

mod bindings;
mod cache;
mod call;
mod components;
mod contract;
mod instance;
mod log;
mod plan;
mod plane;
mod refusal;
mod sandbox;
mod size;
mod state;
mod transform;
mod validator;
mod wasi;

pub use components::{ComponentSettings, WasmComponents};
