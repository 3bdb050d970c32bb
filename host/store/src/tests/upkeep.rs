//! Compaction, retention and the clean end.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use sluicebox_core::name::TableName;
use sluicebox_core::port::{Retention, Store};
use sluicebox_core::query::{Bound, Comparison, Scalar, Snapshots};

use super::kit::*;
use crate::RedbStore;
use crate::layout::{PARTS, SEGMENTS};

fn load(store: &RedbStore, commits: i64, rows: i64) {
    let mut sink = sink(store);
    for number in 0..commits {
        store.commit(&[delta(&mut *sink, number * rows, rows)]).expect("commits");
    }
}

fn segment_count(store: &RedbStore) -> usize {
    scan(&*store.snapshot().expect("reads"), &table(), Some(&[]), &[]).expect("scans").len()
}

#[test]
fn compaction_changes_no_row_and_no_open_snapshot() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    load(&store, 30, 10_000);
    let before = store.snapshot().expect("reads");
    let half_read = before.scan(&table(), None, &[]).expect("scans");
    let mut slices = 0;
    while store.maintain(0).expect("maintains") {
        slices += 1;
        assert_eq!(store.snapshot().expect("reads").row_count(&table()), Ok(300_000));
    }
    assert!(slices >= 4, "{slices}");
    assert_eq!(segment_count(&store), 8);
    assert_eq!(assert_exactly_once(&store), 300_000);
    let rows_of_old: usize = half_read.map(|batch| batch.expect("reads").num_rows()).sum();
    assert_eq!(rows_of_old, 300_000);
    let bound = Bound { column: 0, comparison: Comparison::GreaterOrEqual, value: Scalar::Int(250_000) };
    let pruned = scan(&*store.snapshot().expect("reads"), &table(), Some(&[0]), &[bound]).expect("scans");
    assert!(pruned.iter().map(|b| b.num_rows()).sum::<usize>() <= 60_000);
    drop(before);
    store.finish(0, Duration::from_secs(20)).expect("finishes");
    assert_eq!(segment_count(&store), 3);
    assert_eq!(assert_exactly_once(&store), 300_000);
    drop(store);
    assert_eq!(assert_exactly_once(&open(&path)), 300_000);
}

#[test]
fn a_trickle_is_merged_while_it_comes() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    for number in 0..300 {
        store.commit(&[delta(&mut *sink, number * 5, 5)]).expect("commits");
        while store.maintain(0).expect("maintains") {}
    }
    assert!(segment_count(&store) < 40, "{}", segment_count(&store));
    assert_eq!(assert_exactly_once(&store), 1500);
}

#[test]
fn after_a_load_the_file_is_little_larger_than_its_rows() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    load(&store, 60, 10_000);
    store.finish(0, Duration::from_secs(60)).expect("finishes");
    let length = std::fs::metadata(&path).expect("exists").len();
    let stored = store.live_bytes().expect("reads");
    assert_eq!(store_bytes(&store), stored, "no part is left that no segment names");
    assert!(length as f64 <= 1.3 * stored as f64, "{length} for {stored}");
}

#[test]
fn retention_takes_whole_segments_by_age_and_by_bytes() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    load(&store, 10, 1000);
    let retain = |retention| drop(store.table(&table(), &schema(), &pipeline(), retention).expect("registers"));
    // Commit `n` is at 2,000,000 + 1000 n microseconds.
    retain(Retention { age: Some(Duration::from_secs(1)), bytes: None });
    while store.maintain(2_000_000 + 1_000_000 + 3000).expect("maintains") {}
    assert_eq!(ids(&store).keys().next(), Some(&3000));
    assert_eq!(ids(&store).len(), 7000);
    let one = store.live_bytes().expect("reads") / 7;
    assert_eq!(store_bytes(&store), 7 * one, "parts go with their segments");
    retain(Retention { age: None, bytes: Some(3 * one + one / 2) });
    while store.maintain(0).expect("maintains") {}
    assert_eq!((ids(&store).keys().next(), ids(&store).len()), (Some(&7000), 3000));
    assert_eq!(position(&store), 10_000);
}

#[test]
fn retention_of_rejects_and_audit_is_by_commit_time() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    for number in 0..4 {
        let mut delta = delta(&mut *sink, number, 1);
        delta.rejects = vec![reject(number)];
        delta.audit.run.job_id = format!("run {number}");
        store.commit(&[delta]).expect("commits");
    }
    store.retain_rejects(Retention { age: Some(Duration::from_secs(10)), bytes: None }).expect("writes");
    while store.maintain(2_000_000 + 10_000_000 + 2).expect("maintains") {}
    let count = |name| store.snapshot().expect("reads").row_count(&name).expect("there");
    assert_eq!((count(TableName::rejected()), count(TableName::audit()), count(table())), (2, 2, 4));
    assert_eq!(store.maintain(2_000_000 + 10_000_000 + 2), Ok(false));
    assert_eq!(store.maintain(99_000_000), Ok(true));
    while store.maintain(99_000_000).expect("maintains") {}
    assert_eq!((count(TableName::rejected()), count(TableName::audit())), (0, 0));
}

fn store_bytes(store: &RedbStore) -> u64 {
    let txn = store.file_for_tests().read().expect("reads");
    let parts = txn.open_table(PARTS).expect("opens");
    parts.range(0..).expect("reads").map(|row| row.expect("reads").1.value().len() as u64).sum()
}

