//! The books: each record consumed ends as exactly one of emitted, filtered, rejected (invariant 3).

use std::collections::BTreeMap;

use crate::batch::Rows;
use crate::record::Records;
use crate::reject::{Code, Rejects};

/// Counts of one batch, or of many added up. `consumed = emitted + filtered + rejected` always holds.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Counts {
    /// Records read.
    pub consumed: u64,
    /// Records of which at least one sink took a row.
    pub emitted: u64,
    /// Records that a rule of the user left out, tombstones included.
    pub filtered: u64,
    /// Of the filtered: tombstones.
    pub tombstones: u64,
    /// Records refused.
    pub rejected: u64,
    /// Rows that sinks took; a record may give many.
    pub rows: u64,
    /// Errors of the rejected records, by code.
    pub codes: BTreeMap<Code, u64>,
}

impl Counts {
    /// Closes the books of a batch: `sinks` holds the origin of the rows that each sink takes, rows of refused records gone.
    pub fn of(records: &Records, rejects: &Rejects, sinks: &[&Rows]) -> Self {
        let mut emitted = vec![false; records.len()];
        for record in sinks.iter().flat_map(|rows| rows.iter()) {
            emitted[record as usize] = true;
        }
        let consumed = records.len() as u64;
        let emitted = emitted.iter().filter(|e| **e).count() as u64;
        let rejected = rejects.len() as u64;
        let tombstones =
            (0..records.len()).filter(|r| records.value(*r).is_none() && !rejects.contains(*r as u32)).count() as u64;
        let mut codes = BTreeMap::new();
        for error in rejects.iter().flat_map(|(_, errors)| errors) {
            *codes.entry(error.code.clone()).or_default() += 1;
        }
        let rows = sinks.iter().map(|rows| rows.len() as u64).sum();
        Self { consumed, emitted, filtered: consumed - emitted - rejected, tombstones, rejected, rows, codes }
    }

    /// Adds the counts of another batch.
    pub fn add(&mut self, other: &Counts) {
        self.consumed += other.consumed;
        self.emitted += other.emitted;
        self.filtered += other.filtered;
        self.tombstones += other.tombstones;
        self.rejected += other.rejected;
        self.rows += other.rows;
        for (code, count) in &other.codes {
            *self.codes.entry(code.clone()).or_default() += count;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::tests::partition;
    use crate::record::{RecordRef, RecordsBuilder};
    use crate::reject::RowError;
    use arrow_array::UInt32Array;

    #[test]
    fn the_books_close() {
        let mut builder = RecordsBuilder::default();
        let p = builder.partition(&partition("t", 0), 0);
        for offset in 0..6 {
            let value = (offset != 4).then_some(&b"{}"[..]);
            builder.push(p, RecordRef { offset, timestamp: 0, key: None, value });
        }
        let mut rejects = Rejects::default();
        rejects.add(1, RowError::new("a", Code::TYPE, ""));
        rejects.add(1, RowError::new("b", Code::REQUIRED, ""));
        let rows = Rows::Numbers(UInt32Array::from(vec![0, 2, 2, 3]));
        let counts = Counts::of(&builder.close(), &rejects, &[&rows, &Rows::Numbers(UInt32Array::from(vec![3]))]);
        assert_eq!((counts.consumed, counts.emitted, counts.filtered, counts.rejected), (6, 3, 2, 1));
        assert_eq!((counts.tombstones, counts.rows), (1, 5));
        assert_eq!(counts.codes.values().sum::<u64>(), 2);
        let mut twice = counts.clone();
        twice.add(&counts);
        assert_eq!(twice.consumed, twice.emitted + twice.filtered + twice.rejected);
    }
}
