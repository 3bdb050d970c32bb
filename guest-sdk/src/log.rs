//! Lines for the host's log.
//!
//! The host keeps at most 1,000 lines of 4 KiB a batch, and none from a call that saw a column with a privacy rule. Outside of a host,
//! in unit tests, lines are kept for [`crate::testing::logged`].

pub use crate::bindings::batch_transform::sluicebox::component::log::Level;

/// Writes a line.
pub fn write(level: Level, line: &str) {
    #[cfg(target_arch = "wasm32")]
    crate::bindings::batch_transform::sluicebox::component::log::log(level, line);
    #[cfg(not(target_arch = "wasm32"))]
    crate::testing::keep(level, line);
}

/// For whoever writes the component.
pub fn debug(line: &str) {
    write(Level::Debug, line);
}

/// For whoever runs it.
pub fn info(line: &str) {
    write(Level::Info, line);
}

/// Something is odd.
pub fn warn(line: &str) {
    write(Level::Warn, line);
}

/// Something is wrong.
pub fn error(line: &str) {
    write(Level::Error, line);
}
