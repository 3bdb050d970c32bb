//! The record plane: rows as values, one by one; or as structs, with [`row!`](crate::row).
//!
//! ```
//! use sluicebox_guest_sdk::record::{AsRow, Field, Rows, Transform, Value};
//! use sluicebox_guest_sdk::{Context, Result, row};
//!
//! row! {
//!     /// What comes in.
//!     struct Order { quantity: i64, price: f64 }
//! }
//! row! {
//!     /// What goes out.
//!     struct Total { total: f64 }
//! }
//!
//! struct Totals;
//!
//! impl Transform for Totals {
//!     fn open(_context: &Context, schema: &[Field]) -> Result<Self> {
//!         Order::expect(schema)?;
//!         Ok(Totals)
//!     }
//!
//!     fn columns(&self) -> Vec<String> {
//!         Order::columns()
//!     }
//!
//!     fn output(&self) -> Vec<Field> {
//!         Total::fields()
//!     }
//!
//!     fn transform(&self, row: Vec<Value>, rows: &mut Rows) -> Result<()> {
//!         let order = Order::read(row)?;
//!         let total = order.quantity.zip(order.price).map(|(quantity, price)| quantity as f64 * price);
//!         rows.emit(Total { total }.write());
//!         Ok(())
//!     }
//! }
//!
//! sluicebox_guest_sdk::export_record_transform!(Totals);
//! # fn main() {}
//! ```

mod call;
mod cell;

use std::fmt::Display;

use crate::{Context, Reject, Rejects, Result};

pub use crate::bindings::record_transform::sluicebox::component::record_types::{Field, Kind, Row, Value};
#[doc(hidden)]
pub use call::{OpenedTransform, OpenedValidator};
#[doc(hidden)]
pub use cell::read_cell;
pub use cell::{AsRow, Cell, expect, field};

/// Checks rows and changes none.
pub trait Validator: Sized + 'static {
    /// Codes that its rejects have: `[a-z0-9_]{1,64}`.
    const CODES: &'static [&'static str];

    /// Called on each new instance with the columns that come in; all instances must be the same.
    ///
    /// # Errors
    /// Why the component does not fit; told by `sluicebox check` already.
    fn open(context: &Context, schema: &[Field]) -> Result<Self>;

    /// The columns that it needs, by name, in the order in which each row has them. Empty asks for the column that names the validator.
    fn columns(&self) -> Vec<String> {
        Vec::new()
    }

    /// Checks a row: adds what is wrong, all of it.
    ///
    /// # Errors
    /// What is no row's fault.
    fn validate(&self, row: Vec<Value>, faults: &mut Faults<'_>) -> Result<()>;
}

/// Row in; none, one or many out.
pub trait Transform: Sized + 'static {
    /// Codes that its rejects have: `[a-z0-9_]{1,64}`.
    const CODES: &'static [&'static str] = &[];

    /// Called on each new instance with the columns that come in; all instances must be the same.
    ///
    /// # Errors
    /// Why the component does not fit; told by `sluicebox check` already.
    fn open(context: &Context, schema: &[Field]) -> Result<Self>;

    /// The columns that it needs, by name, in the order in which each row has them; all others travel past.
    fn columns(&self) -> Vec<String>;

    /// The columns that it answers with. One that has the name of a column of the input takes its place, a new one goes behind all
    /// others; a column that came in and is not answered stays as it was.
    fn output(&self) -> Vec<Field>;

    /// Transforms a row: emits what becomes of it. Emitting nothing filters it.
    ///
    /// # Errors
    /// What is no row's fault.
    fn transform(&self, row: Vec<Value>, rows: &mut Rows) -> Result<()>;
}

/// What is wrong with a row.
#[derive(Debug)]
pub struct Faults<'a> {
    row: usize,
    rejects: &'a mut Rejects,
}

impl Faults<'_> {
    /// Refuses the row; see [`Rejects::add`].
    pub fn add(&mut self, path: &str, code: &str, message: impl Display) {
        self.rejects.add(self.row, path, code, message);
    }
}

/// What became of the rows of a call.
#[derive(Debug, Default)]
pub struct Rows {
    row: usize,
    rows: Vec<Row>,
    origin: Vec<u32>,
    rejects: Rejects,
}

impl Rows {
    /// A row that goes out: one value for each field of [`Transform::output`].
    pub fn emit(&mut self, row: Row) {
        self.rows.push(row);
        self.origin.push(u32::try_from(self.row).unwrap_or(u32::MAX));
    }

    /// Refuses the row that came in; see [`Rejects::add`].
    pub fn reject(&mut self, path: &str, code: &str, message: impl Display) {
        self.rejects.add(self.row, path, code, message);
    }

    fn into_parts(self) -> (Vec<Row>, Vec<u32>, Vec<Reject>) {
        (self.rows, self.origin, self.rejects.into_vec())
    }
}
