//! Runs pipelines over the ports of the core.
