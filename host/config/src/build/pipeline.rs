//! One pipeline.

use std::time::Duration;

use sluicebox_core::column::{Column, Privacy};
use sluicebox_core::name::{PipelineName, TableName};
use sluicebox_core::port::{BatchLimits, Retention};

use super::{Context, column, names, source};
use crate::document::{Named, Object};
use crate::error::{Mark, Problems};
use crate::size::bytes_text;
use crate::spec::{CommitSpec, PipelineSpec, Places, RawRejects, RejectsSpec, SinkSpec, StepSpec, Target, Trigger};

const ROWS_DEFAULT: u64 = 10_000;
const BATCH_BYTES_DEFAULT: u64 = 8 << 20;
const BATCH_TIME_DEFAULT: Duration = Duration::from_secs(1);
const COMMIT_BYTES_DEFAULT: u64 = 16 << 20;
const MEMORY_DEFAULT: u64 = 64 << 20;

/// A pipeline and the places that rules between pipelines point at.
pub(super) struct Built<'d> {
    pub(super) name: PipelineName,
    pub(super) group: Option<String>,
    /// None when its source is wrong.
    pub(super) spec: Option<PipelineSpec>,
    pub(super) object: &'d Object,
    pub(super) mark: Mark,
    pub(super) tables: Vec<(TableName, Mark)>,
}

/// Builds what can be built, so that all errors are found; the caller drops a pipeline that has some.
pub(super) fn build<'d>(entry: &Named, object: &'d Object, context: &Context<'_>, problems: &mut Problems) -> Built<'d> {
    let name = PipelineName::new(&entry.name);
    let group = source::group(&entry.name, object, context, problems);
    let source = source::build(group.as_deref(), object, context, problems);
    let columns = columns(object, context, problems);
    let key_privacy = object.object("key").map_or(Privacy::None, |key| column::rule(key, problems));
    let steps = object.objects("steps").filter_map(|step| self::step(step, context, problems)).collect();
    let (sinks, tables) = sinks(object, problems);
    let rejects = rejects(object, &columns, &key_privacy, problems);
    let batch = batch(object);
    let memory = memory(object, &batch, problems);
    let spec = source.map(|source| PipelineSpec {
        name: name.clone(),
        source,
        columns,
        key_privacy,
        filter: object.text("filter").map(|text| text.text.clone()),
        steps,
        sinks,
        rejects,
        batch,
        commit: commit(object),
        trigger: trigger(object),
        memory,
        places: places(entry.mark, object, problems),
    });
    Built { name, group, spec, object, mark: entry.mark, tables }
}

/// Where the parts are whose errors only planning finds.
fn places(pipeline: Mark, object: &Object, problems: &Problems) -> Places {
    let at = |mark: Mark| (mark.line, mark.column);
    let mut parts = Vec::new();
    for (number, step) in object.objects("steps").enumerate() {
        parts.extend(step.text("sql").map(|sql| (format!("sql step {}", number + 1), at(sql.mark))));
        parts.extend(step.text("component").map(|name| (format!("component {}", name.text), at(name.mark))));
    }
    parts.extend(object.text("filter").map(|text| ("filter".to_owned(), at(text.mark))));
    for column in object.objects("columns") {
        if let (Some(name), Some(script)) = (column.text("name"), column.text("script")) {
            parts.push((format!("script of {}", name.text), at(script.mark)));
        }
        if let Some(name) = column.text("name") {
            parts.push((format!("column `{}`", name.text), at(name.mark)));
            parts.push((format!("column {}", name.text), at(name.mark)));
        }
    }
    for sink in object.objects("to") {
        let table = sink.text("table").and_then(|text| TableName::parse(&text.text));
        parts.extend(table.zip(sink.text("where")).map(|(table, text)| (format!("where of table {table}"), at(text.mark))));
    }
    Places { file: problems.file().to_owned(), pipeline: at(pipeline), parts }
}

fn columns(object: &Object, context: &Context<'_>, problems: &mut Problems) -> Vec<Column> {
    if !object.has("columns") {
        let message = "pipeline without `columns`; inference is not in this version: declare them, such as `columns: [{ name: id, type: long }]`";
        problems.error(object.mark, message);
        return Vec::new();
    }
    let columns = column::build(object.objects("columns"), false, context, problems);
    if object.is_empty_list("columns") {
        problems.error(object.key_mark("columns"), "`columns` is empty; expected at least one column");
    }
    columns
}

fn step(object: &Object, context: &Context<'_>, problems: &mut Problems) -> Option<StepSpec> {
    match (object.has("sql"), object.has("component")) {
        (true, false) => {
            let sql = object.text("sql")?;
            if sql.text.trim().is_empty() {
                problems.error(sql.mark, "the SQL of a step is empty; expected `SELECT … FROM message`");
            }
            Some(StepSpec::Sql(sql.text.clone()))
        }
        (false, true) => column::component(object.text("component")?, context, problems).map(StepSpec::Component),
        (true, true) => {
            problems.error(object.mark, "a step with both `sql` and `component`; write two steps");
            None
        }
        (false, false) => {
            problems.error(object.mark, "a step without `sql` and `component`; expected one of them");
            None
        }
    }
}

