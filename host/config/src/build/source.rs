//! The source of a pipeline.

use sluicebox_core::start::{OutOfRange, Start};

use super::{Connection, Context, Declared};
use crate::document::{Object, Text};
use crate::error::Problems;
use crate::nearest::did_you_mean;
use crate::properties;
use crate::spec::SourceSpec;
use crate::walk::shown;

use super::names;

/// Kafka's own bound on the name of a group.
const GROUP_LENGTH_MAX: usize = 255;

pub(super) fn build(group: Option<&str>, object: &Object, context: &Context<'_>, problems: &mut Problems) -> Option<SourceSpec> {
    let topics = object.text("from").and_then(|text| names::topics(text, problems));
    let start = start(object.text("start"), problems);
    let out_of_range = match object.choice("on_offset_out_of_range") {
        Some("earliest") => OutOfRange::Earliest,
        Some("latest") => OutOfRange::Latest,
        _ => OutOfRange::Fail,
    };
    let own = properties::check(object.properties("options"), true, context.paths, problems);
    let (name, connection) = connection(object, context, problems)?;
    let connection = connection.value.as_ref()?;
    let mut all = connection.properties.clone();
    for (property, value) in own {
        match all.iter_mut().find(|(other, _)| *other == property) {
            Some(place) => place.1 = value,
            None => all.push((property, value)),
        }
    }
    Some(SourceSpec {
        topics: topics?,
        connection: name.to_owned(),
        embedded: connection.embedded,
        properties: all,
        group: group?.to_owned(),
        start: start?,
        out_of_range,
    })
}

/// The connection that is named, or the only one there is.
fn connection<'c>(
    object: &Object,
    context: &'c Context<'_>,
    problems: &mut Problems,
) -> Option<(&'c str, &'c Declared<Connection>)> {
    let mut all = context.connections.iter();
    let Some(text) = object.text("connection") else {
        if object.has("connection") {
            return None;
        }
        return match (all.next(), all.next()) {
            (Some((name, connection)), None) => {
                connection.refuse_wrong("connection", name, object.mark, problems);
                Some((name, connection))
            }
            (None, _) => {
                let example = "connections: { NAME: { type: kafka, options: { bootstrapServers: HOST:9092 } } }";
                problems.error(object.mark, format!("pipeline without a connection, and there is none; write `{example}`"));
                None
            }
            _ => {
                let names = context.connections.keys().map(String::as_str).collect::<Vec<_>>().join(", ");
                problems.error(object.mark, format!("pipeline without `connection`; expected one of {names}"));
                None
            }
        };
    };
    let Some((name, connection)) = context.connections.get_key_value(&text.text) else {
        let names = || context.connections.keys().map(String::as_str);
        let near = if text.secret { String::new() } else { did_you_mean(&text.text, names()) };
        let expected = names().collect::<Vec<_>>().join(", ");
        let expected =
            if expected.is_empty() { "one of `connections`, which has none".to_owned() } else { format!("one of {expected}") };
        problems.error(text.mark, format!("unknown connection {}; expected {expected}{near}", shown(text)));
        return None;
    };
    connection.refuse_wrong("connection", name, text.mark, problems);
    Some((name, connection))
}

fn start(text: Option<&Text>, problems: &mut Problems) -> Option<Start> {
    let Some(text) = text else { return Some(Start::default()) };
    let words = ["earliest", "latest", "group"];
    match text.text.to_ascii_lowercase().as_str() {
        "earliest" => return Some(Start::Earliest),
        "latest" => return Some(Start::Latest),
        "group" => return Some(Start::Group),
        _ => {}
    }
    if let Ok(time) = chrono::DateTime::parse_from_rfc3339(text.text.trim()) {
        if time.timestamp_millis() >= 0 {
            return Some(Start::Time(time.timestamp_millis()));
        }
        problems.error(text.mark, format!("found {}; expected a time of 1970 or later for `start`", shown(text)));
        return None;
    }
    let near = if text.secret { String::new() } else { did_you_mean(&text.text, words) };
    let expected = "earliest, latest, group or a time with its offset such as 2026-01-31T00:00:00Z";
    problems.error(text.mark, format!("found {}; expected {expected} for `start`{near}", shown(text)));
    None
}

/// The consumer group.
pub(super) fn group(name: &str, object: &Object, context: &Context<'_>, problems: &mut Problems) -> Option<String> {
    let own = format!("sluicebox.{}.{name}", context.tenant);
    let Some(text) = object.text("group") else { return (!object.has("group")).then_some(own) };
    let prefix = format!("sluicebox.{}.", context.tenant);
    let message = if text.text.is_empty() || text.text.len() > GROUP_LENGTH_MAX || text.text.chars().any(char::is_control) {
        format!("found {}; expected the name of a consumer group, at most {GROUP_LENGTH_MAX} bytes", shown(text))
    } else if text.text.starts_with("sluicebox.") && !text.text.starts_with(&prefix) {
        format!("groups that begin with `sluicebox.` are named after their tenant; expected `{prefix}…` or another name")
    } else {
        return Some(text.text.clone());
    };
    problems.error(text.mark, message);
    None
}
