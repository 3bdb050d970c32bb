//! Golden folders: a configuration and its input beside what must come out.
//!
//! ```text
//! FOLDER/
//!   sluicebox.yaml               the configuration; its Kafka connections are answered by a broker inside the process
//!   tenants/NAME.yaml            or not: tenants, whose tables and rejects are expected in expected/NAME/
//!   input/TOPIC.jsonl            one value a line
//!   input/TOPIC.records.json     or: a JSON array of {key, value, headers, timestamp, partition}; see `input`
//!   expected/SCHEMA.TABLE.json   the rows of a table, one a line, as a set; numbers digit for digit
//!   expected/rejects.json        the rejects: topic, partition, offset, key, value, errors
//!   expected/counts.json         per pipeline: consumed, emitted, filtered, rejected
//!   expected/check.err           what `sluicebox check` says; what has no error runs where more is expected
//! ```
//!
//! A file that is not there is not compared. Each pipeline runs once, to the end of its input. [`Mode::Interrupted`] ends the run at every
//! commit: alternately the commit is refused as if the process had died before it, and what comes after it is.

use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail};
use sluicebox_config::spec::{Spec, Trigger};
use sluicebox_config::{ConfigSource, Loaded};
use sluicebox_core::port::Store;
use sluicebox_engine::pipeline::Finish;
use sluicebox_kafka::EmbeddedBroker;

use crate::host::{TenantHost, connect};
use crate::system::environment;

mod expect;
mod input;
mod interrupt;
mod rows;

use interrupt::InterruptedStore;

/// How a folder is run.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Mode {
    /// From start to end.
    Straight,
    /// Ended and started again at every commit.
    Interrupted,
}

impl Mode {
    /// What the name of a run ends with.
    pub fn suffix(self) -> &'static str {
        match self {
            Mode::Straight => "",
            Mode::Interrupted => " (interrupted)",
        }
    }
}

/// Longest time of one run.
const PATIENCE: Duration = Duration::from_secs(120);
/// Most lives of an interrupted run.
const LIVES_MAX: usize = 2_000;

/// Runs a folder and compares. With `bless`, what came out is written as expected instead.
///
/// # Errors
/// What differs, or why the folder could not run.
pub fn run(folder: &Path, mode: Mode, bless: bool) -> Result<()> {
    let path = if folder.join("tenants").is_dir() { folder.to_owned() } else { folder.join("sluicebox.yaml") };
    let loaded = sluicebox_config::load(&ConfigSource { path, environment: &environment });
    let wrong = expect::check(folder, &loaded, bless)?;
    if wrong && expect::only_errors(folder)? {
        return Ok(());
    }
    let data = Scratch::new()?;
    let mut spec = if wrong { loaded.spec } else { loaded_or_errors(loaded)? };
    spec.tenants.retain(|tenant| !tenant.pipelines.is_empty());
    spec.data = data.path().to_owned();
    let broker = EmbeddedBroker::start()?;
    input::fill(&broker, folder, &spec)?;
    connect(&mut spec, &broker, |_| true);
    for pipeline in spec.tenants.iter_mut().flat_map(|tenant| &mut tenant.pipelines) {
        pipeline.trigger = Trigger::Once;
        if mode == Mode::Interrupted {
            pipeline.batch.rows = pipeline.batch.rows.min(3);
        }
    }
    match mode {
        Mode::Straight => straight(&spec)?,
        Mode::Interrupted => interrupted(&spec)?,
    }
    expect::compare(folder, &spec, bless)
}

fn loaded_or_errors(loaded: Loaded) -> Result<Spec> {
    if loaded.errors.is_empty() {
        return Ok(loaded.spec);
    }
    let errors: Vec<String> = loaded.errors.iter().map(ToString::to_string).collect();
    bail!("the configuration is wrong:\n{}", errors.join("\n"))
}

fn straight(spec: &Spec) -> Result<()> {
    for tenant in &spec.tenants {
        let host = TenantHost::open(&spec.data, &tenant.name)?;
        let store: Arc<dyn Store> = host.store().clone();
        host.start(&spec.data, tenant, PATIENCE, store)?;
        for (pipeline, finish) in until_ended(&host)? {
            if finish != Some(Finish::Done) {
                bail!("pipeline {pipeline} did not end well: {finish:?}");
            }
        }
    }
    Ok(())
}

/// Lives until a life ends well. Each life may commit once, and dies before or after that commit is known.
fn interrupted(spec: &Spec) -> Result<()> {
    for tenant in &spec.tenants {
        for life in 0.. {
            if life > LIVES_MAX {
                bail!("tenant {}: {LIVES_MAX} lives did not finish the input", tenant.name);
            }
            let host = TenantHost::open(&spec.data, &tenant.name)?;
            let store = Arc::new(InterruptedStore::new(host.store().clone(), life % 2 == 1));
            host.start(&spec.data, tenant, PATIENCE, store)?;
            if until_ended(&host)?.iter().all(|(_, finish)| *finish == Some(Finish::Done)) {
                break;
            }
        }
    }
    Ok(())
}

fn until_ended(host: &TenantHost) -> Result<Vec<(sluicebox_core::name::PipelineName, Option<Finish>)>> {
    let deadline = Instant::now() + PATIENCE;
    while !host.ended() {
        if Instant::now() > deadline {
            bail!("the run did not end in {PATIENCE:?}: {:?}", host.reports());
        }
        std::thread::park_timeout(Duration::from_millis(2));
    }
    Ok(host.stop(PATIENCE))
}

/// A folder that is gone when the run is over.
struct Scratch(std::path::PathBuf);

impl Scratch {
    fn new() -> Result<Self> {
        let path = std::env::temp_dir().join(format!("sluicebox-test-{}", uuid::Uuid::new_v4()));
        std::fs::create_dir_all(&path).with_context(|| format!("cannot make {}", path.display()))?;
        Ok(Self(path))
    }

    fn path(&self) -> &Path {
        &self.0
    }
}

impl Drop for Scratch {
    fn drop(&mut self) {
        let _ = std::fs::remove_dir_all(&self.0);
    }
}
