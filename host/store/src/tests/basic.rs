//! The straight way: commit, query, reopen.

use arrow_array::cast::AsArray;
use arrow_array::types::{Int32Type, Int64Type, TimestampMicrosecondType};
use arrow_schema::DataType;
use sluicebox_core::Retry;
use sluicebox_core::audit::Event;
use sluicebox_core::commit::Sequence;
use sluicebox_core::name::{PipelineName, TableName};
use sluicebox_core::port::{Retention, Store};
use sluicebox_core::position::Advance;
use sluicebox_core::query::{Bound, Comparison, Scalar, Snapshots};
use sluicebox_core::start::Gap;

use super::kit::*;
use crate::RedbStore;

#[test]
fn what_is_committed_is_seen_and_survives() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    let mut sink = sink(&store);
    store.commit(&[delta(&mut *sink, 0, 100)]).expect("commits");
    store.commit(&[delta(&mut *sink, 100, 50), delta(&mut *sink, 150, 7)]).expect("commits");
    assert_eq!(assert_exactly_once(&store), 157);
    drop((sink, store));
    let store = RedbStore::open(&path, options()).expect("opens again");
    assert_eq!(assert_exactly_once(&store), 157);
    assert_eq!(store.snapshot().expect("reads").row_count(&table()), Ok(157));
    assert_eq!(store.id(), "id-1");
    assert_eq!(store.tables_of(&pipeline()), Ok(vec![table()]));
}

#[test]
fn b143_a_batch_written_twice_is_refused_and_changes_nothing() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    let first = delta(&mut *sink, 0, 10);
    store.commit(std::slice::from_ref(&first)).expect("commits");
    for _ in 0..139 {
        let error = store.commit(std::slice::from_ref(&first)).expect_err("refused");
        assert!(error.message.contains("pipeline orders") && error.message.contains("repeat"), "{error}");
    }
    let error = store.commit(&[delta(&mut *sink, 10, 5), delta(&mut *sink, 16, 5)]).expect_err("refused");
    assert!(error.message.contains("lose"), "{error}");
    assert_eq!(assert_exactly_once(&store), 10);
}

#[test]
fn a_scan_reads_what_it_names_and_leaves_out_what_cannot_fit() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    for from in [0, 100, 200] {
        store.commit(&[delta(&mut *sink, from, 100)]).expect("commits");
    }
    let snapshot = store.snapshot().expect("reads");
    let bound = |comparison, value| Bound { column: 0, comparison, value: Scalar::Int(value) };
    let found =
        scan(&*snapshot, &table(), Some(&[2, 0]), &[bound(Comparison::GreaterOrEqual, 150), bound(Comparison::Less, 200)]);
    let found = found.expect("scans");
    assert_eq!(found.len(), 1);
    assert_eq!(found[0], rows(100, 100).project(&[2, 0]).expect("columns"));
    let counted = scan(&*snapshot, &table(), Some(&[]), &[]).expect("scans");
    assert_eq!(counted.iter().map(|b| b.num_rows()).sum::<usize>(), 300);
    let error = scan(&*snapshot, &TableName::new("shop", "none"), None, &[]).expect_err("refused");
    assert!(error.message.contains("shop.none"), "{error}");
}

#[test]
fn a_snapshot_sees_one_commit_of_all_tables() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    let mut first = delta(&mut *sink, 0, 10);
    first.rejects = vec![reject(5)];
    store.commit(&[first]).expect("commits");
    let before = store.snapshot().expect("reads");
    let mut second = delta(&mut *sink, 10, 10);
    second.rejects = vec![reject(6), reject(7)];
    store.commit(&[second]).expect("commits");
    assert_eq!((before.row_count(&table()), before.row_count(&TableName::rejected())), (Ok(10), Ok(1)));
    let after = store.snapshot().expect("reads");
    assert_eq!((after.row_count(&table()), after.row_count(&TableName::rejected())), (Ok(20), Ok(3)));
}

