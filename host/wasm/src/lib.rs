//! Components: the only crate that knows wasmtime.
//!
//! A component is opened as a step or a validator. It runs in a sandbox with a bound on memory, tables and CPU time, reaches nothing but a log
//! (invariant 7), and when a call fails, the guilty rows are found by halves and refused alone (invariant 6).
//!
//! Clocks and randomness of guests: the wall clock stands at the time the batch was closed, random numbers are the same for every instance, so
//! that a retry gives the same rows. There is nothing to wait on: a guest that polls is trapped.

mod bindings;
mod sandbox;
mod cache;
mod state;
mod wasi;
mod instance;
mod plane;
mod plan;
mod call;
mod transform;
mod validator;
mod components;

pub use components::{ComponentSettings, WasmComponents};
