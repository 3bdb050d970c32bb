//! `make bench`: speed of the whole way and of its parts, from counted ground truth. Prints a table and writes `bench.json` into the
//! target folder: a list of `{name, value, unit}`.
//!
//! Each figure of a table stands beside the rate of only consuming the same topic with the same client in the same run.

mod bench {
    pub mod decode;
    pub mod figure;
    pub mod kafka;
    pub mod latency;
    pub mod mask;
    pub mod memory;
    pub mod pipeline;
}

use anyhow::Result;
use bench::figure::Figures;

fn main() -> Result<()> {
    let wanted: Vec<String> = std::env::args().skip(1).collect();
    let runs = |name: &str| wanted.is_empty() || wanted.iter().any(|w| name.starts_with(w.as_str()));
    let mut figures = Figures::default();
    if runs("decode") {
        bench::decode::run(&mut figures)?;
    }
    if runs("component") {
        bench::mask::run(&mut figures)?;
    }
    if runs("table.embedded") {
        bench::pipeline::embedded(&mut figures)?;
    }
    if runs("table.kafka") {
        bench::kafka::run(&mut figures)?;
    }
    if runs("latency") {
        bench::latency::run(&mut figures)?;
    }
    if runs("memory") {
        bench::memory::run(&mut figures)?;
    }
    figures.write()
}
