//! The record plane: typed values, a list of rows per call.

use std::sync::Arc;

use arrow_array::RecordBatch;
use arrow_schema::{Schema, SchemaRef};
use wasmtime::Store;
use wasmtime::component::{Component, Linker};

use super::{Answer, Fault, Guest, origin, validator_plan, value};
use crate::bindings::record_transform::RecordTransformComponent;
use crate::bindings::record_validator::RecordValidatorComponent;
use crate::bindings::types;
use crate::plan::Plan;
use crate::state::State;

struct Validator(RecordValidatorComponent);
struct Transform(RecordTransformComponent);

pub(super) fn validator(store: &mut Store<State>, component: &Component, linker: &Linker<State>) -> wasmtime::Result<Box<dyn Guest>> {
    Ok(Box::new(Validator(RecordValidatorComponent::instantiate(store, component, linker)?)))
}

pub(super) fn transform(store: &mut Store<State>, component: &Component, linker: &Linker<State>) -> wasmtime::Result<Box<dyn Guest>> {
    Ok(Box::new(Transform(RecordTransformComponent::instantiate(store, component, linker)?)))
}

impl Guest for Validator {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let plan = self.0.sluicebox_component_record_validator().call_open(store, context, &value::fields(input))??;
        validator_plan(plan.columns, &plan.codes, context, input)
    }

    fn process(&self, store: &mut Store<State>, _: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let rows = value::rows(rows)?;
        let rejects = self.0.sluicebox_component_record_validator().call_process(store, &rows)??;
        Ok(Answer { batch: None, origin: None, rejects })
    }
}

impl Guest for Transform {
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault> {
        let plan = self.0.sluicebox_component_record_transform().call_open(store, context, &value::fields(input))??;
        let answers = plan.schema.iter().map(value::arrow_field).collect::<Result<Vec<_>, _>>()?;
        Ok(Plan::check(&plan.columns, Arc::new(Schema::new(answers)), &plan.codes, input)?)
    }

    fn process(&self, store: &mut Store<State>, plan: &Plan, rows: &RecordBatch) -> Result<Answer, Fault> {
        let rows = value::rows(rows)?;
        let answer = self.0.sluicebox_component_record_transform().call_process(store, &rows)??;
        let batch = value::batch(&plan.answers, &answer.rows)?;
        Ok(Answer { batch: Some(batch), origin: origin(answer.origin), rejects: answer.rejects })
    }
}
