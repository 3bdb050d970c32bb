//! What a step refuses, each with its reason and the way out.

use std::sync::Arc;

use arrow_array::{ArrayRef, Int64Array};

use super::{columns, sql};

fn error(statement: &str) -> String {
    let n: ArrayRef = Arc::new(Int64Array::from(vec![1]));
    sql(statement, &columns(vec![("n", n)]).schema()).err().unwrap_or_else(|| panic!("planned: {statement}"))
}

#[test]
fn what_depends_on_other_rows_is_refused_with_the_way_out() {
    for (statement, what) in [
        ("SELECT n FROM message GROUP BY n", "GROUP BY"),
        ("SELECT n, count(*) FROM message GROUP BY n", "GROUP BY"),
        ("SELECT count(*) AS c FROM message", "the aggregate count()"),
        ("SELECT max(n) AS c FROM message", "the aggregate max()"),
        ("SELECT DISTINCT n FROM message", "DISTINCT"),
        ("SELECT n FROM message ORDER BY n", "ORDER BY"),
        ("SELECT n FROM message LIMIT 3", "LIMIT"),
        ("SELECT n FROM message OFFSET 3", "LIMIT"),
        ("SELECT row_number() OVER (ORDER BY n) AS r FROM message", "the window function row_number()"),
        ("SELECT n FROM message UNION ALL SELECT n FROM message", "UNION"),
        ("SELECT n FROM message EXCEPT SELECT n FROM message", "EXCEPT"),
        ("SELECT n FROM message INTERSECT SELECT n FROM message", "INTERSECT"),
        ("SELECT n FROM message WHERE n IN (SELECT n FROM message)", "a subquery inside an expression"),
        ("SELECT n FROM message WHERE EXISTS (SELECT 1 FROM message)", "a subquery inside an expression"),
        ("SELECT (SELECT max(n) FROM message) AS m FROM message", "a subquery inside an expression"),
        ("WITH RECURSIVE r AS (SELECT n FROM message) SELECT n FROM r", "WITH RECURSIVE"),
        ("SELECT n FROM (SELECT n FROM message LIMIT 1)", "LIMIT"),
        ("WITH c AS (SELECT n FROM message ORDER BY n) SELECT n FROM c", "ORDER BY"),
    ] {
        let error = error(statement);
        let expected = format!("sql step 1: {what} depends on other rows, and a step sees one row at a time");
        assert!(error.starts_with(&expected), "{statement}: {error}");
        assert!(error.ends_with("a query over the table: sluicebox sql \"SELECT ...\""), "{error}");
    }
}

#[test]
fn joins_are_refused_with_the_way_out() {
    for statement in ["SELECT a.n FROM message a JOIN message b ON a.n = b.n", "SELECT a.n FROM message a, message b"] {
        let error = error(statement);
        assert!(error.starts_with("sql step 1: a join looks at other rows"), "{error}");
    }
}

#[test]
fn other_tables_are_refused() {
    let error = error("SELECT n FROM orders");
    assert!(
        error.starts_with("sql step 1: no table orders: a step sees only its own records, as the table \"message\""),
        "{error}"
    );
    for statement in ["SELECT 1 AS x FROM information_schema.tables", "SELECT n FROM '/etc/passwd'"] {
        assert!(self::error(statement).contains("no table"), "{statement}");
    }
    assert_eq!(
        self::error("SELECT value FROM generate_series(1, 3)"),
        "sql step 1: no table function generate_series in a step: it sees only its own records, as the table \"message\""
    );
}

#[test]
fn b135_only_one_select_is_a_step() {
    for (statement, what) in [
        ("INSERT INTO message VALUES (1)", "a step is one SELECT over the table message, not INSERT"),
        ("COPY message TO '/tmp/x.csv'", "a step is one SELECT over the table message, not COPY"),
        ("CREATE TABLE t AS SELECT 1", "a step is one SELECT over the table message, not CREATE"),
        ("SET x = 1", "a step is one SELECT over the table message, not SET"),
        ("EXPLAIN SELECT n FROM message", "a step is one SELECT over the table message, not EXPLAIN"),
        (
            "SELECT n FROM message; SELECT n FROM message",
            "a step is one SELECT over the table message, and these are several statements",
        ),
        ("", "a step is one SELECT over the table message, and this is empty"),
        ("VALUES (1)", "a step is one SELECT over the table message"),
        ("SELECT 1 AS x", "a step must read its records: write FROM message"),
        ("SELECT n INTO x FROM message", "SELECT INTO makes tables; a step only answers rows"),
    ] {
        assert_eq!(error(statement), format!("sql step 1: {what}"), "{statement}");
    }
}

#[test]
fn chance_is_refused_with_the_way_out() {
    for function in ["random", "uuid"] {
        let error = error(&format!("SELECT {function}() AS r FROM message"));
        assert!(error.starts_with(&format!("sql step 1: {function}() gives another value each time")), "{error}");
    }
}

#[test]
fn what_does_not_parse_says_where() {
    let error = error("SELECT n FROM message WHERE");
    assert!(error.starts_with("sql step 1: "), "{error}");
    let error = self::error("SELEC n FROM message");
    assert!(error.contains("SELEC") && error.contains("Line: 1"), "{error}");
    assert!(self::error("SELECT nosuch(n) AS x FROM message").contains("nosuch"));
}
