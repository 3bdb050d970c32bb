//! `sluicebox check`: everything that can fail at start fails here.

use anyhow::Result;
use sluicebox_config::Loaded;
use sluicebox_engine::route::Route;

use crate::cli::CheckArgs;
use crate::command::load;
use crate::command::{answer, say};
use crate::exit::Exit;
use crate::host::route_ports;

pub(super) fn check(args: &CheckArgs) -> Result<Exit> {
    if args.schema {
        answer(&(serde_json::to_string_pretty(&sluicebox_config::json_schema())? + "\n"));
        return Ok(Exit::Done);
    }
    let loaded = load::load(&args.config);
    let errors = errors(&loaded)?;
    errors.iter().for_each(|error| say(&format!("error: {error}")));
    if !errors.is_empty() {
        say(&format!("{} {}", errors.len(), if errors.len() == 1 { "error" } else { "errors" }));
        return Ok(Exit::Usage);
    }
    let pipelines: usize = loaded.spec.tenants.iter().map(|tenant| tenant.pipelines.len()).sum();
    answer(&format!("{pipelines} {}, no errors\n", if pipelines == 1 { "pipeline" } else { "pipelines" }));
    Ok(Exit::Done)
}

/// Every error: those of the text, then of each pipeline what only its client, its SQL and its components can tell.
pub(crate) fn errors(loaded: &Loaded) -> Result<Vec<String>> {
    let mut errors: Vec<String> = loaded.errors.iter().map(ToString::to_string).collect();
    for tenant in &loaded.spec.tenants {
        let ports = route_ports(&loaded.spec.data, tenant)?;
        for pipeline in &tenant.pipelines {
            let checked = sluicebox_kafka::validate_properties(&pipeline.source.properties)
                .and_then(|()| Route::plan(&tenant.name, pipeline, &ports).map(drop));
            if let Err(error) = checked {
                errors.push(format!("{}: pipeline {}: {error}", pipeline.places.of(&error.message), pipeline.name));
            }
        }
    }
    Ok(errors)
}
