//! Configuration: YAML text to document (what was written, with places) to [`spec::Spec`] (checked and typed).
//!
//! Promises: every error is collected, none but the first forgotten; each has its file, line and column, says what was found, what was
//! expected and the nearest valid name, and quotes no secret (invariant 9). What is wrong keeps only itself from starting
//! (invariant 8). The environment is a parameter.

mod build;
mod document;
mod error;
mod json_schema;
mod keys;
mod librdkafka;
mod load;
mod nearest;
mod paths;
mod pattern;
mod privacy;
mod properties;
mod schema;
mod secrets;
mod size;
pub mod spec;
mod types;
mod walk;
mod yaml;

pub use error::ConfigError;
pub use json_schema::json_schema;
pub use load::{ConfigSource, Loaded, load};
pub use secrets::Environment;
