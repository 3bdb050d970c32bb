//! What the author of a component in Rust sees.
