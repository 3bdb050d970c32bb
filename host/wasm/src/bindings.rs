//! Bindings of the four worlds; their types are shared.

/// A transform on the batch plane; also the home of the shared types.
pub(crate) mod batch_transform {
    wasmtime::component::bindgen!({ path: "../../wit", world: "batch-transform-component", additional_derives: [PartialEq] });
}

/// A validator on the batch plane.
pub(crate) mod batch_validator {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "batch-validator-component",
        with: {
            "sluicebox:component/types@0.1.0": super::batch_transform::sluicebox::component::types,
            "sluicebox:component/batch-types@0.1.0": super::batch_transform::sluicebox::component::batch_types,
            "sluicebox:component/log@0.1.0": super::batch_transform::sluicebox::component::log,
        },
    });
}

/// A transform on the record plane.
pub(crate) mod record_transform {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "record-transform-component",
        additional_derives: [PartialEq],
        with: {
            "sluicebox:component/types@0.1.0": super::batch_transform::sluicebox::component::types,
            "sluicebox:component/log@0.1.0": super::batch_transform::sluicebox::component::log,
        },
    });
}

/// A validator on the record plane.
pub(crate) mod record_validator {
    wasmtime::component::bindgen!({
        path: "../../wit",
        world: "record-validator-component",
        with: {
            "sluicebox:component/types@0.1.0": super::batch_transform::sluicebox::component::types,
            "sluicebox:component/record-types@0.1.0": super::record_transform::sluicebox::component::record_types,
            "sluicebox:component/log@0.1.0": super::batch_transform::sluicebox::component::log,
        },
    });
}

pub(crate) use batch_transform::sluicebox::component::{batch_types, log, types};
pub(crate) use record_transform::sluicebox::component::record_types;
