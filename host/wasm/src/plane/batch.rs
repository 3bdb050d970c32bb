//! The batch plane: Arrow IPC in one list of bytes.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::{Answer, Fault, Guest, ipc, origin, validator_plan};
use crate::bindings::batch_transform::BatchTransformComponent;
use crate::bindings::batch_validator::BatchValidatorComponent;
use crate::bindings::types;
use crate::plan::Plan;
use crate::state::State;

struct Validator(BatchValidatorComponent);
struct Transform(BatchTransformComponent);

pub(super) fn validator(store: &mut Store<State>, component: &Component, linker: &Linker<State>) -> wasmtime::Result<Box<dyn Guest>> {
    Ok(Box::new(Validator(BatchValidatorComponent::instantiate(store, component, linker)?)))
}

pub(super) fn transform(store: &mut Store<State>, component: &Component, linker: &Linker<State>) -> wasmtime::Result<Box<dyn Guest>> {
    Ok(Box::new(Transform(BatchTransformComponent::instantiate(store, component, linker)?)))
}

impl Guest for Validator {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let schema = ipc::write(input, None)?;
        let plan = self.0.sluicebox_component_batch_validator().call_open(store, context, &schema)??;
        validator_plan(plan.columns, &plan.codes, context, input)
    }

    fn process(&self, store: &mut Store<State>, _: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let bytes = ipc::write(&rows.schema(), Some(rows))?;
        let rejects = self.0.sluicebox_component_batch_validator().call_process(store, &bytes)??;
        Ok(Answer { batch: None, origin: None, rejects })
    }
}

impl Guest for Transform {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let schema = ipc::write(input, None)?;
        let plan = self.0.sluicebox_component_batch_transform().call_open(store, context, &schema)??;
        Ok(Plan::check(&plan.columns, ipc::read_schema(&plan.schema)?, &plan.codes, input)?)
    }

    fn process(&self, store: &mut Store<State>, plan: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let bytes = ipc::write(&rows.schema(), Some(rows))?;
        let answer = self.0.sluicebox_component_batch_transform().call_process(store, &bytes)??;
        let batch = ipc::read_batch(&answer.batch)?;
        plan.fits(&batch)?;
        Ok(Answer { batch: Some(batch), origin: origin(answer.origin), rejects: answer.rejects })
    }
}
