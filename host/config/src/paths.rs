//! Paths in a configuration: relative ones begin at the folder of the file; a tenant's stay inside its own folder.

use std::path::{Component, Path, PathBuf};

/// Where the paths of one file begin, and whether they may leave.
#[derive(Debug)]
pub(crate) struct Paths {
    base: PathBuf,
    trusted: bool,
}

impl Paths {
    pub(crate) fn operator(base: PathBuf) -> Self {
        Self { base, trusted: true }
    }

    pub(crate) fn tenant(base: PathBuf) -> Self {
        Self { base, trusted: false }
    }

    pub(crate) fn base(&self) -> &Path {
        &self.base
    }

    /// Whether the file is the operator's.
    pub(crate) fn trusted(&self) -> bool {
        self.trusted
    }

    /// The path, or words that say why it is refused (without the path).
    pub(crate) fn resolve(&self, path: &str) -> Result<PathBuf, String> {
        let resolved = self.base.join(path);
        if self.trusted {
            return Ok(resolved);
        }
        let inside = Path::new(path).components().all(|part| matches!(part, Component::Normal(_) | Component::CurDir));
        if !inside || self.linked_outside(&resolved) {
            return Err(format!("a tenant's paths stay inside its folder ({}), without `..`", self.base.display()));
        }
        Ok(resolved)
    }

    /// Whether a link leads out of the folder.
    fn linked_outside(&self, resolved: &Path) -> bool {
        match (resolved.canonicalize(), self.base.canonicalize()) {
            (Ok(resolved), Ok(base)) => !resolved.starts_with(base),
            _ => false,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_tenant_stays_in_its_folder() {
        let paths = Paths::tenant(PathBuf::from("tenants/a"));
        assert_eq!(paths.resolve("x/y.wasm"), Ok(PathBuf::from("tenants/a/x/y.wasm")));
        for path in ["../b/y.wasm", "/etc/passwd", "x/../../y"] {
            assert!(paths.resolve(path).is_err(), "{path}");
        }
        assert_eq!(Paths::operator(PathBuf::from("conf")).resolve("../y.wasm"), Ok(PathBuf::from("conf/../y.wasm")));
    }
}
