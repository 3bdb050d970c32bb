//! A table of a snapshot, as DataFusion sees it.

use std::fmt;
use std::sync::Arc;
use std::time::Instant;

use arrow_schema::SchemaRef;
use datafusion::catalog::{Session, TableProvider};
use datafusion::common::{DataFusionError, Result};
use datafusion::logical_expr::{Expr, TableProviderFilterPushDown, TableType};
use datafusion::physical_plan::ExecutionPlan;
use sluicebox_core::name::TableName;
use sluicebox_core::query::Snapshot;

use super::QueryLimits;
use super::bounds::bounds;
use super::scan::{Read, SnapshotScan};

/// A table that is read from the store segment by segment.
pub(super) struct SnapshotTable {
    snapshot: Arc<dyn Snapshot>,
    name: TableName,
    schema: SchemaRef,
    limits: QueryLimits,
    deadline: Instant,
}

impl SnapshotTable {
    /// A table of the snapshot; scans stop at the deadline.
    pub(super) fn new(
        snapshot: Arc<dyn Snapshot>,
        name: TableName,
        schema: SchemaRef,
        limits: QueryLimits,
        deadline: Instant,
    ) -> Self {
        Self { snapshot, name, schema, limits, deadline }
    }
}

impl fmt::Debug for SnapshotTable {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "SnapshotTable({})", self.name)
    }
}

#[async_trait::async_trait]
impl TableProvider for SnapshotTable {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn table_type(&self) -> TableType {
        TableType::Base
    }

    fn supports_filters_pushdown(&self, filters: &[&Expr]) -> Result<Vec<TableProviderFilterPushDown>> {
        // A bound only leaves out segments: the rows are filtered all the same.
        let of = |filter: &&Expr| match bounds(filter, &self.schema).is_empty() {
            true => TableProviderFilterPushDown::Unsupported,
            false => TableProviderFilterPushDown::Inexact,
        };
        Ok(filters.iter().map(of).collect())
    }

    async fn scan(
        &self,
        _: &dyn Session,
        projection: Option<&Vec<usize>>,
        filters: &[Expr],
        _: Option<usize>,
    ) -> Result<Arc<dyn ExecutionPlan>> {
        let rows = self.snapshot.row_count(&self.name).map_err(|error| DataFusionError::External(Box::new(error)))?;
        let schema = match projection {
            Some(projection) => Arc::new(self.schema.project(projection)?),
            None => self.schema.clone(),
        };
        let read = Read {
            snapshot: self.snapshot.clone(),
            table: self.name.clone(),
            projection: projection.cloned(),
            bounds: filters.iter().flat_map(|filter| bounds(filter, &self.schema)).collect(),
            rows: usize::try_from(rows).unwrap_or(usize::MAX),
            limits: self.limits,
            deadline: self.deadline,
        };
        Ok(Arc::new(SnapshotScan::new(Arc::new(read), schema)))
    }
}
