//! Compiled components, kept on disk by the hash of their bytes and of the engine that compiled them.

use std::hash::{Hash, Hasher};
use std::io::Write;
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sluicebox_core::error::{Error, Result};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Loads a component: from the cache when it is there, else compiles it and puts it there. A cache that cannot be read or written only costs
/// time.
///
/// # Errors
/// The file cannot be read, or is no component.
pub(crate) fn load(engine: &Engine, path: &Path, cache: Option<&Path>) -> Result<Component> {
    let bytes = std::fs::read(path).map_err(|error| Error::config(format!("cannot read {}: {error}", path.display())))?;
    let file = cache.map(|folder| folder.join(name(engine, &bytes)));
    if let Some(component) = file.as_ref().filter(|file| file.is_file()).and_then(|file| trusted::deserialize(engine, file)) {
        return Ok(component);
    }
    let wrong = |error: wasmtime::Error| {
        let hint = if bytes.starts_with(b"\0asm\x01\0\0\0") {
            "it is a core module, not a component: build it with a component linker (see docs/components.md)".to_owned()
        } else {
            format!("{error:#}")
        };
        Error::config(format!("{} is no component that this version can run: {hint}", path.display()))
    };
    let compiled = engine.precompile_component(&bytes).map_err(wrong)?;
    if let Some(file) = file.filter(|file| write(file, &compiled).is_ok())
        && let Some(component) = trusted::deserialize(engine, &file)
    {
        return Ok(component);
    }
    Component::new(engine, &bytes).map_err(wrong)
}

fn name(engine: &Engine, bytes: &[u8]) -> PathBuf {
    let mut compatible = std::collections::hash_map::DefaultHasher::new();
    engine.precompile_compatibility_hash().hash(&mut compatible);
    let content: String = Sha256::digest(bytes).iter().map(|byte| format!("{byte:02x}")).collect();
    PathBuf::from(format!("{content}-{:016x}.cwasm", compatible.finish()))
}

/// Written aside and renamed, readable by the owner only.
fn write(file: &Path, compiled: &[u8]) -> std::io::Result<()> {
    use std::os::unix::fs::{DirBuilderExt, OpenOptionsExt};
    let folder = file.parent().unwrap_or(Path::new("."));
    std::fs::DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    let aside = file.with_extension(format!("{}.tmp", std::process::id()));
    let mut out = std::fs::OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    out.write_all(compiled)?;
    std::fs::rename(&aside, file)
}

/// Takes machine code from a file that this module wrote.
mod trusted {
    use super::{Component, Engine, Path};

    #[expect(unsafe_code, reason = "machine code from disk: only files of our own folder, which only the owner may write, are loaded")]
    pub(super) fn deserialize(engine: &Engine, file: &Path) -> Option<Component> {
        // SAFETY: the file is in the cache folder (mode 0700), was written by this module from `precompile_component`, and its name holds the
        // hash of the engine's configuration and version, which wasmtime checks again.
        unsafe { Component::deserialize_file(engine, file) }.ok()
    }
}
