//! The composition root: adapters, stores and engines of all tenants of one process.

use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, anyhow};
use sluicebox_config::spec::{SourceSpec, Spec, TenantSpec};
use sluicebox_core::error::Retry;
use sluicebox_core::name::{PipelineName, TenantName};
use sluicebox_core::port::Store;
use sluicebox_engine::clock::Clock;
use sluicebox_engine::pipeline::{Command, Finish};
use sluicebox_engine::route::RoutePorts;
use sluicebox_engine::status::{PipelineStatus, Report};
use sluicebox_engine::tenant::{Ports, Tenant};
use sluicebox_kafka::{EmbeddedBroker, KafkaSources};
use sluicebox_sql::{QueryEngine, QueryLimits, SqlPlanner};
use sluicebox_store::{RedbStore, StoreOptions};
use sluicebox_wasm::{ComponentSettings, WasmComponents};

use crate::system::{SystemClock, job_id};

/// Limits of one query.
pub const QUERY_LIMITS: QueryLimits = QueryLimits { time: Duration::from_secs(60), memory_bytes: 512 << 20, rows: 1_000_000 };
/// How long a start waits for a store that is in use.
pub const HELD_PATIENCE: Duration = Duration::from_secs(10);
/// How often it looks.
const HELD_LOOK: Duration = Duration::from_millis(5);
/// How long leaving a store tidy may take.
const TIDY: Duration = Duration::from_secs(60);

/// A tenant's store, opened, and what asks it.
pub struct TenantHost {
    name: TenantName,
    folder: PathBuf,
    store: Arc<RedbStore>,
    queries: QueryEngine,
    running: Mutex<Option<Tenant>>,
    statuses: Mutex<Vec<Arc<PipelineStatus>>>,
}

/// Folder of a tenant's files.
pub fn tenant_folder(data: &Path, tenant: &TenantName) -> PathBuf {
    data.join(tenant.as_str())
}

/// Opens the store of a tenant. One that is in use is asked for again for a while: a command may hold it for a moment.
///
/// # Errors
/// The folder cannot be made; the file stays held by another process, is broken or of a newer format.
pub fn open_store(data: &Path, tenant: &TenantName, patience: Duration) -> Result<Arc<RedbStore>> {
    let folder = tenant_folder(data, tenant);
    std::fs::create_dir_all(&folder).with_context(|| format!("cannot make the folder {}", folder.display()))?;
    let deadline = Instant::now() + patience;
    loop {
        match RedbStore::open(&folder.join("store.redb"), StoreOptions::new(tenant.clone(), job_id())) {
            Ok(store) => return Ok(Arc::new(store)),
            Err(error) if error.retry == Retry::Backoff && Instant::now() < deadline => std::thread::park_timeout(HELD_LOOK),
            Err(error) => return Err(error.into()),
        }
    }
}

/// What routes of a tenant are planned with.
///
/// # Errors
/// The sandbox cannot be started.
pub fn route_ports(data: &Path, spec: &TenantSpec) -> Result<RoutePorts> {
    let settings = |component: &sluicebox_config::spec::ComponentSpec| ComponentSettings {
        path: component.path.clone(),
        memory: component.memory,
        cpu_per_batch: component.cpu_per_batch,
        settings: component.settings.clone(),
    };
    let components = spec.components.iter().map(|(name, component)| (name.clone(), settings(component))).collect();
    let cache = tenant_folder(data, &spec.name).join("components");
    Ok(RoutePorts {
        decoders: Arc::new(sluicebox_codec::JsonDecoders),
        planner: Arc::new(SqlPlanner::new()),
        components: Arc::new(WasmComponents::new(components, Some(cache))?),
    })
}

impl TenantHost {
    /// Opens a tenant; nothing runs yet.
    ///
    /// # Errors
    /// As for [`open_store`].
    pub fn open(data: &Path, name: &TenantName) -> Result<Self> {
        let store = open_store(data, name, HELD_PATIENCE)?;
        let queries = QueryEngine::new(store.clone(), QUERY_LIMITS);
        Ok(Self {
            name: name.clone(),
            folder: tenant_folder(data, name),
            store,
            queries,
            running: Mutex::new(None),
            statuses: Mutex::default(),
        })
    }

