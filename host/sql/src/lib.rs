//! SQL steps and queries: the only crate that knows DataFusion.
