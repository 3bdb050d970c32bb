//! What is written down of a run: counts per table, gaps, restarts.

use crate::name::TableName;
use crate::outcome::Counts;
use crate::position::PartitionId;
use crate::start::Gap;

/// One run of a pipeline, as the audit names it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Run {
    /// Unique; the column `jobid`.
    pub job_id: String,
    /// When it began: microseconds since 1970 UTC.
    pub started_at: i64,
    /// Topics that it reads; the column `paths`.
    pub topics: Vec<String>,
}

/// Something that happened in a run and is kept in its audit row.
#[derive(Debug, Clone, PartialEq, Eq)]
pub enum Event {
    /// Records that are gone from the broker were passed over.
    Gap {
        /// Where.
        partition: PartitionId,
        /// What is missing.
        gap: Gap,
    },
    /// The pipeline failed and was started again by itself or by an operator.
    Restart {
        /// Why it had stopped.
        reason: String,
    },
}

/// What one commit adds to the audit rows of its run.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct AuditDelta {
    /// The run.
    pub run: Run,
    /// Tables that the pipeline writes: one audit row each.
    pub tables: Vec<TableName>,
    /// The counts of the commit.
    pub counts: Counts,
    /// What happened.
    pub events: Vec<Event>,
    /// Time of the commit: microseconds since 1970 UTC.
    pub at: i64,
    /// Set when the run ended: whether it succeeded, and its last message.
    pub ended: Option<(bool, String)>,
}
