//! The disk fails, fills up, or loses power at every single write: the store is as before or as after a commit, never between.

use std::io::ErrorKind;
use std::path::Path;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use sluicebox_core::Retry;
use sluicebox_core::commit::Delta;
use sluicebox_core::port::{Retention, Store};

use super::disk::Disk;
use super::kit::*;
use crate::RedbStore;

fn open_on(disk: &Disk) -> sluicebox_core::Result<RedbStore> {
    RedbStore::open_with(Path::new("memory.redb"), options(), disk.opener())
}

/// Opens, loads, merges and ends; gives up at the first error. `acknowledged` is the position that a commit has returned for.
fn run(disk: &Disk, acknowledged: &Mutex<i64>) -> sluicebox_core::Result<()> {
    let store = open_on(disk)?;
    let mut sink = store.table(&table(), &schema(), &pipeline(), Default::default())?;
    for (from, count) in [(0, 10), (10, 300), (310, 4000), (4310, 20)] {
        store.commit(&[delta(&mut *sink, from, count)])?;
        *acknowledged.lock().expect("not poisoned") = from + count;
    }
    store.finish(0, Duration::from_secs(5))
}

fn all_steps() -> u64 {
    let disk = Disk::default();
    run(&disk, &Mutex::default()).expect("a working disk");
    disk.steps()
}

#[test]
fn b139_a_disk_that_fills_up_at_any_write_leaves_a_store_that_opens() {
    for step in 0..all_steps() {
        let disk = Disk::default();
        let acknowledged = Mutex::default();
        disk.fail_from(step, ErrorKind::StorageFull);
        let ended = run(&disk, &acknowledged);
        disk.heal();
        let store = open_on(&disk.killed()).unwrap_or_else(|e| panic!("step {step}: {e}"));
        let next = assert_exactly_once_or_empty(&store);
        let acknowledged = *acknowledged.lock().expect("not poisoned");
        assert!(next >= acknowledged, "step {step}: {acknowledged} acknowledged, {next} there");
        assert!([0, 10, 310, 4310, 4330].contains(&next), "step {step}: {next}");
        if let Err(error) = ended {
            assert!(error.message.contains("memory.redb"), "{error}");
        }
    }
}

#[test]
fn b071_power_lost_at_any_write_leaves_each_commit_whole() {
    for step in 0..all_steps() {
        let disk = Disk::default();
        let acknowledged = Mutex::default();
        disk.fail_from(step, ErrorKind::Other);
        let _ = run(&disk, &acknowledged);
        let after = disk.power_lost();
        let store = open_on(&after).unwrap_or_else(|e| panic!("step {step}: {e}"));
        let next = assert_exactly_once_or_empty(&store);
        assert!(next >= *acknowledged.lock().expect("not poisoned"), "step {step}: {next}");
    }
}

fn assert_exactly_once_or_empty(store: &RedbStore) -> i64 {
    if store.tables_of(&pipeline()).expect("reads").is_empty() {
        return position(store);
    }
    assert_exactly_once(store)
}

#[test]
fn b144_while_the_disk_fails_nothing_moves_and_afterwards_it_goes_on_by_itself() {
    let steps_of_one_commit = {
        let (disk, store, mut sink) = loaded();
        let before = disk.steps();
        store.commit(&[delta(&mut *sink, 10, 10)]).expect("commits");
        disk.steps() - before
    };
    assert!(steps_of_one_commit > 2);
    for step in 0..steps_of_one_commit {
        let (disk, store, mut sink) = loaded();
        let deltas = [delta(&mut *sink, 10, 10)];
        disk.fail_from(disk.steps() + step, ErrorKind::StorageFull);
        for _ in 0..3 {
            let error = store.commit(&deltas).expect_err("the disk fails");
            assert_eq!(error.retry, Retry::Backoff, "{error}");
        }
        disk.heal();
        // The same commit is tried again, as the engine does; perhaps it had reached the disk.
        store.commit(&deltas).unwrap_or_else(|e| panic!("step {step}: {e}"));
        assert_eq!(assert_exactly_once(&store), 20, "step {step}");
        store.commit(&[delta(&mut *sink, 20, 5)]).expect("commits");
        assert_eq!(assert_exactly_once(&store), 25);
        let again: &[Delta] = &deltas;
        assert!(store.commit(again).is_err(), "only a commit in doubt is taken as done");
    }
}

