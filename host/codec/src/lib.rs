//! Bytes to Arrow: the JSON decoder.
//!
//! [`JsonDecoder`] turns the values of a batch of records into columns in one pass over their contiguous buffer, guided by the
//! declared columns. It promises: each record stands alone (a bad one costs only itself), declared columns are always checked,
//! syntax is checked everywhere, and every question that JSON leaves open has the one answer written in [`rules`].

mod cells;
mod columns;
mod convert;
mod decoder;
mod fault;
mod keys;
mod misfit;
mod number;
mod object;
mod place;
pub mod rules;
pub mod sample;
mod scan;
mod skip;
mod string;
mod time;
mod value;
mod wide;

pub use decoder::{JsonDecoder, JsonDecoders};
