//! What the author of a component in Rust sees.

pub mod ipc;
pub mod json;
pub mod settings;