fn loaded() -> (Disk, RedbStore, Box<dyn sluicebox_core::port::Sink>) {
    let disk = Disk::default();
    let store = open_on(&disk).expect("opens");
    let mut sink = sink(&store);
    store.commit(&[delta(&mut *sink, 0, 10)]).expect("commits");
    (disk, store, sink)
}

#[test]
fn b067_a_kill_after_any_write_repeats_and_loses_nothing() {
    let total = all_steps();
    for step in (0..total).step_by(3) {
        let disk = Disk::default();
        disk.fail_from(step, ErrorKind::Other);
        let _ = run(&disk, &Mutex::default());
        // The next process takes up at the stored position and loads the rest.
        let disk = disk.killed();
        let store = open_on(&disk).unwrap_or_else(|e| panic!("step {step}: {e}"));
        let mut sink = sink(&store);
        let from = position(&store);
        if from < 4330 {
            store.commit(&[delta(&mut *sink, from, 4330 - from)]).expect("commits");
        }
        assert_eq!(assert_exactly_once(&store), 4330, "step {step}");
    }
}

#[test]
fn opening_after_a_kill_never_walks_the_file() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    let walks_none = |moment: &str| {
        // A copy of the open file is what a kill leaves.
        let killed = folder.path().join("killed.redb");
        std::fs::copy(&path, &killed).expect("copies");
        let walked = Arc::new(AtomicBool::new(false));
        let mut builder = redb::Builder::new();
        let seen = walked.clone();
        builder.set_repair_callback(move |_| seen.store(true, Ordering::Release));
        drop(builder.open(&killed).expect("opens"));
        assert!(!walked.load(Ordering::Acquire), "{moment}");
    };
    walks_none("begun");
    let mut sink = sink(&store);
    walks_none("registered");
    store.commit(&[delta(&mut *sink, 0, 100_000), delta(&mut *sink, 100_000, 100_000)]).expect("commits");
    walks_none("committed");
    while store.maintain(0).expect("maintains") {
        walks_none("between slices");
    }
    let sequence = store.stage(&delta(&mut *sink, 200_000, 10)).expect("stages");
    walks_none("staged");
    store.apply(&pipeline(), sequence).expect("applies");
    walks_none("applied");
    // A file that has lost most of its rows is worth cutting.
    let retention = Retention { age: None, bytes: Some(1) };
    drop(store.table(&table(), &schema(), &pipeline(), retention).expect("registers"));
    while store.maintain(0).expect("maintains") {}
    let length = || std::fs::metadata(&path).expect("exists").len();
    let before = length();
    store.finish(0, Duration::from_secs(5)).expect("finishes");
    assert!(length() < before / 2, "{} of {before}", length());
    walks_none("finished");
}

#[test]
fn a_failing_disk_leaves_no_pending_delta_behind_or_twice() {
    for step in 0..12 {
        let (disk, store, mut sink) = loaded();
        let staged = delta(&mut *sink, 10, 10);
        disk.fail_from(disk.steps() + step, ErrorKind::Other);
        let _ = store.stage(&staged);
        disk.heal();
        let (pending, _) = store.sequences(&pipeline()).expect("reads");
        let sequence = match pending {
            // It had reached the disk although it could not be told: settled as after a crash.
            Some(sequence) => sequence,
            None => store.stage(&staged).unwrap_or_else(|e| panic!("step {step}: {e}")),
        };
        store.apply(&pipeline(), sequence).expect("applies");
        assert_eq!(assert_exactly_once(&store), 20, "step {step}");
        assert_eq!(store.sequences(&pipeline()), Ok((None, Some(sequence))));
    }
}
