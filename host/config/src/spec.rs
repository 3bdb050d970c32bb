//! The checked configuration: no serde, no strings for enums, no numbers without a unit.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sluicebox_core::column::{Column, Privacy};
use sluicebox_core::name::{ComponentName, PipelineName, TableName, TenantName};
use sluicebox_core::port::{BatchLimits, Retention};
use sluicebox_core::secret::Secret;
use sluicebox_core::start::{OutOfRange, Start};

/// Everything that one start of the process runs.
#[derive(Debug, Clone)]
pub struct Spec {
    /// Folder of the stores; a tenant's is `<data>/<tenant>/`.
    pub data: PathBuf,
    /// Tenants in order of name. One that is wrong is not in here; its errors are beside the Spec.
    pub tenants: Vec<TenantSpec>,
}

/// One tenant.
#[derive(Debug, Clone)]
pub struct TenantSpec {
    /// Its name.
    pub name: TenantName,
    /// Components by name.
    pub components: BTreeMap<ComponentName, ComponentSpec>,
    /// Pipelines, in the order of the file. One that is wrong is not in here.
    pub pipelines: Vec<PipelineSpec>,
}

/// A component and its limits.
#[derive(Debug, Clone, PartialEq)]
pub struct ComponentSpec {
    /// The `.wasm` file.
    pub path: PathBuf,
    /// Bytes of linear memory; default 64 MiB.
    pub memory: usize,
    /// CPU time a batch; default 200 ms.
    pub cpu_per_batch: Duration,
    /// `settings`, as JSON text: what the component is opened with. Secret, since values in it may be.
    pub settings: Secret,
}

/// One pipeline.
#[derive(Debug, Clone)]
pub struct PipelineSpec {
    /// Its name.
    pub name: PipelineName,
    /// Where records come from.
    pub source: SourceSpec,
    /// Declared columns, in order.
    pub columns: Vec<Column>,
    /// Privacy of the key.
    pub key_privacy: Privacy,
    /// Condition over the columns after scripts, before steps.
    pub filter: Option<String>,
    /// Steps, in order.
    pub steps: Vec<StepSpec>,
    /// Sinks.
    pub sinks: Vec<SinkSpec>,
    /// The reject route.
    pub rejects: RejectsSpec,
    /// When a batch closes.
    pub batch: BatchLimits,
    /// How many batches one commit carries.
    pub commit: CommitSpec,
    /// When batches are taken and whether the run ends.
    pub trigger: Trigger,
    /// Bound on bytes that are read and not yet committed; default 64 MiB.
    pub memory: usize,
    /// Where its parts are written.
    pub places: Places,
}

/// Where the parts of a pipeline are written, for errors that are found after the text was read.
#[derive(Debug, Clone, Default)]
pub struct Places {
    /// The file.
    pub file: PathBuf,
    /// Line and column of the pipeline itself.
    pub pipeline: (usize, usize),
    /// Line and column of each part, by the words that its errors begin with: `sql step 1`, `filter`, `script of total`, `component mask`.
    pub parts: Vec<(String, (usize, usize))>,
}

impl Places {
    /// `file:line:column` of the part that an error's message begins with; of the pipeline when it begins with none.
    pub fn of(&self, message: &str) -> String {
        let begins = |words: &str| message.strip_prefix(words).is_some_and(|rest| rest.starts_with([':', ' ']));
        let found = self.parts.iter().find(|(words, _)| begins(words));
        let (line, column) = found.map_or(self.pipeline, |(_, place)| *place);
        format!("{}:{line}:{column}", self.file.display())
    }
}

/// A Kafka source.
#[derive(Debug, Clone)]
pub struct SourceSpec {
    /// Topics, in order.
    pub topics: Vec<String>,
    /// Name of the connection.
    pub connection: String,
    /// Whether the broker is inside the process (`bootstrapServers: embedded`).
    pub embedded: bool,
    /// Client properties in librdkafka's names: those of the connection, then those of the pipeline.
    pub properties: Vec<(String, Secret)>,
    /// Consumer group.
    pub group: String,
    /// Where to begin while nothing is stored.
    pub start: Start,
    /// What to do when a position is gone.
    pub out_of_range: OutOfRange,
}

/// A step.
#[derive(Debug, Clone, PartialEq)]
pub enum StepSpec {
    /// SQL over the table `message`.
    Sql(String),
    /// A transform.
    Component(ComponentName),
}

/// A sink.
#[derive(Debug, Clone, PartialEq)]
pub struct SinkSpec {
    /// Rows for which it is not true are not for this sink.
    pub filter: Option<String>,
    /// Where rows go.
    pub target: Target,
}

/// Where rows go.
#[derive(Debug, Clone, PartialEq)]
pub enum Target {
    /// A table of the tenant's store.
    Table {
        /// Its name.
        table: TableName,
        /// What it keeps.
        retention: Retention,
    },
}

/// The reject route.
#[derive(Debug, Clone, Copy, PartialEq)]
pub struct RejectsSpec {
    /// Whether raw key, value and headers are kept.
    pub raw: RawRejects,
    /// What the rejects keep.
    pub retention: Retention,
}

/// What is kept of the bytes of a reject.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum RawRejects {
    /// The bytes.
    Plain,
    /// Nothing: key, headers and value are null.
    Omit,
}

/// How many batches one commit carries: whichever comes first.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct CommitSpec {
    /// The longest wait of a finished batch; zero commits as soon as the disk is free.
    pub time: Duration,
    /// Bytes of segments that close a commit.
    pub bytes: usize,
}

/// When batches are taken and whether the run ends.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Trigger {
    /// All there was at start, then stop.
    Once,
    /// What is there, at each interval.
    ProcessingTime(Duration),
    /// As records come.
    Continuous,
}
