//! The store: one redb file per tenant with tables, rejects, audit, positions and pauses under one transaction.
//!
//! The only crate that knows redb. [`RedbStore`] implements the core's ports `Store` and `Snapshots`; what it adds to them is
//! [`RedbStore::open`], the pending deltas of a commit that a Kafka transaction decides, and [`RedbStore::finish`].
//!
//! Reading order: `layout` (what lies in the file), `segment` (the form of rows), `sink` (a lane encodes), `commit` (the one
//! transaction), `snapshot` and `scan` (reading), `compact` and `retention` (upkeep).

mod store;

mod layout;
mod wire;

mod file;
mod lock;

mod catalog;
mod evolve;

mod segment;
mod zero_copy;

mod commit;
mod pending;
mod positions;
mod rejects;
mod sink;

mod audit;
mod audit_rows;

mod scan;
mod snapshot;

mod compact;
mod plan;
mod retention;
mod upkeep;

mod fault;

#[cfg(test)]
mod tests;

pub use store::{RedbStore, StoreOptions};
