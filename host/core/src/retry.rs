//! Back-off between attempts.

use std::time::Duration;

/// Exponential back-off with jitter, capped; reset by success.
#[derive(Debug, Clone)]
pub struct Backoff {
    first: Duration,
    cap: Duration,
    attempt: u32,
}

impl Backoff {
    /// Waits `first`, then twice as long each time, up to `cap`.
    pub fn new(first: Duration, cap: Duration) -> Self {
        Self { first, cap, attempt: 0 }
    }

    /// The next wait. `jitter` in 0..=1 spreads it over the upper half, so that many pipelines do not come back at once.
    pub fn next(&mut self, jitter: f64) -> Duration {
        let full = self.first.saturating_mul(1 << self.attempt.min(20)).min(self.cap);
        self.attempt = self.attempt.saturating_add(1);
        full.mul_f64(0.5 + jitter.clamp(0.0, 1.0) / 2.0)
    }

    /// Begins again after a success.
    pub fn reset(&mut self) {
        self.attempt = 0;
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn it_doubles_is_capped_and_resets() {
        let mut backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(1));
        let waits: Vec<_> = (0..6).map(|_| backoff.next(1.0).as_millis()).collect();
        assert_eq!(waits, [100, 200, 400, 800, 1000, 1000]);
        assert_eq!(backoff.next(0.0).as_millis(), 500);
        backoff.reset();
        assert_eq!(backoff.next(1.0).as_millis(), 100);
    }
}
