//! The one error of the ports: whose fault it is, whether waiting helps, and words for a person.

use std::fmt;

/// Whose fault an error is, so that the engine can decide without reading text.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Domain {
    /// The configuration is wrong: nothing but an edit mends it.
    Config,
    /// User code (a component or an SQL step) failed.
    Guest,
    /// The Kafka cluster is away, refuses us, or answered with an error.
    Broker,
    /// The store or its disk failed.
    State,
    /// A fault of ours.
    Internal,
}

/// Whether the same call may succeed later.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
pub enum Retry {
    /// Never: the pipeline fails.
    Never,
    /// After a back-off: the pipeline waits.
    Backoff,
}

/// An error that crosses a port. `Display` is a lower-case fragment without a full stop.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Error {
    /// Whose fault it is.
    pub domain: Domain,
    /// Whether waiting helps.
    pub retry: Retry,
    /// What happened, with the names that locate it, and how to mend it.
    pub message: String,
}

/// A result of a port.
pub type Result<T, E = Error> = std::result::Result<T, E>;

impl Error {
    /// An error that no waiting mends.
    pub fn fatal(domain: Domain, message: impl Into<String>) -> Self {
        Self { domain, retry: Retry::Never, message: message.into() }
    }

    /// An error that may go away by itself.
    pub fn backoff(domain: Domain, message: impl Into<String>) -> Self {
        Self { domain, retry: Retry::Backoff, message: message.into() }
    }

    /// A wrong configuration.
    pub fn config(message: impl Into<String>) -> Self {
        Self::fatal(Domain::Config, message)
    }

    /// A fault of ours.
    pub fn internal(message: impl Into<String>) -> Self {
        Self::fatal(Domain::Internal, message)
    }

    /// The same error with words before it that say where.
    #[must_use]
    pub fn at(mut self, place: impl fmt::Display) -> Self {
        self.message = format!("{place}: {}", self.message);
        self
    }
}

impl fmt::Display for Error {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(&self.message)
    }
}

impl std::error::Error for Error {}
