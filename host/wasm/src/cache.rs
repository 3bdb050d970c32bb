//! Compiled components, kept on disk by the hash of their bytes and of the engine that compiled them.
//!
//! Machine code is loaded only from files that this module wrote: in a folder and a file that nobody but this user can write, and
//! whole by their checksum. Whatever is wrong with the cache costs a compilation, nothing else.

use std::fs::{DirBuilder, Metadata, OpenOptions};
use std::hash::{Hash, Hasher};
use std::io::Write;
use std::os::unix::fs::{DirBuilderExt, MetadataExt, OpenOptionsExt};
use std::path::{Path, PathBuf};

use sha2::{Digest, Sha256};
use sluicebox_core::error::{Error, Result};
use wasmtime::Engine;
use wasmtime::component::Component;

/// Bytes of a component's file; the largest language runtime seen has 18 MiB.
const COMPONENT_BYTES_MAX: u64 = 128 << 20;
/// A binary that is a module and no component.
const CORE_MODULE: &[u8] = b"\0asm\x01\0\0\0";
/// An object file: what a compiled component is.
const COMPILED: &[u8] = b"\x7fELF";

/// Loads a component: from the cache when it is there, else compiles it and puts it there.
///
/// # Errors
/// The file cannot be read, or is no component.
pub(crate) fn load(engine: &Engine, path: &Path, cache: Option<&Path>) -> Result<Component> {
    let bytes = read(path)?;
    let file = cache.map(|folder| folder.join(name(engine, &bytes)));
    if let Some(component) = file.as_deref().and_then(|file| kept(engine, file)) {
        return Ok(component);
    }
    let wrong = |why: String| Error::config(format!("{} is no component that this version can run: {why}", path.display()));
    if let Some(why) = misfit(&bytes) {
        return Err(wrong(why.to_owned()));
    }
    let compiled = engine.precompile_component(&bytes).map_err(|error| wrong(format!("{error:#}")))?;
    if let Some(file) = file.filter(|file| keep(file, &compiled).is_ok())
        && let Some(component) = kept(engine, &file)
    {
        return Ok(component);
    }
    trusted::from_memory(engine, &compiled).map_err(|error| wrong(format!("{error:#}")))
}

fn read(path: &Path) -> Result<Vec<u8>> {
    let cannot = |error: std::io::Error| Error::config(format!("cannot read {}: {error}", path.display()));
    let len = std::fs::metadata(path).map_err(cannot)?.len();
    if len > COMPONENT_BYTES_MAX {
        let max = COMPONENT_BYTES_MAX >> 20;
        return Err(Error::config(format!("{} has {} MiB; a component has at most {max} MiB", path.display(), len >> 20)));
    }
    std::fs::read(path).map_err(cannot)
}

fn misfit(bytes: &[u8]) -> Option<&'static str> {
    if bytes.starts_with(CORE_MODULE) {
        return Some("it is a core module; link it as a component (`wasm-component-ld`, or `wasm-tools component new`)");
    }
    bytes
        .starts_with(COMPILED)
        .then_some("it is compiled machine code, which is never taken from outside; give the component itself")
}

/// Hash of the component, of the engine's version and configuration.
fn name(engine: &Engine, bytes: &[u8]) -> PathBuf {
    let mut compatible = Fingerprint(Sha256::new());
    engine.precompile_compatibility_hash().hash(&mut compatible);
    compatible.0.update(Sha256::digest(bytes));
    PathBuf::from(format!("{}.cwasm", hex(&compatible.0.finalize())))
}

/// A hasher whose answer is the same in every process.
struct Fingerprint(Sha256);

impl Hasher for Fingerprint {
    fn write(&mut self, bytes: &[u8]) {
        self.0.update(bytes);
    }

    fn finish(&self) -> u64 {
        0
    }
}

fn hex(bytes: &[u8]) -> String {
    bytes.iter().map(|byte| format!("{byte:02x}")).collect()
}

fn checksum_of(file: &Path) -> PathBuf {
    file.with_extension("sha256")
}

/// Writes machine code and its checksum, each aside and renamed, readable and writable by the owner only.
fn keep(file: &Path, compiled: &[u8]) -> std::io::Result<()> {
    let folder = file.parent().unwrap_or(Path::new("."));
    DirBuilder::new().recursive(true).mode(0o700).create(folder)?;
    for (file, bytes) in [(file.to_owned(), compiled), (checksum_of(file), hex(&Sha256::digest(compiled)).as_bytes())] {
        let mut aside = tempfile(&file)?;
        aside.1.write_all(bytes)?;
        std::fs::rename(&aside.0, file)?;
    }
    Ok(())
}

/// A new file beside `file`; two processes may write the same one.
fn tempfile(file: &Path) -> std::io::Result<(PathBuf, std::fs::File)> {
    let aside = file.with_added_extension(format!("{}.tmp", std::process::id()));
    let out = OpenOptions::new().write(true).create(true).truncate(true).mode(0o600).open(&aside)?;
    Ok((aside, out))
}

