//! What crosses the border, what travels past it, what a guest sees of the world, and who is refused.

mod guest;

use std::sync::Arc;

use arrow_array::{Array, Int64Array, RecordBatch, StringArray};
use guest::{
    Bench, CLOSED_AT, Text, answer, batch, cells, context, errors, lines, record_transform, reject, transform, validator,
    with_log,
};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::error::Domain;
use sluicebox_core::name::ComponentName;
use sluicebox_core::port::{Components, Step};
use sluicebox_core::reject::Rejects;

fn run(step: &mut dyn Step, batch: Batch) -> (Batch, Rejects) {
    let mut rejects = Rejects::default();
    let out = step.process(batch, &mut rejects).expect("goes on");
    (out, rejects)
}

#[test]
fn both_planes_carry_rows_there_and_back() {
    for text in [transform(&Text::default()), record_transform(&Text::default())] {
        let mut step = Bench::new(&text).transform().expect("opens");
        assert_eq!((step.name(), step.output()), ("guest", guest::schema()));
        for _ in 0..3 {
            let (out, rejects) = run(step.as_mut(), batch(&["a", "", "ç"]));
            assert_eq!((cells(&out), rejects.len()), ((vec![0, 1, 2], vec!["a", "", "ç"]), 0));
            assert_eq!(out.rows.iter().collect::<Vec<_>>(), [100, 101, 102]);
        }
        let (out, _) = run(step.as_mut(), batch(&[]));
        assert_eq!((out.columns.num_rows(), out.columns.schema()), (0, guest::schema()));
    }
}

#[test]
fn nulls_cross_both_planes() {
    for text in [transform(&Text::default()), record_transform(&Text::default())] {
        let texts = StringArray::from(vec![None, Some("x"), None]);
        let columns =
            RecordBatch::try_new(guest::schema(), vec![Arc::new(Int64Array::from(vec![1, 2, 3])), Arc::new(texts.clone())])
                .expect("fits");
        let batch = Batch { columns, rows: Rows::Same(3), records: Arc::default(), closed_at: CLOSED_AT };
        let (out, _) = run(Bench::new(&text).transform().expect("opens").as_mut(), batch);
        assert_eq!(out.columns.column(1).as_ref(), &texts as &dyn Array);
        assert_eq!(out.rows, Rows::Same(3));
    }
}

#[test]
fn columns_that_travel_follow_their_rows() {
    // Of three rows the guest leaves out the second and doubles the first: it answers three rows, so their texts are the old ones.
    let more = r#"(data (i32.const 600) "\00\00\00\00\00\00\00\00\02\00\00\00")"#;
    let process = answer(("(local.get $p)", "(local.get $n)"), Some((600, 3)), 0);
    let mut step = Bench::new(&transform(&Text { more, process: &process, ..Text::default() })).transform().expect("opens");
    let (out, rejects) = run(step.as_mut(), batch(&["a", "b", "c"]));
    assert_eq!(cells(&out), (vec![0, 0, 2], vec!["a", "b", "c"]));
    assert_eq!(out.rows.iter().collect::<Vec<_>>(), [100, 100, 102]);
    assert!(rejects.is_empty());
}

#[test]
fn only_what_is_needed_is_read() {
    let step = Bench::new(&transform(&Text::default())).transform().expect("opens");
    assert_eq!((step.reads(&[0]), step.reads(&[1]), step.reads(&[])), (vec![0, 1], vec![1], vec![1]));
    let validator = Bench::new(&validator(&Text::default())).validator().expect("opens");
    assert_eq!(validator.reads(), Some(vec![1]));
}

#[test]
fn a_batch_is_cut_to_four_mebibytes() {
    // The guest has room for one such part only.
    let long = "z".repeat(1_000);
    let texts = vec![long.as_str(); 20_000];
    let mut step = Bench::new(&transform(&Text::default())).memory(6 << 20).transform().expect("opens");
    let (out, rejects) = run(step.as_mut(), batch(&texts));
    assert_eq!((out.columns.num_rows(), rejects.len()), (20_000, 0));
    assert_eq!(cells(&out).0, (0..20_000).collect::<Vec<_>>());
    assert_eq!(out.rows.iter().collect::<Vec<_>>(), (100..20_100).collect::<Vec<_>>());
    let huge = "z".repeat(5 << 20);
    let (out, rejects) = run(step.as_mut(), batch(&["a", &huge, "b"]));
    assert_eq!(cells(&out), (vec![0, 2], vec!["a", "b"]));
    let words = "component guest is given at most 4 MiB: the columns it asks for take more in this record";
    assert_eq!(errors(&rejects), [(101, String::new(), "component".to_owned(), words.to_owned())]);
}

