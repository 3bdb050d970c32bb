//! What a component costs that masks one column: the same route with and without it, over the same records.

use std::time::Instant;

use anyhow::{Context, Result, ensure};
use sluicebox_codec::sample::{batch, big};
use sluicebox_engine::route::Route;
use sluicebox_server::host::route_ports;

use super::figure::{Figures, target};
use super::pipeline::{BIG, spec};

const RECORDS: u64 = 10_000;
const ROUNDS: usize = 60;

/// `component.mask_ns`: nanoseconds of a record.
pub fn run(figures: &mut Figures) -> Result<()> {
    let folder = tempfile::tempdir()?;
    let component = target().join("components/mask.wasm");
    ensure!(component.is_file(), "{} is not there: `make components`", component.display());
    std::fs::copy(&component, folder.path().join("mask.wasm"))?;
    let without = BIG.replace("SELECT user_id", "SELECT page, user_id");
    let components = "components: { mask: { path: mask.wasm, settings: { columns: [page] } } }\n";
    let with = format!("{components}{}", without.replace("    to:", "      - component: mask\n    to:"));
    let (mut best_with, mut best_without) = (f64::MAX, f64::MAX);
    let mut routes = [plan(folder.path(), &without)?, plan(folder.path(), &with)?];
    let records = batch(big, RECORDS);
    for _ in 0..ROUNDS {
        for (route, best) in routes.iter_mut().zip([&mut best_without, &mut best_with]) {
            let began = Instant::now();
            let transformed = route.transform(records.clone(), 0)?;
            *best = best.min(began.elapsed().as_secs_f64());
            ensure!(transformed.rejects.is_empty(), "{} records were refused", transformed.rejects.len());
        }
    }
    figures.add("component.mask_ns", (best_with - best_without) * 1e9 / RECORDS as f64, "ns/record");
    Ok(())
}

fn plan(folder: &std::path::Path, text: &str) -> Result<Route> {
    let spec = spec(folder, &text.replace("BROKER", "localhost:9"))?;
    let tenant = &spec.tenants[0];
    let ports = route_ports(&spec.data, tenant)?;
    Route::plan(&tenant.name, &tenant.pipelines[0], &ports).context("cannot plan")
}
