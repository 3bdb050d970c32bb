//! What happens to rows: filters, computed values, failures, splits.

use std::sync::Arc;

use arrow_array::types::Int64Type;
use arrow_array::{ArrayRef, Decimal128Array, Float64Array, Int64Array, ListArray, RecordBatch, StringArray, UInt32Array};
use arrow_schema::DataType;
use proptest::prelude::*;
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::port::{Planner, Script, Step};
use sluicebox_core::reject::Rejects;

use super::{Answer, batch, columns, one, process, run, sql, text};
use crate::SqlPlanner;

fn ints(values: Vec<Option<i64>>) -> ArrayRef {
    Arc::new(Int64Array::from(values))
}

fn texts(values: Vec<Option<&str>>) -> ArrayRef {
    Arc::new(StringArray::from(values))
}

fn numbers() -> RecordBatch {
    columns(vec![("n", ints(vec![Some(10), Some(20), None, Some(40)])), ("d", ints(vec![Some(2), Some(0), Some(0), None]))])
}

#[test]
fn a_filter_keeps_rows_and_their_records() {
    let input = columns(vec![
        ("user_id", ints(vec![Some(1), Some(2), Some(3), Some(4)])),
        ("event_type", texts(vec![Some("click"), Some("heartbeat"), None, Some("view")])),
    ]);
    let answer = run("SELECT event_type, user_id FROM message WHERE event_type <> 'heartbeat'", input);
    assert_eq!(answer.rows, [(0, vec!["click".into(), "1".into()]), (3, vec!["view".into(), "4".into()])]);
    assert_eq!(answer.rejects, [], "a condition that is null filters the row");
}

#[test]
fn numbers_of_rows_are_translated_to_records() {
    let mut input = batch(numbers());
    input.rows = Rows::Numbers(UInt32Array::from(vec![3, 5, 5, 9]));
    let mut step = sql("SELECT n FROM message WHERE n >= 20", &input.columns.schema()).expect("plans");
    assert_eq!(process(step.as_mut(), input).rows, [(5, vec!["20".into()]), (9, vec!["40".into()])]);
}

#[test]
fn nothing_changed_keeps_the_rows_as_they_are() {
    let mut step = sql("SELECT n + 0 AS n FROM message WHERE n IS NOT NULL OR d = 0", &numbers().schema()).expect("plans");
    let out = step.process(batch(numbers()), &mut Rejects::default()).expect("runs");
    assert_eq!(out.rows, Rows::Same(4));
}

#[test]
fn subqueries_in_from_and_ctes_that_are_row_local_work() {
    let statement = "WITH a AS (SELECT n, d FROM message WHERE n > 5), b AS (SELECT n * 2 AS twice, d FROM a AS x) \
                     SELECT s.twice + 1 AS more FROM (SELECT twice FROM b WHERE d IS NOT NULL) AS s";
    assert_eq!(one(statement, numbers()), ["21", "41"]);
}

#[test]
fn an_unnest_gives_many_rows_of_one_record() {
    let tags = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![
        Some(vec![Some(1), Some(2)]),
        Some(vec![]),
        None,
        Some(vec![Some(7)]),
    ]);
    let input = columns(vec![("id", ints(vec![Some(10), Some(11), Some(12), Some(13)])), ("tags", Arc::new(tags))]);
    let answer = run("SELECT id, unnest(tags) AS tag FROM message", input.clone());
    let row = |record, id: &str, tag: &str| (record, vec![id.to_owned(), tag.to_owned()]);
    assert_eq!(answer.rows, [row(0, "10", "1"), row(0, "10", "2"), row(3, "13", "7")]);
    let answer = run("SELECT id / tag AS q FROM (SELECT id, unnest(tags) - 1 AS tag FROM message WHERE id < 13)", input);
    assert_eq!(answer.rows, [], "all rows of a record go when one of them is refused");
    assert_eq!(answer.rejects, [(0, "q".into(), "sql step 1: `id / (unnest(tags) - 1)`: division by zero".into())]);
}

