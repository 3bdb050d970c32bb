//! Runs pipelines over the ports of the core: one lane a pipeline, one committer a tenant.
//!
//! Reading order: [`route`] plans the way of a batch, [`lane`] walks it, [`pipeline`] feeds it from the source, [`committer`] decides,
//! [`tenant`] holds the pipelines of one store together. No adapter is known here, and no async runtime: lanes and committers are
//! threads that do nothing but work or wait on a channel.

pub mod clock;
pub mod committer;
pub mod lane;
pub mod pipeline;
pub mod route;
mod stage;
pub mod status;
pub mod steps;
mod telemetry;
pub mod tenant;
