//! Rules between the pipelines of a tenant. The later one in the file is at fault, so that an addition stops nothing that ran.

use sluicebox_core::port::Retention;

use super::pipeline::{Built, retention, same_table};
use crate::error::{Problems, Scope};

pub(super) fn between_pipelines(built: &[Built<'_>], problems: &mut Problems) {
    for (at, pipeline) in built.iter().enumerate() {
        problems.within(Scope::Pipeline(pipeline.name.clone()), |problems| {
            for earlier in &built[..at] {
                tables(pipeline, earlier, problems);
                group(pipeline, earlier, problems);
                reject_retention(pipeline, earlier, problems);
            }
        });
    }
}

/// One pipeline writes a table.
fn tables(pipeline: &Built<'_>, earlier: &Built<'_>, problems: &mut Problems) {
    for (table, mark) in &pipeline.tables {
        let Some((theirs, place)) = earlier.tables.iter().find(|(theirs, _)| same_table(theirs, table)) else { continue };
        let same = if theirs == table { String::new() } else { format!(" as `{theirs}`, which differs in case only") };
        let message = format!(
            "table `{table}` is written by pipeline `{}` already{same} (line {}); one pipeline writes a table: choose another name, \
             or read both topics in one pipeline",
            earlier.name, place.line
        );
        problems.error(*mark, message);
    }
}

/// A group tells how far one pipeline is.
fn group(pipeline: &Built<'_>, earlier: &Built<'_>, problems: &mut Problems) {
    if pipeline.group.is_none() || pipeline.group != earlier.group {
        return;
    }
    let mark = if pipeline.object.has("group") { pipeline.object.value_mark("group") } else { pipeline.mark };
    let message = format!(
        "the consumer group is that of pipeline `{}` (line {}) already; choose another, or leave `group` out",
        earlier.name, earlier.mark.line
    );
    problems.error(mark, message);
}

/// The rejects of a tenant are one table.
fn reject_retention(pipeline: &Built<'_>, earlier: &Built<'_>, problems: &mut Problems) {
    let (Some(mine), Some(theirs)) = (pipeline.object.object("rejects"), earlier.object.object("rejects")) else { return };
    let (kept, other) = (retention(mine), retention(theirs));
    if kept != Retention::default() && other != Retention::default() && kept != other {
        let message = format!(
            "pipeline `{}` keeps rejects by another `retention`; all rejects of a tenant are one table: write the same, or only one",
            earlier.name
        );
        problems.error(mine.key_mark("retention"), message);
    }
}
