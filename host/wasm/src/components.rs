//! Opens components by the names of the configuration.

use std::collections::BTreeMap;
use std::path::PathBuf;
use std::time::Duration;

use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::ComponentName;
use sluicebox_core::port::{ComponentContext, Components, Step, Validator as ValidatorPort};
use sluicebox_core::secret::Secret;

use crate::bindings::types;
use crate::call::Caller;
use crate::instance::{Instances, Setting};
use crate::log::{Log, Place};
use crate::plane::Role;
use crate::sandbox::Sandbox;
use crate::transform::Transform;
use crate::validator::Validator;
use crate::{cache, contract};

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
    /// Components by name. Compiled code is kept in the folder `cache`, where one is given; it is made when it is needed.
    ///
    /// # Errors
    /// The sandbox cannot be started.
    pub fn new(components: BTreeMap<ComponentName, ComponentSettings>, cache: Option<PathBuf>) -> Result<Self> {
        Sandbox::get()?;
        Ok(Self { components, cache })
    }

    fn open(&self, name: &ComponentName, role: Role, context: &ComponentContext) -> Result<Caller> {
        let settings = self.components.get(name).ok_or_else(|| Error::config(format!("there is no component `{name}`")))?;
        let sandbox = Sandbox::get()?;
        let component = cache::load(sandbox.engine(), &settings.path, self.cache.as_deref())
            .map_err(|e| e.at(format!("component {name}")))?;
        let make = contract::check(sandbox, &component, role)
            .map_err(|words| Error::config(format!("component {name} ({}): {words}", settings.path.display())))?;
        let setting = Setting {
            make,
            path: settings.path.clone(),
            memory_max: settings.memory,
            context: types::Context {
                tenant: context.tenant.to_string(),
                pipeline: context.pipeline.to_string(),
                component: name.to_string(),
                column: context.column.map(|index| context.schema.field(index).name().clone()).unwrap_or_default(),
                settings: settings.settings.expose().to_owned(),
                attributes: Vec::new(),
            },
            input: context.schema.clone(),
            protected: context.protected.clone(),
            log: Log::new(Place {
                tenant: context.tenant.to_string(),
                pipeline: context.pipeline.to_string(),
                component: name.to_string(),
            }),
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
