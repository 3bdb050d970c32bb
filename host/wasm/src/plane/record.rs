//! The record plane: typed values, a list of rows per call.

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use wasmtime::Store;
use wasmtime::component::InstancePre;

use super::{Answer, Fault, Guest, Make, origin, validator_plan, value};
use crate::bindings::record_transform::{RecordTransformComponent, RecordTransformComponentPre};
use crate::bindings::record_validator::{RecordValidatorComponent, RecordValidatorComponentPre};
use crate::bindings::types;
use crate::plan::Plan;
use crate::state::State;

struct Validator(RecordValidatorComponent);
struct Transform(RecordTransformComponent);

pub(super) fn validator(linked: InstancePre<State>) -> wasmtime::Result<Box<dyn Make>> {
    Ok(Box::new(RecordValidatorComponentPre::new(linked)?))
}

pub(super) fn transform(linked: InstancePre<State>) -> wasmtime::Result<Box<dyn Make>> {
    Ok(Box::new(RecordTransformComponentPre::new(linked)?))
}

impl Make for RecordValidatorComponentPre<State> {
    fn make(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn Guest>> {
        Ok(Box::new(Validator(self.instantiate(store)?)))
    }
}

impl Make for RecordTransformComponentPre<State> {
    fn make(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn Guest>> {
        Ok(Box::new(Transform(self.instantiate(store)?)))
    }
}

impl Guest for Validator {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let plan = self.0.sluicebox_component_record_validator().call_open(store, context, &value::fields(input))??;
        validator_plan(plan.columns, &plan.codes, context, input)
    }

    fn process(&self, store: &mut Store<State>, _: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let rows = value::rows(rows).map_err(Fault::Host)?;
        let rejects = self.0.sluicebox_component_record_validator().call_process(store, &rows)??;
        Ok(Answer { batch: None, origin: None, rejects })
    }
}

impl Guest for Transform {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let plan = self.0.sluicebox_component_record_transform().call_open(store, context, &value::fields(input))??;
        let answers = plan.schema.iter().map(value::arrow_field).collect::<Result<Vec<_>, _>>().map_err(Fault::Malformed)?;
        Plan::check(&plan.columns, &Schema::new(answers), &plan.codes, input).map_err(Fault::Malformed)
    }

    fn process(&self, store: &mut Store<State>, plan: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let rows = value::rows(rows).map_err(Fault::Host)?;
        let answer = self.0.sluicebox_component_record_transform().call_process(store, &rows)??;
        let batch = value::batch(&plan.answers, &answer.rows).map_err(Fault::Malformed)?;
        Ok(Answer { batch: Some(batch), origin: origin(answer.origin), rejects: answer.rejects })
    }
}
