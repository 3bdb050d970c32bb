//! Resident memory of the real process: idle, and at most in the big run from Apache Kafka.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluicebox_tests::kafka::{Kafka, Options};

use super::figure::{Figures, rss_of, target};
use super::kafka::{RECORDS, fill};
use super::pipeline::BIG;

/// How long the idle process is watched.
const IDLE: Duration = Duration::from_secs(5);

/// `memory.idle_mb`, `memory.run_mb`.
pub fn run(figures: &mut Figures) -> Result<()> {
    let kafka = Kafka::start(Options::default())?;
    kafka.create_topic("empty", 1, &[])?;
    fill(&kafka, RECORDS)?;
    let config = BIG.replace("BROKER", &kafka.bootstrap());
    let idle = measured(&config.replace("kafka:events", "kafka:empty"), Some(IDLE))?;
    figures.add("memory.idle_mb", idle, "MB");
    let run = measured(&config.replace("    to:", "    trigger: once\n    to:"), None)?;
    figures.add("memory.run_mb", run, "MB");
    Ok(())
}

/// Runs the process to its end, or for a while; the most memory that it had.
fn measured(config: &str, time: Option<Duration>) -> Result<f64> {
    let folder = tempfile::tempdir()?;
    std::fs::write(folder.path().join("sluicebox.yaml"), config)?;
    let mut child = start(folder.path())?;
    let began = Instant::now();
    let mut most: f64 = 0.0;
    loop {
        if let Some(status) = child.try_wait()? {
            ensure!(time.is_none() && status.success(), "the process ended: {status}");
            return Ok(most);
        }
        let field = if time.is_some() { "VmRSS" } else { "VmHWM" };
        most = most.max(rss_of(&child.id().to_string(), field).unwrap_or(0.0));
        if time.is_some_and(|time| began.elapsed() > time) {
            child.kill()?;
            child.wait()?;
            return Ok(most);
        }
        if began.elapsed() > Duration::from_secs(120) {
            child.kill()?;
            bail!("the run did not end");
        }
        std::thread::park_timeout(Duration::from_millis(20));
    }
}

fn start(folder: &Path) -> Result<Child> {
    let program = target().join("release/sluicebox");
    Command::new(&program)
        .args(["run", "--listen", "127.0.0.1:0", "-f"])
        .arg(folder.join("sluicebox.yaml"))
        .stdout(Stdio::null())
        .stderr(Stdio::null())
        .spawn()
        .with_context(|| program.display().to_string())
}
