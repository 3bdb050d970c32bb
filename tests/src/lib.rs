//! What the scenarios share: a child process, a broker, counted input.

pub mod kafka;
