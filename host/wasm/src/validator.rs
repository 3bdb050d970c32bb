//! A validator: errors per row of the column that names it.

use sluicebox_core::batch::Batch;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::ComponentName;
use sluicebox_core::port::Validator as Port;
use sluicebox_core::reject::Rejects;

use crate::call::Caller;
use crate::refusal::refuse;

/// A validator of a column.
pub(crate) struct Validator {
    name: ComponentName,
    column: String,
    caller: Caller,
}

impl Validator {
    pub(crate) fn new(name: ComponentName, column: String, caller: Caller) -> Self {
        Self { name, column, caller }
    }
}

impl Port for Validator {
    fn name(&self) -> &ComponentName {
        &self.name
    }

    fn reads(&self) -> Option<Vec<usize>> {
        Some(self.caller.instances.plan().columns.clone())
    }

    fn validate(&mut self, batch: &Batch, rejects: &mut Rejects) -> Result<()> {
        let internal = |error| Error::internal(format!("component {}: {error}", self.name));
        let crossing = batch.columns.project(&self.caller.instances.plan().columns).map_err(internal)?;
        let called = self.caller.call(&crossing, batch.closed_at)?;
        refuse(&self.caller.instances, &called, batch, &self.column, rejects);
        Ok(())
    }
}