    /// Starts the pipelines, over `store`: the tenant's own unless a test stands between.
    ///
    /// # Errors
    /// The sandbox or a thread cannot be started.
    pub fn start(&self, data: &Path, spec: &TenantSpec, wait_max: Duration, store: Arc<dyn Store>) -> Result<()> {
        let route = route_ports(data, spec)?;
        let (sources, clock) = (Arc::new(KafkaSources::new()), Arc::new(SystemClock));
        let ports = Ports { route, sources, store, clock, job_id, wait_max };
        let tenant = Tenant::start(spec, &ports)?;
        *self.statuses.lock().unwrap_or_else(PoisonError::into_inner) = tenant.statuses();
        *self.lock() = Some(tenant);
        Ok(())
    }

    fn lock(&self) -> std::sync::MutexGuard<'_, Option<Tenant>> {
        self.running.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Whose it is.
    pub fn name(&self) -> &TenantName {
        &self.name
    }

    /// Folder of its files.
    pub fn folder(&self) -> &Path {
        &self.folder
    }

    /// Its store.
    pub fn store(&self) -> &Arc<RedbStore> {
        &self.store
    }

    /// Answers queries over its tables.
    pub fn queries(&self) -> &QueryEngine {
        &self.queries
    }

    /// What its pipelines are doing, or did when they were stopped.
    pub fn reports(&self) -> Vec<Report> {
        let statuses = self.statuses.lock().unwrap_or_else(PoisonError::into_inner);
        statuses.iter().map(|status| status.report()).collect()
    }

    /// Tells a pipeline what to do.
    ///
    /// # Errors
    /// There is no such pipeline.
    pub fn command(&self, pipeline: &str, command: Command) -> Result<()> {
        let running = self.lock();
        let tenant = running.as_ref().ok_or_else(|| anyhow!("no pipeline of tenant {} runs", self.name))?;
        Ok(tenant.command(&PipelineName::new(pipeline), command)?)
    }

    /// Whether every pipeline has ended by itself.
    pub fn ended(&self) -> bool {
        self.lock().as_ref().is_none_or(Tenant::ended)
    }

    /// Stops the pipelines; see [`Tenant::stop`].
    pub fn stop(&self, timeout: Duration) -> Vec<(PipelineName, Option<Finish>)> {
        let tenant = self.lock().take();
        tenant.map(|tenant| tenant.stop(timeout)).unwrap_or_default()
    }

    /// Compacts what is left to compact, so that the file is small while nothing runs.
    ///
    /// # Errors
    /// The disk fails.
    pub fn tidy(&self) -> Result<()> {
        Ok(self.store.finish(SystemClock.now(), TIDY)?)
    }
}

/// Starts the broker inside the process where a pipeline asks for it (`bootstrapServers: embedded`), with one partition for each topic
/// that is not there yet, and lets those pipelines use it.
///
/// # Errors
/// The broker cannot be started.
pub fn embed_broker(spec: &mut Spec) -> Result<Option<EmbeddedBroker>> {
    let sources = || spec.tenants.iter().flat_map(|tenant| &tenant.pipelines).map(|pipeline| &pipeline.source);
    if !sources().any(|source| source.embedded) {
        return Ok(None);
    }
    let broker = EmbeddedBroker::start()?;
    for topic in sources().filter(|source| source.embedded).flat_map(|source| &source.topics) {
        broker.create_topic(topic, 1)?;
    }
    connect(spec, &broker, |source| source.embedded);
    Ok(Some(broker))
}

/// Points sources at a broker inside the process.
pub fn connect(spec: &mut Spec, broker: &EmbeddedBroker, which: impl Fn(&SourceSpec) -> bool) {
    let pipelines = spec.tenants.iter_mut().flat_map(|tenant| &mut tenant.pipelines);
    for source in pipelines.map(|pipeline| &mut pipeline.source).filter(|source| which(source)) {
        for (name, value) in broker.properties() {
            source.properties.retain(|(own, _)| *own != name);
            source.properties.push((name, value));
        }
    }
}
