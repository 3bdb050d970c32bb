//! Time as a parameter.

/// Tells the time: the engine asks nobody else.
pub trait Clock: Send + Sync {
    /// Microseconds since 1970 UTC.
    fn now(&self) -> i64;

    /// A number in 0..=1 that spreads retries.
    fn jitter(&self) -> f64 {
        (self.now() % 1000) as f64 / 1000.0
    }
}
