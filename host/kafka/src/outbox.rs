//! What passes between the reader's thread and the pipeline: events out, in order, with at most two batches among them; positions and
//! the wish to stop in.

use std::collections::{BTreeMap, VecDeque};
use std::sync::{Condvar, Mutex, MutexGuard, PoisonError};
use std::time::{Duration, Instant};

use sluicebox_core::port::{SourceEvent, SourceProgress};
use sluicebox_core::position::{Advance, PartitionId};

/// One batch is worked on, two wait: a third would only cost memory.
pub(crate) const BATCHES_MAX: usize = 2;

#[derive(Debug, Default)]
struct State {
    events: VecDeque<SourceEvent>,
    batches: usize,
    stop: bool,
    committed: BTreeMap<PartitionId, i64>,
    progress: SourceProgress,
}

/// The meeting point.
#[derive(Debug, Default)]
pub(crate) struct Outbox {
    state: Mutex<State>,
    changed: Condvar,
}

impl Outbox {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Puts an event behind those before it. Only the reader puts, and it asks [`Self::has_room`] before a batch. Other events are few:
    /// one a partition, and changes of health.
    pub(crate) fn put(&self, event: SourceEvent) {
        let mut state = self.lock();
        state.batches += usize::from(matches!(event, SourceEvent::Batch(_)));
        state.events.push_back(event);
        drop(state);
        self.changed.notify_all();
    }

    /// Whether a batch may be put.
    pub(crate) fn has_room(&self) -> bool {
        self.lock().batches < BATCHES_MAX
    }

    /// Waits until a batch may be put or a stop is wished, at most `timeout`.
    pub(crate) fn wait_for_room(&self, timeout: Duration) {
        let full = |state: &mut State| state.batches >= BATCHES_MAX && !state.stop;
        drop(self.changed.wait_timeout_while(self.lock(), timeout, full));
    }

    /// Waits until a stop is wished, at most `timeout`.
    pub(crate) fn wait_for_stop(&self, timeout: Duration) {
        drop(self.changed.wait_timeout_while(self.lock(), timeout, |state| !state.stop));
    }

    /// The next event, or `None` after `timeout`.
    pub(crate) fn take(&self, timeout: Duration) -> Option<SourceEvent> {
        let until = Instant::now() + timeout;
        let mut state = self.lock();
        loop {
            if let Some(event) = state.events.pop_front() {
                state.batches -= usize::from(matches!(event, SourceEvent::Batch(_)));
                drop(state);
                self.changed.notify_all();
                return Some(event);
            }
            let left = until.saturating_duration_since(Instant::now());
            if left.is_zero() {
                return None;
            }
            state = self.changed.wait_timeout(state, left).unwrap_or_else(PoisonError::into_inner).0;
        }
    }

    /// Wishes a stop.
    pub(crate) fn stop(&self) {
        self.lock().stop = true;
        self.changed.notify_all();
    }

    /// Whether a stop is wished.
    pub(crate) fn stopped(&self) -> bool {
        self.lock().stop
    }

    /// Leaves durable positions for lag tools.
    pub(crate) fn committed(&self, advances: &[Advance]) {
        let mut state = self.lock();
        for advance in advances {
            state.committed.insert(advance.partition.clone(), advance.to);
        }
    }

    /// Positions left since the last call.
    pub(crate) fn take_committed(&self) -> BTreeMap<PartitionId, i64> {
        std::mem::take(&mut self.lock().committed)
    }

    /// Says how far the reader is.
    pub(crate) fn set_progress(&self, progress: SourceProgress) {
        self.lock().progress = progress;
    }

    /// How far the reader is.
    pub(crate) fn progress(&self) -> SourceProgress {
        self.lock().progress
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicebox_core::RecordsBuilder;

    fn batch() -> SourceEvent {
        SourceEvent::Batch(RecordsBuilder::default().close())
    }

    #[test]
    fn events_keep_their_order_and_two_batches_fill_it() {
        let outbox = Outbox::default();
        outbox.put(batch());
        assert!(outbox.has_room());
        outbox.put(batch());
        outbox.put(SourceEvent::Ended);
        assert!(!outbox.has_room());
        outbox.wait_for_room(Duration::from_millis(1));
        assert!(matches!(outbox.take(Duration::ZERO), Some(SourceEvent::Batch(_))));
        assert!(outbox.has_room());
        assert!(matches!(outbox.take(Duration::ZERO), Some(SourceEvent::Batch(_))));
        assert!(matches!(outbox.take(Duration::ZERO), Some(SourceEvent::Ended)));
        assert!(outbox.take(Duration::from_millis(1)).is_none());
    }
}
