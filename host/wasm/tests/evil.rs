//! Guests that do what they must not: the host lives, innocent rows arrive, the guilty ones are refused with words (invariants 6, 7).
mod guest;

use std::time::Duration;

use guest::{Bench, Text, answer, batch, cells, errors, reject, transform, validator, with_log};
use sluicebox_core::batch::Batch;
use sluicebox_core::error::{Domain, Error, Retry};
use sluicebox_core::port::Step;
use sluicebox_core::reject::Rejects;

const ROWS: [&str; 7] = ["a", "b", "BOOM 1", "c", "d", "BOOM 2", "e"];

fn run(step: &mut dyn Step, texts: &[&str]) -> Result<(Batch, Rejects), Error> {
    let mut rejects = Rejects::default();
    let batch = step.process(batch(texts), &mut rejects)?;
    Ok((batch, rejects))
}

/// Runs the seven rows through a guest that does `boom` when it sees one of two; the others must arrive, the two be refused with
/// these words, and the next batch pass whole.
fn only_the_guilty(bench: &Bench, words: &str) {
    let mut step = bench.transform().expect("opens");
    let (out, rejects) = run(step.as_mut(), &ROWS).expect("goes on");
    assert_eq!(cells(&out), (vec![0, 1, 3, 4, 6], vec!["a", "b", "c", "d", "e"]));
    assert_eq!(out.rows.iter().collect::<Vec<_>>(), [100, 101, 103, 104, 106]);
    let words = format!("component guest {words}");
    let expected = [102, 105].map(|record| (record, String::new(), "component".to_owned(), words.clone()));
    assert_eq!(errors(&rejects), expected);
    let (out, rejects) = run(step.as_mut(), &["x", "y"]).expect("goes on");
    assert_eq!((cells(&out), rejects.len()), ((vec![0, 1], vec!["x", "y"]), 0));
}

fn boom(boom: &str, words: &str) {
    only_the_guilty(&Bench::new(&transform(&Text { boom, ..Text::default() })), words);
}

#[test]
fn b147_an_endless_loop_is_stopped() {
    boom("(loop $l (br $l))", "overran its limit of 100ms CPU");
}

#[test]
fn b151_a_trap_costs_its_row_alone() {
    boom("unreachable", "trapped: wasm `unreachable` instruction executed");
}

#[test]
fn b162_endless_recursion_ends_in_the_sandbox() {
    let text = Text {
        more: "(func $deep (param i64 i64) (result i64) (i64.add (call $deep (local.get 1) (local.get 0)) (local.get 0)))",
        boom: "(drop (call $deep (i64.const 1) (i64.const 2)))",
        ..Text::default()
    };
    only_the_guilty(&Bench::new(&transform(&text)), "trapped: call stack exhausted");
}

#[test]
fn b149_memory_is_bounded() {
    let text =
        Text { boom: "(loop $l (br_if $l (i32.ne (memory.grow (i32.const 16)) (i32.const -1)))) unreachable", ..Text::default() };
    let words = "ran out of its 16 MiB of memory: trapped: wasm `unreachable` instruction executed";
    only_the_guilty(&Bench::new(&transform(&text)), words);
}

#[test]
fn b149_tables_are_bounded() {
    let text = Text {
        more: "(table $t 1 funcref)",
        boom: "(loop $l (br_if $l (i32.ne (table.grow $t (ref.null func) (i32.const 1000)) (i32.const -1)))) unreachable",
        ..Text::default()
    };
    let words = "ran out of its 20000 table entries: trapped: wasm `unreachable` instruction executed";
    only_the_guilty(&Bench::new(&transform(&text)), words);
}