#[test]
fn rejects_are_rows_with_their_coordinates_and_every_reason() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    let mut delta = delta(&mut *sink, 0, 1);
    delta.rejects = vec![reject(42)];
    store.commit(&[delta]).expect("commits");
    let batches = scan(&*store.snapshot().expect("reads"), &TableName::rejected(), None, &[]).expect("scans");
    let batch = &batches[0];
    let text = |name: &str| batch[name].as_string::<i32>().value(0).to_owned();
    assert_eq!(["jobid", "domain", "schema", "path", "topic"].map(text), ["run-1", "shop", "orders", "orders", "orders"]);
    assert_eq!(text("error"), "ERR -> \n`a.b` is required\nno JSON at byte 7\n\nFILE -> orders");
    assert_eq!(batch["timestamp"].as_primitive::<TimestampMicrosecondType>().value(0), 2_000_000);
    assert_eq!(batch["partition"].as_primitive::<Int32Type>().value(0), 3);
    assert_eq!(batch["offset"].as_primitive::<Int64Type>().value(0), 42);
    assert_eq!(batch["key"].as_binary::<i32>().value(0), b"k");
    assert!(batch["value"].is_null(0));
    let errors = batch["errors"].as_list::<i32>().value(0);
    let codes = errors.as_struct().column(1).as_string::<i32>();
    assert_eq!((codes.value(0), codes.value(1)), ("required", "syntax"));
}

#[test]
fn the_audit_row_lives_while_the_run_does() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    let mut first = delta(&mut *sink, 0, 10);
    first.audit.counts.consumed = 14;
    first.audit.counts.filtered = 3;
    first.audit.counts.rejected = 1;
    first.audit.events = vec![Event::Gap { partition: partition(1), gap: Gap { wanted: 5, taken: 90 } }];
    store.commit(&[first, delta(&mut *sink, 10, 10)]).expect("commits");
    let read = || {
        let batches = scan(&*store.snapshot().expect("reads"), &TableName::audit(), None, &[]).expect("scans");
        assert_eq!(batches[0].num_rows(), 1);
        batches[0].clone()
    };
    let batch = read();
    let number = |name: &str| batch[name].as_primitive::<Int64Type>().value(0);
    assert_eq!(["count", "countAccepted", "countFiltered", "countRejected"].map(number), [24, 20, 3, 1]);
    assert!(batch["success"].is_null(0));
    assert_eq!(batch["tenant"].as_string::<i32>().value(0), "acme");
    assert_eq!(batch["paths"].as_string::<i32>().value(0), "orders");
    let details = batch["details"].as_list::<i32>().value(0);
    assert_eq!(details.as_string::<i32>().value(0), "gap: orders-1: wanted offset 5, went on at 90");
    let mut end = audit(4_000_000);
    end.ended = Some((true, "x".repeat(9000)));
    store.audit(&pipeline(), &end).expect("writes");
    let batch = read();
    assert!(batch["success"].as_boolean().value(0));
    assert_eq!(batch["message"].as_string::<i32>().value(0).len(), 8000);
    assert_eq!(batch["duration"].as_primitive::<Int64Type>().value(0), 3000);
}

