//! What only the composition root may touch: the system's clock, environment and random numbers.

use std::time::{SystemTime, UNIX_EPOCH};

use sluicebox_engine::clock::Clock;

/// The system's clock.
#[derive(Debug, Clone, Copy, Default)]
pub struct SystemClock;

impl Clock for SystemClock {
    #[expect(clippy::disallowed_methods, reason = "the one place that asks the system for the time")]
    fn now(&self) -> i64 {
        let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
        i64::try_from(since.as_micros()).unwrap_or(i64::MAX)
    }
}

/// A new id of a run.
pub fn job_id() -> String {
    uuid::Uuid::new_v4().to_string()
}

/// A variable of the environment.
#[expect(clippy::disallowed_methods, reason = "the one place that reads the environment")]
pub fn environment(name: &str) -> Option<String> {
    std::env::var(name).ok()
}