#[test]
fn a_broken_part_is_an_error_that_names_table_and_segment() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    load(&store, 2, 6000);
    let breaking = |store: &RedbStore| {
        store.file_for_tests().write(crate::file::Durable::Now, |txn| {
            let mut parts = txn.open_table(PARTS)?;
            let (number, mut bytes) = {
                let (key, value) = redb::ReadableTable::last(&parts)?.expect("parts");
                (key.value(), value.value().to_vec())
            };
            let middle = bytes.len() / 2;
            bytes[middle] ^= 1;
            parts.insert(number, bytes.as_slice())?;
            Ok(())
        })
    };
    breaking(&store).expect("writes");
    let error = scan(&*store.snapshot().expect("reads"), &table(), None, &[]).expect_err("broken");
    assert!(error.message.contains("table shop.orders, segment 2: the checksum of part"), "{error}");
    let error = store.finish(0, Duration::from_secs(5)).expect_err("broken");
    assert!(error.message.contains("table shop.orders, segment 2"), "{error}");
    // Mended by flipping the bit back.
    breaking(&store).expect("writes");
    store.finish(0, Duration::from_secs(5)).expect("merges");
    assert_eq!(assert_exactly_once(&store), 12_000);
    breaking(&store).expect("writes");
    let error = scan(&*store.snapshot().expect("reads"), &table(), None, &[]).expect_err("broken");
    assert!(error.message.contains("table shop.orders, segment 1: the checksum of part"), "{error}");
    let untouched = scan(&*store.snapshot().expect("reads"), &table(), Some(&[0]), &[]).expect("other columns are read");
    assert_eq!(untouched.iter().map(|b| b.num_rows()).sum::<usize>(), 12_000);
}

#[test]
fn b138_readers_do_not_wait_for_commits_and_see_none_by_half() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut lane = sink(&store);
    let deltas: Vec<_> = (0..20).map(|n| delta(&mut *lane, n * 100_000, 100_000)).collect();
    let done = AtomicBool::new(false);
    let mut times: Vec<Duration> = std::thread::scope(|scope| {
        let reader = scope.spawn(|| {
            let mut times = Vec::new();
            while !done.load(Ordering::Acquire) {
                let started = Instant::now();
                let rows = store.snapshot().and_then(|s| s.row_count(&table())).expect("reads");
                times.push(started.elapsed());
                assert_eq!(rows % 100_000, 0);
            }
            times
        });
        deltas.iter().for_each(|delta| store.commit(std::slice::from_ref(delta)).expect("commits"));
        done.store(true, Ordering::Release);
        reader.join().expect("reads")
    });
    times.sort_unstable();
    let p99 = times[times.len() * 99 / 100];
    assert!(times.len() > 20 && p99 < Duration::from_millis(50), "{} snapshots, p99 {p99:?}", times.len());
}

#[test]
fn b146_a_finished_or_dropped_scan_gives_its_pages_back() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    load(&store, 20, 10_000);
    let mut slow = store.snapshot().expect("reads").scan(&table(), None, &[]).expect("scans");
    let kept = slow.next().expect("a batch").expect("reads");
    while store.maintain(0).expect("maintains") {}
    drop(slow);
    store.finish(0, Duration::from_secs(20)).expect("finishes");
    let length = std::fs::metadata(&path).expect("exists").len();
    assert!(length as f64 <= 1.3 * store_bytes(&store) as f64, "{length} for {}", store_bytes(&store));
    assert_eq!(kept, rows(0, 10_000));
}

#[test]
fn what_a_cut_off_merge_has_left_is_cleaned_at_the_next_opening() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    let wide: Vec<(String, arrow_schema::DataType)> = (0..6).map(|n| (format!("c{n}"), arrow_schema::DataType::Int64)).collect();
    let wide: Vec<(&str, arrow_schema::DataType)> = wide.iter().map(|(n, t)| (n.as_str(), t.clone())).collect();
    let mut sink = store.table(&table(), &fields(&wide), &pipeline(), Retention::default()).expect("registers");
    let id = rows(0, 100_000).column(0).clone();
    let batch = arrow_array::RecordBatch::try_new(fields(&wide), vec![id; 6]).expect("columns");
    for n in 0..2 {
        let mut next = delta(&mut *sink_of(&store), n * 10, 10);
        next.segments = segments(&mut *sink, batch.clone());
        store.commit(&[next]).expect("commits");
    }
    let before = store_bytes(&store);
    assert_eq!(store.maintain(0), Ok(true));
    assert!(store_bytes(&store) > before, "a merge is under way");
    drop((sink, store));
    let store = open(&path);
    assert_eq!(store_bytes(&store), before);
    while store.maintain(0).expect("maintains") {}
    let txn = store.file_for_tests().read().expect("reads");
    assert_eq!(txn.open_table(SEGMENTS).expect("opens").range((0, 0)..).expect("reads").count(), 2);
}

/// A sink that only makes deltas: its table is another one.
fn sink_of(store: &RedbStore) -> Box<dyn sluicebox_core::port::Sink> {
    store.table(&TableName::new("shop", "other"), &schema(), &pipeline(), Retention::default()).expect("registers")
}