#[test]
fn b149_the_process_stays_small_whatever_a_guest_takes() {
    let resident = || {
        let status = std::fs::read_to_string("/proc/self/status").expect("a status");
        let line = status.lines().find(|line| line.starts_with("VmRSS:")).expect("a line");
        line.split_whitespace().nth(1).and_then(|kib| kib.parse::<usize>().ok()).expect("a number") >> 10
    };
    // Each page is written to, so it is resident.
    let text = Text {
        more: "(global $page (mut i32) (i32.const 0))",
        boom: "(loop $l (global.set $page (memory.grow (i32.const 1)))
                 (if (i32.ne (global.get $page) (i32.const -1))
                   (then (memory.fill (i32.mul (global.get $page) (i32.const 65536)) (i32.const 7) (i32.const 65536)) (br $l)))) unreachable",
        ..Text::default()
    };
    let bench = Bench::new(&transform(&text)).memory(32 << 20);
    let mut steps: Vec<_> = (0..4).map(|_| bench.transform().expect("opens")).collect();
    let before = resident();
    for _ in 0..3 {
        for step in &mut steps {
            run(step.as_mut(), &ROWS).expect("goes on");
        }
    }
    let grown = resident().saturating_sub(before);
    assert!(grown < 120, "{grown} MiB more");
}

#[test]
fn b149_a_component_that_begins_too_large_is_refused() {
    let bench = Bench::new(&transform(&Text::default())).memory(64 << 10);
    let error = bench.transform().err().expect("refused").message;
    assert!(error.contains("component guest") && error.contains("64 KiB"), "{error}");
}

#[test]
fn b159_pointers_out_of_bounds_are_seen() {
    let answer = answer(("(i32.const 0xfffffff0)", "(i32.const 100)"), None, 0);
    boom(&answer, "broke the contract: list pointer/length out of bounds of memory");
    boom("(return (i32.const 0x7ffffff0))", "broke the contract: pointer out of bounds of memory");
}

#[test]
fn b159_text_that_is_not_utf8_is_seen() {
    let reject = reject(0, (516, 3), (530, 2)) + &answer(("(local.get $p)", "(local.get $n)"), None, 1);
    boom(&reject, "broke the contract: invalid utf-8 sequence of 1 bytes from index 0");
}

#[test]
fn b159_a_case_that_does_not_exist_is_seen() {
    boom("(i32.store (i32.const 0) (i32.const 99)) (return (i32.const 0))", "broke the contract: invalid expected discriminant");
}

#[test]
fn b159_a_realloc_that_answers_nonsense_is_seen() {
    // Only large calls fail: the large row is guilty, whatever else is in its batch.
    let large = format!("large {}", "x".repeat(300_000));
    for (realloc, words) in [
        (
            "(if (i32.gt_u (local.get $size) (i32.const 200000)) (then (return (i32.const 0xffffff00))))",
            "realloc return: beyond end of memory",
        ),
        ("(if (i32.gt_u (local.get $size) (i32.const 200000)) (then unreachable))", "wasm `unreachable` instruction executed"),
    ] {
        let bench = Bench::new(&transform(&Text { realloc, ..Text::default() }));
        let mut step = bench.transform().expect("opens");
        let (out, rejects) = run(step.as_mut(), &["a", &large, "b"]).expect("goes on");
        assert_eq!(cells(&out), (vec![0, 2], vec!["a", "b"]));
        let errors = errors(&rejects);
        assert!(errors.len() == 1 && errors[0].0 == 101 && errors[0].3.ends_with(words), "{errors:?}");
    }
}

#[test]
fn a_guest_without_memory_for_its_input_fails_on_large_rows_only() {
    let large = "x".repeat(700_000);
    let bench = Bench::new(&transform(&Text::default())).memory(512 << 10);
    let mut step = bench.transform().expect("opens");
    let (out, rejects) = run(step.as_mut(), &["a", &large, "b"]).expect("goes on");
    assert_eq!(cells(&out), (vec![0, 2], vec!["a", "b"]));
    assert_eq!(
        errors(&rejects)[0].3,
        "component guest ran out of its 512 KiB of memory: trapped: wasm `unreachable` instruction executed"
    );
}

#[test]
fn bytes_that_are_no_arrow_are_seen() {
    let no = "answered with bytes that are no Arrow IPC stream:";
    boom(&answer(("(i32.const 512)", "(i32.const 16)"), None, 0), &format!("{no} a message does not begin with its marker"));
    boom(&answer(("(i32.const 512)", "(i32.const 0)"), None, 0), &format!("{no} it is empty"));
    // The input again, without its end.
    let short = "(i32.sub (local.get $n) (i32.const 80))";
    boom(&answer(("(local.get $p)", short), None, 0), &format!("{no} the body of a message is cut short"));
    // A schema without a batch.
    boom(
        &answer(("(i32.const 2048)", &format!("(i32.const {})", guest::answered_schema().len())), None, 0),
        "answered with 0 batches in its stream, expected one",
    );
}