#[test]
fn a_new_nullable_column_is_taken_and_older_rows_have_null() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut old = sink(&store);
    store.commit(&[delta(&mut *old, 0, 5000)]).expect("commits");
    let wider =
        fields(&[("id", DataType::Int64), ("new", DataType::Int64), ("text", DataType::Utf8), ("price", DataType::Float64)]);
    let mut sink = store.table(&table(), &wider, &pipeline(), Retention::default()).expect("taken");
    let narrow = rows(5000, 10);
    let columns = [0, 0, 1, 2].map(|i| narrow.column(i).clone()).to_vec();
    let wide = arrow_array::RecordBatch::try_new(wider.clone(), columns).expect("columns");
    let mut next = delta(&mut *old, 5000, 10);
    next.segments = segments(&mut *sink, wide);
    store.commit(&[next]).expect("commits");
    for round in 0..2 {
        let snapshot = store.snapshot().expect("reads");
        assert_eq!(snapshot.tables().iter().find(|(name, _)| *name == table()).map(|(_, schema)| schema), Some(&wider));
        let batches = scan(&*snapshot, &table(), Some(&[1, 0]), &[]).expect("scans");
        let nulls: usize = batches.iter().map(|b| b.column(0).null_count()).sum();
        assert_eq!((nulls, ids_of(&batches, 1)), (5000, (0..5010).collect()), "round {round}");
        let bound = Bound { column: 1, comparison: Comparison::Equal, value: Scalar::Int(5003) };
        assert!(scan(&*snapshot, &table(), Some(&[1]), &[bound]).expect("scans").len() <= 2);
        store.finish(0, std::time::Duration::from_secs(5)).expect("merges");
    }
    let error = store.table(&table(), &schema(), &pipeline(), Retention::default()).err().expect("refused");
    assert!(error.message.contains("has a column `new`"), "{error}");
    let error = store.table(&table(), &wider, &PipelineName::new("twin"), Retention::default()).err().expect("refused");
    assert!(error.message.contains("is written by pipeline orders"), "{error}");
    let error = store.table(&TableName::audit(), &wider, &pipeline(), Retention::default()).err().expect("refused");
    assert!(error.message.contains("`audit`"), "{error}");
}

fn ids_of(batches: &[arrow_array::RecordBatch], column: usize) -> Vec<i64> {
    batches.iter().flat_map(|b| b.column(column).as_primitive::<Int64Type>().values().to_vec()).collect()
}

#[test]
fn a_pending_delta_is_unseen_until_applied_and_its_number_never_comes_back() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    let mut lane = sink(&store);
    let mut staged = delta(&mut *lane, 0, 10);
    staged.rejects = vec![reject(3)];
    staged.audit.events = vec![Event::Restart { reason: "why".into() }];
    let first = store.stage(&staged).expect("stages");
    assert_eq!((first, store.sequences(&pipeline())), (Sequence(1), Ok((Some(Sequence(1)), None))));
    assert_eq!((ids(&store).len(), position(&store)), (0, 0));
    store.withdraw(&pipeline(), first).expect("withdraws");
    assert_eq!(store.sequences(&pipeline()), Ok((None, None)));
    let second = store.stage(&staged).expect("stages");
    assert_eq!(second, Sequence(2));
    drop((lane, store));
    let store = open(&path);
    assert_eq!(store.sequences(&pipeline()), Ok((Some(Sequence(2)), None)));
    store.apply(&pipeline(), second).expect("applies");
    assert_eq!(assert_exactly_once(&store), 10);
    assert_eq!(store.snapshot().expect("reads").row_count(&TableName::rejected()), Ok(1));
    assert_eq!(store.snapshot().expect("reads").row_count(&TableName::audit()), Ok(1));
    assert_eq!(store.sequences(&pipeline()), Ok((None, Some(Sequence(2)))));
    assert!(store.apply(&pipeline(), second).is_err());
    let mut lane = sink(&store);
    store.commit(&[delta(&mut *lane, 10, 1)]).expect("commits");
    assert_eq!(store.sequences(&pipeline()), Ok((None, Some(Sequence(3)))));
    // One that does not follow the positions stays pending.
    let ahead = store.stage(&delta(&mut *lane, 50, 1)).expect("stages");
    assert!(store.apply(&pipeline(), ahead).is_err());
    assert_eq!(store.sequences(&pipeline()), Ok((Some(ahead), Some(Sequence(3)))));
}

#[test]
fn positions_of_a_topic_made_again_stand_beside_the_old_ones() {
    let folder = tempfile::tempdir().expect("folder");
    let store = open(&folder.path().join("store.redb"));
    let mut sink = sink(&store);
    let mut again = delta(&mut *sink, 0, 3);
    let mut id = partition(0);
    id.topic_id.0[0] = 8;
    again.advances = vec![Advance { partition: id.clone(), from: 0, to: 3 }, Advance { partition: id.clone(), from: 3, to: 5 }];
    store.commit(&[again, delta(&mut *sink, 0, 9)]).expect("commits");
    let positions = store.positions(&pipeline()).expect("reads");
    assert_eq!((positions.get(&id), positions.get(&partition(0))), (Some(5), Some(9)));
    assert_eq!(store.positions(&PipelineName::new("order")).expect("reads").iter().count(), 0);
}

