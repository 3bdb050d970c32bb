//! Who asks, given to `open`.

use crate::bindings::batch_transform::sluicebox::component::types;
use crate::settings::Settings;
use crate::{Error, Result};

/// Who asks, and with which settings.
#[derive(Debug)]
pub struct Context {
    /// The tenant whose data it is.
    pub tenant: String,
    /// The pipeline.
    pub pipeline: String,
    /// The component, as the configuration names it.
    pub component: String,
    /// For a validator: the column that names it. Empty for a transform.
    pub column: String,
    /// The settings of the configuration.
    pub settings: Settings,
    /// What later versions of the contract add.
    pub attributes: Vec<(String, String)>,
}

impl Context {
    /// Reads what came over the border.
    ///
    /// # Errors
    /// The settings are no JSON object.
    pub(crate) fn read(context: types::Context) -> Result<Context> {
        let settings = Settings::parse(&context.settings).map_err(Error::Fatal)?;
        Ok(Context {
            tenant: context.tenant,
            pipeline: context.pipeline,
            component: context.component,
            column: context.column,
            settings,
            attributes: context.attributes,
        })
    }
}
