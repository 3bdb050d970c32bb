//! Time: `now()`, zones, far years.

use std::process::Command;
use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, TimestampMicrosecondArray};
use arrow_schema::DataType;
use sluicebox_core::column::timestamp_type;

use super::{batch, columns, one, process, run, sql};

fn row() -> arrow_array::RecordBatch {
    let n: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    columns(vec![("n", n)])
}

#[test]
fn now_is_the_time_at_which_the_batch_was_closed() {
    let statement =
        "SELECT now() AS a, current_timestamp AS b, current_date AS c, current_date() AS d, current_time AS e FROM message";
    let mut step = sql(statement, &row().schema()).expect("plans");
    assert_eq!(step.output().field(0).data_type(), &timestamp_type());
    assert_eq!(step.output().field(2).data_type(), &DataType::Date32);
    for (closed_at, expected) in [
        (super::CLOSED_AT, "2024-05-06T07:08:09.000001Z|2024-05-06T07:08:09.000001Z|2024-05-06|2024-05-06|07:08:09.000001"),
        (-1, "1969-12-31T23:59:59.999999Z|1969-12-31T23:59:59.999999Z|1969-12-31|1969-12-31|23:59:59.999999"),
    ] {
        for _retry in 0..2 {
            let mut batch = batch(row());
            batch.closed_at = closed_at;
            let answer = process(step.as_mut(), batch);
            assert_eq!(answer.rows[0].1.join("|"), expected);
        }
    }
    assert_eq!(one("SELECT n FROM message WHERE now() > TIMESTAMP '2024-05-06T07:08:09Z'", row()), ["1"]);
    assert_eq!(one("SELECT n FROM message WHERE now() > TIMESTAMP '2024-05-06T07:08:10Z'", row()), Vec::<String>::new());
}

#[test]
fn b131_far_years_are_kept_or_refused_never_wrapped() {
    let micros = vec![-62_135_596_800_000_000, 253_402_300_799_000_000, 9_223_372_800_000_000];
    let ts: ArrayRef = Arc::new(TimestampMicrosecondArray::from(micros).with_timezone("UTC"));
    let input = columns(vec![("ts", ts)]);
    assert_eq!(
        one("SELECT ts, date_part('year', ts) AS y, CAST(ts AS DATE) AS d FROM message", input.clone()),
        ["0001-01-01T00:00:00Z|1|0001-01-01", "9999-12-31T23:59:59Z|9999|9999-12-31", "2262-04-12T00:00:00Z|2262|2262-04-12"]
    );
    // The library truncates by way of nanoseconds: what they cannot hold is refused.
    let answer = run("SELECT date_trunc('day', ts) AS d FROM message", input.clone());
    assert_eq!(answer.rejects.iter().map(|r| (r.0, r.1.as_str())).collect::<Vec<_>>(), [(0, "d"), (1, "d"), (2, "d")]);
    assert!(answer.rejects[0].2.contains("out of range"), "{:?}", answer.rejects);
    assert_eq!(one("SELECT date_part('year', ts) AS y FROM message WHERE ts > now()", input.clone()), ["9999", "2262"]);
    let answer = run("SELECT to_timestamp('9999-12-31T23:59:59Z') AS t FROM message", input);
    assert_eq!(answer.rows, []);
    assert_eq!(answer.rejects.len(), 3);
}

#[test]
fn a_number_out_of_the_range_of_to_timestamp_refuses_its_row() {
    let n: ArrayRef = Arc::new(Int64Array::from(vec![0, i64::MAX]));
    let answer = run("SELECT to_timestamp(n) AS t FROM message", columns(vec![("n", n)]));
    assert_eq!(answer.rows.iter().map(|r| r.0).collect::<Vec<_>>(), [0]);
    assert_eq!(answer.rejects.iter().map(|r| r.0).collect::<Vec<_>>(), [1]);
}

#[test]
fn to_timestamp_without_zone_is_utc() {
    let expected = "2024-01-01T00:00:00";
    let got =
        one("SELECT to_timestamp('2024-01-01T00:00:00') AS t, CAST('2024-01-01T00:00:00' AS TIMESTAMP) AS c FROM message", row());
    assert_eq!(got, [format!("{expected}|{expected}")]);
}

#[test]
fn b132_text_without_zone_does_not_depend_on_the_zone_of_the_machine() {
    let program = std::env::current_exe().expect("this test");
    for zone in ["Asia/Kolkata", "America/New_York", "UTC"] {
        let mut command = Command::new(&program);
        command.args(["--exact", "tests::time::to_timestamp_without_zone_is_utc"]).env("TZ", zone);
        let output = command.output().expect("runs");
        let text = String::from_utf8_lossy(&output.stdout);
        assert!(output.status.success() && text.contains("1 passed"), "{zone}: {text}");
    }
}
