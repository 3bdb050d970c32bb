//! Connections, components and types of a tenant.

use std::collections::BTreeMap;
use std::time::Duration;

use sluicebox_core::secret::Secret;

use super::{Connection, Declared, names};
use crate::document::{Named, Object, Text};
use crate::error::Problems;
use crate::paths::Paths;
use crate::pattern;
use crate::properties::{self, BOOTSTRAP, EMBEDDED};
use crate::spec::ComponentSpec;
use crate::types::{self, UserType, UserTypes};
use crate::walk::shown;

const GUEST_MEMORY_DEFAULT: usize = 64 << 20;
const GUEST_CPU_DEFAULT: Duration = Duration::from_millis(200);
/// Bytes of `settings` as JSON: they are passed at each opening of an instance.
const SETTINGS_BYTES_MAX: usize = 1 << 20;

/// Builds each entry of a section; one with errors is declared without a value.
fn declared<T>(
    entries: &[Named],
    what: &str,
    problems: &mut Problems,
    mut build: impl FnMut(&Object, &mut Problems) -> Option<T>,
) -> BTreeMap<String, Declared<T>> {
    let mut all = BTreeMap::new();
    for entry in entries {
        let before = problems.count();
        names::check(what, &entry.name, entry.mark, problems);
        let value = entry.object.as_ref().and_then(|object| build(object, problems));
        let right = !entry.wrong && problems.count() == before;
        all.insert(entry.name.clone(), Declared { line: entry.mark.line, value: value.filter(|_| right) });
    }
    all
}

pub(super) fn connections(document: &Object, paths: &Paths, problems: &mut Problems) -> BTreeMap<String, Declared<Connection>> {
    declared(document.named("connections"), "connection", problems, |object, problems| {
        let written = object.properties("options");
        let mut checked = properties::check(written, false, paths, problems);
        if object.has("options") {
            properties::check_login(written, &checked, object.key_mark("options"), problems);
        }
        let embedded = checked.iter().any(|(name, value)| name == BOOTSTRAP && value.expose().eq_ignore_ascii_case(EMBEDDED));
        if embedded {
            checked.retain(|(name, _)| name != BOOTSTRAP);
        }
        Some(Connection { embedded, properties: checked })
    })
}

pub(super) fn components(document: &Object, paths: &Paths, problems: &mut Problems) -> BTreeMap<String, Declared<ComponentSpec>> {
    declared(document.named("components"), "component", problems, |object, problems| component(object, paths, problems))
}

fn component(object: &Object, paths: &Paths, problems: &mut Problems) -> Option<ComponentSpec> {
    let path = match paths.resolve(&object.text("path")?.text) {
        Ok(path) => path,
        Err(message) => {
            problems.error(object.value_mark("path"), format!("`path`: {message}"));
            return None;
        }
    };
    let limits = object.object("limits");
    let memory = limits.and_then(|limits| limits.number("memory")).and_then(|bytes| usize::try_from(bytes).ok());
    let cpu = limits.and_then(|limits| limits.duration("cpu_per_batch"));
    let settings = object.json("settings").map_or_else(|| "{}".to_owned(), ToString::to_string);
    if settings.len() > SETTINGS_BYTES_MAX {
        problems.error(object.key_mark("settings"), "`settings` has more than 1 MiB as JSON; expected less");
    }
    Some(ComponentSpec {
        path,
        memory: memory.unwrap_or(GUEST_MEMORY_DEFAULT),
        cpu_per_batch: cpu.unwrap_or(GUEST_CPU_DEFAULT),
        settings: Secret::new(settings),
    })
}

pub(super) fn types(document: &Object, problems: &mut Problems) -> UserTypes {
    let mut all = UserTypes::new();
    let mut lines = BTreeMap::new();
    for object in document.objects("types") {
        let Some(name) = object.text("name") else { continue };
        names::check("type", &name.text, name.mark, problems);
        if types::is_built_in(&name.text) {
            problems.error(name.mark, format!("type {} is built in; choose another name", shown(name)));
        }
        if let Some(line) = lines.insert(name.text.clone(), name.mark.line) {
            let message = format!("type {} is here for the second time; line {line} has it first; keep one", shown(name));
            problems.error(name.mark, message);
            all.insert(name.text.clone(), None);
            continue;
        }
        let before = problems.count();
        let user = user_type(object, problems);
        let right = !object.wrong && problems.count() == before;
        all.insert(name.text.clone(), user.filter(|_| right));
    }
    all
}

fn user_type(object: &Object, problems: &mut Problems) -> Option<types::Type> {
    let pattern = object.text("pattern")?;
    if (object.has("primitiveType") && object.text("primitiveType").is_none())
        || (object.has("zone") && object.text("zone").is_none())
    {
        return None;
    }
    let primitive = object.text("primitiveType").map_or("string", |text| &text.text);
    let zone = object.text("zone").map(|text| text.text.as_str());
    match types::user(&UserType { primitive, pattern: &pattern.text, zone }) {
        Ok(user) => {
            check_sample(object.text("sample"), &user, problems);
            Some(user)
        }
        Err(message) => {
            let place = if message.contains("primitiveType") {
                "primitiveType"
            } else if message.contains("zone") || message.contains("digits") {
                "zone"
            } else {
                "pattern"
            };
            problems.error(object.value_mark(place), if pattern.secret { "the type is wrong".to_owned() } else { message });
            None
        }
    }
}

fn check_sample(sample: Option<&Text>, user: &types::Type, problems: &mut Problems) {
    if let (Some(sample), Some(wanted)) = (sample, &user.pattern)
        && !pattern::matches(wanted, &sample.text)
    {
        problems.error(sample.mark, format!("the sample {} does not match the pattern of its type", shown(sample)));
    }
}
