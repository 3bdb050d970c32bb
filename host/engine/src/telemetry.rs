//! The metrics of the engine, all in one place. Labels are bounded: tenants, pipelines, states and reject codes of the configuration.

use std::time::Duration;

use metrics::{counter, gauge, histogram};
use sluicebox_core::name::{PipelineName, TenantName};
use sluicebox_core::outcome::Counts;

use crate::status::State;

fn labels(tenant: &TenantName, pipeline: &PipelineName) -> [(&'static str, String); 2] {
    [("tenant", tenant.to_string()), ("pipeline", pipeline.to_string())]
}

pub(crate) fn committed(tenant: &TenantName, pipeline: &PipelineName, counts: &Counts, bytes: u64) {
    let labels = labels(tenant, pipeline);
    counter!("sluicebox_records_consumed_total", &labels).increment(counts.consumed);
    counter!("sluicebox_records_emitted_total", &labels).increment(counts.emitted);
    counter!("sluicebox_records_filtered_total", &labels).increment(counts.filtered);
    counter!("sluicebox_records_rejected_total", &labels).increment(counts.rejected);
    counter!("sluicebox_rows_total", &labels).increment(counts.rows);
    counter!("sluicebox_bytes_consumed_total", &labels).increment(bytes);
    for (code, count) in &counts.codes {
        let [tenant, pipeline] = labels.clone();
        let labels = [tenant, pipeline, ("code", code.to_string())];
        counter!("sluicebox_reject_errors_total", &labels).increment(*count);
    }
}

pub(crate) fn lag(tenant: &TenantName, pipeline: &PipelineName, lag: Option<u64>) {
    if let Some(lag) = lag {
        gauge!("sluicebox_records_lag", &labels(tenant, pipeline)).set(lag as f64);
    }
}

pub(crate) fn state(tenant: &TenantName, pipeline: &PipelineName, state: &State) {
    for word in ["running", "waiting", "paused", "failed", "done", "stopped"] {
        let [tenant, pipeline] = labels(tenant, pipeline);
        let labels = [tenant, pipeline, ("state", word.to_owned())];
        gauge!("sluicebox_pipeline_state", &labels).set(if state.word() == word { 1.0 } else { 0.0 });
    }
}

pub(crate) fn commit(tenant: &TenantName, took: Duration, batches: usize) {
    let labels = [("tenant", tenant.to_string())];
    histogram!("sluicebox_commit_seconds", &labels).record(took.as_secs_f64());
    counter!("sluicebox_commits_total", &labels).increment(1);
    counter!("sluicebox_committed_batches_total", &labels).increment(batches as u64);
}

pub(crate) fn commit_failed(tenant: &TenantName) {
    counter!("sluicebox_commit_failures_total", "tenant" => tenant.to_string()).increment(1);
}

pub(crate) fn gap(tenant: &TenantName, pipeline: &PipelineName, missing: i64) {
    counter!("sluicebox_records_gone_total", &labels(tenant, pipeline)).increment(missing.unsigned_abs());
}
