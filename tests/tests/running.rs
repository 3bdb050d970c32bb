//! The program from outside, against Apache Kafka: start, query while it runs, pause, stop, start again; a broker that goes and comes back; a
//! login over TLS.

use std::path::Path;
use std::process::{Child, Command, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context, Result, bail, ensure};
use sluicebox_tests::kafka::{Kafka, Options, Sent};
use sluicebox_tests::program::{output, sluicebox, wait};

const PATIENCE: Duration = Duration::from_secs(60);

/// A pipeline over the topic `numbers`; `OPTIONS` are those of the connection.
const CONFIG: &str = r#"
connections: { broker: { type: kafka, options: OPTIONS } }
pipelines:
  numbers:
    from: kafka:numbers
    columns: [{ name: n, type: long, required: true }]
    to: [{ table: numbers }]
"#;

/// The program running in a folder; killed when the test ends before it.
struct Running {
    child: Child,
    folder: std::path::PathBuf,
}

impl Running {
    fn start(folder: &Path) -> Result<Self> {
        let log = std::fs::File::create(folder.join("log"))?;
        let child = sluicebox(folder, &["run", "--listen", "127.0.0.1:0"])?.stderr(log).stdout(Stdio::null()).spawn()?;
        let mut running = Self { child, folder: folder.to_owned() };
        let deadline = Instant::now() + PATIENCE;
        while !running.log().contains("listening on") {
            ensure!(running.child.try_wait()?.is_none() && Instant::now() < deadline, "it does not start: {}", running.log());
            std::thread::park_timeout(Duration::from_millis(20));
        }
        Ok(running)
    }

    fn log(&self) -> String {
        std::fs::read_to_string(self.folder.join("log")).unwrap_or_default()
    }

    /// SIGTERM; the exit code.
    fn terminate(&mut self) -> Result<Option<i32>> {
        Command::new("kill").arg("-TERM").arg(self.child.id().to_string()).status()?;
        Ok(wait(&mut self.child, PATIENCE)?.code())
    }
}

