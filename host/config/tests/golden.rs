//! Golden folders: each folder of `tests/golden` is a configuration (`sluicebox.yaml`, perhaps `tenants/`) with the exact text of all its
//! errors in `expected.err` and of its warnings in `expected.warn`; `expected.ok` lists what can start. A file that is not there
//! expects nothing of its kind.

use std::fmt::Write as _;
use std::path::{Path, PathBuf};

use sluicebox_config::{ConfigError, ConfigSource, Loaded, load};

/// The environment of the cases.
fn environment(name: &str) -> Option<String> {
    match name {
        "KAFKA_PASSWORD" | "PHONE_KEY" => Some("hunter2".to_owned()),
        "TRICKY" => Some("a#b: > \"q\"\n{x}".to_owned()),
        "ROWS" => Some("500".to_owned()),
        "WORD" => Some("hunter2-word".to_owned()),
        "YES" => Some("yes".to_owned()),
        "EMPTY" => Some(String::new()),
        _ => None,
    }
}

fn load_case(folder: &Path) -> Loaded {
    let path = if folder.join("tenants").is_dir() { folder.to_owned() } else { folder.join("sluicebox.yaml") };
    load(&ConfigSource { path, environment: &environment })
}

fn lines(errors: &[ConfigError], folder: &Path) -> String {
    let prefix = format!("{}/", folder.display());
    errors.iter().fold(String::new(), |mut text, error| {
        let owner = error.pipeline.as_ref().map_or_else(String::new, |pipeline| format!(" [{pipeline}]"));
        let _ = writeln!(text, "{}{owner}", error.to_string().replace(&prefix, ""));
        text
    })
}

/// Tenants and pipelines that start, one a line.
fn started(loaded: &Loaded) -> String {
    loaded.spec.tenants.iter().fold(String::new(), |mut text, tenant| {
        let pipelines: Vec<_> = tenant.pipelines.iter().map(|pipeline| pipeline.name.as_str()).collect();
        let _ = writeln!(text, "{}: {}", tenant.name, if pipelines.is_empty() { "-".to_owned() } else { pipelines.join(", ") });
        text
    })
}

fn cases() -> Vec<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden");
    let mut cases: Vec<_> =
        std::fs::read_dir(root).expect("golden folders").map(|entry| entry.expect("an entry").path()).collect();
    cases.sort();
    cases
}

/// What differs from the expected texts.
fn differences(folder: &Path) -> String {
    let loaded = load_case(folder);
    let found = [
        ("expected.err", lines(&loaded.errors, folder)),
        ("expected.warn", lines(&loaded.warnings, folder)),
        ("expected.ok", started(&loaded)),
    ];
    found.iter().fold(String::new(), |mut wrong, (name, found)| {
        let expected = std::fs::read_to_string(folder.join(name)).unwrap_or_default();
        if *found != expected {
            let _ = writeln!(wrong, "== {}/{name}\n-- expected\n{expected}-- found\n{found}", folder.display());
        }
        wrong
    })
}

#[test]
fn every_golden_folder_says_what_it_says() {
    let wrong: String = cases().iter().map(|folder| differences(folder)).collect();
    assert!(wrong.is_empty(), "{wrong}");
    assert!(cases().len() >= 25, "the golden folders are there");
}

/// A test under the id of each case that has one.
macro_rules! golden {
    ($($name:ident),* $(,)?) => {
        $(
            #[test]
            fn $name() {
                let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/golden").join(stringify!($name));
                assert_eq!(differences(&folder), "");
                assert!(folder.is_dir());
            }
        )*
    };
}

golden!(
    b073_one_group_one_table,
    b163_typos,
    b168_no_is_text,
    b171_duplicate_at_top,
    b171_duplicate_keys,
    b172_bom_crlf,
    b172_documents,
    b172_merge_and_anchors,
    b172_tabs,
    b173_secrets,
    b193_tenants,
);

#[test]
fn b173_no_error_and_no_debug_print_shows_a_secret() {
    for folder in cases() {
        let loaded = load_case(&folder);
        let printed = format!("{loaded:?} {}", lines(&loaded.errors, &folder));
        assert!(!printed.contains("hunter2"), "{}: {printed}", folder.display());
    }
}
