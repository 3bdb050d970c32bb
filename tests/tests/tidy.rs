//! Guards the rules of the house: lengths, arrows between crates, one home for each heavy dependency, leftovers.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

const FILE_LINES_MAX: usize = 600;
const FILE_MEDIAN_MAX: usize = 200;
const FUNCTION_LINES_MAX: usize = 100;
const FUNCTION_P90_MAX: usize = 35;
const FUNCTION_LONG: usize = 70;

fn root() -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).parent().map(Path::to_owned).unwrap_or_default()
}

/// The path from the root of the repository on, with a slash before it.
fn inside(path: &Path) -> String {
    format!("/{}", path.strip_prefix(root()).unwrap_or(path).display())
}

/// Files below a folder whose names end so, build output and copied data left out.
fn files(folder: &Path, ends: &[&str], found: &mut Vec<PathBuf>) {
    let Ok(entries) = std::fs::read_dir(folder) else { return };
    for path in entries.flatten().map(|entry| entry.path()) {
        let name = path.file_name().and_then(|name| name.to_str()).unwrap_or_default();
        let skipped = name.starts_with('.') || ["target", "data", "components"].contains(&name);
        if path.is_dir() && !skipped {
            files(&path, ends, found);
        } else if ends.iter().any(|end| name.ends_with(end)) {
            found.push(path);
        }
    }
}

fn all(ends: &[&str]) -> Vec<PathBuf> {
    let mut found = Vec::new();
    files(&root(), ends, &mut found);
    assert!(!found.is_empty());
    found
}

