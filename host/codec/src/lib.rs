//! Bytes to Arrow: the JSON decoder.
//!
//! [`JsonDecoder`] turns the values of a batch of records into columns in one pass over their contiguous buffer, guided by the
//! declared columns. It promises: each record stands alone (a bad one costs only itself), declared columns are always checked,
//! syntax is checked everywhere, and every question that JSON leaves open has the one answer written in [`rules`].

mod decoder;
mod object;
mod value;
mod columns;
mod cells;
mod convert;
mod number;
mod skip;
mod keys;
mod string;
mod scan;
mod wide;
mod place;
mod misfit;
mod fault;
mod time;
pub mod rules;
pub mod sample;

pub use decoder::{JsonDecoder, JsonDecoders};
