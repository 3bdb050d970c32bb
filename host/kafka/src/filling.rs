//! The batch that is being filled: closes by rows, bytes or time, or because nothing more is waiting.

use std::time::{Duration, Instant};

use sluicebox_core::port::BatchLimits;
use sluicebox_core::record::{NO_TIMESTAMP, RecordRef};
use sluicebox_core::{Records, RecordsBuilder};

use crate::ffi::Taken;
use crate::partition::Partition;

/// Messages taken from librdkafka at once: enough to make the call cheap, few enough to stay near the limits.
pub(crate) const TAKE_MAX: usize = 2000;

/// Whether the batch may grow.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Fullness {
    /// Nothing is in it.
    Empty,
    /// It can take more, and closes by itself after this time.
    Open(Duration),
    /// It is old enough to close, and can take more while it cannot be handed over.
    Due,
    /// It takes no more.
    Full,
}

/// The batch that is being filled.
#[derive(Debug)]
pub(crate) struct Filling {
    limits: BatchLimits,
    builder: RecordsBuilder,
    opened: Option<Instant>,
    number: u32,
    record_bytes: usize,
}

impl Filling {
    /// An empty batch.
    pub(crate) fn new(limits: BatchLimits) -> Self {
        Self { limits, builder: RecordsBuilder::default(), opened: None, number: 1, record_bytes: 64 * 1024 }
    }

    /// How many messages may be taken, so that the batch passes its limits by little.
    pub(crate) fn room(&self) -> usize {
        let rows = self.limits.rows.saturating_sub(self.builder.len());
        let bytes = self.limits.bytes.saturating_sub(self.builder.bytes()) / self.record_bytes.max(1);
        rows.min(bytes.max(1)).clamp(1, TAKE_MAX)
    }

    /// Whether it may grow at `now`.
    pub(crate) fn fullness(&self, now: Instant) -> Fullness {
        let Some(opened) = self.opened else { return Fullness::Empty };
        if self.builder.len() >= self.limits.rows || self.builder.bytes() >= self.limits.bytes {
            return Fullness::Full;
        }
        match self.limits.time.checked_sub(now.saturating_duration_since(opened)) {
            Some(left) if !left.is_zero() => Fullness::Open(left),
            _ => Fullness::Due,
        }
    }

    /// Its number, which a partition keeps beside its place in it.
    pub(crate) fn number(&self) -> u32 {
        self.number
    }

    /// Bytes in it.
    pub(crate) fn bytes(&self) -> usize {
        self.builder.bytes()
    }

    /// The partition's number in this batch.
    fn slot(&mut self, partition: &mut Partition) -> u32 {
        match partition.slot {
            Some((number, slot)) if number == self.number => slot,
            _ => {
                let slot = self.builder.partition(&partition.id, partition.position);
                partition.slot = Some((self.number, slot));
                slot
            }
        }
    }

    /// Copies a record in and moves its partition's position past it.
    pub(crate) fn push(&mut self, partition: &mut Partition, taken: &Taken<'_>) {
        let slot = self.slot(partition);
        let timestamp = taken.timestamp().unwrap_or(NO_TIMESTAMP);
        let record = RecordRef { offset: taken.offset(), timestamp, key: taken.key(), value: taken.value() };
        self.builder.push(slot, record);
        for (name, value) in taken.headers() {
            self.builder.push_header(name, value);
        }
        partition.position = taken.offset() + 1;
    }

    /// Moves a position past what is no record.
    pub(crate) fn move_to(&mut self, partition: &mut Partition, to: i64) {
        if to > partition.position {
            let slot = self.slot(partition);
            self.builder.move_to(slot, to);
            partition.position = to;
        }
    }

    /// After messages were taken: the batch is open from its first change on.
    pub(crate) fn touched(&mut self, now: Instant) {
        if self.opened.is_none() && !self.builder.is_empty() {
            self.opened = Some(now);
        }
        if let Some(average) = self.builder.bytes().checked_div(self.builder.len()) {
            self.record_bytes = average.max(1);
        }
    }

    /// Closes it and begins the next.
    pub(crate) fn close(&mut self) -> Records {
        self.opened = None;
        self.number = self.number.wrapping_add(1);
        self.builder.close()
    }
}
