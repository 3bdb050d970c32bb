//! Document to spec: names, references and the rules between keys.

mod column;
mod entries;
mod names;
mod pipeline;
mod rules;
mod source;

use std::collections::BTreeMap;

use sluicebox_core::name::{ComponentName, PipelineName, TenantName};

use crate::document::Object;
use crate::error::{Mark, Problems, Scope};
use crate::paths::Paths;
use crate::properties::Checked;
use crate::spec::{ComponentSpec, TenantSpec};
use crate::types::UserTypes;

/// An entry that pipelines refer to by name.
pub(crate) struct Declared<T> {
    /// Line of its name.
    pub(crate) line: usize,
    /// None when it is wrong; its errors were collected.
    pub(crate) value: Option<T>,
}

/// What pipelines of a tenant may refer to.
pub(crate) struct Context<'a> {
    pub(crate) tenant: &'a TenantName,
    pub(crate) paths: &'a Paths,
    pub(crate) connections: BTreeMap<String, Declared<Connection>>,
    pub(crate) components: BTreeMap<String, Declared<ComponentSpec>>,
    pub(crate) types: UserTypes,
}

/// A checked connection.
pub(crate) struct Connection {
    pub(crate) embedded: bool,
    pub(crate) properties: Vec<Checked>,
}

impl<T> Declared<T> {
    /// Says that the entry cannot be used because it is wrong itself.
    fn refuse_wrong(&self, what: &str, name: &str, mark: Mark, problems: &mut Problems) {
        if self.value.is_none() {
            problems.error(mark, format!("{what} `{name}` has errors of its own, see line {}; mend them first", self.line));
        }
    }
}

/// The tenant, or None when an error keeps all of it from starting. Wrong pipelines are left out.
pub(crate) fn tenant(document: &Object, name: TenantName, paths: &Paths, problems: &mut Problems) -> Option<TenantSpec> {
    let context = problems.within(Scope::Entry, |problems| Context {
        tenant: &name,
        paths,
        connections: entries::connections(document, paths, problems),
        components: entries::components(document, paths, problems),
        types: entries::types(document, problems),
    });
    let mut built = Vec::new();
    for entry in document.named("pipelines") {
        let pipeline = PipelineName::new(&entry.name);
        problems.within(Scope::Pipeline(pipeline), |problems| {
            names::check("pipeline", &entry.name, entry.mark, problems);
            built.extend(entry.object.as_ref().map(|object| pipeline::build(entry, object, &context, problems)));
        });
    }
    rules::between_pipelines(&built, problems);
    if problems.tenant_wrong() {
        return None;
    }
    let right = |pipeline: &pipeline::Built<'_>| !problems.pipeline_wrong(&pipeline.name);
    let pipelines = built.into_iter().filter(right).filter_map(|pipeline| pipeline.spec).collect();
    let components = context.components.into_iter();
    let components = components.filter_map(|(name, entry)| Some((ComponentName::new(name), entry.value?))).collect();
    Some(TenantSpec { name: name.clone(), components, pipelines })
}
