//! The batch plane: rows as Arrow arrays.

mod call;
mod texts;

use arrow_array::{ArrayRef, RecordBatch};
use arrow_schema::{Field, Schema};

use crate::{Context, Origin, Rejects, Result};

#[doc(hidden)]
pub use call::{OpenedTransform, OpenedValidator};
pub use texts::Texts;

/// Checks rows and changes none.
pub trait Validator: Sized + 'static {
    /// Codes that its rejects have: `[a-z0-9_]{1,64}`.
    const CODES: &'static [&'static str];

    /// Called on each new instance with the schema that comes in; all instances must be the same.
    ///
    /// # Errors
    /// Why the component does not fit; told by `sluicebox check` already.
    fn open(context: &Context, schema: &Schema) -> Result<Self>;

    /// The columns that it needs, by name. Only they are in the batches, in this order. Empty asks for the column that names the
    /// validator.
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks rows: adds what is wrong, all errors of a row.
    ///
    /// # Errors
    /// What is no row's fault.
    fn validate(&self, batch: &RecordBatch, rejects: &mut Rejects) -> Result<()>;
}

/// Batch in, batch out.
pub trait Transform: Sized + 'static {
    /// Codes that its rejects have: `[a-z0-9_]{1,64}`.
    const CODES: &'static [&'static str] = &[];

    /// Called on each new instance with the schema that comes in; all instances must be the same.
    ///
    /// # Errors
    /// Why the component does not fit; told by `sluicebox check` already.
    fn open(context: &Context, schema: &Schema) -> Result<Self>;

    /// The columns that it needs, by name. Only they are in the batches, in this order; all others travel past.
    fn columns(&self) -> Vec<String>;

    /// The columns that it answers with. One that has the name of a column of the input takes its place, a new one goes behind all
    /// others; a column that came in and is not answered stays as it was.
    fn output(&self) -> Vec<Field>;

    /// Transforms rows; may refuse some.
    ///
    /// # Errors
    /// What is no row's fault.
    fn transform(&self, batch: &RecordBatch, rejects: &mut Rejects) -> Result<Answer>;
}

/// What became of a batch.
#[derive(Debug, Clone)]
pub struct Answer {
    /// The columns of [`Transform::output`].
    pub columns: Vec<ArrayRef>,
    /// Which row each of theirs came from.
    pub origin: Origin,
}

impl Answer {
    /// Row by row.
    pub fn same(columns: Vec<ArrayRef>) -> Answer {
        Answer { columns, origin: Origin::Same }
    }

    /// Row `i` came from row `rows[i]`: rising; a number left out filters the row, a number repeated makes it many.
    pub fn from_rows(columns: Vec<ArrayRef>, rows: Vec<u32>) -> Answer {
        Answer { columns, origin: Origin::Rows(rows) }
    }
}
