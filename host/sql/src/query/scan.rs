//! Reading a table: segment by segment, only the columns asked for, stopped at the deadline.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::SchemaRef;
use datafusion::common::stats::Precision;
use datafusion::common::tree_node::TreeNodeRecursion;
use datafusion::common::{DataFusionError, Result, Statistics};
use datafusion::execution::{SendableRecordBatchStream, TaskContext};
use datafusion::physical_expr::{EquivalenceProperties, PhysicalExpr};
use datafusion::physical_plan::coop::make_cooperative;
use datafusion::physical_plan::execution_plan::{Boundedness, EmissionType, ReplaceChildrenOptions, SchedulingType};
use datafusion::physical_plan::stream::RecordBatchStreamAdapter;
use datafusion::physical_plan::{DisplayAs, DisplayFormatType, ExecutionPlan, Partitioning, PlanProperties, StatisticsArgs};
use sluicebox_core::error::Error;
use sluicebox_core::name::TableName;
use sluicebox_core::query::{Bound, Scan, Snapshot};

use super::QueryLimits;
use super::run::late;

/// Rows that go through the plan at once: more leave the cache, and delay a stop.
const ROWS_AT_ONCE: usize = 16 * 1024;

/// What to read.
pub(super) struct Read {
    pub(super) snapshot: Arc<dyn Snapshot>,
    pub(super) table: TableName,
    pub(super) projection: Option<Vec<usize>>,
    pub(super) bounds: Vec<Bound>,
    pub(super) rows: usize,
    pub(super) limits: QueryLimits,
    pub(super) deadline: Instant,
}

/// The leaf of a plan that reads a table.
pub(super) struct SnapshotScan {
    read: Arc<Read>,
    schema: SchemaRef,
    properties: Arc<PlanProperties>,
}

impl SnapshotScan {
    /// A scan that gives batches of `schema`.
    pub(super) fn new(read: Arc<Read>, schema: SchemaRef) -> Self {
        let equivalence = EquivalenceProperties::new(schema.clone());
        let one = Partitioning::UnknownPartitioning(1);
        let properties = PlanProperties::new(equivalence, one, EmissionType::Incremental, Boundedness::Bounded)
            .with_scheduling_type(SchedulingType::Cooperative);
        Self { read, schema, properties: Arc::new(properties) }
    }
}

impl Read {
    /// Batches, none of them large.
    fn batches(self: &Arc<Self>, schema: &SchemaRef) -> Result<Scan> {
        if schema.fields().is_empty() {
            let options = RecordBatchOptions::new().with_row_count(Some(self.rows));
            let counted = RecordBatch::try_new_with_options(schema.clone(), Vec::new(), &options)?;
            return Ok(Box::new(std::iter::once(Ok(counted))));
        }
        let scan = self.snapshot.scan(&self.table, self.projection.as_deref(), &self.bounds).map_err(external)?;
        let read = self.clone();
        let on_time = move |batch| if Instant::now() < read.deadline { batch } else { Err(late(&read.limits)) };
        Ok(Box::new(scan.map(on_time).flat_map(pieces)))
    }
}

/// A segment in pieces that share its buffers.
fn pieces(segment: Result<RecordBatch, Error>) -> impl Iterator<Item = Result<RecordBatch, Error>> {
    let (segment, error) = match segment {
        Ok(segment) => (Some(segment), None),
        Err(error) => (None, Some(Err(error))),
    };
    let cut = segment.into_iter().flat_map(|segment| {
        let rows = segment.num_rows();
        (0..rows).step_by(ROWS_AT_ONCE).map(move |start| Ok(segment.slice(start, ROWS_AT_ONCE.min(rows - start))))
    });
    cut.chain(error)
}

fn external(error: Error) -> DataFusionError {
    DataFusionError::External(Box::new(error))
}

impl fmt::Debug for SnapshotScan {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SnapshotScan({})", self.read.table)
    }
}

impl DisplayAs for SnapshotScan {
    fn fmt_as(&self, _: DisplayFormatType, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let columns: Vec<&str> = self.schema.fields().iter().map(|field| field.name().as_str()).collect();
        write!(f, "SnapshotScan: {}, columns=[{}], bounds={}", self.read.table, columns.join(", "), self.read.bounds.len())
    }
}

impl ExecutionPlan for SnapshotScan {
    fn name(&self) -> &'static str {
        "SnapshotScan"
    }

    fn properties(&self) -> &Arc<PlanProperties> {
        &self.properties
    }

    fn children(&self) -> Vec<&Arc<dyn ExecutionPlan>> {
        Vec::new()
    }

    fn apply_expressions(
        &self,
        _: &mut dyn FnMut(&Arc<dyn PhysicalExpr>) -> Result<TreeNodeRecursion>,
    ) -> Result<TreeNodeRecursion> {
        Ok(TreeNodeRecursion::Continue)
    }

    fn replace_children(
        self: Arc<Self>,
        _: Vec<Arc<dyn ExecutionPlan>>,
        _: ReplaceChildrenOptions,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn with_new_children(self: Arc<Self>, _: Vec<Arc<dyn ExecutionPlan>>) -> Result<Arc<dyn ExecutionPlan>> {
        Ok(self)
    }

    fn execute(&self, _: usize, _: Arc<TaskContext>) -> Result<SendableRecordBatchStream> {
        let batches = self.read.batches(&self.schema)?.map(|batch| batch.map_err(external));
        let stream = RecordBatchStreamAdapter::new(self.schema.clone(), futures::stream::iter(batches));
        Ok(make_cooperative(Box::pin(stream)))
    }

    fn statistics_from_inputs(&self, _: &[Arc<Statistics>], _: &StatisticsArgs) -> Result<Arc<Statistics>> {
        let mut statistics = Statistics::new_unknown(&self.schema);
        statistics.num_rows =
            if self.read.bounds.is_empty() { Precision::Exact(self.read.rows) } else { Precision::Inexact(self.read.rows) };
        Ok(Arc::new(statistics))
    }
}
