//! The engine over tables in memory.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicUsize, Ordering};

use super::*;
use crate::tests::text;
use arrow_array::{ArrayRef, Float64Array, Int64Array, StringArray, TimestampMicrosecondArray};
use arrow_schema::{DataType, Schema};
use sluicebox_core::name::TableName;
use sluicebox_core::query::{Bound, Comparison, Scalar, Scan, Snapshot};

const LIMITS: QueryLimits = QueryLimits { time: Duration::from_secs(20), memory_bytes: 64 << 20, rows: 1000 };

/// What a scan was asked for.
type Asked = (Option<Vec<usize>>, Vec<Bound>);

#[derive(Default)]
struct Tables {
    tables: BTreeMap<TableName, (SchemaRef, Vec<RecordBatch>)>,
    endless: Option<TableName>,
    scans: Mutex<Vec<Asked>>,
    segments: Arc<AtomicUsize>,
}

struct Store(Arc<Tables>);

impl Snapshots for Store {
    fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
        Ok(self.0.clone())
    }
}

impl Tables {
    fn with(mut self, name: &str, segments: Vec<RecordBatch>) -> Self {
        self.tables.insert(TableName::parse(name).expect("a name"), (segments[0].schema(), segments));
        self
    }
}

impl Snapshot for Tables {
    fn tables(&self) -> Vec<(TableName, SchemaRef)> {
        self.tables.iter().map(|(name, (schema, _))| (name.clone(), schema.clone())).collect()
    }

    fn scan(&self, table: &TableName, projection: Option<&[usize]>, bounds: &[Bound]) -> Result<Scan> {
        self.scans.lock().expect("no panic").push((projection.map(<[usize]>::to_vec), bounds.to_vec()));
        let (schema, segments) = &self.tables[table];
        let all: Vec<usize> = (0..schema.fields().len()).collect();
        let columns = projection.map_or(all, <[usize]>::to_vec);
        let chosen: Vec<RecordBatch> = segments.iter().map(|s| s.project(&columns).expect("columns")).collect();
        let count = self.segments.clone();
        let counted = move |batch| {
            count.fetch_add(1, Ordering::Relaxed);
            Ok(batch)
        };
        if self.endless.as_ref() == Some(table) {
            return Ok(Box::new(chosen.into_iter().cycle().map(counted)));
        }
        Ok(Box::new(chosen.into_iter().map(counted)))
    }

    fn row_count(&self, table: &TableName) -> Result<u64> {
        Ok(self.tables[table].1.iter().map(|s| s.num_rows() as u64).sum())
    }
}

fn segment(ids: std::ops::Range<i64>) -> RecordBatch {
    let names: ArrayRef = Arc::new(StringArray::from_iter_values(ids.clone().map(|i| format!("n{i}"))));
    let ts: ArrayRef =
        Arc::new(TimestampMicrosecondArray::from_iter_values(ids.clone().map(|i| i * 1_000_000)).with_timezone("UTC"));
    let ids: ArrayRef = Arc::new(Int64Array::from_iter_values(ids));
    RecordBatch::try_from_iter([("orderId", ids), ("name", names), ("ts", ts)]).expect("columns")
}

fn tables() -> Tables {
    let rejected: ArrayRef = Arc::new(StringArray::from(vec!["type"]));
    Tables::default()
        .with("shop.orders", vec![segment(0..5), segment(5..10)])
        .with("public.Events", vec![segment(0..3)])
        .with("audit.rejected", vec![RecordBatch::try_from_iter([("code", rejected)]).expect("columns")])
}

fn engine(tables: Tables, limits: QueryLimits) -> (QueryEngine, Arc<Tables>) {
    let tables = Arc::new(tables);
    (QueryEngine::new(Arc::new(Store(tables.clone())), limits), tables)
}

fn block<F: Future>(future: F) -> F::Output {
    tokio::runtime::Builder::new_current_thread().enable_time().build().expect("a runtime").block_on(future)
}

fn ask(engine: &QueryEngine, sql: &str) -> Result<Vec<Vec<String>>> {
    block(async { Ok(engine.query(sql).await?.collect().await?.iter().flat_map(text).collect()) })
}