#[test]
fn wrong_row_numbers_are_seen() {
    let more = r#"(data (i32.const 600) "\ff\ff\ff\00") (data (i32.const 604) "\01\00\00\00\00\00\00\00")"#;
    let same = ("(local.get $p)", "(local.get $n)");
    let case = |boom: &str, words: &str| only_the_guilty(&Bench::new(&transform(&Text { more, boom, ..Text::default() })), words);
    // Each guilty row is alone in its call in the end.
    case(&answer(same, Some((600, 1)), 0), "answered with row numbers that do not rise or are not among the rows of the call");
    case(&answer(same, Some((604, 2)), 0), "answered with 1 rows and 2 row numbers");
    case(&(reject(7_000, (516, 3), (520, 7)) + &answer(same, None, 1)), "refused a row that is not among the rows of the call");
}

#[test]
fn row_numbers_that_fall_are_seen() {
    // Two rows per call from two rows of input, in the wrong order: only a batch of two makes it fail, so both are delivered alone.
    let more = r#"(data (i32.const 604) "\01\00\00\00\00\00\00\00")"#;
    let process = format!(
        "(if (i32.gt_u (local.get $n) (i32.const 1)) (then {}))",
        answer(("(local.get $p)", "(local.get $n)"), Some((604, 2)), 0)
    );
    let bench = Bench::new(&transform(&Text { more, process: &process, ..Text::default() }));
    let (out, rejects) = run(bench.transform().expect("opens").as_mut(), &["a", "b"]).expect("goes on");
    assert_eq!((out.columns.num_rows(), rejects.len()), (0, 2));
}

#[test]
fn a_code_that_the_plan_does_not_name_is_seen() {
    let reject = reject(0, (540, 8), (520, 7)) + &answer(("(local.get $p)", "(local.get $n)"), None, 1);
    boom(&reject, "refused a row with a code that its plan does not name");
}

#[test]
fn a_huge_answer_is_refused() {
    let text = Text { boom: &answer(("(i32.const 0)", "(i32.const 0x5000000)"), None, 0), more: "", ..Text::default() };
    let grown = Text { boom: &format!("(drop (memory.grow (i32.const 1300))) {}", text.boom), ..text };
    let bench = Bench::new(&transform(&grown)).memory(128 << 20);
    only_the_guilty(&bench, "answered with more than 64 MiB");
}

#[test]
fn b157_many_rejects_cannot_fill_the_host() {
    // Two million rejects that share one message of a megabyte: small in the guest, terabytes in the host.
    let text = Text {
        boom: "(drop (memory.grow (i32.const 1200)))
             (i32.store (i32.const 0) (i32.const 0)) (i32.store (i32.const 4) (local.get $p)) (i32.store (i32.const 8) (local.get $n))
             (i32.store (i32.const 12) (i32.const 0))
             (i32.store (i32.const 24) (i32.const 2000000)) (i32.store (i32.const 28) (i32.const 2000000)) (return (i32.const 0))",
        ..Text::default()
    };
    only_the_guilty(&Bench::new(&transform(&text)).memory(128 << 20), "answered with more than 64 MiB");
}

#[test]
fn b155_all_or_nothing_of_a_call() {
    // The guest has written its answer before it traps: nothing of it is seen.
    let boom = "(i32.store (i32.const 0) (i32.const 0)) (i32.store (i32.const 4) (local.get $p)) (i32.store (i32.const 8) (local.get $n)) unreachable";
    only_the_guilty(
        &Bench::new(&transform(&Text { boom, ..Text::default() })),
        "trapped: wasm `unreachable` instruction executed",
    );
}

