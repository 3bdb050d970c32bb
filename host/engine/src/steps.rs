//! What happens to a batch between decoder and SQL, and what is kept of a refused record.

pub mod metadata;
mod place;
pub mod protect;
pub mod reject;
pub mod rule;
mod text;
pub mod validate;
