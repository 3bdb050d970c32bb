//! The batch plane: Arrow IPC in one list of bytes.

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::{Answer, Fault, Guest, Make, ipc, origin, validator_plan};
use crate::bindings::batch_transform::{BatchTransformComponent, BatchTransformComponentPre};
use crate::bindings::batch_validator::{BatchValidatorComponent, BatchValidatorComponentPre};
use crate::bindings::types;
use crate::plan::Plan;
use crate::state::State;

struct Validator(BatchValidatorComponent);
struct Transform(BatchTransformComponent);

pub(super) fn validator(linked: InstancePre<State>) -> wasmtime::Result<Box<dyn Make>> {
    Ok(Box::new(BatchValidatorComponentPre::new(linked)?))
}

pub(super) fn transform(linked: InstancePre<State>) -> wasmtime::Result<Box<dyn Make>> {
    Ok(Box::new(BatchTransformComponentPre::new(linked)?))
}

impl Make for BatchValidatorComponentPre<State> {
    fn make(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn Guest>> {
        Ok(Box::new(Validator(self.instantiate(store)?)))
    }
}

impl Make for BatchTransformComponentPre<State> {
    fn make(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn Guest>> {
        Ok(Box::new(Transform(self.instantiate(store)?)))
    }
}

impl Guest for Validator {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let schema = ipc::write(input, None).map_err(Fault::Host)?;
        let plan = self.0.sluicebox_component_batch_validator().call_open(store, context, &schema)??;
        validator_plan(plan.columns, &plan.codes, context, input)
    }

    fn process(&self, store: &mut Store<State>, _: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let bytes = ipc::write(&rows.schema(), Some(rows)).map_err(Fault::Host)?;
        let rejects = self.0.sluicebox_component_batch_validator().call_process(store, &bytes)??;
        Ok(Answer { batch: None, origin: None, rejects })
    }
}

impl Guest for Transform {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let schema = ipc::write(input, None).map_err(Fault::Host)?;
        let plan = self.0.sluicebox_component_batch_transform().call_open(store, context, &schema)??;
        let answers = ipc::read_schema(plan.schema).map_err(Fault::Malformed)?;
        Plan::check(&plan.columns, &answers, &plan.codes, input).map_err(Fault::Malformed)
    }

    fn process(&self, store: &mut Store<State>, plan: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let bytes = ipc::write(&rows.schema(), Some(rows)).map_err(Fault::Host)?;
        let answer = self.0.sluicebox_component_batch_transform().call_process(store, &bytes)??;
        let batch = ipc::read_batch(answer.batch).map_err(Fault::Malformed)?;
        let batch = plan.fit(&batch).map_err(Fault::Malformed)?;
        Ok(Answer { batch: Some(batch), origin: origin(answer.origin), rejects: answer.rejects })
    }
}
