//! Figures: printed as they come, written as `bench.json` at the end.

use std::path::PathBuf;

use anyhow::{Context, Result};
use serde_json::json;

/// What was measured.
#[derive(Default)]
pub struct Figures(Vec<(String, f64, &'static str)>);

impl Figures {
    /// Takes a figure and prints it.
    pub fn add(&mut self, name: &str, value: f64, unit: &'static str) {
        println!("{name:<28} {value:>14.1} {unit}");
        self.0.push((name.to_owned(), value, unit));
    }

    /// Records per second with the megabytes that they are.
    pub fn rate(&mut self, name: &str, records: u64, bytes: u64, seconds: f64) {
        self.add(name, records as f64 / seconds, "records/s");
        println!("{:<28} {:>14.1} MB/s, {:.1} MB at most", "", bytes as f64 / seconds / 1e6, rss("VmHWM").unwrap_or(0.0));
    }

    /// A figure that was taken before.
    pub fn get(&self, name: &str) -> Option<f64> {
        self.0.iter().find(|(known, _, _)| known == name).map(|(_, value, _)| *value)
    }

    /// Writes `bench.json`.
    pub fn write(&self) -> Result<()> {
        let list: Vec<_> =
            self.0.iter().map(|(name, value, unit)| json!({ "name": name, "value": value, "unit": unit })).collect();
        let file = target().join("bench.json");
        std::fs::write(&file, serde_json::to_string_pretty(&list)?).with_context(|| file.display().to_string())?;
        println!("written to {}", file.display());
        Ok(())
    }
}

/// The target folder: this program is `TARGET/release/examples/bench`.
pub fn target() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors().nth(3).map(PathBuf::from).unwrap_or_default()
}

/// Megabytes of this process: `VmRSS` now, `VmHWM` at most.
pub fn rss(field: &str) -> Option<f64> {
    rss_of("self", field)
}

/// Megabytes of a process.
pub fn rss_of(process: &str, field: &str) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find(|line| line.starts_with(field))?;
    let kib: f64 = line.split_whitespace().nth(1)?.parse().ok()?;
    Some(kib * 1024.0 / 1e6)
}
