//! How names match.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array, RecordBatch, StringArray};

use super::{columns, one, sql};

fn input() -> RecordBatch {
    let number = |n: i64| -> ArrayRef { Arc::new(Int64Array::from(vec![n])) };
    let name: ArrayRef = Arc::new(StringArray::from(vec!["x"]));
    columns(vec![("userId", number(1)), ("User Name", name), ("select", number(2)), ("Total", number(3)), ("total", number(4))])
}

fn output(statement: &str) -> Vec<String> {
    sql(statement, &input().schema()).expect("plans").output().fields().iter().map(|f| f.name().clone()).collect()
}

fn error(statement: &str) -> String {
    sql(statement, &input().schema()).err().expect("refused")
}

#[test]
fn b125_an_unquoted_name_matches_exactly_else_without_regard_to_case() {
    assert_eq!(one(r#"SELECT userId, userid, USERID, "userId", "User Name", "select" FROM message"#.replace("userid, USERID, \"userId\"", "userid + 0 AS a, USERID AS b, \"userId\" AS c").as_str(), input()), ["1|1|1|1|x|2"]);
    assert_eq!(one("SELECT Total, total FROM message", input()), ["3|4"], "exact before near");
    assert_eq!(one("SELECT M.USERID FROM Message AS m WHERE m.userid = 1", input()), ["1"]);
    assert_eq!(one("SELECT u FROM (SELECT USERID AS u FROM MESSAGE) WHERE U = 1", input()), ["1"]);
}

#[test]
fn b125_names_of_the_answer_keep_their_case() {
    assert_eq!(
        output("SELECT userId, Total AS GrandTotal, upper(\"User Name\") AS \"Big Name\" FROM message"),
        ["userId", "GrandTotal", "Big Name"]
    );
    assert_eq!(output("SELECT USERID FROM message"), ["userId"]);
}

#[test]
fn b125_two_that_fit_are_an_error_that_names_both() {
    assert_eq!(
        error("SELECT TOTAL FROM message"),
        r#"sql step 1: the name TOTAL fits "Total" and "total"; write the one that is meant in double quotes"#
    );
}

#[test]
fn b125_an_unknown_name_gets_the_nearest() {
    assert_eq!(error("SELECT user_id FROM message"), r#"sql step 1: no column "user_id"; the nearest is "userId""#);
    assert_eq!(error("SELECT 1 AS x FROM message WHERE usrId > 1"), r#"sql step 1: no column "usrId"; the nearest is "userId""#);
    assert_eq!(error(r#"SELECT "USERID" FROM message"#), r#"sql step 1: no column "USERID"; the nearest is "userId""#);
    assert!(error("SELECT zzz FROM message").contains(r#"there are "Total", "User Name", "select""#));
}

#[test]
fn two_columns_of_one_name_are_refused() {
    assert!(error("SELECT userId, Total AS userId FROM message").contains("userId"));
}
