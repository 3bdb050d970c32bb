//! The ports: what the engine asks of its adapters.

use std::sync::Arc;
use std::time::Duration;

use arrow_schema::SchemaRef;

use crate::audit::AuditDelta;
use crate::batch::Batch;
use crate::budget::Budget;
use crate::column::Column;
use crate::commit::{Delta, Segment};
use crate::error::{Error, Result};
use crate::name::{ComponentName, PipelineName, TableName, TenantName};
use crate::position::{Advance, PartitionId, Positions};
use crate::query::Snapshots;
use crate::record::Records;
use crate::reject::Rejects;
use crate::secret::Secret;
use crate::start::{Gap, OutOfRange, Start};

/// When a batch closes: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct BatchLimits {
    /// Records.
    pub rows: usize,
    /// Bytes of keys, values and headers.
    pub bytes: usize,
    /// The longest wait for a batch to fill.
    pub time: Duration,
}

/// Everything a source needs to know.
#[derive(Debug, Clone)]
pub struct SourceSettings {
    /// Topics, in the order in which they were written.
    pub topics: Vec<String>,
    /// Consumer group: read for `start: group`, told our positions for lag tools.
    pub group: String,
    /// Client properties in librdkafka's names, checked by the configuration.
    pub properties: Vec<(String, Secret)>,
    /// Where to begin while nothing is stored.
    pub start: Start,
    /// What to do when a position is gone.
    pub out_of_range: OutOfRange,
    /// When a batch closes.
    pub batch: BatchLimits,
    /// Close a batch as soon as nothing is waiting (continuous), not only when it is full or old.
    pub close_when_idle: bool,
    /// End at the last stable offsets seen at start (trigger once).
    pub stop_at_end: bool,
    /// Bound on bytes handed over and not yet committed.
    pub budget: Budget,
    /// Positions that the store has for the pipeline, of topics made again too.
    pub positions: Positions,
}

/// What a source has for the pipeline.
#[derive(Debug)]
pub enum SourceEvent {
    /// A closed batch.
    Batch(Records),
    /// A partition is read from here on.
    Assigned {
        /// The partition.
        partition: PartitionId,
        /// The next offset to read.
        position: i64,
    },
    /// Records are gone; reading goes on after them as the configuration says.
    Gap {
        /// The partition.
        partition: PartitionId,
        /// What is missing.
        gap: Gap,
    },
    /// The broker is away or refuses us; said once, the source goes on trying.
    Waiting(Error),
    /// It is back.
    Resumed,
    /// All partitions reached the end seen at start; follows the last batch.
    Ended,
    /// The source cannot go on.
    Failed(Error),
}

/// How far a source is.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct SourceProgress {
    /// Records not yet handed over, of all partitions; `None` until the ends are known.
    pub lag: Option<u64>,
    /// Whether everything that was there at start has been handed over.
    pub caught_up: bool,
}

/// Reads records on a thread of its own and never blocks its client; closes batches (DESIGN: the way of a batch, 1).
pub trait Source: Send {
    /// The next event, or `None` after `timeout`.
    fn next(&mut self, timeout: Duration) -> Option<SourceEvent>;

    /// Tells lag tools of positions that are durable. Best effort, at most once a second; the store decides.
    fn committed(&mut self, advances: &[Advance]);

    /// How far it is.
    fn progress(&self) -> SourceProgress;

    /// Stops reading, within seconds. Batches not yet taken are dropped.
    fn stop(&mut self);
}

/// Opens sources: the Kafka adapter.
pub trait Sources: Send + Sync {
    /// Starts to read.
    ///
    /// # Errors
    /// Wrong properties; a cluster that is away is an event, not an error.
    fn open(&self, settings: SourceSettings) -> Result<Box<dyn Source>>;
}

/// Bytes to rows.
pub trait Decoder: Send {
    /// Schema of the batches: the columns that something reads, payload names, all nullable.
    fn schema(&self) -> SchemaRef;

    /// Decodes the values of all records. A tombstone gives no row. A record that is no JSON gives no row and a reject. A record
    /// with values that do not fit gives a row with nulls there and its errors in `rejects`, so that later checks can add theirs.
    ///
    /// # Errors
    /// Only faults that are no record's.
    fn decode(&mut self, records: &Arc<Records>, closed_at: i64, rejects: &mut Rejects) -> Result<Batch>;
}

/// Makes decoders: the codec adapter.
pub trait Decoders: Send + Sync {
    /// A decoder of JSON for the declared columns; `build` says, per column, whether something reads it.
    ///
    /// # Errors
    /// A format or default that can never work; the message names the column.
    fn json(&self, columns: &[Column], build: &[bool]) -> Result<Box<dyn Decoder>>;
}

/// Batch in, batch and rejects out. Row-local: any split of the input gives the same rows.
pub trait Step: Send {
    /// For messages: `filter`, `sql step 2`, the component's name.
    fn name(&self) -> &str;

    /// Schema of the batches that come out.
    fn output(&self) -> SchemaRef;

    /// Columns of its input (by index) that it needs so that the columns `wanted` of its output can be made.
    fn reads(&self, wanted: &[usize]) -> Vec<usize>;

    /// Processes a batch; rows that fail are isolated and go to `rejects` under their record.
    ///
    /// # Errors
    /// What is no row's fault: the pipeline stops or waits.
    fn process(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Batch>;
}

/// Checks rows and changes none.
pub trait Validator: Send {
    /// The component.
    fn name(&self) -> &ComponentName;

    /// Columns (indexes into the schema given at opening) that it needs; `None` asks for all.
    fn reads(&self) -> Option<Vec<usize>> {
        None
    }