#[test]
fn another_plan_than_before_stops_the_pipeline() {
    let text = Text {
        imports: r#"
  (import "wasi:clocks/wall-clock@0.2.0" (instance $clock
    (type $t' (record (field "seconds" u64) (field "nanoseconds" u32)))
    (export "datetime" (type $t (eq $t')))
    (export "now" (func (result $t)))))
  (core module $lend (memory (export "memory") 1))
  (core instance $lent (instantiate $lend))
  (core func $now' (canon lower (func $clock "now") (memory (core memory $lent "memory"))))
  (core module $read (import "l" "memory" (memory 1)) (import "l" "now" (func $now (param i32)))
    (func (export "second") (result i64) (call $now (i32.const 0)) (i64.load (i32.const 0))))
  (core instance $reading (instantiate $read (with "l" (instance (export "memory" (memory $lent "memory")) (export "now" (func $now'))))))"#,
        with: r#"(with "clock" (instance $reading))"#,
        core_imports: r#"(import "clock" "second" (func $second (result i64)))"#,
        // The first instance is opened before any batch, the next one within a batch: their clocks differ, so do the codes.
        open: r#"(if (i64.ne (call $second) (i64.const 0)) (then (i32.store8 (i32.const 516) (i32.const 0x64))))"#,
        boom: "unreachable",
        ..Text::default()
    };
    let bench = Bench::new(&transform(&text));
    let error = run(bench.transform().expect("opens").as_mut(), &ROWS).expect_err("stops");
    assert_eq!((error.domain, error.retry), (Domain::Guest, Retry::Never));
    assert!(error.message.starts_with("component guest ") && error.message.contains("another plan"), "{error}");
}

#[test]
fn a_component_that_fails_on_everything_stops_the_pipeline() {
    let bench = Bench::new(&transform(&Text { boom: "unreachable", ..Text::default() }));
    let mut step = bench.transform().expect("opens");
    for _ in 0..2 {
        assert_eq!(run(step.as_mut(), &["BOOM", "BOOM"]).expect("goes on").1.len(), 2);
    }
    run(step.as_mut(), &["BOOM", "well"]).expect("counts anew");
    for _ in 0..2 {
        run(step.as_mut(), &["BOOM", "BOOM"]).expect("goes on");
    }
    let error = run(step.as_mut(), &["BOOM", "BOOM"]).expect_err("stops");
    assert_eq!((error.domain, error.retry), (Domain::Guest, Retry::Never));
    assert!(error.message.contains("guest") && error.message.contains("every record of 3 batches in a row"), "{error}");
}

#[test]
fn isolation_has_a_budget() {
    let bench = Bench::new(&transform(&Text { boom: "(loop $l (br $l))", ..Text::default() })).cpu(Duration::from_millis(10));
    let mut texts = vec!["BOOM"; 300];
    texts.push("well");
    let error = run(bench.transform().expect("opens").as_mut(), &texts).expect_err("stops");
    assert_eq!((error.domain, error.retry), (Domain::Guest, Retry::Never));
    assert!(error.message.contains("guest") && error.message.contains("20 limits"), "{error}");
}

#[test]
fn isolation_finds_exactly_the_guilty_rows_of_many() {
    let guilty = [0usize, 1, 2_500, 4_095, 4_096, 9_999];
    let texts: Vec<&str> = (0..10_000).map(|row| if guilty.contains(&row) { "a BOOM" } else { "fine" }).collect();
    let bench = Bench::new(&transform(&Text { boom: "unreachable", ..Text::default() }));
    let (out, rejects) = run(bench.transform().expect("opens").as_mut(), &texts).expect("goes on");
    assert_eq!(rejects.iter().map(|(record, _)| record as usize - 100).collect::<Vec<_>>(), guilty);
    assert_eq!(out.columns.num_rows(), 9_994);
    assert!(out.rows.iter().all(|record| !guilty.contains(&(record as usize - 100))));
}

#[test]
fn errors_of_the_guest_stop_or_wait() {
    for (case, retry) in [(0, Retry::Never), (1, Retry::Backoff)] {
        let boom = format!(
            "(i32.store (i32.const 0) (i32.const 1)) (i32.store (i32.const 4) (i32.const {case}))
             (i32.store (i32.const 8) (i32.const 520)) (i32.store (i32.const 12) (i32.const 7)) (return (i32.const 0))"
        );
        let bench = Bench::new(&transform(&Text { boom: &boom, ..Text::default() }));
        let mut step = bench.transform().expect("opens");
        let error = run(step.as_mut(), &ROWS).expect_err("not a row's fault");
        assert_eq!((error.domain, error.retry), (Domain::Guest, retry));
        assert!(error.message.starts_with("component guest") && error.message.ends_with(": no good"), "{error}");
        run(step.as_mut(), &["a"]).expect("can be called again");
    }
}

#[test]
fn a_validator_is_isolated_too() {
    let bench = Bench::new(&validator(&Text { boom: "unreachable", ..Text::default() }));
    let mut rejects = Rejects::default();
    bench.validator().expect("opens").validate(&batch(&ROWS), &mut rejects).expect("goes on");
    let words = "component guest trapped: wasm `unreachable` instruction executed";
    let expected = [102, 105].map(|record| (record, "v".to_owned(), "component".to_owned(), words.to_owned()));
    assert_eq!(errors(&rejects), expected);
}

#[test]
fn a_flood_of_log_lines_is_bounded_and_counted() {
    let process = "(local $i i32) (loop $l (call $log (i32.const 1) (i32.const 0) (i32.const 20))
        (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 5000))))";
    let bench = Bench::new(&transform(&Text { process, ..with_log() }));
    let lines = guest::lines(|| {
        let mut step = bench.transform().expect("opens");
        run(step.as_mut(), &["a"]).expect("goes on");
        run(step.as_mut(), &["b"]).expect("goes on");
    });
    assert_eq!(lines.iter().filter(|line| line.contains("hello from the guest")).count(), 2_000);
    assert_eq!(lines.iter().filter(|line| line.contains("dropped=4000")).count(), 2, "{:?}", lines.last());
    assert!(lines.iter().all(|line| line.contains("default") && line.contains("orders") && line.contains("guest")));
}

#[test]
fn new_instances_of_a_batch_share_the_bound_of_its_log() {
    let process = "(local $i i32) (loop $l (call $log (i32.const 1) (i32.const 0) (i32.const 20))
        (local.set $i (i32.add (local.get $i) (i32.const 1))) (br_if $l (i32.lt_u (local.get $i) (i32.const 600))))";
    let bench = Bench::new(&transform(&Text { process, boom: "unreachable", ..with_log() }));
    let lines = guest::lines(|| {
        run(bench.transform().expect("opens").as_mut(), &ROWS).expect("goes on");
    });
    assert_eq!(
        lines.iter().filter(|line| line.contains("hello from the guest") || line.contains("wasm backtrace")).count(),
        1_000
    );
}

#[test]
fn b156_a_failure_is_logged_with_its_place_in_the_guest() {
    let more = "(func $broken_function unreachable)";
    let bench = Bench::new(&transform(&Text { more, boom: "(call $broken_function)", ..Text::default() }));
    let lines = guest::lines(|| {
        run(bench.transform().expect("opens").as_mut(), &["BOOM"]).expect("goes on");
    });
    assert!(lines.iter().any(|line| line.starts_with("DEBUG") && line.contains("broken_function")), "{lines:?}");
}

#[test]
fn a_guest_that_exits_fails_like_one_that_traps() {
    let text = Text {
        imports: r#"
  (import "wasi:cli/exit@0.2.0" (instance $exit (export "exit" (func (param "status" (result))))))
  (core func $exit' (canon lower (func $exit "exit")))
  (core instance $exits (export "exit" (func $exit')))"#,
        with: r#"(with "exits" (instance $exits))"#,
        core_imports: r#"(import "exits" "exit" (func $exit (param i32)))"#,
        boom: "(call $exit (i32.const 0))",
        ..Text::default()
    };
    only_the_guilty(&Bench::new(&transform(&text)), "trapped: it ended itself");
}

#[test]
fn a_long_log_line_is_cut() {
    let process = "(call $log (i32.const 2) (i32.const 0) (i32.const 60000))";
    let bench = Bench::new(&transform(&Text { process, ..with_log() }));
    let lines = guest::lines(|| {
        run(bench.transform().expect("opens").as_mut(), &["a"]).expect("goes on");
    });
    assert_eq!(lines.len(), 1);
    assert!((4_096..4_300).contains(&lines[0].len()), "{}", lines[0].len());
}
