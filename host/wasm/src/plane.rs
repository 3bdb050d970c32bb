//! The two planes behind one shape: open, and a call on some rows.

use arrow_array::{RecordBatch, UInt32Array};
use arrow_schema::{Schema, SchemaRef};
use wasmtime::Store;
use wasmtime::component::InstancePre;

use crate::bindings::types;
use crate::plan::Plan;
use crate::state::State;

mod batch;
mod ipc;
mod nested;
mod record;
mod value;

/// A role of a component.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Role {
    /// Checks rows.
    Validator,
    /// Makes rows.
    Transform,
}

/// What a call on some rows answered. Row numbers count from the first row of the call.
#[derive(Debug)]
pub(crate) struct Answer {
    /// A transform's columns.
    pub(crate) batch: Option<RecordBatch>,
    /// Where its rows came from; `None`: row for row.
    pub(crate) origin: Option<UInt32Array>,
    /// Rows that are refused.
    pub(crate) rejects: Vec<types::Reject>,
}

/// Why a call gave no usable answer.
#[derive(Debug)]
pub(crate) enum Fault {
    /// The sandbox stopped it, it trapped, or its answer could not be lifted.
    Trap(wasmtime::Error),
    /// The guest's own words: never again, or later.
    Guest(types::Error),
    /// It answered, and the answer is nonsense. The words may show what the guest answered.
    Malformed(String),
    /// The host cannot write the rows for the guest.
    Host(String),
}

impl From<wasmtime::Error> for Fault {
    fn from(error: wasmtime::Error) -> Self {
        Fault::Trap(error)
    }
}

impl From<types::Error> for Fault {
    fn from(error: types::Error) -> Self {
        Fault::Guest(error)
    }
}

/// One instance on its plane, in its role.
pub(crate) trait Guest: Send {
    /// Asks for the plan.
    fn open(&self, store: &mut Store<State>, context: &types::Context, input: &SchemaRef) -> Result<Plan, Fault>;

    /// Processes rows that have the plan's columns.
    fn process(&self, store: &mut Store<State>, plan: &Plan, rows: &RecordBatch) -> Result<Answer, Fault>;
}

/// Makes instances of a component whose imports are linked.
pub(crate) trait Make: Send {
    /// Makes one.
    fn make(&self, store: &mut Store<State>) -> wasmtime::Result<Box<dyn Guest>>;
}

/// How a component is taken on its plane, in its role.
type MakeOf = fn(InstancePre<State>) -> wasmtime::Result<Box<dyn Make>>;

/// The exports that make a component ours, with role and plane.
pub(crate) const ROLES: [(&str, Role, MakeOf); 4] = [
    ("sluicebox:component/batch-validator@0.1.0", Role::Validator, batch::validator),
    ("sluicebox:component/batch-transform@0.1.0", Role::Transform, batch::transform),
    ("sluicebox:component/record-validator@0.1.0", Role::Validator, record::validator),
    ("sluicebox:component/record-transform@0.1.0", Role::Transform, record::transform),
];

/// The plan of a validator; one that names no column means the column that names it.
fn validator_plan(columns: Vec<String>, codes: &[String], context: &types::Context, input: &Schema) -> Result<Plan, Fault> {
    let columns = if columns.is_empty() { vec![context.column.clone()] } else { columns };
    Plan::check(&columns, &Schema::empty(), codes, input).map_err(Fault::Malformed)
}

/// Origins in Arrow; `None` is row for row.
fn origin(origin: types::Origin) -> Option<UInt32Array> {
    match origin {
        types::Origin::Same => None,
        types::Origin::Rows(rows) => Some(UInt32Array::from(rows)),
    }
}