/// The component in a file of the cache, when it is there, ours and whole.
fn kept(engine: &Engine, file: &Path) -> Option<Component> {
    let folder = file.parent()?;
    if !ours(&std::fs::metadata(folder).ok()?) || !ours(&std::fs::symlink_metadata(file).ok()?) {
        return None;
    }
    let checksum = std::fs::read_to_string(checksum_of(file)).ok()?;
    (checksum == hex(&Sha256::digest(std::fs::read(file).ok()?))).then_some(())?;
    trusted::from_file(engine, file).ok()
}

/// Whether nobody but this user can have written it.
fn ours(metadata: &Metadata) -> bool {
    let plain = metadata.is_dir() || metadata.is_file();
    plain && metadata.uid() == rustix::process::geteuid().as_raw() && metadata.mode() & 0o022 == 0
}

/// Takes machine code that this module had made.
mod trusted {
    use super::{Component, Engine, Path};

    #[expect(unsafe_code, reason = "machine code from a file that only this module can have written")]
    pub(super) fn from_file(engine: &Engine, file: &Path) -> wasmtime::Result<Component> {
        // SAFETY: the caller has checked that the file and its folder can be written by this user only, and that the file is whole; its name
        // holds the hash of the engine's version and configuration, which wasmtime checks again.
        unsafe { Component::deserialize_file(engine, file) }
    }

    #[expect(unsafe_code, reason = "machine code that the engine has just made")]
    pub(super) fn from_memory(engine: &Engine, compiled: &[u8]) -> wasmtime::Result<Component> {
        // SAFETY: the bytes come from `precompile_component` of the same engine.
        unsafe { Component::deserialize(engine, compiled) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sandbox::Sandbox;

    const COMPONENT: &str = "(component)";

    fn cached(folder: &Path) -> PathBuf {
        let names = std::fs::read_dir(folder).expect("a folder").map(|entry| entry.expect("an entry").path());
        names.into_iter().find(|path| path.extension().is_some_and(|e| e == "cwasm")).expect("a compiled component")
    }

    #[test]
    fn b161_a_broken_or_foreign_cache_is_compiled_anew() {
        use std::os::unix::fs::PermissionsExt;
        let folder = ::tempfile::tempdir().expect("a folder");
        let (path, cache) = (folder.path().join("c.wasm"), folder.path().join("cache"));
        std::fs::write(&path, COMPONENT).expect("writes");
        let engine = Sandbox::get().expect("starts").engine();
        load(engine, &path, Some(&cache)).expect("compiles");
        let file = cached(&cache);
        assert_eq!(std::fs::metadata(&file).expect("is there").permissions().mode() & 0o777, 0o600);
        assert_eq!(std::fs::metadata(&cache).expect("is there").permissions().mode() & 0o777, 0o700);
        assert!(kept(engine, &file).is_some());
        let whole = std::fs::read(&file).expect("reads");
        let mut flipped = whole.clone();
        flipped[whole.len() / 2] ^= 1;
        for broken in [&flipped[..], &whole[..whole.len() - 1], b"", b"\x7fELF nonsense"] {
            std::fs::write(&file, broken).expect("writes");
            assert!(kept(engine, &file).is_none());
            load(engine, &path, Some(&cache)).expect("compiles anew");
            assert_eq!(std::fs::read(&file).expect("reads"), whole);
        }
        std::fs::set_permissions(&file, std::fs::Permissions::from_mode(0o622)).expect("sets");
        assert!(kept(engine, &file).is_none());
    }

    #[test]
    fn a_cache_that_cannot_be_written_costs_time_only() {
        let folder = ::tempfile::tempdir().expect("a folder");
        let path = folder.path().join("c.wasm");
        std::fs::write(&path, COMPONENT).expect("writes");
        load(Sandbox::get().expect("starts").engine(), &path, Some(&path.join("no folder"))).expect("compiles");
    }

    #[test]
    fn b161_what_is_no_component_is_called_by_name() {
        let folder = ::tempfile::tempdir().expect("a folder");
        let engine = Sandbox::get().expect("starts").engine();
        let compiled = engine.precompile_component(COMPONENT.as_bytes()).expect("compiles");
        let path = folder.path().join("c.wasm");
        let refused = |bytes: &[u8]| {
            std::fs::write(&path, bytes).expect("writes");
            load(engine, &path, None).expect_err("refused").message
        };
        assert!(refused(b"\0asm\x01\0\0\0").contains("it is a core module"));
        assert!(refused(&compiled).contains("it is compiled machine code"));
        assert!(refused(b"hello").contains("is no component that this version can run"));
        std::fs::File::create(&path).and_then(|file| file.set_len(200 << 20)).expect("writes");
        assert!(load(engine, &path, None).expect_err("refused").message.contains("has 200 MiB; a component has at most 128 MiB"));
        std::fs::remove_file(&path).expect("removes");
        assert!(load(engine, &path, None).expect_err("refused").message.starts_with("cannot read "));
    }
}