fn read(path: &Path) -> String {
    let bytes = std::fs::read(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    String::from_utf8_lossy(&bytes).into_owned()
}

/// Rust files that are not tests, benches or generated bindings, without their test modules.
fn production() -> Vec<(PathBuf, String)> {
    let left_out = ["/tests/", "/tests.rs", "/benches/", "/bindings/", "/fuzz/", "/examples/", "/guests/"];
    let own = |path: &PathBuf| !left_out.iter().any(|part| inside(path).contains(part));
    let without_tests = |text: String| text.split("#[cfg(test)]").next().unwrap_or_default().to_owned();
    all(&[".rs"]).into_iter().filter(own).map(|path| (path.clone(), without_tests(read(&path)))).collect()
}

#[test]
fn files_hold_one_kind_of_thing() {
    let mut lines: Vec<(usize, PathBuf)> = production().into_iter().map(|(path, text)| (text.lines().count(), path)).collect();
    lines.sort();
    let (longest, path) = lines.last().expect("there are files");
    assert!(*longest <= FILE_LINES_MAX, "{} has {longest} lines", path.display());
    assert!(lines[lines.len() / 2].0 <= FILE_MEDIAN_MAX, "the median file has {} lines", lines[lines.len() / 2].0);
}

/// Lengths of functions, by the indentation that rustfmt gives.
fn functions(text: &str) -> Vec<(String, usize)> {
    let mut found = Vec::new();
    let lines: Vec<&str> = text.lines().collect();
    for (start, line) in lines.iter().enumerate() {
        let code = line.trim_start();
        let words: Vec<&str> = code.split_whitespace().take_while(|word| *word != "fn").collect();
        let is_function = code.split_whitespace().nth(words.len()) == Some("fn")
            && words.iter().all(|word| {
                word.starts_with("pub") || ["async", "const", "unsafe", "extern", "\"C\"", "super)", "crate)"].contains(word)
            });
        if !is_function || code.ends_with(';') || code.ends_with('}') {
            continue;
        }
        let end = format!("{}}}", &line[..line.len() - code.len()]);
        if let Some(length) = lines[start..].iter().position(|line| *line == end) {
            found.push((code.to_owned(), length + 1));
        }
    }
    found
}

#[test]
fn functions_do_one_thing() {
    let mut lengths: Vec<(usize, String)> = Vec::new();
    for (path, text) in production() {
        lengths.extend(functions(&text).into_iter().map(|(name, length)| (length, format!("{}: {name}", path.display()))));
    }
    lengths.sort();
    let (longest, place) = lengths.last().expect("there are functions");
    assert!(*longest <= FUNCTION_LINES_MAX, "{place} has {longest} lines");
    let p90 = lengths[lengths.len() * 9 / 10].0;
    assert!(p90 <= FUNCTION_P90_MAX, "one function in ten has more than {p90} lines");
    let long: Vec<_> = lengths.iter().filter(|(length, _)| *length > FUNCTION_LONG).collect();
    assert!(long.len() * 100 <= lengths.len(), "more than 1 % of the functions have over {FUNCTION_LONG} lines: {long:?}");
}

/// What each crate may depend on, of ours.
const ARROWS: [(&str, &[&str]); 9] = [
    ("core", &[]),
    ("config", &["core"]),
    ("codec", &["core"]),
    ("kafka", &["core"]),
    ("wasm", &["core"]),
    ("sql", &["core"]),
    ("store", &["core"]),
    ("engine", &["core", "config"]),
    ("server", &["core", "config", "codec", "engine", "kafka", "sql", "store", "wasm"]),
];

/// Names of a manifest's dependencies, those for tests left out.
fn dependencies(manifest: &str) -> Vec<String> {
    let section = manifest.split("\n[dependencies]").nth(1).unwrap_or_default().split("\n[").next().unwrap_or_default();
    let name = |line: &str| line.split(['.', ' ', '=']).next().unwrap_or_default().to_owned();
    section.lines().filter(|line| !line.is_empty() && !line.starts_with('#')).map(name).collect()
}

#[test]
fn arrows_point_one_way() {
    for (name, allowed) in ARROWS {
        let manifest = read(&root().join("host").join(name).join("Cargo.toml"));
        for dependency in dependencies(&manifest) {
            if let Some(ours) = dependency.strip_prefix("sluicebox-") {
                assert!(allowed.contains(&ours), "host/{name} must not depend on host/{ours}");
            }
        }
    }
}

#[test]
fn a_heavy_dependency_has_one_home() {
    let homes = BTreeMap::from([
        ("rdkafka", "kafka"),
        ("wasmtime", "wasm"),
        ("datafusion", "sql"),
        ("redb", "store"),
        ("axum", "server"),
    ]);
    for (name, _) in ARROWS {
        let manifest = read(&root().join("host").join(name).join("Cargo.toml"));
        for dependency in dependencies(&manifest) {
            if let Some(home) = homes.get(dependency.as_str()) {
                assert_eq!(*home, name, "{dependency} belongs to host/{home}");
            }
        }
    }
}

#[test]
fn there_is_one_arrow() {
    let lock = read(&root().join("Cargo.lock"));
    for name in ["arrow-array", "arrow-schema", "arrow-buffer", "arrow-ipc"] {
        assert_eq!(lock.matches(&format!("name = \"{name}\"\n")).count(), 1, "{name}");
    }
}

#[test]
fn versions_are_held_in_the_workspace() {
    for manifest in all(&["Cargo.toml"]) {
        let text = read(&manifest);
        if !text.contains("version.workspace = true") {
            continue;
        }
        for section in text.split("\n[").filter(|s| s.starts_with("dependencies]") || s.starts_with("dev-dependencies]")) {
            for line in
                section.lines().skip(1).filter(|line| line.contains('=') && !line.starts_with('#') && !line.contains("path ="))
            {
                assert!(line.contains("workspace = true"), "{}: {line}", manifest.display());
            }
        }
    }
}

#[test]
fn nothing_is_left_over() {
    let words = [["TO", "DO"], ["FIX", "ME"]].map(|halves| halves.concat());
    for path in all(&[".rs", ".md", ".yaml", ".wit", ".sh", ".toml", "Makefile"]) {
        let text = read(&path);
        for word in &words {
            assert!(!text.contains(word.as_str()), "{} has a leftover {word}", path.display());
        }
    }
}

#[test]
fn each_example_is_a_story_with_a_test() {
    let entries = std::fs::read_dir(root().join("examples")).expect("there are examples");
    for folder in entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()) {
        for part in ["README.md", "sluicebox.yaml", "input", "expected"] {
            assert!(folder.join(part).exists(), "{} has no {part}", folder.display());
        }
    }
}
