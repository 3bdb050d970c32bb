//! From produced to visible: Apache Kafka, 1,000 records a second, continuous. A record is visible when the commit that holds it returns.

use std::sync::mpsc::{Sender, channel};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use anyhow::{Result, ensure};
use arrow_schema::SchemaRef;
use sluicebox_codec::sample::big;
use sluicebox_config::spec::Trigger;
use sluicebox_core::audit::AuditDelta;
use sluicebox_core::commit::Delta;
use sluicebox_core::name::{PipelineName, TableName};
use sluicebox_core::port::{Retention, Sink, Store};
use sluicebox_core::position::Positions;
use sluicebox_core::query::{Snapshot, Snapshots};
use sluicebox_core::secret::Secret;
use sluicebox_kafka::{Message, Producer};
use sluicebox_server::host::TenantHost;
use sluicebox_tests::kafka::{Kafka, Options};

use super::figure::Figures;
use super::pipeline::{BIG, spec};

const RECORDS: usize = 22_000;
/// The first records wait for the producer to connect; they are not counted.
const WARM: usize = 2_000;
const GAP: Duration = Duration::from_millis(1);

/// `latency.p50_ms`, `latency.p99_ms`.
pub fn run(figures: &mut Figures) -> Result<()> {
    let kafka = Kafka::start(Options::default())?;
    kafka.create_topic("events", 1, &[])?;
    let folder = tempfile::tempdir()?;
    let mut spec = spec(folder.path(), &BIG.replace("BROKER", &kafka.bootstrap()))?;
    spec.tenants[0].pipelines[0].trigger = Trigger::Continuous;
    let tenant = &spec.tenants[0];
    let host = TenantHost::open(&spec.data, &tenant.name)?;
    let (sender, visible) = channel();
    let store = Arc::new(TimedStore { inner: host.store().clone(), sender: Mutex::new(sender) });
    host.start(&spec.data, tenant, Duration::from_secs(30), store)?;
    warm(&host)?;

    let properties = [("bootstrap.servers", kafka.bootstrap()), ("linger.ms", "0".into())];
    let properties: Vec<_> = properties.into_iter().map(|(name, value)| (name.to_owned(), Secret::new(value))).collect();
    let mut producer = Producer::new(&properties)?;
    let mut sent = Vec::with_capacity(RECORDS);
    let began = Instant::now();
    for n in 0..RECORDS {
        let due = began + GAP * n as u32;
        while let Some(left) = due.checked_duration_since(Instant::now()) {
            std::thread::park_timeout(left);
        }
        let mut value = Vec::new();
        big(n as u64, &mut value);
        sent.push(Instant::now());
        producer.send("events", Some(0), &Message::of(value))?;
    }
    producer.flush()?;
    let mut waits: Vec<Duration> = Vec::with_capacity(RECORDS);
    while waits.len() < RECORDS {
        let (to, at): (i64, Instant) = visible.recv_timeout(Duration::from_secs(30))?;
        waits.extend(sent[waits.len()..(to as usize).min(RECORDS)].iter().map(|sent| at.saturating_duration_since(*sent)));
    }
    let ends = host.stop(Duration::from_secs(30));
    ensure!(ends.iter().all(|(_, finish)| finish.is_some()), "{ends:?}");
    let mut waits = waits.split_off(WARM);
    waits.sort_unstable();
    for (name, share) in [("latency.p50_ms", 0.5), ("latency.p99_ms", 0.99)] {
        figures.add(name, waits[(waits.len() as f64 * share) as usize].as_secs_f64() * 1e3, "ms");
    }
    Ok(())
}

/// Until the pipeline has found its (empty) partition.
fn warm(host: &TenantHost) -> Result<()> {
    let began = Instant::now();
    while !host.reports()[0].ready {
        ensure!(began.elapsed() < Duration::from_secs(30), "the pipeline is not ready: {:?}", host.reports());
        std::thread::park_timeout(Duration::from_millis(10));
    }
    Ok(())
}

/// Notes when each commit returned and up to which offset it went.
struct TimedStore {
    inner: Arc<dyn Store>,
    sender: Mutex<Sender<(i64, Instant)>>,
}

impl Snapshots for TimedStore {
    fn snapshot(&self) -> sluicebox_core::Result<Arc<dyn Snapshot>> {
        self.inner.snapshot()
    }
}

impl Store for TimedStore {
    fn id(&self) -> String {
        self.inner.id()
    }

    fn positions(&self, pipeline: &PipelineName) -> sluicebox_core::Result<Positions> {
        self.inner.positions(pipeline)
    }

    fn table(
        &self,
        table: &TableName,
        schema: &SchemaRef,
        owner: &PipelineName,
        retention: Retention,
    ) -> sluicebox_core::Result<Box<dyn Sink>> {
        self.inner.table(table, schema, owner, retention)
    }

    fn commit(&self, deltas: &[Delta]) -> sluicebox_core::Result<()> {
        self.inner.commit(deltas)?;
        let at = Instant::now();
        if let (Some(to), Ok(sender)) = (deltas.iter().flat_map(|d| &d.advances).map(|a| a.to).max(), self.sender.lock()) {
            let _ = sender.send((to, at));
        }
        Ok(())
    }

    fn audit(&self, pipeline: &PipelineName, audit: &AuditDelta) -> sluicebox_core::Result<()> {
        self.inner.audit(pipeline, audit)
    }

    fn retain_rejects(&self, retention: Retention) -> sluicebox_core::Result<()> {
        self.inner.retain_rejects(retention)
    }

    fn maintain(&self, now: i64) -> sluicebox_core::Result<bool> {
        self.inner.maintain(now)
    }

    fn paused(&self, pipeline: &PipelineName) -> sluicebox_core::Result<bool> {
        self.inner.paused(pipeline)
    }

    fn set_paused(&self, pipeline: &PipelineName, paused: bool) -> sluicebox_core::Result<()> {
        self.inner.set_paused(pipeline, paused)
    }
}
