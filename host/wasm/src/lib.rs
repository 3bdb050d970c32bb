//! Components: the only crate that knows wasmtime.
