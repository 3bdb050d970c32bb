//! What happens to a batch between decoder and SQL, and what is kept of a refused record.
//!
//! In the order of a batch: [`validate`] runs the patterns of types, [`protect`] applies privacy and gives columns their new names,
//! [`metadata`] adds what Kafka knows of a record where SQL asks for it, [`reject`] writes down what was refused.

mod matcher;
pub mod metadata;
mod place;
pub mod protect;
pub mod reject;
pub mod rule;
#[cfg(test)]
mod sample;
mod text;
pub mod validate;