fn sinks(object: &Object, problems: &mut Problems) -> (Vec<SinkSpec>, Vec<(TableName, Mark)>) {
    let (mut sinks, mut tables): (Vec<SinkSpec>, Vec<(TableName, Mark)>) = (Vec::new(), Vec::new());
    if object.is_empty_list("to") {
        problems.error(object.key_mark("to"), "`to` has no sink; expected at least one, such as `to: [{ table: orders }]`");
    }
    for sink in object.objects("to") {
        let Some(text) = sink.text("table") else {
            if !["table", "topic", "files"].iter().any(|key| sink.has(key)) {
                problems.error(sink.mark, "a sink without `table`; expected `table: NAME` (other sinks are not in this version)");
            }
            continue;
        };
        let Some(table) = names::table(text, problems) else { continue };
        if let Some((_, first)) = tables.iter().find(|(other, _)| same_table(other, &table)) {
            let message =
                format!("table `{table}` is a sink twice, line {} is the first; keep one, with a wider `where`", first.line);
            problems.error(text.mark, message);
        }
        tables.push((table.clone(), text.mark));
        let filter = sink.text("where").map(|text| text.text.clone());
        sinks.push(SinkSpec { filter, target: Target::Table { table, retention: retention(sink) } });
    }
    (sinks, tables)
}

/// Names that differ in case only would be the same to a query.
pub(super) fn same_table(a: &TableName, b: &TableName) -> bool {
    a.schema.eq_ignore_ascii_case(&b.schema) && a.table.eq_ignore_ascii_case(&b.table)
}

pub(super) fn retention(object: &Object) -> Retention {
    let retention = object.object("retention");
    Retention { age: retention.and_then(|kept| kept.duration("age")), bytes: retention.and_then(|kept| kept.number("bytes")) }
}

fn rejects(object: &Object, columns: &[Column], key_privacy: &Privacy, problems: &mut Problems) -> RejectsSpec {
    let protects = key_privacy.protects() || columns.iter().any(Column::protects);
    let Some(rejects) = object.object("rejects") else {
        return RejectsSpec { raw: if protects { RawRejects::Omit } else { RawRejects::Plain }, retention: Retention::default() };
    };
    if protects && rejects.choice("raw") == Some("plain") {
        let message = "`raw: plain` beside a privacy rule would write what it protects; write `raw: omit`, or leave it out";
        problems.error(rejects.value_mark("raw"), message);
    }
    let raw = match rejects.choice("raw") {
        Some("plain") => RawRejects::Plain,
        Some(_) => RawRejects::Omit,
        None if protects => RawRejects::Omit,
        None => RawRejects::Plain,
    };
    RejectsSpec { raw, retention: retention(rejects) }
}

fn batch(object: &Object) -> BatchLimits {
    let batch = object.object("batch");
    BatchLimits {
        rows: to_usize(batch.and_then(|batch| batch.number("rows")).unwrap_or(ROWS_DEFAULT)),
        bytes: to_usize(batch.and_then(|batch| batch.number("bytes")).unwrap_or(BATCH_BYTES_DEFAULT)),
        time: batch.and_then(|batch| batch.duration("time")).unwrap_or(BATCH_TIME_DEFAULT),
    }
}

fn commit(object: &Object) -> CommitSpec {
    let commit = object.object("commit");
    CommitSpec {
        time: commit.and_then(|commit| commit.duration("time")).unwrap_or(Duration::ZERO),
        bytes: to_usize(commit.and_then(|commit| commit.number("bytes")).unwrap_or(COMMIT_BYTES_DEFAULT)),
    }
}

fn memory(object: &Object, batch: &BatchLimits, problems: &mut Problems) -> usize {
    let memory = to_usize(object.number("memory").unwrap_or(MEMORY_DEFAULT));
    if memory < batch.bytes {
        let place = if object.has("memory") { "memory" } else { "batch" };
        let (less, more) = (bytes_text(memory as u64), bytes_text(batch.bytes as u64));
        let message =
            format!("`memory` is {less} and `batch.bytes` {more}: a batch would never be full; expected at least as much memory");
        problems.error(object.key_mark(place), message);
    }
    memory
}

fn trigger(object: &Object) -> Trigger {
    let interval = object.object("trigger").and_then(|trigger| trigger.duration("processing_time"));
    match (object.choice("trigger"), interval) {
        (Some("once"), _) => Trigger::Once,
        (_, Some(interval)) => Trigger::ProcessingTime(interval),
        _ => Trigger::Continuous,
    }
}

/// Bounds of the tables keep every number far below 64 bits.
fn to_usize(number: u64) -> usize {
    usize::try_from(number).unwrap_or(usize::MAX)
}