impl Drop for Running {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn folder(kafka_options: &[(String, String)]) -> Result<tempfile::TempDir> {
    let folder = tempfile::tempdir()?;
    let options: Vec<String> = kafka_options.iter().map(|(name, value)| format!("\"{name}\": \"{value}\"")).collect();
    std::fs::write(folder.path().join("sluicebox.yaml"), CONFIG.replace("OPTIONS", &format!("{{ {} }}", options.join(", "))))?;
    Ok(folder)
}

fn numbers(range: std::ops::Range<i64>) -> impl Iterator<Item = Sent> {
    range.map(|n| (Some(0), None, Some(format!("{{\"n\":{n}}}").into_bytes())))
}

fn ask(folder: &Path, sql: &str) -> Result<String> {
    let answer = output(sluicebox(folder, &["sql", "--output", "csv", sql])?)?;
    ensure!(answer.status.success(), "{}", String::from_utf8_lossy(&answer.stderr));
    Ok(String::from_utf8(answer.stdout)?.lines().nth(1).unwrap_or_default().to_owned())
}

/// Asks until the answer is as expected.
fn until(folder: &Path, sql: &str, expected: &str) -> Result<()> {
    let deadline = Instant::now() + PATIENCE;
    loop {
        let found = ask(folder, sql);
        if found.as_ref().is_ok_and(|found| found == expected) {
            return Ok(());
        }
        if Instant::now() > deadline {
            bail!(
                "{sql}: expected {expected}, found {found:?}; log: {}",
                std::fs::read_to_string(folder.join("log")).unwrap_or_default()
            );
        }
        std::thread::park_timeout(Duration::from_millis(100));
    }
}

const COUNT: &str = "SELECT count(*) AS rows, count(DISTINCT n) AS different FROM numbers";

#[test]
fn b184_b185_stop_and_start_lose_and_repeat_nothing() -> Result<()> {
    let kafka = Kafka::start(Options::default())?;
    kafka.create_topic("numbers", 1, &[])?;
    kafka.produce("numbers", numbers(0..10_000))?;
    let folder = folder(&kafka.properties())?;
    let mut running = Running::start(folder.path())?;
    until(folder.path(), COUNT, "10000,10000")?;

    let second = output(sluicebox(folder.path(), &["run", "--listen", "127.0.0.1:0"])?)?;
    ensure!(!second.status.success(), "b140: a second process must not start on the same store");
    let words = String::from_utf8_lossy(&second.stderr).into_owned();
    ensure!(words.contains("store.redb"), "the words name the file: {words}");

    let pause = output(sluicebox(folder.path(), &["pipeline", "pause", "numbers"])?)?;
    ensure!(pause.status.success(), "{}", String::from_utf8_lossy(&pause.stderr));
    let listed = || output(sluicebox(folder.path(), &["pipeline", "list", "--output", "csv"])?);
    let deadline = Instant::now() + PATIENCE;
    while !String::from_utf8_lossy(&listed()?.stdout).contains("paused") {
        ensure!(Instant::now() < deadline, "it does not pause: {}", running.log());
    }
    kafka.produce("numbers", numbers(10_000..15_000))?;
    assert_eq!(running.terminate()?, Some(0), "{}", running.log());
    assert_eq!(ask(folder.path(), COUNT)?, "10000,10000", "a paused pipeline reads nothing");

    let mut running = Running::start(folder.path())?;
    let deadline = Instant::now() + PATIENCE;
    while !String::from_utf8_lossy(&listed()?.stdout).contains("paused") {
        ensure!(Instant::now() < deadline, "a pause survives a restart: {}", running.log());
    }
    output(sluicebox(folder.path(), &["pipeline", "resume", "numbers"])?)?;
    until(folder.path(), COUNT, "15000,15000")?;
    assert_eq!(running.terminate()?, Some(0), "{}", running.log());
    assert_eq!(ask(folder.path(), COUNT)?, "15000,15000");
    Ok(())
}

#[test]
fn b191_a_broker_that_goes_away_is_waited_for() -> Result<()> {
    let mut kafka = Kafka::start(Options::default())?;
    kafka.create_topic("numbers", 1, &[])?;
    kafka.produce("numbers", numbers(0..100))?;
    let folder = folder(&kafka.properties())?;
    let mut running = Running::start(folder.path())?;
    until(folder.path(), COUNT, "100,100")?;
    kafka.stop()?;
    let deadline = Instant::now() + PATIENCE;
    let state = || -> Result<String> {
        let listed = output(sluicebox(folder.path(), &["pipeline", "list", "--output", "csv"])?)?;
        Ok(String::from_utf8_lossy(&listed.stdout).into_owned())
    };
    while !state()?.contains("waiting") {
        ensure!(Instant::now() < deadline, "it does not say that it waits: {}", state()?);
        std::thread::park_timeout(Duration::from_millis(200));
    }
    kafka.restart()?;
    kafka.produce("numbers", numbers(100..200))?;
    until(folder.path(), COUNT, "200,200")?;
    let said = running.log().lines().filter(|line| line.contains("waiting:")).count();
    ensure!(said <= 3, "it says once that it waits, not {said} times: {}", running.log());
    assert_eq!(running.terminate()?, Some(0));
    Ok(())
}

#[test]
fn a_login_over_tls_works_and_a_wrong_password_is_said() -> Result<()> {
    let kafka = Kafka::start(Options { secure: true, ..Options::default() })?;
    kafka.create_topic("numbers", 1, &[])?;
    kafka.produce("numbers", numbers(0..10))?;
    let options = kafka.sasl_tls("SCRAM-SHA-256");
    let good = folder(&options)?;
    let mut running = Running::start(good.path())?;
    until(good.path(), COUNT, "10,10")?;
    assert_eq!(running.terminate()?, Some(0));

    let wrong =
        |(name, value): &(String, String)| (name.clone(), if name == "sasl.password" { "hunter2".into() } else { value.clone() });
    let bad = folder(&options.iter().map(wrong).collect::<Vec<_>>())?;
    let running = Running::start(bad.path())?;
    let deadline = Instant::now() + PATIENCE;
    while !running.log().contains("sasl.") {
        ensure!(Instant::now() < deadline, "the log does not name the property: {}", running.log());
        std::thread::park_timeout(Duration::from_millis(100));
    }
    ensure!(!running.log().contains("hunter2"), "b173: the password is in the log");
    Ok(())
}

#[test]
fn http_answers_queries_metrics_and_readiness() -> Result<()> {
    let kafka = Kafka::start(Options::default())?;
    kafka.create_topic("numbers", 1, &[])?;
    kafka.produce("numbers", numbers(0..10))?;
    let folder = folder(&kafka.properties())?;
    let mut running = Running::start(folder.path())?;
    until(folder.path(), COUNT, "10,10")?;
    let line = running
        .log()
        .lines()
        .find(|line| line.starts_with("listening on"))
        .map(str::to_owned)
        .context("no address in the log")?;
    let address = line.trim_start_matches("listening on ").to_owned();
    let curl = |args: &[&str], path: &str| -> Result<String> {
        let answer = output(Command::new("curl").args(["-s", "-m", "30"]).args(args).arg(format!("{address}{path}")).pipe())?;
        Ok(String::from_utf8(answer.stdout)?)
    };
    assert_eq!(curl(&["-d", "SELECT sum(n) AS s FROM numbers"], "/v1/sql")?, "[{\"s\":45}]\n");
    assert_eq!(curl(&["-d", "SELECT 1 AS one", "-H", "Accept: text/csv"], "/v1/sql")?, "one\n1\n");
    for refused in ["COPY numbers TO '/tmp/x.csv'", "DROP TABLE numbers", "SELECT 1; SELECT 2", "SET a = 1"] {
        ensure!(curl(&["-d", refused], "/v1/sql")?.contains("error"), "b135: {refused}");
    }
    let deadline = Instant::now() + PATIENCE;
    while !curl(&[], "/v1/ready")?.contains("\"ready\":true") {
        ensure!(Instant::now() < deadline, "it is never ready: {}", running.log());
    }
    let metrics = curl(&[], "/metrics")?;
    ensure!(metrics.contains("sluicebox_records_consumed_total{tenant=\"default\",pipeline=\"numbers\"} 10"), "{metrics}");
    assert_eq!(running.terminate()?, Some(0));
    Ok(())
}

/// A command by value, so that arguments can be chained.
trait Pipe {
    fn pipe(&mut self) -> Command;
}

impl Pipe for Command {
    fn pipe(&mut self) -> Command {
        std::mem::replace(self, Command::new("true"))
    }
}
