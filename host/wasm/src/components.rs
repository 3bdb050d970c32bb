//! Opens components by the names of the configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sluicebox_core::batch::Batch;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::ComponentName;
use sluicebox_core::port::{ComponentContext, Components, Step, Validator as ValidatorPort};
use sluicebox_core::reject::{Code, Rejects, RowError};
use sluicebox_core::secret::Secret;
use wasmtime::component::{Component, HasSelf, Linker};

use crate::bindings::{log, types};
use crate::cache;
use crate::call::{Called, Caller};
use crate::instance::{Instances, Setting};
use crate::plane::{Instantiate, ROLES, Role};
use crate::sandbox::Sandbox;
use crate::state::State;
use crate::transform::Transform;
use crate::validator::Validator;
use crate::wasi;

/// Stands in place of a guest's words about a protected column.
const WITHHELD: &str = "withheld: the component sees a column with a privacy rule";

/// A component of the configuration.
#[derive(Debug, Clone)]
pub struct ComponentSettings {
    /// The `.wasm` file.
    pub path: PathBuf,
    /// Bytes of memory of an instance.
    pub memory: usize,
    /// CPU time of a batch.
    pub cpu_per_batch: Duration,
    /// JSON text that it is opened with.
    pub settings: Secret,
}

/// The components of a tenant.
pub struct WasmComponents {
    components: BTreeMap<ComponentName, ComponentSettings>,
    cache: Option<PathBuf>,
}

impl WasmComponents {
    /// Components by name. Compiled code is kept in the folder `cache`, where one is given.
    ///
    /// # Errors
    /// The sandbox cannot be started.
    pub fn new(components: BTreeMap<ComponentName, ComponentSettings>, cache: Option<PathBuf>) -> Result<Self> {
        Sandbox::get()?;
        Ok(Self { components, cache })
    }

    fn open(&self, name: &ComponentName, role: Role, context: &ComponentContext) -> Result<Caller> {
        let settings = self.components.get(name).ok_or_else(|| Error::config(format!("there is no component `{name}`")))?;
        let engine = Sandbox::get()?.engine();
        let place = |error: Error| error.at(format!("component {name}"));
        let component = cache::load(engine, &settings.path, self.cache.as_deref()).map_err(place)?;
        let instantiate = instantiate(&component, role).map_err(|words| Error::config(format!("component {name}: {words}")))?;
        let linker = linker().map_err(|error| Error::internal(format!("cannot link the guests' imports: {error:#}")))?;
        check_imports(&component, &linker).map_err(|words| Error::config(format!("component {name}: {words}")))?;
        let column = context.column.map(|index| context.schema.field(index).name().clone()).unwrap_or_default();
        let setting = Setting {
            component,
            linker,
            instantiate,
            path: settings.path.clone(),
            memory_max: settings.memory,
            context: types::Context {
                tenant: context.tenant.to_string(),
                pipeline: context.pipeline.to_string(),
                component: name.to_string(),
                column,
                settings: settings.settings.expose().to_owned(),
                attributes: Vec::new(),
            },
            input: context.schema.clone(),
            protected: context.protected.clone(),
        };
        Ok(Caller::new(Instances::open(setting)?, settings.cpu_per_batch))
    }
}

impl Components for WasmComponents {
    fn transform(&self, component: &ComponentName, context: ComponentContext) -> Result<Box<dyn Step>> {
        let caller = self.open(component, Role::Transform, &context)?;
        Ok(Box::new(Transform::new(component.to_string(), caller, &context.schema)))
    }

    fn validator(&self, component: &ComponentName, context: ComponentContext) -> Result<Box<dyn ValidatorPort>> {
        let caller = self.open(component, Role::Validator, &context)?;
        let column = caller.instances.setting().context.column.clone();
        Ok(Box::new(Validator::new(component.clone(), column, caller)))
    }
}

fn instantiate(component: &Component, wanted: Role) -> Result<Instantiate, String> {
    let exports: Vec<String> = component.component_type().exports(component.engine()).map(|(name, _)| name.to_owned()).collect();
    let ours: Vec<_> = ROLES.iter().filter(|(name, _, _)| exports.iter().any(|export| export == name)).collect();
    if let Some((_, _, instantiate)) = ours.iter().find(|(_, role, _)| *role == wanted) {
        return Ok(*instantiate);
    }
    let (is, place) = match wanted {
        Role::Transform => ("a validator, not a transform", "name it under `validate` of a column"),
        Role::Validator => ("a transform, not a validator", "name it as a step"),
    };
    if !ours.is_empty() {
        return Err(format!("it is {is}: {place}"));
    }
    let known: Vec<&str> = ROLES.iter().map(|(name, _, _)| *name).collect();
    Err(format!("it exports {}, but none of {}", if exports.is_empty() { "nothing".into() } else { exports.join(", ") }, known.join(", ")))
}

fn linker() -> wasmtime::Result<Linker<State>> {
    let mut linker = Linker::new(Sandbox::get().map_err(wasmtime::Error::msg)?.engine());
    wasi::link(&mut linker)?;
    log::add_to_linker::<State, HasSelf<State>>(&mut linker, |state| state)?;
    Ok(linker)
}

/// What is not granted is said by name before anything runs.
fn check_imports(component: &Component, linker: &Linker<State>) -> Result<(), String> {
    let allowed = |name: &str| name.starts_with("sluicebox:component/") || name.starts_with("wasi:");
    let imports: Vec<String> = component.component_type().imports(component.engine()).map(|(name, _)| name.to_owned()).collect();
    if let Some(import) = imports.iter().find(|name| !allowed(name)) {
        return Err(format!("it imports `{import}`; only `sluicebox:component/log@0.1.0` is granted (and WASI with nothing behind it)"));
    }
    linker.instantiate_pre(component).map(drop).map_err(|error| format!("its imports do not fit what is granted: {error:#}"))
}

/// A guest's own rejects, under the records of its rows. Its words are withheld where it saw a protected column.
pub(crate) fn rejects_of(instances: &Instances, called: &Called, batch: &Batch, column: &str, rejects: &mut Rejects) {
    let (plan, setting) = (instances.plan(), instances.setting());
    let withheld = plan.columns.iter().any(|column| setting.protected.contains(column));
    for (start, answer) in &called.answers {
        for reject in &answer.rejects {
            let Some(code) = Code::parse(&reject.code) else { continue };
            let path = if reject.path.is_empty() { column } else { &reject.path };
            let message = if withheld { WITHHELD } else { &reject.message };
            rejects.add(batch.rows.record(start + reject.row as usize), RowError::new(path, code, message));
        }
    }
}
