//! `sluicebox pipeline`: asks the running host, or the store when none runs.

use std::fmt::Write;

use anyhow::{Result, bail};
use hyper::Method;
use serde_json::Value;
use sluicebox_core::name::{PipelineName, TenantName};
use sluicebox_core::port::Store;

use crate::cli::{Format, PipelineAction, PipelineArgs};
use crate::client::Client;
use crate::command::load::{load_and_tell, runtime};
use crate::command::{answer, say};
use crate::exit::Exit;
use crate::host::{HELD_PATIENCE, open_store, tenant_folder};

const COLUMNS: [&str; 9] = ["pipeline", "state", "lag", "consumed", "emitted", "filtered", "rejected", "rows", "reason"];

pub(super) fn pipeline(args: &PipelineArgs) -> Result<Exit> {
    let loaded = load_and_tell(&args.config);
    let tenant = TenantName::new(&args.tenant.tenant);
    let Some(spec) = loaded.spec.tenants.iter().find(|spec| spec.name == tenant) else {
        say(&format!("the configuration has no tenant `{tenant}`"));
        return Ok(Exit::Usage);
    };
    let folder = tenant_folder(&loaded.spec.data, &tenant);
    runtime()?.block_on(async {
        let client = Client::find(&folder).await;
        match (&args.action, client) {
            (PipelineAction::List { output }, Some(client)) => {
                let text = client.request(Method::GET, "/v1/status", "application/json", String::new()).await?;
                let status: Value = serde_json::from_str(&text)?;
                answer(&list(status["pipelines"].as_array().map(Vec::as_slice).unwrap_or_default(), *output)?);
            }
            (PipelineAction::List { output }, None) => {
                let store = open_store(&loaded.spec.data, &tenant, HELD_PATIENCE)?;
                let state = |name: &PipelineName| Ok::<_, anyhow::Error>(if store.paused(name)? { "paused" } else { "stopped" });
                let rows =
                    spec.pipelines.iter().map(|p| Ok(serde_json::json!({"pipeline": p.name.as_str(), "state": state(&p.name)?})));
                answer(&list(&rows.collect::<Result<Vec<_>>>()?, *output)?);
            }
            (action, client) => tell(action, client, || open_store(&loaded.spec.data, &tenant, HELD_PATIENCE), spec).await?,
        }
        Ok(Exit::Done)
    })
}

async fn tell(
    action: &PipelineAction,
    client: Option<Client>,
    store: impl Fn() -> Result<std::sync::Arc<sluicebox_store::RedbStore>>,
    spec: &sluicebox_config::spec::TenantSpec,
) -> Result<()> {
    let (name, word) = match action {
        PipelineAction::Pause { name } => (name, "pause"),
        PipelineAction::Resume { name } => (name, "resume"),
        PipelineAction::Restart { name } => (name, "restart"),
        PipelineAction::List { .. } => return Ok(()),
    };
    if let Some(client) = client {
        client.request(Method::POST, &format!("/v1/pipelines/{name}/{word}"), "application/json", String::new()).await?;
        say(&format!("told {name} to {word}"));
        return Ok(());
    }
    let Some(pipeline) = spec.pipelines.iter().find(|pipeline| pipeline.name.as_str() == name) else {
        bail!("the configuration has no pipeline `{name}`");
    };
    match action {
        PipelineAction::Restart { .. } => bail!("no host runs; `sluicebox run` starts the pipelines"),
        action => store()?.set_paused(&pipeline.name, matches!(action, PipelineAction::Pause { .. }))?,
    }
    say(&format!("no host runs; {name} will {} at the next start", if word == "pause" { "stay paused" } else { "run" }));
    Ok(())
}

fn cell(value: &Value) -> String {
    match value {
        Value::Null => String::new(),
        Value::String(text) => text.clone(),
        other => other.to_string(),
    }
}

fn list(pipelines: &[Value], format: Format) -> Result<String> {
    if format == Format::Json {
        return Ok(serde_json::to_string_pretty(pipelines)? + "\n");
    }
    let rows: Vec<Vec<String>> = pipelines.iter().map(|p| COLUMNS.iter().map(|c| cell(&p[*c])).collect()).collect();
    let mut text = String::new();
    if format == Format::Csv {
        writeln!(text, "{}", COLUMNS.join(","))?;
        for row in &rows {
            let quoted: Vec<String> = row.iter().map(|cell| format!("\"{}\"", cell.replace('"', "\"\""))).collect();
            writeln!(text, "{}", quoted.join(","))?;
        }
        return Ok(text);
    }
    let width = |i: usize| rows.iter().map(|row| row[i].chars().count()).chain([COLUMNS[i].len()]).max().unwrap_or(0);
    let widths: Vec<usize> = (0..COLUMNS.len()).map(width).collect();
    let mut print = |cells: &[String]| -> Result<()> {
        let padded: Vec<String> = cells.iter().zip(&widths).map(|(cell, width)| format!("{cell:width$}")).collect();
        Ok(writeln!(text, "{}", padded.join("  ").trim_end())?)
    };
    print(&COLUMNS.map(str::to_owned))?;
    rows.iter().try_for_each(|row| print(row))?;
    Ok(text)
}
