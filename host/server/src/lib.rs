//! The binary `sluicebox`: command line, HTTP, and the one place that knows every adapter.
//!
//! Reading order: [`cli`] is what a user may type, [`host`] composes adapters into running tenants, [`http`] is what a running host
//! answers; each command has a module under [`command`].

pub mod cli;
pub mod client;
pub mod command;
pub mod exit;
pub mod host;
pub mod http;
pub mod progress;
pub mod rows;
pub mod system;
