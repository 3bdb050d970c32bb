//! The contract as Rust, one module per world; the types are in the first one of each plane.

pub mod batch_transform;
pub mod batch_validator;
pub mod record_transform;
pub mod record_validator;