#[test]
fn a_pause_survives_a_restart() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    open(&path).set_paused(&pipeline(), true).expect("writes");
    let store = open(&path);
    assert_eq!(store.paused(&pipeline()), Ok(true));
    store.set_paused(&pipeline(), false).expect("writes");
    assert_eq!(store.paused(&pipeline()), Ok(false));
}

#[test]
fn files_that_are_no_store_are_refused_with_words() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let refused = |words: &str| {
        let error = RedbStore::open(&path, options()).err().expect("refused");
        assert_eq!(error.retry, Retry::Never);
        assert!(error.message.contains("store.redb") && error.message.contains(words), "{error}");
    };
    std::fs::write(&path, "id,name\n1,x\n").expect("writes");
    refused("no redb file");
    std::fs::remove_file(&path).expect("removes");
    let foreign = redb::Database::create(&path).expect("makes");
    let txn = foreign.begin_write().expect("begins");
    txn.open_table(redb::TableDefinition::<u64, u64>::new("x")).expect("makes");
    txn.commit().expect("commits");
    drop(foreign);
    refused("none that Sluicebox has written");
    std::fs::write(&path, "").expect("empties");
    drop(open(&path));
    let newer = redb::Database::open(&path).expect("opens");
    let txn = newer.begin_write().expect("begins");
    txn.open_table(crate::layout::META).expect("opens").insert("format", &9u64.to_le_bytes()[..]).expect("writes");
    txn.commit().expect("commits");
    drop(newer);
    refused("has format 9, this version reads formats up to 1; update sluicebox");
    let mut bytes = std::fs::read(&path).expect("reads");
    bytes[64..].fill(0xa5);
    std::fs::write(&path, bytes).expect("breaks");
    refused("is broken");
    std::fs::write(&path, vec![0; 8192]).expect("writes");
    drop(open(&path));
    let error = RedbStore::open(&folder.path().join("none/store.redb"), options()).err().expect("refused");
    assert!(error.message.contains("make the folder"), "{error}");
}

#[test]
fn b140_a_second_opening_names_the_file_and_the_holder() {
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("store.redb");
    let store = open(&path);
    let error = RedbStore::open(&path, options()).err().expect("refused");
    let holder = format!("store.redb is in use by process {}", std::process::id());
    assert!(error.message.contains(&holder), "{error}");
    drop(store);
    drop(open(&path));
}

/// The other process of the next test: opens the store in its folder and holds it until its input ends.
#[test]
#[ignore = "run as a child by the test that follows"]
fn child_that_holds_a_store() {
    let _store = open(std::path::Path::new("held.redb"));
    println!("held");
    std::io::read_to_string(std::io::stdin()).expect("input ends");
}

#[test]
fn b140_another_process_is_refused_with_the_holder_and_let_in_after_its_death() {
    use std::io::BufRead as _;
    let folder = tempfile::tempdir().expect("folder");
    let path = folder.path().join("held.redb");
    let mut command = std::process::Command::new(std::env::current_exe().expect("this test"));
    command.args(["--exact", "--ignored", "--nocapture", "tests::basic::child_that_holds_a_store"]).current_dir(folder.path());
    command.stdin(std::process::Stdio::piped()).stdout(std::process::Stdio::piped());
    let mut child = command.spawn().expect("starts");
    let output = std::io::BufReader::new(child.stdout.take().expect("piped"));
    assert!(output.lines().any(|line| line.expect("reads").contains("held")));
    let error = RedbStore::open(&path, options()).err().expect("refused");
    assert!(error.message.contains(&format!("held.redb is in use by process {}", child.id())), "{error}");
    child.kill().expect("kills");
    child.wait().expect("ends");
    drop(open(&path));
}
