//! Whether a component keeps to the contract: its role by what it exports, and nothing imported that is not granted.

use wasmtime::component::{Component, InstancePre};

use crate::plane::{Make, ROLES, Role};
use crate::sandbox::Sandbox;
use crate::state::State;

/// Packages of WASI 0.2 that are linked, with nothing behind them.
const WASI: [&str; 6] = ["cli", "clocks", "filesystem", "io", "random", "sockets"];
/// What stands before the names of our interfaces.
const OURS: &str = "sluicebox:component/";

/// The component, ready to be instantiated in the wanted role; where it has the role on both planes, the batch plane is taken.
///
/// # Errors
/// Words that name the import or export and what is allowed.
pub(crate) fn check(sandbox: &Sandbox, component: &Component, wanted: Role) -> Result<Box<dyn Make>, String> {
    let make = role(component, wanted)?;
    imports(component)?;
    let linked: InstancePre<State> = sandbox
        .linker()
        .instantiate_pre(component)
        .map_err(|error| format!("its imports do not fit what is granted: {error:#}"))?;
    make(linked).map_err(|error| format!("its exports do not fit the contract: {error:#}"))
}

type MakeOf = fn(InstancePre<State>) -> wasmtime::Result<Box<dyn Make>>;

fn role(component: &Component, wanted: Role) -> Result<MakeOf, String> {
    let exports: Vec<String> = component.component_type().exports(component.engine()).map(|(name, _)| name.to_owned()).collect();
    let known: Vec<_> = ROLES.iter().filter(|(name, _, _)| exports.iter().any(|export| export == name)).collect();
    if let Some((_, _, make)) = known.iter().find(|(_, role, _)| *role == wanted) {
        return Ok(*make);
    }
    let (is, place) = match wanted {
        Role::Transform => ("a validator, not a transform", "name it under `validate` of a column"),
        Role::Validator => ("a transform, not a validator", "name it as a step"),
    };
    if !known.is_empty() {
        return Err(format!("it is {is}: {place}"));
    }
    let found = if exports.is_empty() { "nothing".to_owned() } else { exports.join(", ") };
    let expected: Vec<&str> = ROLES.iter().map(|(name, _, _)| *name).collect();
    Err(format!("it exports {found}; expected one of {}", expected.join(", ")))
}

/// What is not granted is said by name before anything runs.
fn imports(component: &Component) -> Result<(), String> {
    for (name, _) in component.component_type().imports(component.engine()) {
        if !granted(name) {
            let wasi = WASI.join(", ");
            return Err(format!("it imports {name}; granted are {OURS}log@0.1.0 and, with nothing behind it, WASI 0.2 ({wasi})"));
        }
    }
    Ok(())
}

fn granted(import: &str) -> bool {
    let wasi = |package: &str| WASI.iter().any(|known| package.split('/').next() == Some(*known)) && import.contains("@0.2.");
    import.strip_prefix("wasi:").is_some_and(wasi) || (import.starts_with(OURS) && import.contains("@0.1."))
}

#[cfg(test)]
mod tests {
    use super::granted;

    #[test]
    fn b160_only_the_log_and_an_empty_wasi_are_granted() {
        for name in
            ["sluicebox:component/log@0.1.0", "sluicebox:component/types@0.1.0", "wasi:io/poll@0.2.0", "wasi:cli/stdout@0.2.9"]
        {
            assert!(granted(name), "{name}");
        }
        for name in
            ["sluicebox:component/log@0.2.0", "wasi:http/types@0.2.0", "wasi:io/poll@0.3.0", "env", "other:component/log@0.1.0"]
        {
            assert!(!granted(name), "{name}");
        }
    }
}
