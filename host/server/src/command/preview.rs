//! `sluicebox preview`: real records through a pipeline; nothing is committed, no store is opened.

use std::sync::Arc;
use std::time::{Duration, Instant};

use anyhow::{Result, bail};
use sluicebox_config::spec::PipelineSpec;
use sluicebox_core::budget::Budget;
use sluicebox_core::commit::RejectRow;
use sluicebox_core::name::TenantName;
use sluicebox_core::port::{SourceEvent, SourceSettings, Sources};
use sluicebox_core::position::Positions;
use sluicebox_core::record::Records;
use sluicebox_engine::clock::Clock;
use sluicebox_engine::route::Route;
use sluicebox_kafka::KafkaSources;

use crate::cli::PreviewArgs;
use crate::command::load::load_and_tell;
use crate::command::{answer, say};
use crate::exit::Exit;
use crate::host::{embed_broker, route_ports};
use crate::rows;
use crate::system::SystemClock;

/// How long a preview waits for records.
const PATIENCE: Duration = Duration::from_secs(30);

pub(super) fn preview(args: &PreviewArgs) -> Result<Exit> {
    let mut loaded = load_and_tell(&args.config);
    let _broker = embed_broker(&mut loaded.spec)?;
    let tenant = TenantName::new(&args.tenant.tenant);
    let spec = loaded.spec.tenants.iter().find(|spec| spec.name == tenant);
    let pipeline = spec.and_then(|spec| spec.pipelines.iter().find(|p| p.name.as_str() == args.pipeline));
    let (Some(spec), Some(pipeline)) = (spec, pipeline) else {
        say(&format!("tenant {tenant} has no pipeline `{}` that could start", args.pipeline));
        return Ok(Exit::Usage);
    };
    let mut route = Route::plan(&tenant, pipeline, &route_ports(&loaded.spec.data, spec)?)?;
    for records in read(pipeline, args.records)? {
        let transformed = route.transform(Arc::new(records), SystemClock.now())?;
        for ((table, schema), batch) in route.outputs().zip(&transformed.outputs) {
            say(&format!("{table}:"));
            answer(&rows::format(schema, std::slice::from_ref(&batch.columns), args.output)?);
        }
        route.reject_rows(&transformed).iter().for_each(rejected);
    }
    Ok(Exit::Done)
}

fn rejected(row: &RejectRow) {
    for error in &row.errors {
        say(&format!(
            "rejected {}-{}@{}: {} [{}] {}",
            row.topic, row.partition, row.offset, error.path, error.code, error.message
        ));
    }
}

/// Reads up to `count` records from where the pipeline would begin first.
fn read(pipeline: &PipelineSpec, count: usize) -> Result<Vec<Records>> {
    let source = &pipeline.source;
    let mut batch = pipeline.batch;
    batch.rows = batch.rows.min(count.max(1));
    let mut source = KafkaSources::new().open(SourceSettings {
        topics: source.topics.clone(),
        group: source.group.clone(),
        properties: source.properties.clone(),
        start: source.start,
        out_of_range: source.out_of_range,
        batch,
        close_when_idle: true,
        stop_at_end: true,
        budget: Budget::new(pipeline.memory),
        positions: Positions::default(),
    })?;
    let (mut batches, mut left) = (Vec::new(), count);
    let deadline = Instant::now() + PATIENCE;
    while left > 0 {
        match source.next(deadline.saturating_duration_since(Instant::now())) {
            Some(SourceEvent::Batch(records)) => {
                left = left.saturating_sub(records.len());
                batches.push(records);
            }
            Some(SourceEvent::Failed(error) | SourceEvent::Waiting(error)) => bail!("{error}"),
            Some(SourceEvent::Ended) => break,
            None => bail!("no record came in {PATIENCE:?}"),
            Some(_) => {}
        }
    }
    source.stop();
    Ok(batches)
}