#[test]
fn rejects_of_a_guest_arrive_under_their_records() {
    let refuse = reject(1, (516, 3), (520, 7));
    let process = refuse.clone() + &answer(("(local.get $p)", "(local.get $n)"), None, 1);
    let bench = Bench::new(&transform(&Text { process: &process, ..Text::default() }));
    let (out, rejects) = run(bench.transform().expect("opens").as_mut(), batch(&["a", "b", "c"]));
    assert_eq!(cells(&out), (vec![0, 2], vec!["a", "c"]));
    assert_eq!(errors(&rejects), [(101, "v".to_owned(), "bad".to_owned(), "no good".to_owned())]);

    let process = refuse
        + "(i32.store (i32.const 0) (i32.const 0)) (i32.store (i32.const 4) (i32.const 1024)) (i32.store (i32.const 8) (i32.const 1)) (return (i32.const 0))";
    let bench = Bench::new(&validator(&Text { process: &process, ..Text::default() }));
    let mut rejects = Rejects::default();
    bench.validator().expect("opens").validate(&batch(&["a", "b", "c"]), &mut rejects).expect("goes on");
    assert_eq!(errors(&rejects), [(101, "v".to_owned(), "bad".to_owned(), "no good".to_owned())]);
}

#[test]
fn words_about_a_protected_column_are_withheld() {
    let log = "(call $log (i32.const 3) (i32.const 0) (i32.const 20))";
    let process = log.to_owned() + &reject(1, (516, 3), (520, 7)) + &answer(("(local.get $p)", "(local.get $n)"), None, 1);
    let bench = Bench::new(&transform(&Text { process: &process, ..with_log() }));
    let said = lines(|| {
        let (_, rejects) = run(bench.protected().expect("opens").as_mut(), batch(&["a", "b"]));
        let words = "withheld, for the component sees a column with a privacy rule";
        assert_eq!(errors(&rejects), [(101, "v".to_owned(), "bad".to_owned(), words.to_owned())]);
    });
    assert!(said.iter().all(|line| !line.contains("hello")), "{said:?}");
    assert!(said.iter().any(|line| line.contains("dropped=1") && line.contains("withheld")), "{said:?}");

    // A path that is no column of the input could carry a value.
    let more = r#"(data (i32.const 512) "S")"#;
    let (process, columns) = (process.replace(log, ""), r#"(i32.store8 (i32.const 512) (i32.const 0x76))"#);
    let text = Text {
        more,
        open: columns,
        process: &("(i32.store8 (i32.const 512) (i32.const 0x53))".to_owned() + &process),
        ..Text::default()
    };
    let (_, rejects) = run(Bench::new(&transform(&text)).protected().expect("opens").as_mut(), batch(&["a", "b"]));
    assert_eq!(errors(&rejects)[0].1, "");
}

#[test]
fn words_of_an_error_about_a_protected_column_are_withheld() {
    let process = "(i32.store (i32.const 0) (i32.const 1)) (i32.store (i32.const 4) (i32.const 0))
        (i32.store (i32.const 8) (i32.const 520)) (i32.store (i32.const 12) (i32.const 7)) (return (i32.const 0))";
    let bench = Bench::new(&transform(&Text { process, ..Text::default() }));
    let error = bench.protected().expect("opens").process(batch(&["a"]), &mut Rejects::default()).expect_err("stops");
    assert!(error.message.ends_with("its words are withheld, for the component sees a column with a privacy rule"), "{error}");
    // An answer that breaks the contract is a row's fault; what was wrong could show a value too.
    let boom = answer(("(i32.const 512)", "(i32.const 16)"), None, 0);
    let bench = Bench::new(&transform(&Text { boom: &boom, ..Text::default() }));
    let (_, rejects) = run(bench.protected().expect("opens").as_mut(), batch(&["BOOM", "a"]));
    let words = "component guest gave an answer that breaks the contract; why is withheld, for the component sees a column with a privacy rule";
    assert_eq!(errors(&rejects)[0].3, words);
}

#[test]
fn an_instance_is_reused_until_it_fails() {
    // The guest refuses a row with as many bytes of message as calls it has had.
    let more = "(global $calls (mut i32) (i32.const 0))";
    let process = "(global.set $calls (i32.add (global.get $calls) (i32.const 1)))".to_owned()
        + &reject(0, (516, 3), (520, 7))
            .replace("(i32.store (i32.const 1048) (i32.const 7))", "(i32.store (i32.const 1048) (global.get $calls))")
        + "(if (i32.eqz (call $sees)) (then "
        + &answer(("(local.get $p)", "(local.get $n)"), None, 1)
        + "))";
    let bench = Bench::new(&transform(&Text { more, process: &process, boom: "unreachable", ..Text::default() }));
    let mut step = bench.transform().expect("opens");
    let mut said = |texts: &[&str]| errors(&run(step.as_mut(), batch(texts)).1).into_iter().map(|e| e.3).collect::<Vec<_>>();
    assert_eq!((said(&["a"]), said(&["b"]), said(&["c"])), (vec!["n".into()], vec!["no".into()], vec!["no ".into()]));
    said(&["BOOM"]);
    assert_eq!(said(&["d"]), ["n"]);
}

#[test]
fn an_instance_whose_memory_has_grown_much_is_given_back() {
    // It leaks half a mebibyte with each call: without a new one now and then it would fail after thirty.
    let process = "(if (i32.eq (memory.grow (i32.const 8)) (i32.const -1)) (then unreachable))";
    let mut step = Bench::new(&transform(&Text { process, ..Text::default() })).transform().expect("opens");
    for _ in 0..100 {
        assert_eq!(run(step.as_mut(), batch(&["a", "b"])).1.len(), 0);
    }
}

const CLOCKS: &str = r#"
  (import "wasi:io/poll@0.2.3" (instance $poll
    (export "pollable" (type $pollable (sub resource)))
    (export "[method]pollable.block" (func (param "self" (borrow $pollable))))))
  (alias export $poll "pollable" (type $pollable))
  (import "wasi:clocks/monotonic-clock@0.2.3" (instance $clock
    (export "pollable" (type $p (eq $pollable)))
    (export "subscribe-duration" (func (param "when" u64) (result (own $p))))))
  (core func $sleep' (canon lower (func $clock "subscribe-duration")))
  (core func $block' (canon lower (func $poll "[method]pollable.block")))
  (core instance $waits (export "sleep" (func $sleep')) (export "block" (func $block')))"#;

#[test]
fn a_guest_that_sleeps_wakes_at_once() {
    let text = Text {
        imports: CLOCKS,
        with: r#"(with "waits" (instance $waits))"#,
        core_imports: r#"(import "waits" "sleep" (func $sleep (param i64) (result i32))) (import "waits" "block" (func $block (param i32)))"#,
        process: "(call $block (call $sleep (i64.const 3600000000000)))",
        ..Text::default()
    };
    let began = std::time::Instant::now();
    let (out, _) = run(Bench::new(&transform(&text)).transform().expect("opens").as_mut(), batch(&["a"]));
    assert_eq!(cells(&out).1, ["a"]);
    assert!(began.elapsed() < std::time::Duration::from_secs(20));
}

#[test]
fn b157_handles_are_bounded() {
    let text = Text {
        imports: CLOCKS,
        with: r#"(with "waits" (instance $waits))"#,
        core_imports: r#"(import "waits" "sleep" (func $sleep (param i64) (result i32)))"#,
        boom: "(loop $l (drop (call $sleep (i64.const 1))) (br $l))",
        ..Text::default()
    };
    let (out, rejects) = run(Bench::new(&transform(&text)).transform().expect("opens").as_mut(), batch(&["a", "BOOM"]));
    assert_eq!(cells(&out).1, ["a"]);
    assert!(errors(&rejects)[0].3.starts_with("component guest broke the contract: "), "{rejects:?}");
}

#[test]
fn b160_standard_output_goes_to_the_log() {
    let imports = r#"
  (import "wasi:io/error@0.2.0" (instance $errors (export "error" (type (sub resource)))))
  (alias export $errors "error" (type $error-resource))
  (import "wasi:io/streams@0.2.0" (instance $streams
    (export "output-stream" (type $out (sub resource)))
    (export "error" (type $e (eq $error-resource)))
    (type $failed' (variant (case "last-operation-failed" (own $e)) (case "closed")))
    (export "stream-error" (type $failed (eq $failed')))
    (export "[method]output-stream.blocking-write-and-flush" (func (param "self" (borrow $out)) (param "contents" (list u8)) (result (result (error $failed)))))))
  (alias export $streams "output-stream" (type $out))
  (import "wasi:cli/stderr@0.2.0" (instance $stderr
    (export "output-stream" (type $o (eq $out)))
    (export "get-stderr" (func (result (own $o))))))
  (core module $lend (memory (export "memory") 1) (data (i32.const 0) "first line\nsecond line\n"))
  (core instance $lent (instantiate $lend))
  (core func $stderr' (canon lower (func $stderr "get-stderr")))
  (core func $write' (canon lower (func $streams "[method]output-stream.blocking-write-and-flush") (memory (core memory $lent "memory"))))
  (core instance $outs (export "stderr" (func $stderr')) (export "write" (func $write')))"#;
    let text = Text {
        imports,
        with: r#"(with "outs" (instance $outs))"#,
        core_imports: r#"(import "outs" "stderr" (func $stderr (result i32))) (import "outs" "write" (func $write (param i32 i32 i32 i32)))"#,
        process: "(call $write (call $stderr) (i32.const 0) (i32.const 23) (i32.const 1024))",
        ..Text::default()
    };
    let bench = Bench::new(&transform(&text));
    let said = lines(|| {
        run(bench.transform().expect("opens").as_mut(), batch(&["a"]));
    });
    assert_eq!(said.len(), 2, "{said:?}");
    assert!(said[0].starts_with("WARN message=first line ") && said[1].starts_with("WARN message=second line "), "{said:?}");
}

fn refused(bench: &Bench) -> String {
    let error = bench.transform().err().expect("refused");
    assert_eq!(error.domain, Domain::Config);
    assert!(error.message.starts_with("component guest"), "{error}");
    error.message
}

#[test]
fn b160_what_is_not_granted_is_called_by_name() {
    let text =
        Text { imports: r#"(import "wasi:http/outgoing-handler@0.2.0" (instance (export "handle" (func))))"#, ..Text::default() };
    let words = refused(&Bench::new(&transform(&text)));
    assert!(words.contains("it imports wasi:http/outgoing-handler@0.2.0; granted are sluicebox:component/log@0.1.0"), "{words}");
    let text =
        Text { imports: r#"(import "wasi:cli/environment@0.2.0" (instance (export "no-such" (func))))"#, ..Text::default() };
    let words = refused(&Bench::new(&transform(&text)));
    assert!(words.contains("its imports do not fit what is granted") && words.contains("no-such"), "{words}");
}

#[test]
fn b161_another_contract_is_called_by_name() {
    let words = refused(&Bench::new("(component)"));
    assert!(words.contains("it exports nothing; expected one of sluicebox:component/batch-validator@0.1.0"), "{words}");
    let words = refused(&Bench::new(&transform(&Text::default()).replace("batch-transform@0.1.0", "batch-transform@0.2.0")));
    assert!(words.contains("sluicebox:component/batch-transform@0.2.0; expected one of"), "{words}");
    let words = refused(&Bench::new(&validator(&Text::default())));
    assert!(words.contains("it is a validator, not a transform: name it under `validate` of a column"), "{words}");
    let other = transform(&Text::default()).replace("(param \"batch\" $rows)", "(param \"batch\" string)");
    let words = refused(&Bench::new(&other));
    assert!(words.contains("it does not fit the contract: ") && words.contains("expected `list` found `string`"), "{words}");
}

#[test]
fn a_component_without_a_name_is_refused() {
    let error = Bench::new("(component)")
        .components()
        .transform(&ComponentName::new("other"), context(None, &[]))
        .err()
        .expect("refused");
    assert_eq!(error.message, "there is no component `other`");
}

#[test]
fn b161_a_file_that_is_swapped_changes_nothing_that_runs() {
    let bench = Bench::new(&transform(&Text { boom: "unreachable", ..Text::default() }));
    let mut step = bench.transform().expect("opens");
    std::fs::write(bench.path(), "nonsense").expect("writes");
    let (out, rejects) = run(step.as_mut(), batch(&["a", "BOOM", "b"]));
    assert_eq!((cells(&out).1, rejects.len()), (vec!["a", "b"], 1));
    assert!(refused(&bench).contains("is no component that this version can run"));
}

#[test]
fn many_guests_run_side_by_side() {
    let loops = Bench::new(&transform(&Text { boom: "(loop $l (br $l))", ..Text::default() }));
    let behaves = Bench::new(&transform(&Text::default()));
    std::thread::scope(|scope| {
        for _ in 0..4 {
            scope.spawn(|| {
                let mut step = loops.transform().expect("opens");
                assert_eq!(run(step.as_mut(), batch(&["a", "BOOM"])).1.len(), 1);
            });
            scope.spawn(|| {
                let mut step = behaves.transform().expect("opens");
                for _ in 0..200 {
                    assert_eq!(run(step.as_mut(), batch(&["a", "BOOM"])).1.len(), 0);
                }
            });
        }
    });
}
