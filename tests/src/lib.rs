//! What the scenarios share: the program as a child process, and Apache Kafka itself.

pub mod kafka;
pub mod program;
