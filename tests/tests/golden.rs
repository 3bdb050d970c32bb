//! Runs every golden folder of the tests and of the examples, straight and interrupted at each commit, and tells all that differ.

use std::path::{Path, PathBuf};
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use sluicebox_server::command::golden::{self, Mode};

/// Runs wait for commits more than they compute, so a few more than there are cores on a small machine.
const THREADS: usize = 4;

/// Folders with a configuration, at any depth.
fn collect(folder: &Path, found: &mut Vec<PathBuf>) {
    if folder.join("sluicebox.yaml").is_file() {
        return found.push(folder.to_owned());
    }
    let entries = std::fs::read_dir(folder).unwrap_or_else(|error| panic!("{}: {error}", folder.display()));
    entries.flatten().map(|entry| entry.path()).filter(|path| path.is_dir()).for_each(|path| collect(&path, found));
}

#[test]
fn every_golden_folder_gives_what_it_expects_straight_and_interrupted() {
    let root = Path::new(env!("CARGO_MANIFEST_DIR"));
    let mut folders = Vec::new();
    collect(&root.join("golden"), &mut folders);
    assert!(!folders.is_empty(), "there are golden folders");
    collect(&root.join("../examples"), &mut folders);
    folders.sort();
    let runs: Vec<(&PathBuf, Mode)> =
        folders.iter().flat_map(|folder| [Mode::Straight, Mode::Interrupted].map(|mode| (folder, mode))).collect();

    let (next, failures) = (AtomicUsize::new(0), Mutex::new(Vec::new()));
    std::thread::scope(|scope| {
        for _ in 0..THREADS {
            scope.spawn(|| {
                while let Some((folder, mode)) = runs.get(next.fetch_add(1, Ordering::Relaxed)) {
                    if let Err(error) = golden::run(folder, *mode, false) {
                        let failure = format!("{}{}: {error:#}", folder.display(), mode.suffix());
                        failures.lock().expect("no thread panicked").push(failure);
                    }
                }
            });
        }
    });
    let mut failures = failures.into_inner().expect("no thread panicked");
    failures.sort();
    assert!(failures.is_empty(), "{} of {} runs failed:\n\n{}", failures.len(), runs.len(), failures.join("\n\n"));
}
