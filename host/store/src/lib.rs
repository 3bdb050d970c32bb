//! The store: the only crate that knows redb.
