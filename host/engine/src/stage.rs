//! A step with what the engine does around it: metadata columns for SQL, columns left out.

use std::sync::Arc;

use arrow_schema::{Schema, SchemaRef};
use sluicebox_core::batch::Batch;
use sluicebox_core::error::{Error, Result};
use sluicebox_core::port::Step;
use sluicebox_core::reject::Rejects;

use crate::steps::metadata;
use crate::steps::protect::KeyProtect;

/// Plans a step over a schema.
pub(crate) trait Plan: Fn(&SchemaRef) -> Result<Box<dyn Step>> {}

impl<F: Fn(&SchemaRef) -> Result<Box<dyn Step>>> Plan for F {}

/// One stage of a route.
pub(crate) struct Stage {
    kind: Kind,
    output: SchemaRef,
}

enum Kind {
    /// SQL: sees the payload columns and the metadata columns that it reads.
    Sql { step: Box<dyn Step>, payload: usize, metadata: Vec<metadata::Column>, key: Arc<KeyProtect>, keep: Option<Vec<usize>> },
    /// A component: sees the payload columns.
    Component(Box<dyn Step>),
    /// Only these columns go on.
    Keep(Vec<usize>),
}

impl Stage {
    /// A `sql:` step over `schema` and the metadata columns that `schema` lacks; only those that the SQL reads are made.
    pub(crate) fn sql(schema: &SchemaRef, key: &Arc<KeyProtect>, plan: impl Plan) -> Result<Stage> {
        let draft = plan(&with_metadata(schema, &lacking(schema), key))?;
        let all: Vec<usize> = (0..draft.output().fields().len()).collect();
        let metadata = read_of(schema, &draft.reads(&all));
        let step = plan(&with_metadata(schema, &metadata, key))?;
        let output = step.output();
        Ok(Stage { kind: Kind::Sql { step, payload: schema.fields().len(), metadata, key: key.clone(), keep: None }, output })
    }

    /// Scripts or a filter: like [`Stage::sql`], but all columns of the input come out again, so the metadata columns that were
    /// made for it are taken off.
    pub(crate) fn keeping(schema: &SchemaRef, key: &Arc<KeyProtect>, plan: impl Plan) -> Result<Stage> {
        let lacking = lacking(schema);
        let draft = plan(&with_metadata(schema, &lacking, key))?;
        let metadata = read_of(schema, &draft.reads(&payload_of(&draft.output(), &lacking)));
        let step = plan(&with_metadata(schema, &metadata, key))?;
        let keep = payload_of(&step.output(), &metadata);
        let output = Arc::new(step.output().project(&keep).map_err(internal)?);
        let keep = (!metadata.is_empty()).then_some(keep);
        Ok(Stage { kind: Kind::Sql { step, payload: schema.fields().len(), metadata, key: key.clone(), keep }, output })
    }

    /// A component's transform.
    pub(crate) fn component(step: Box<dyn Step>) -> Stage {
        let output = step.output();
        Stage { kind: Kind::Component(step), output }
    }

    /// Leaves columns out; `None` when none of them is there.
    pub(crate) fn without(schema: &SchemaRef, names: &[&str]) -> Option<Stage> {
        let keep: Vec<usize> =
            (0..schema.fields().len()).filter(|i| !names.contains(&schema.field(*i).name().as_str())).collect();
        if keep.len() == schema.fields().len() {
            return None;
        }
        let output = Arc::new(schema.project(&keep).ok()?);
        Some(Stage { kind: Kind::Keep(keep), output })
    }

    /// Schema of the batches that come out.
    pub(crate) fn output(&self) -> SchemaRef {
        self.output.clone()
    }

    /// Payload columns of the input that are needed for the columns `wanted` of the output.
    pub(crate) fn reads(&self, wanted: &[usize]) -> Vec<usize> {
        match &self.kind {
            Kind::Component(step) => step.reads(wanted),
            Kind::Keep(keep) => wanted.iter().map(|i| keep[*i]).collect(),
            Kind::Sql { step, payload, keep, .. } => {
                let wanted: Vec<usize> = wanted.iter().map(|i| keep.as_ref().map_or(*i, |keep| keep[*i])).collect();
                step.reads(&wanted).into_iter().filter(|i| i < payload).collect()
            }
        }
    }

    /// Runs the stage; what it refuses goes to `rejects` and may still have rows in the answer.
    pub(crate) fn process(&mut self, batch: Batch, rejects: &mut Rejects) -> Result<Batch> {
        match &mut self.kind {
            Kind::Component(step) => step.process(batch, rejects),
            Kind::Keep(keep) => project(batch, keep),
            Kind::Sql { step, metadata, key, keep, .. } => {
                let batch = metadata::append(batch, metadata, key, rejects).map_err(internal)?;
                let batch = step.process(batch, rejects)?;
                match keep {
                    Some(keep) => project(batch, keep),
                    None => Ok(batch),
                }
            }
        }
    }
}

fn internal(error: impl std::fmt::Display) -> Error {
    Error::internal(error.to_string())
}

fn project(batch: Batch, keep: &[usize]) -> Result<Batch> {
    let columns = batch.columns.project(keep).map_err(internal)?;
    Ok(Batch { columns, ..batch })
}

fn with_metadata(schema: &Schema, columns: &[metadata::Column], key: &KeyProtect) -> SchemaRef {
    let mut fields: Vec<_> = schema.fields().iter().cloned().collect();
    fields.extend(metadata::fields(columns, key).into_iter().map(Arc::new));
    Arc::new(Schema::new(fields))
}

/// Metadata columns that the payload does not have itself (payload columns win).
fn lacking(schema: &Schema) -> Vec<metadata::Column> {
    metadata::Column::ALL.into_iter().filter(|c| schema.index_of(c.name()).is_err()).collect()
}

/// The metadata columns among the columns read of a payload with all lacking ones behind it.
fn read_of(schema: &Schema, read: &[usize]) -> Vec<metadata::Column> {
    let payload = schema.fields().len();
    let lacking = lacking(schema).into_iter().enumerate();
    lacking.filter(|(i, _)| read.contains(&(payload + i))).map(|(_, column)| column).collect()
}

/// Columns of a schema that are none of these metadata columns.
fn payload_of(schema: &Schema, metadata: &[metadata::Column]) -> Vec<usize> {
    let is_metadata = |i: &usize| metadata.iter().any(|c| c.name() == schema.field(*i).name());
    (0..schema.fields().len()).filter(|i| !is_metadata(i)).collect()
}
