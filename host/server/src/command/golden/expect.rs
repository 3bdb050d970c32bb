//! Compares what came out of a golden folder with what is expected.

use std::path::{Path, PathBuf};

use anyhow::{Context, Result, bail};
use sluicebox_config::Loaded;
use sluicebox_config::spec::Spec;
use sluicebox_core::name::TableName;

use super::rows;
use crate::cli::Format;
use crate::command::check::errors;
use crate::host::TenantHost;
use crate::http::query;

const REJECTS: &str =
    "SELECT topic, partition, \"offset\", key, value, errors FROM audit.rejected ORDER BY topic, partition, \"offset\"";
const COUNTS: &str = "SELECT schema, sum(count) AS consumed, sum(\"countAccepted\") AS emitted, sum(\"countFiltered\") AS filtered, \
                      sum(\"countRejected\") AS rejected FROM audit.audit GROUP BY schema ORDER BY schema";

/// Compares the errors of `check` where the folder expects any; `true` when it does.
pub(super) fn check(folder: &Path, loaded: &Loaded, bless: bool) -> Result<bool> {
    let file = folder.join("expected/check.err");
    if !file.is_file() {
        return Ok(false);
    }
    let here = folder.join("").display().to_string();
    let found: String = errors(loaded)?.iter().map(|error| error.replace(&here, "") + "\n").collect();
    settle(&file, &found, bless)?;
    Ok(true)
}

/// Whether the folder expects errors of `check` and nothing else.
pub(super) fn only_errors(folder: &Path) -> Result<bool> {
    Ok(std::fs::read_dir(folder.join("expected"))?.count() == 1)
}

/// Compares every expected file with the stores.
pub(super) fn compare(folder: &Path, spec: &Spec, bless: bool) -> Result<()> {
    let runtime = crate::command::load::runtime()?;
    for tenant in &spec.tenants {
        let host = TenantHost::open(&spec.data, &tenant.name)?;
        let expected = match tenant.name.as_str() {
            sluicebox_core::name::DEFAULT_TENANT => folder.join("expected"),
            name => folder.join("expected").join(name),
        };
        let ask = |sql: &str| runtime.block_on(query(&host, sql, Format::Json));
        for (file, sql) in files(&expected, tenant)? {
            let found = lines(&rows::of_array(&ask(&sql).with_context(|| sql.clone())?)?);
            settle(&file, &found, bless)?;
        }
    }
    Ok(())
}

/// The files to compare, each with the query whose rows it holds.
fn files(expected: &Path, tenant: &sluicebox_config::spec::TenantSpec) -> Result<Vec<(PathBuf, String)>> {
    let mut files = Vec::new();
    for target in tenant.pipelines.iter().flat_map(|pipeline| &pipeline.sinks).map(|sink| &sink.target) {
        let sluicebox_config::spec::Target::Table { table, .. } = target;
        files.push((expected.join(format!("{table}.json")), select(table)));
    }
    files.push((expected.join("rejects.json"), REJECTS.to_owned()));
    files.push((expected.join("counts.json"), COUNTS.to_owned()));
    files.retain(|(file, _)| file.is_file());
    if files.is_empty() {
        bail!("{}: there is nothing to compare with; put in empty files and run with --bless", expected.display());
    }
    Ok(files)
}

fn select(table: &TableName) -> String {
    format!("SELECT * FROM \"{}\".\"{}\"", table.schema, table.table)
}

/// One row a line.
fn lines(rows: &[String]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect()
}

/// Compares, or writes.
fn settle(file: &Path, found: &str, bless: bool) -> Result<()> {
    if bless {
        return std::fs::write(file, found).with_context(|| file.display().to_string());
    }
    let expected = std::fs::read_to_string(file).with_context(|| file.display().to_string())?;
    let rows = |text: &str| rows::of_lines(text).map(|rows| lines(&rows)).with_context(|| file.display().to_string());
    let normal = if file.extension().is_some_and(|e| e == "json") { rows(&expected)? } else { expected };
    if normal == found {
        return Ok(());
    }
    let missing = normal.lines().filter(|line| !found.lines().any(|f| f == *line)).map(|line| format!("- {line}"));
    let extra = found.lines().filter(|line| !normal.lines().any(|e| e == *line)).map(|line| format!("+ {line}"));
    let differ: Vec<String> = missing.chain(extra).take(40).collect();
    bail!("{} differs (- expected, + found):\n{}", file.display(), differ.join("\n"))
}
