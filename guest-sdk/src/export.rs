//! What makes a type the component: the macros that tie it to the calls of the contract.

use crate::Result;
use crate::bindings::batch_transform::sluicebox::component::types;

/// A role on a plane, opened; speaks the contract's types on one side and those of the role's trait on the other.
#[doc(hidden)]
pub trait Opened: Sized {
    /// The schema that `open` is given.
    type Schema;
    /// What `open` answers.
    type Plan;
    /// What `process` is given.
    type Input;
    /// What `process` answers.
    type Answer;

    /// Opens the role.
    fn open(context: types::Context, schema: Self::Schema) -> Result<(Self, Self::Plan)>;

    /// Processes a call.
    fn process(&mut self, input: Self::Input) -> Result<Self::Answer>;
}

/// Called once on each new instance: a panic writes its words to the log before it traps, or they would be lost.
#[doc(hidden)]
pub fn prepare() {
    #[cfg(target_arch = "wasm32")]
    std::panic::set_hook(Box::new(|panic| crate::log::error(&panic.to_string())));
}

/// Makes a [`batch::Validator`](crate::batch::Validator) the component.
#[cfg(feature = "batch")]
#[macro_export]
macro_rules! export_validator {
    ($role:ty) => {
        $crate::__export!(batch_validator, $crate::batch::OpenedValidator<$role>);
    };
}

/// Makes a [`batch::Transform`](crate::batch::Transform) the component.
#[cfg(feature = "batch")]
#[macro_export]
macro_rules! export_transform {
    ($role:ty) => {
        $crate::__export!(batch_transform, $crate::batch::OpenedTransform<$role>);
    };
}

/// Makes a [`record::Validator`](crate::record::Validator) the component.
#[macro_export]
macro_rules! export_record_validator {
    ($role:ty) => {
        $crate::__export!(record_validator, $crate::record::OpenedValidator<$role>);
    };
}

/// Makes a [`record::Transform`](crate::record::Transform) the component.
#[macro_export]
macro_rules! export_record_transform {
    ($role:ty) => {
        $crate::__export!(record_transform, $crate::record::OpenedTransform<$role>);
    };
}

/// The shape of all exports: `open` makes the instance's one state, `process` uses it.
#[doc(hidden)]
#[macro_export]
macro_rules! __export {
    ($world:ident, $opened:ty) => {
        // No other linker takes the names of the exports, and unit tests need none.
        #[cfg(target_arch = "wasm32")]
        const _: () = {
            struct Component;

            std::thread_local! {
                static OPENED: std::cell::RefCell<Option<$opened>> = const { std::cell::RefCell::new(None) };
            }

            impl $crate::bindings::$world::exports::sluicebox::component::$world::Guest for Component {
                fn open(
                    context: $crate::bindings::batch_transform::sluicebox::component::types::Context,
                    schema: <$opened as $crate::Opened>::Schema,
                ) -> $crate::Result<<$opened as $crate::Opened>::Plan> {
                    $crate::prepare();
                    let (opened, plan) = <$opened as $crate::Opened>::open(context, schema)?;
                    OPENED.with_borrow_mut(|place| *place = Some(opened));
                    Ok(plan)
                }

                fn process(input: <$opened as $crate::Opened>::Input) -> $crate::Result<<$opened as $crate::Opened>::Answer> {
                    OPENED.with_borrow_mut(|opened| match opened {
                        Some(opened) => $crate::Opened::process(opened, input),
                        None => Err($crate::Error::Fatal("process was called before open".to_owned())),
                    })
                }
            }

            use $crate::bindings::$world as world;
    world::export!(Component with_types_in world);
        };
    };
}
