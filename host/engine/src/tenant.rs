//! The pipelines of one tenant over its one store.

use std::sync::Arc;
use std::time::{Duration, Instant};

use sluicebox_config::spec::TenantSpec;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::{PipelineName, TenantName};
use sluicebox_core::port::{Retention, Sources, Store};

use crate::clock::Clock;
use crate::committer::Committer;
use crate::pipeline::{Command, Finish, Pipeline, PipelineHandle};
use crate::route::RoutePorts;
use crate::status::{PipelineStatus, Report};

/// What pipelines run on.
#[derive(Clone)]
pub struct Ports {
    /// Decoders, SQL, components.
    pub route: RoutePorts,
    /// Kafka.
    pub sources: Arc<dyn Sources>,
    /// The tenant's store.
    pub store: Arc<dyn Store>,
    /// Time.
    pub clock: Arc<dyn Clock>,
    /// Makes the id of a run.
    pub job_id: fn() -> String,
    /// How long a run with the trigger `once` waits for a broker or disk that is away before it gives up.
    pub wait_max: Duration,
}

/// A running tenant.
pub struct Tenant {
    name: TenantName,
    pipelines: Vec<PipelineHandle>,
    committer: Committer,
}

impl Tenant {
    /// Starts all pipelines of a tenant.
    ///
    /// # Errors
    /// When the disk fails or the system gives no thread. A pipeline that cannot start is a failed pipeline, not an error.
    pub fn start(spec: &TenantSpec, ports: &Ports) -> Result<Self> {
        ports.store.retain_rejects(rejects_retention(spec))?;
        let committer = Committer::start(spec.name.clone(), ports.store.clone(), ports.clock.clone())?;
        let start = |pipeline: &sluicebox_config::spec::PipelineSpec| {
            Pipeline::start(spec.name.clone(), pipeline.clone(), ports.clone(), committer.queue()?)
        };
        let pipelines = spec.pipelines.iter().map(start).collect::<Result<_>>()?;
        Ok(Self { name: spec.name.clone(), pipelines, committer })
    }

    /// Its name.
    pub fn name(&self) -> &TenantName {
        &self.name
    }

    /// What its pipelines are doing, also after they were stopped.
    pub fn statuses(&self) -> Vec<Arc<PipelineStatus>> {
        self.pipelines.iter().map(|pipeline| pipeline.status.clone()).collect()
    }

    fn reports(&self) -> Vec<Report> {
        self.pipelines.iter().map(|pipeline| pipeline.status.report()).collect()
    }

    /// Tells a pipeline what to do.
    ///
    /// # Errors
    /// There is no such pipeline; the message names those there are.
    pub fn command(&self, pipeline: &PipelineName, command: Command) -> Result<()> {
        let found = self.pipelines.iter().find(|handle| handle.status.report().pipeline == *pipeline);
        let Some(handle) = found else {
            let names: Vec<String> = self.reports().iter().map(|report| report.pipeline.to_string()).collect();
            return Err(Error::config(format!(
                "tenant {} has no pipeline `{pipeline}`; it has: {}",
                self.name,
                names.join(", ")
            )));
        };
        handle.send(command);
        Ok(())
    }

    /// Whether every pipeline has ended by itself.
    pub fn ended(&self) -> bool {
        self.pipelines.iter().all(PipelineHandle::ended)
    }

    /// Stops: sources first, then what was read is committed. Answers how each pipeline ended, or `None` for one that had not by the
    /// deadline; the process may end then, which is as safe as a kill.
    pub fn stop(mut self, timeout: Duration) -> Vec<(PipelineName, Option<Finish>)> {
        let deadline = Instant::now() + timeout;
        self.pipelines.iter().for_each(|handle| handle.send(Command::Stop));
        let end = |handle: PipelineHandle| (handle.status.report().pipeline, handle.join(deadline));
        let ends: Vec<_> = self.pipelines.drain(..).map(end).collect();
        if ends.iter().all(|(_, finish)| finish.is_some()) {
            self.committer.finish();
        }
        ends
    }
}

/// What the rejects of a tenant keep: they are one table, so the configuration lets one pipeline say it for all.
fn rejects_retention(spec: &TenantSpec) -> Retention {
    let said = spec.pipelines.iter().map(|pipeline| pipeline.rejects.retention);
    said.into_iter().find(|retention| *retention != Retention::default()).unwrap_or_default()
}