fn rows(sql: &str) -> Vec<String> {
    let rows = ask(&engine(tables(), LIMITS).0, sql).unwrap_or_else(|error| panic!("{sql}: {error}"));
    rows.into_iter().map(|row| row.join("|")).collect()
}

fn refused(sql: &str) -> String {
    ask(&engine(tables(), LIMITS).0, sql).err().unwrap_or_else(|| panic!("answered: {sql}")).to_string()
}

#[test]
fn a_query_over_several_tables_answers() {
    assert_eq!(rows("SELECT count(*), sum(orderId) FROM shop.orders"), ["10|45"]);
    let join = "SELECT o.name, e.ts FROM shop.orders o JOIN public.Events e ON o.orderId = e.orderId WHERE e.orderId > 1";
    assert_eq!(rows(join), ["n2|1970-01-01T00:00:02Z"]);
    assert_eq!(rows("SELECT orderId FROM shop.orders ORDER BY orderId DESC LIMIT 2"), ["9", "8"]);
    assert_eq!(rows("SELECT x FROM (VALUES (1), (2)) AS v(x) UNION ALL SELECT 3 ORDER BY 1"), ["1", "2", "3"]);
}

#[test]
fn b125_names_match_by_the_same_rule_as_in_steps() {
    let statement =
        "SELECT ORDERID AS Id, max(NAME) AS Top FROM Shop.Orders AS o WHERE O.orderid < 2 GROUP BY orderid ORDER BY orderId";
    assert_eq!(rows(statement), ["0|n0", "1|n1"]);
    assert_eq!(rows("SELECT count(*) FROM events"), ["3"], "no schema is public");
    assert_eq!(rows("WITH Big AS (SELECT orderId FROM events WHERE orderid > 1) SELECT * FROM big"), ["2"]);
    assert_eq!(refused("SELECT order_id FROM events"), r#"no column "order_id"; the nearest is "orderId""#);
    assert!(refused("SELECT * FROM nosuch").contains("nosuch"));
    let (engine, _) = engine(tables(), LIMITS);
    let schema = block(engine.query("SELECT orderId, name AS \"The Name\" FROM events")).expect("plans").schema();
    assert_eq!(schema.fields().iter().map(|f| f.name().as_str()).collect::<Vec<_>>(), ["orderId", "The Name"]);
    assert_eq!(schema.field(1).data_type(), &DataType::Utf8);
}

#[test]
fn scans_read_only_the_columns_and_carry_bounds() {
    let (engine, tables) = engine(tables(), LIMITS);
    let statement = "SELECT name FROM shop.orders WHERE orderId >= 7 AND ts < TIMESTAMP '1970-01-01T00:00:09Z'";
    assert_eq!(ask(&engine, statement).expect("answers"), [["n7"], ["n8"]]);
    let (projection, bounds) = tables.scans.lock().expect("no panic").pop().expect("one scan");
    assert_eq!(
        projection.map(|mut p| {
            p.sort_unstable();
            p
        }),
        Some(vec![0, 1, 2])
    );
    let expected = [
        Bound { column: 0, comparison: Comparison::GreaterOrEqual, value: Scalar::Int(7) },
        Bound { column: 2, comparison: Comparison::Less, value: Scalar::Int(9_000_000) },
    ];
    assert_eq!(bounds.len(), 2);
    assert!(expected.iter().all(|bound| bounds.contains(bound)), "{bounds:?}");
    assert_eq!(ask(&engine, "SELECT ts FROM shop.orders WHERE ts = '1970-01-01T00:00:03Z'").expect("answers").len(), 1);
    let (projection, bounds) = tables.scans.lock().expect("no panic").pop().expect("one scan");
    assert_eq!((projection, bounds.len()), (Some(vec![2]), 1));
}

#[test]
fn counting_reads_no_segment() {
    let (engine, tables) = engine(tables(), LIMITS);
    assert_eq!(ask(&engine, "SELECT count(*) FROM shop.orders").expect("answers"), [["10"]]);
    assert_eq!(ask(&engine, "SELECT 1 FROM shop.orders").expect("answers").len(), 10);
    assert_eq!(tables.segments.load(Ordering::Relaxed), 0);
}

#[test]
fn b135_whatever_does_more_than_read_is_refused() {
    for (sql, what) in [
        ("COPY shop.orders TO '/tmp/x.csv'", "COPY"),
        ("CREATE EXTERNAL TABLE p STORED AS CSV LOCATION '/etc/passwd'", "CREATE"),
        ("CREATE TABLE t AS SELECT 1", "CREATE"),
        ("CREATE VIEW v AS SELECT 1", "CREATE"),
        ("SET datafusion.execution.batch_size = 1", "SET"),
        ("RESET datafusion.execution.batch_size", "RESET"),
        ("DROP TABLE shop.orders", "DROP"),
        ("INSERT INTO shop.orders VALUES (1, 'x', NULL)", "INSERT"),
        ("DELETE FROM shop.orders", "DELETE"),
        ("UPDATE shop.orders SET name = 'x'", "UPDATE"),
        ("PREPARE p AS SELECT 1", "PREPARE"),
        ("EXPLAIN COPY shop.orders TO '/tmp/x.csv'", "COPY"),
        ("SELECT * INTO x FROM shop.orders", "SELECT INTO"),
        ("SHOW ALL", "SHOW"),
    ] {
        let error = refused(sql);
        assert!(error.starts_with("queries only read: ") && error.contains(&format!("not {what};")), "{sql}: {error}");
    }
    assert_eq!(refused("SELECT 1; SELECT 2"), "one statement at a time; send the others as queries of their own");
    assert_eq!(refused(" "), "the query is empty");
    for sql in ["SELECT * FROM '/etc/passwd'", "SELECT * FROM read_csv('/etc/passwd')", "SELECT * FROM \"file:///etc/passwd\""] {
        let error = refused(sql);
        assert!(error.contains("/etc/passwd") || error.contains("read_csv"), "{error}");
    }
}

#[test]
fn what_reads_about_tables_is_answered() {
    let tables: Vec<String> = rows(
        "SELECT table_schema || '.' || table_name FROM information_schema.tables WHERE table_schema <> 'information_schema' ORDER BY 1",
    );
    assert_eq!(tables, ["audit.rejected", "public.Events", "shop.orders"]);
    assert!(rows("SHOW TABLES").iter().any(|row| row.contains("shop|orders")));
    assert_eq!(rows("DESCRIBE shop.orders").len(), 3);
    assert_eq!(rows("describe SHOP.ORDERS").len(), 3);
    let plan = rows("EXPLAIN SELECT NAME FROM shop.orders WHERE orderid > 3").join("\n");
    assert!(plan.contains("SnapshotScan: shop.orders, columns=[orderId, name], bounds=1"), "{plan}");
}

#[test]
fn an_answer_stops_at_its_rows() {
    let (engine, _) = engine(tables(), QueryLimits { rows: 7, ..LIMITS });
    let mut result = block(engine.query("SELECT orderId FROM shop.orders")).expect("plans");
    let mut got = 0;
    let error = block(async {
        loop {
            match result.next().await {
                Some(Ok(batch)) => got += batch.num_rows(),
                Some(Err(error)) => return error,
                None => panic!("ended without words"),
            }
        }
    });
    assert_eq!(got, 7);
    assert_eq!(error.to_string(), "stopped after 7 rows, as many as an answer may have; narrow the query or add LIMIT 7");
    assert_eq!(ask(&engine, "SELECT orderId FROM shop.orders LIMIT 7").expect("fits").len(), 7);
}

#[test]
fn a_query_stops_at_its_time_even_inside_a_scan() {
    for sql in ["SELECT sum(orderId) FROM t", "SELECT orderId FROM t WHERE name = 'x'", "SELECT count(DISTINCT name) FROM t"] {
        let endless = Tables { endless: TableName::parse("t"), ..Tables::default() }.with("t", vec![segment(0..1000)]);
        let (engine, tables) = engine(endless, QueryLimits { time: Duration::from_millis(300), ..LIMITS });
        let started = Instant::now();
        let error = ask(&engine, sql).expect_err("endless").to_string();
        assert_eq!(error, "stopped after 300ms, the time that a query may take; narrow it", "{sql}");
        assert!(started.elapsed() < Duration::from_secs(5), "{sql}: {:?}", started.elapsed());
        assert!(tables.segments.load(Ordering::Relaxed) > 0);
    }
}

#[test]
fn a_query_that_nobody_waits_for_ends() {
    let endless = Tables { endless: TableName::parse("t"), ..Tables::default() }.with("t", vec![segment(0..1000)]);
    let (engine, _) = engine(endless, LIMITS);
    for _ in 0..3 * QUERIES_AT_ONCE {
        drop(block(engine.query("SELECT orderId FROM t")).expect("starts: the turns of those before were given back"));
    }
}

#[test]
fn b133_a_query_that_needs_too_much_memory_fails_alone() {
    let wide = |from: i64| {
        let keys: ArrayRef = Arc::new(StringArray::from_iter_values((from..from + 2000).map(|i| format!("{i:0500}"))));
        RecordBatch::try_from_iter([("k", keys)]).expect("columns")
    };
    let big = tables().with("big", (0..50).map(|i| wide(i * 2000)).collect());
    let (engine, _) = engine(big, QueryLimits { memory_bytes: 8 << 20, ..LIMITS });
    for sql in ["SELECT k, count(*) FROM big GROUP BY k", "SELECT k FROM big ORDER BY k", "SELECT DISTINCT k FROM big"] {
        let error = ask(&engine, sql).expect_err("too big").to_string();
        assert!(error.starts_with("resources exhausted: "), "{error}");
    }
    assert_eq!(ask(&engine, "SELECT count(*), max(length(k)) FROM big").expect("answers"), [["100000", "500"]]);
}

#[test]
fn b137_digits_and_specials_travel_exactly() {
    let id: ArrayRef = Arc::new(Int64Array::from(vec![73_314_510_714_175_488]));
    let x: ArrayRef = Arc::new(Float64Array::from(vec![f64::NAN]));
    let one = Tables::default().with("t", vec![RecordBatch::try_from_iter([("id", id), ("x", x)]).expect("columns")]);
    let (engine, _) = engine(one, LIMITS);
    assert_eq!(
        ask(&engine, "SELECT id, x, CAST(id AS DECIMAL(20,2)) AS d FROM t").expect("answers"),
        [["73314510714175488", "NaN", "73314510714175488.00"]]
    );
}

#[test]
fn an_error_of_the_store_keeps_its_domain() {
    struct Broken;
    impl Snapshots for Broken {
        fn snapshot(&self) -> Result<Arc<dyn Snapshot>> {
            Err(Error::backoff(Domain::State, "disk is gone"))
        }
    }
    let engine = QueryEngine::new(Arc::new(Broken), LIMITS);
    assert_eq!(block(engine.query("SELECT 1")).err(), Some(Error::backoff(Domain::State, "disk is gone")));
    let (engine, _) = self::engine(tables(), LIMITS);
    let failed = ask(&engine, "SELECT 1 / (orderId - 5) FROM shop.orders").expect_err("division");
    assert_eq!((failed.domain, failed.to_string().as_str()), (Domain::Guest, "division by zero"));
    assert_eq!(ask(&engine, "SELECT nosuch FROM events").expect_err("unknown").domain, Domain::Config);
}

#[test]
fn an_empty_answer_has_its_schema() {
    let (engine, _) = engine(tables(), LIMITS);
    let result = block(engine.query("SELECT orderId FROM events WHERE orderId > 100")).expect("plans");
    assert_eq!(result.schema(), Arc::new(Schema::new(vec![arrow_schema::Field::new("orderId", DataType::Int64, false)])));
    assert_eq!(block(result.collect()).expect("answers").iter().map(RecordBatch::num_rows).sum::<usize>(), 0);
}
