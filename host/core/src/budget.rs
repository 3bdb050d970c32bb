//! A bound in bytes on what is in flight (invariant 10).

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

/// A shared budget of bytes. Whoever reads asks for a permit; dropping the permit gives the bytes back.
#[derive(Debug, Clone)]
pub struct Budget {
    used: Arc<AtomicUsize>,
    limit: usize,
}

/// Bytes taken from a [`Budget`], given back on drop.
#[derive(Debug)]
pub struct Permit {
    used: Arc<AtomicUsize>,
    bytes: usize,
}

impl Budget {
    /// A budget of `limit` bytes.
    pub fn new(limit: usize) -> Self {
        Self { used: Arc::default(), limit }
    }

    /// Takes `bytes`, or `None` when the budget is spent. One request may pass the limit when nothing else is in flight, so
    /// that a record larger than the budget still moves.
    pub fn take(&self, bytes: usize) -> Option<Permit> {
        let limit = self.limit;
        let fits = |used: usize| (used == 0 || used + bytes <= limit).then_some(used + bytes);
        self.used.fetch_update(Ordering::AcqRel, Ordering::Acquire, fits).ok()?;
        Some(Permit { used: self.used.clone(), bytes })
    }

    /// Bytes in flight.
    pub fn used(&self) -> usize {
        self.used.load(Ordering::Acquire)
    }

    /// The bound.
    pub fn limit(&self) -> usize {
        self.limit
    }
}

impl Drop for Permit {
    fn drop(&mut self) {
        self.used.fetch_sub(self.bytes, Ordering::AcqRel);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_spent_budget_refuses_until_a_permit_is_dropped() {
        let budget = Budget::new(10);
        let first = budget.take(6);
        assert!(first.is_some() && budget.take(5).is_none());
        drop(first);
        assert!(budget.take(25).is_some_and(|_| budget.used() == 25), "a single giant passes alone");
        assert_eq!(budget.used(), 0);
    }
}
