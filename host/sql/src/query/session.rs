//! A session of one query: the tables of one snapshot, bounded memory, no files, no network.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Instant;

use datafusion::catalog::{CatalogProvider, MemoryCatalogProvider, MemorySchemaProvider, SchemaProvider};
use datafusion::common::Result;
use datafusion::execution::SessionStateBuilder;
use datafusion::execution::context::{SessionConfig, SessionContext};
use datafusion::execution::disk_manager::{DiskManagerBuilder, DiskManagerMode};
use datafusion::execution::memory_pool::GreedyMemoryPool;
use datafusion::execution::runtime_env::RuntimeEnvBuilder;
use sluicebox_core::name::DEFAULT_SCHEMA;
use sluicebox_core::query::Snapshot;

use super::QueryLimits;
use super::table::SnapshotTable;
use crate::context::options;

/// Name of the only catalog.
const CATALOG: &str = "sluicebox";

/// Opens a session over a snapshot.
pub(super) fn open(snapshot: &Arc<dyn Snapshot>, limits: &QueryLimits, deadline: Instant) -> Result<SessionContext> {
    let config = SessionConfig::from(options())
        .with_target_partitions(1)
        .with_information_schema(true)
        .with_create_default_catalog_and_schema(false)
        .with_default_catalog_and_schema(CATALOG, DEFAULT_SCHEMA);
    let runtime = RuntimeEnvBuilder::new()
        .with_memory_pool(Arc::new(GreedyMemoryPool::new(limits.memory_bytes)))
        .with_disk_manager_builder(DiskManagerBuilder::default().with_mode(DiskManagerMode::Disabled))
        .build_arc()?;
    let state = SessionStateBuilder::new().with_config(config).with_runtime_env(runtime).with_default_features().build();
    let session = SessionContext::new_with_state(state);
    session.register_catalog(CATALOG, Arc::new(catalog(snapshot, limits, deadline)?));
    Ok(session)
}

fn catalog(snapshot: &Arc<dyn Snapshot>, limits: &QueryLimits, deadline: Instant) -> Result<MemoryCatalogProvider> {
    let mut schemas: BTreeMap<String, Arc<MemorySchemaProvider>> = BTreeMap::new();
    schemas.entry(DEFAULT_SCHEMA.to_owned()).or_default();
    for (name, schema) in snapshot.tables() {
        let provider = schemas.entry(name.schema.to_string()).or_default();
        let table = SnapshotTable::new(snapshot.clone(), name.clone(), schema, *limits, deadline);
        provider.register_table(name.table.to_string(), Arc::new(table))?;
    }
    let catalog = MemoryCatalogProvider::new();
    for (name, provider) in schemas {
        catalog.register_schema(&name, provider)?;
    }
    Ok(catalog)
}