#[test]
fn b127_a_case_guards_a_division() {
    let input = columns(vec![("n", ints(vec![Some(10), Some(-3), Some(9)])), ("d", ints(vec![Some(2), Some(0), Some(0)]))]);
    let statement =
        "SELECT CASE WHEN d > 0 THEN n / d ELSE 0 END AS r, CASE WHEN d > 0 AND n > 0 THEN n / d ELSE 0 END AS s FROM message";
    assert_eq!(one(statement, input), ["5|5", "0|0", "0|0"]);
}

#[test]
fn a_condition_guards_what_stands_behind_it() {
    assert_eq!(one("SELECT n FROM message WHERE d <> 0 AND n / d > 1", numbers()), ["10"]);
    assert_eq!(one("SELECT q FROM (SELECT n / d AS q FROM message WHERE d <> 0) WHERE q > 1", numbers()), ["5"]);
}

#[test]
fn b128_division_by_zero_refuses_its_row_whatever_the_plan() {
    let values: Vec<Option<i64>> = (0..1000).map(|i| Some(i64::from(i != 500))).collect();
    let not_null = RecordBatch::try_from_iter([("n", ints(vec![Some(7); 1000])), ("d", ints(values))]).expect("columns");
    for input in [not_null.clone(), columns(vec![("n", not_null.column(0).clone()), ("d", not_null.column(1).clone())])] {
        let answer = run("SELECT n / d AS q FROM message", input);
        assert_eq!(answer.rows.len(), 999);
        assert_eq!(answer.rejects, [(500, "q".into(), "sql step 1: `n / d`: division by zero".into())]);
    }
    let answer = run("SELECT n / 0 AS q FROM message", columns(vec![("n", ints(vec![Some(1), Some(2)]))]));
    assert_eq!(answer.rows, []);
    let message = "sql step 1: `n / 0`: division by zero";
    assert_eq!(answer.rejects, [(0, "q".into(), message.into()), (1, "q".into(), message.into())]);
    assert_eq!(one("SELECT n / d AS q FROM message WHERE n IS NULL", numbers()), ["null"], "null divided by zero is null");
}

#[test]
fn b130_b017_floats_divide_as_ieee_says_nullable_or_not() {
    let values: ArrayRef = Arc::new(Float64Array::from(vec![1.0, -1.0, 0.0]));
    let zeros: ArrayRef = Arc::new(Float64Array::from(vec![0.0, 0.0, 0.0]));
    let not_null = RecordBatch::try_from_iter([("x", values.clone()), ("z", zeros.clone())]).expect("columns");
    for input in [not_null, columns(vec![("x", values), ("z", zeros)])] {
        assert_eq!(one("SELECT x / z AS a, x / 0.0 AS b FROM message", input), ["inf|inf", "-inf|-inf", "NaN|NaN"]);
    }
    let input = columns(vec![("id", ints(vec![Some(1)]))]);
    assert_eq!(one("SELECT 1e308 * 10.0 AS x, -0.0 AS z FROM message", input), ["inf|-0.0"]);
}

#[test]
fn integers_that_overflow_refuse_their_row() {
    let input = columns(vec![("n", ints(vec![Some(1), Some(i64::MAX), Some(i64::MIN)]))]);
    for (expression, refused) in [("n + 1", 1), ("n - 1", 2), ("-n", 2), ("abs(n)", 2), ("n / -1", 2)] {
        let answer = run(&format!("SELECT {expression} AS x FROM message"), input.clone());
        assert_eq!(answer.rejects.iter().map(|r| r.0).collect::<Vec<_>>(), [refused], "{expression} {answer:?}");
        assert_eq!(answer.rows.len(), 2, "{expression}");
    }
    let answer = run("SELECT n * 2 AS x FROM message", input);
    assert_eq!(answer.rejects.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 2]);
    let schema = numbers().schema();
    let error = sql("SELECT 9223372036854775807 + 1 AS x, n FROM message", &schema).err().expect("refused");
    assert!(error.contains("fails on every row"), "{error}");
}

#[test]
fn decimals_that_overflow_refuse_their_row() {
    let digits = 10_i128.pow(38) - 1;
    let decimals = Decimal128Array::from(vec![5, digits, digits / 2, 6 * 10_i128.pow(37)])
        .with_precision_and_scale(38, 0)
        .expect("38 digits");
    let input = columns(vec![("x", Arc::new(decimals))]);
    for expression in ["x + x", "x - (-x)", "x * 2"] {
        let answer = run(&format!("SELECT {expression} AS y FROM message"), input.clone());
        assert_eq!(answer.rejects.iter().map(|r| r.0).collect::<Vec<_>>(), [1, 3], "{expression} {answer:?}");
    }
}

