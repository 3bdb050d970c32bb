//! What is decided together (invariant 2), and who decides.

use std::sync::Arc;

use arrow_schema::SchemaRef;

use crate::audit::AuditDelta;
use crate::name::{PipelineName, TableName};
use crate::position::Advance;
use crate::record::Records;
use crate::reject::RowError;

/// Rows of one table, encoded by the sink and ready to be inserted; nobody sees them before the commit.
#[derive(Debug, Clone)]
pub struct Segment {
    /// The table.
    pub table: TableName,
    /// The schema of the rows.
    pub schema: SchemaRef,
    /// Rows.
    pub rows: u64,
    /// The store's own form of the segment (see the store's segment module).
    pub bytes: Vec<u8>,
    /// The store's own form of the statistics.
    pub stats: Vec<u8>,
}

/// A refused record as the reject route keeps it. Privacy has been applied: what a rule protects is not in here.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RejectRow {
    /// Topic of the record.
    pub topic: Arc<str>,
    /// Partition of the record.
    pub partition: i32,
    /// Offset of the record.
    pub offset: i64,
    /// Raw key, when raw bytes are kept.
    pub key: Option<Vec<u8>>,
    /// Raw value, when raw bytes are kept.
    pub value: Option<Vec<u8>>,
    /// Everything that is wrong with it.
    pub errors: Vec<RowError>,
}

/// Everything that one or more batches of one pipeline change, decided as one.
#[derive(Debug, Clone)]
pub struct Delta {
    /// The pipeline.
    pub pipeline: PipelineName,
    /// Positions, one interval a partition and batch, in order.
    pub advances: Vec<Advance>,
    /// Rows of tables.
    pub segments: Vec<Segment>,
    /// Rejects.
    pub rejects: Vec<RejectRow>,
    /// Audit.
    pub audit: AuditDelta,
    /// Keeps the records, and with them their share of the memory budget, until the decision.
    pub records: Vec<Arc<Records>>,
}

/// Who decides a commit.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Decider {
    /// The store: its one transaction is the decision. Tables only.
    Store,
    /// A Kafka transaction: the store holds the delta as pending before it and applies or withdraws it after.
    KafkaTransaction,
}

/// A sequence number of a pipeline's deltas; never used twice.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Sequence(pub u64);

/// What to do at start with a delta that was left pending.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Settle {
    /// The decider announced it: make it visible.
    Apply,
    /// The decider never announced it: delete it; its records are read again.
    Withdraw,
    /// The decider is ahead of the store: the store was restored from an old copy, or another one took over. Stop.
    Stop,
}

/// Decides about the delta that was left pending, from the sequence that the decider holds as announced.
pub fn settle(pending: Option<Sequence>, applied: Option<Sequence>, announced: Option<Sequence>) -> Option<Settle> {
    let newest = pending.max(applied);
    if announced > newest {
        return Some(Settle::Stop);
    }
    let pending = pending?;
    Some(if announced == Some(pending) { Settle::Apply } else { Settle::Withdraw })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_pending_delta_is_settled_by_what_was_announced() {
        let s = |n| Some(Sequence(n));
        for (pending, applied, announced, expected) in [
            (None, None, None, None),
            (None, s(4), s(4), None),
            (s(5), s(4), s(5), Some(Settle::Apply)),
            (s(5), s(4), s(4), Some(Settle::Withdraw)),
            (s(1), None, None, Some(Settle::Withdraw)),
            (s(5), s(4), s(6), Some(Settle::Stop)),
            (None, s(4), s(5), Some(Settle::Stop)),
            (None, None, s(1), Some(Settle::Stop)),
        ] {
            assert_eq!(settle(pending, applied, announced), expected, "{pending:?} {applied:?} {announced:?}");
        }
    }
}