    /// Checks a batch of which it needs the columns given at opening.
    ///
    /// # Errors
    /// What is no row's fault.
    fn validate(&mut self, batch: &Batch, rejects: &mut Rejects) -> Result<()>;
}

/// What a component is told when it is opened.
#[derive(Debug, Clone)]
pub struct ComponentContext {
    /// Whose it is.
    pub tenant: TenantName,
    /// The pipeline.
    pub pipeline: PipelineName,
    /// Schema of the batches that come in.
    pub schema: SchemaRef,
    /// For a validator: the column (index into `schema`) that names it.
    pub column: Option<usize>,
    /// Columns (indexes into `schema`) that hold what a privacy rule protects: log lines and messages of a call that saw one are
    /// withheld.
    pub protected: Vec<usize>,
}

/// Opens components: the sandbox adapter. A component is known by the name that the configuration gives it.
pub trait Components: Send + Sync {
    /// Opens a transform.
    ///
    /// # Errors
    /// The file, its contract or its plan does not fit; the message names the component.
    fn transform(&self, component: &ComponentName, context: ComponentContext) -> Result<Box<dyn Step>>;

    /// Opens a validator.
    ///
    /// # Errors
    /// As for a transform.
    fn validator(&self, component: &ComponentName, context: ComponentContext) -> Result<Box<dyn Validator>>;
}

/// Plans SQL over the table `message`: the SQL adapter.
pub trait Planner: Send + Sync {
    /// A `sql:` step. `name` is for messages.
    ///
    /// # Errors
    /// SQL that does not parse or plan, names an unknown column (the nearest one is given), or is not row-local (with the way out).
    fn sql(&self, name: &str, sql: &str, input: &SchemaRef) -> Result<Box<dyn Step>>;

    /// Computed columns: keeps all columns of the input and adds, or puts in place, `(name, expression)` in order; each
    /// expression sees the input and the expressions before it. A wanted type casts the result.
    ///
    /// # Errors
    /// As for [`Planner::sql`].
    fn scripts(&self, scripts: &[Script], input: &SchemaRef) -> Result<Box<dyn Step>>;

    /// A condition: rows for which it is not true are filtered. `name` is for messages: `filter`, `where`.
    ///
    /// # Errors
    /// As for [`Planner::sql`].
    fn filter(&self, name: &str, condition: &str, input: &SchemaRef) -> Result<Box<dyn Step>>;
}

/// A computed column.
#[derive(Debug, Clone, PartialEq)]
pub struct Script {
    /// Name of the column.
    pub column: String,
    /// SQL expression.
    pub expression: String,
    /// Type to cast to.
    pub data_type: arrow_schema::DataType,
}

/// What a sink made of a batch: everybody's part of the one decision.
#[derive(Debug, Clone)]
pub enum Part {
    /// Rows of tables.
    Segments(Vec<Segment>),
}

/// A way out. It prepares; the decider decides.
pub trait Sink: Send {
    /// For messages: `table shop.orders`.
    fn name(&self) -> &str;

    /// Encodes a batch; nothing becomes visible. Rows that can never be taken go to `rejects`.
    ///
    /// # Errors
    /// What is no row's fault.
    fn prepare(&mut self, batch: &Batch, rejects: &mut Rejects) -> Result<Part>;
}

/// A bound on what a table or the rejects keep, by commit time and in whole segments.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub struct Retention {
    /// Segments committed longer ago go.
    pub age: Option<Duration>,
    /// The oldest segments go while the table takes more bytes.
    pub bytes: Option<u64>,
}

/// A tenant's store: tables, rejects, audit and positions under one transaction.
pub trait Store: Snapshots {
    /// Identity of the store, made when the file was begun.
    fn id(&self) -> String;

    /// All positions of a pipeline, of topics made again too.
    ///
    /// # Errors
    /// When the disk fails.
    fn positions(&self, pipeline: &PipelineName) -> Result<Positions>;

    /// Registers a table for writing: makes it, or takes a new nullable column, and gives the sink that encodes for it.
    ///
    /// # Errors
    /// Another pipeline writes the table, or the schema differs from the stored one in any other way; the message names both.
    fn table(&self, table: &TableName, schema: &SchemaRef, owner: &PipelineName, retention: Retention) -> Result<Box<dyn Sink>>;

    /// Decides: all deltas in one transaction, durable when this returns (invariants 1 and 2). A gap among the audit's events moves
    /// its position ([`Positions::pass`]) before the advances are applied.
    ///
    /// # Errors
    /// Nothing was changed. [`crate::Domain::State`] with back-off when the disk is full or failing.
    fn commit(&self, deltas: &[Delta]) -> Result<()>;

    /// Writes an end of run or an event that comes without records.
    ///
    /// # Errors
    /// As for [`Store::commit`].
    fn audit(&self, pipeline: &PipelineName, audit: &AuditDelta) -> Result<()>;

    /// Sets the bound on rejects and on the audit.
    ///
    /// # Errors
    /// When the disk fails.
    fn retain_rejects(&self, retention: Retention) -> Result<()>;

    /// Does a slice of compaction or retention, of a few milliseconds. `false` when nothing is left to do.
    ///
    /// # Errors
    /// When the disk fails or a segment is broken.
    fn maintain(&self, now: i64) -> Result<bool>;

    /// Whether an operator has paused the pipeline; survives a restart.
    ///
    /// # Errors
    /// When the disk fails.
    fn paused(&self, pipeline: &PipelineName) -> Result<bool>;

    /// Pauses or resumes.
    ///
    /// # Errors
    /// When the disk fails.
    fn set_paused(&self, pipeline: &PipelineName, paused: bool) -> Result<()>;
}