#[test]
fn b024_a_cast_keeps_the_type_that_was_asked_and_refuses_what_does_not_fit() {
    let input = columns(vec![("a", texts(vec![Some("7"), Some("3000000000"), Some("x"), None]))]);
    let mut step = sql("SELECT CAST(a AS INT) AS i, CAST(a AS DECIMAL(10,2)) AS d FROM message", &input.schema()).expect("plans");
    let types: Vec<DataType> = step.output().fields().iter().map(|f| f.data_type().clone()).collect();
    assert_eq!(types, [DataType::Int32, DataType::Decimal128(10, 2)]);
    let answer = process(step.as_mut(), batch(input));
    assert_eq!(answer.rows, [(0, vec!["7".into(), "7.00".into()]), (3, vec!["null".into(), "null".into()])]);
    let message = |value| format!("sql step 1: `CAST(a AS INTEGER)`: cannot cast string '{value}' to value of Int32 type");
    assert_eq!(answer.rejects, [(1, "i".into(), message("3000000000")), (2, "i".into(), message("x"))]);
}

#[test]
fn text_stays_utf8() {
    let input = columns(vec![("a", texts(vec![Some("Ab"), None]))]);
    let statement =
        "SELECT a, upper(a) AS u, substr(a, 1, 1) AS s, CAST(1 AS VARCHAR) AS c, NULL AS n, a || 'x' AS j FROM message";
    let mut step = sql(statement, &input.schema()).expect("plans");
    for field in step.output().fields() {
        assert_eq!(field.data_type(), &DataType::Utf8, "{}", field.name());
    }
    let rows = process(step.as_mut(), batch(input)).rows;
    assert_eq!(rows[0].1, ["Ab", "AB", "A", "1", "null", "Abx"]);
}

#[test]
fn an_empty_batch_gives_an_empty_batch() {
    for statement in ["SELECT 1 / 0 AS x, n FROM message", "SELECT n FROM message WHERE n / d > 1", "SELECT * FROM message"] {
        assert_eq!(run(statement, numbers().slice(0, 0)), Answer::default(), "{statement}");
    }
}

#[test]
fn a_step_reads_only_what_it_needs() {
    let input = columns(vec![("a", ints(vec![])), ("b", ints(vec![])), ("c", ints(vec![])), ("d", ints(vec![]))]);
    let reads = |statement: &str, wanted: &[usize]| sql(statement, &input.schema()).expect("plans").reads(wanted);
    assert_eq!(reads("SELECT c, a FROM message WHERE b > 1", &[0, 1]), [0, 1, 2]);
    assert_eq!(reads("SELECT * FROM message WHERE b > 1", &[0, 3]), [0, 1, 3]);
    assert_eq!(reads("SELECT * FROM message", &[2]), [2]);
    assert_eq!(reads("SELECT a FROM (SELECT a, b FROM message)", &[0]), [0, 1], "a name in the text must be there to be planned");
    assert_eq!(reads("SELECT 1 AS one FROM message", &[0]), Vec::<usize>::new());
    let rows = one("SELECT 1 AS one FROM message", numbers().project(&[]).expect("no columns"));
    assert_eq!(rows, ["1", "1", "1", "1"], "rows are counted without columns");
}

#[test]
fn scripts_keep_all_columns_and_see_the_ones_before() {
    let input = columns(vec![("quantity", ints(vec![Some(2), Some(3)])), ("price", ints(vec![Some(10), Some(i64::MAX)]))]);
    let script =
        |column: &str, expression: &str, data_type| Script { column: column.into(), expression: expression.into(), data_type };
    let scripts = [
        script("total", "quantity * price", DataType::Decimal128(14, 2)),
        script("quantity", "quantity + 1", DataType::Int64),
        script("label", "concat(quantity, ':', total)", DataType::Utf8),
    ];
    let mut step = SqlPlanner::new().scripts(&scripts, &input.schema()).expect("plans");
    let names: Vec<_> = step.output().fields().iter().map(|f| format!("{} {}", f.name(), f.data_type())).collect();
    assert_eq!(names, ["quantity Int64", "price Int64", "total Decimal128(14, 2)", "label Utf8"]);
    assert_eq!(step.reads(&[0]), [0, 1]);
    let answer = process(step.as_mut(), batch(input));
    assert_eq!(answer.rows, [(0, vec!["3".into(), "10".into(), "20.00".into(), "3:20.00".into()])]);
    assert_eq!(answer.rejects.len(), 1);
    assert!(answer.rejects[0].2.starts_with("script: `"), "{:?}", answer.rejects);
}

