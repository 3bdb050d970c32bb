//! Loads the configuration for a command and says what is wrong with it.

use anyhow::Result;
use sluicebox_config::{ConfigSource, Loaded};

use crate::cli::ConfigArgs;
use crate::command::say;
use crate::system::environment;

/// Loads and prints every warning.
pub(crate) fn load(config: &ConfigArgs) -> Loaded {
    let loaded = sluicebox_config::load(&ConfigSource { path: config.file.clone(), environment: &environment });
    for warning in &loaded.warnings {
        say(&format!("warning: {warning}"));
    }
    loaded
}

/// Loads, and prints every error too: for commands that go on with what is right.
pub(crate) fn load_and_tell(config: &ConfigArgs) -> Loaded {
    let loaded = load(config);
    loaded.errors.iter().for_each(|error| say(&format!("error: {error}")));
    loaded
}

/// A runtime for commands that speak HTTP or query.
pub(crate) fn runtime() -> Result<tokio::runtime::Runtime> {
    Ok(tokio::runtime::Builder::new_multi_thread().worker_threads(2).enable_all().build()?)
}
