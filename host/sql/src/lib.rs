//! SQL steps and queries: the only crate that knows DataFusion.
//!
//! [`SqlPlanner`] plans `sql:` steps, `script` and `filter`: row-local SQL over the table `message`, planned once and run over each
//! batch on the thread of the caller. [`QueryEngine`] answers queries over the tables of a store, read only and within limits, on threads of its
//! own. Both match names by the same rule: an unquoted name matches exactly, else without regard to case when only one fits.

mod checked;
mod context;
mod expression;
mod names;
mod now;
mod planner;
mod program;
mod row_local;
mod step;
mod unnest;
mod wildcard;
mod words;

#[cfg(test)]
mod tests;

pub mod query;

pub use planner::SqlPlanner;
pub use query::{QueryEngine, QueryLimits, QueryResult};