#[test]
fn a_condition_filters_rows_for_which_it_is_not_true() {
    let mut step = SqlPlanner::new().filter("filter", "N > 10 AND d = 0", &numbers().schema()).expect("plans");
    assert_eq!(step.reads(&[0, 1]), [0, 1]);
    assert_eq!(process(step.as_mut(), batch(numbers())).rows, [(1, vec!["20".into(), "0".into()])]);
    let error = SqlPlanner::new().filter("where", "n + 1", &numbers().schema()).err().expect("refused").to_string();
    assert!(error.starts_with("where: "), "{error}");
}

proptest! {
    /// Invariant 5 for steps: where a batch ends changes neither rows nor rejects.
    #[test]
    fn any_split_gives_the_same_rows_and_rejects(
        rows in prop::collection::vec((prop::option::of(-3i64..4), prop::option::of(-1i64..3), prop::sample::select(vec!["1", "2", "x", ""])), 0..40),
        cuts in prop::collection::vec(0usize..40, 0..5),
        which in 0usize..5,
    ) {
        const STATEMENTS: [&str; 5] = [
            "SELECT n / d AS q, t FROM message WHERE n > -2",
            "SELECT CAST(t AS BIGINT) + n AS s FROM message WHERE d <> 0 AND n / d > -2",
            "SELECT n FROM message WHERE (n > 0 OR n / d = 1) AND CAST(t AS INT) = 1",
            "SELECT CASE WHEN d <> 0 THEN n / d WHEN n > 0 THEN CAST(t AS BIGINT) END AS c FROM message",
            "SELECT q FROM (SELECT n / d AS q, n FROM message) WHERE n > 0 AND q IS NOT NULL",
        ];
        let input = columns(vec![
            ("n", ints(rows.iter().map(|r| r.0).collect())),
            ("d", ints(rows.iter().map(|r| r.1).collect())),
            ("t", texts(rows.iter().map(|r| Some(r.2)).collect())),
        ]);
        let mut step = sql(STATEMENTS[which], &input.schema()).expect("plans");
        let whole = process(step.as_mut(), batch(input.clone()));
        let mut bounds: Vec<usize> = cuts.into_iter().map(|c| c.min(rows.len())).chain([0, rows.len()]).collect();
        bounds.sort_unstable();
        let mut parts = Answer::default();
        for pair in bounds.windows(2) {
            let part: Batch = batch(input.clone()).slice(pair[0], pair[1] - pair[0]);
            let answer = process(step.as_mut(), part);
            parts.rows.extend(answer.rows);
            parts.rejects.extend(answer.rejects);
        }
        prop_assert_eq!(whole, parts);
    }
}

#[test]
fn a_struct_field_is_read_by_its_name() {
    let os: ArrayRef = texts(vec![Some("linux")]);
    let device = arrow_array::StructArray::from(vec![(Arc::new(arrow_schema::Field::new("os", DataType::Utf8, true)), os)]);
    let input = columns(vec![("device", Arc::new(device))]);
    assert_eq!(
        one("SELECT device.os AS a, device['os'] AS b, Device.os AS c FROM message", input.clone()),
        ["linux|linux|linux"]
    );
    assert_eq!(text(&input).len(), 1);
}

#[test]
fn a_step_is_planned_over_its_input_only() {
    let mut step = sql("SELECT n FROM message", &numbers().schema()).expect("plans");
    let other = batch(columns(vec![("n", ints(vec![Some(1)]))]));
    let error = Step::process(step.as_mut(), other, &mut Rejects::default()).expect_err("misfit").to_string();
    assert_eq!(error, "sql step 1: planned over 2 columns, got 1");
}
