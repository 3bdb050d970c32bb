//! Apache Kafka itself, one node on loopback, for tests and benches: fetched once into the user's cache, formatted into a folder of its
//! own, ready when it answers. Everything has a time-out; the node ends when the value is dropped, and with this process.

use std::fs::{self, File};
use std::io::{self, Read};
use std::net::TcpListener;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use rustix::process::{Pid, Signal, kill_process};
use tempfile::TempDir;

pub use client::Sent;

mod client;
mod security;

/// The first fetch of Kafka's jars, over a slow network.
const FETCH_TIME: Duration = Duration::from_secs(900);
/// Formatting, certificates: seconds, on a busy machine.
const TOOL_TIME: Duration = Duration::from_secs(120);
/// From start to the first answer.
const READY_TIME: Duration = Duration::from_secs(120);
/// From SIGTERM to the end; then SIGKILL.
const STOP_TIME: Duration = Duration::from_secs(30);
/// How often something that tells nobody is looked at.
const LOOK: Duration = Duration::from_millis(20);
/// A port that was free can be taken before Kafka binds it.
const ATTEMPTS: usize = 3;
/// Starts the broker, and kills it when this process is gone: then nobody holds the other end of standard input.
const WRAPPER: &str = r#"exec 3<&0
"$@" </dev/null & broker=$!
echo $broker >"$PID_FILE.new" && mv "$PID_FILE.new" "$PID_FILE"
(cat <&3 >/dev/null; kill -KILL $broker) & watch=$!
wait $broker; code=$?
kill $watch
exit $code"#;

/// What kind of node to start.
#[derive(Debug, Clone, Default)]
pub struct Options {
    /// Listeners with logins (PLAIN and SCRAM, plain and over TLS) and with TLS alone, beside the open one.
    pub secure: bool,
    /// Lines for `server.properties`, name and value.
    pub properties: Vec<(String, String)>,
}

/// The user of the listeners with logins.
pub const USER: &str = "app";
/// Its password.
pub const PASSWORD: &str = "app-secret";

/// A running (or stopped) node.
pub struct Kafka {
    folder: TempDir,
    jars: PathBuf,
    ports: Ports,
    child: Option<Child>,
}

/// Where the node listens.
#[derive(Debug, Clone, Copy)]
struct Ports {
    open: u16,
    controller: u16,
    sasl: u16,
    sasl_tls: u16,
    tls: u16,
}

impl Ports {
    fn free() -> io::Result<Self> {
        // All are held until the last is known, so that they differ.
        let held = (0..5).map(|_| TcpListener::bind("127.0.0.1:0")).collect::<io::Result<Vec<_>>>()?;
        let ports = held.iter().map(|l| l.local_addr().map(|a| a.port())).collect::<io::Result<Vec<_>>>()?;
        let [open, controller, sasl, sasl_tls, tls] = ports[..] else {
            return Err(io::Error::other("five ports were asked for"));
        };
        Ok(Self { open, controller, sasl, sasl_tls, tls })
    }
}

impl Kafka {
    /// Starts a node and waits until it answers.
    ///
    /// # Errors
    /// No Java, no network for the first fetch, or a node that does not come up; the end of its log is in the message.
    pub fn start(options: Options) -> Result<Self> {
        let jars = jars()?;
        for attempt in 1.. {
            let mut kafka = Self { folder: tempfile::tempdir()?, jars: jars.clone(), ports: Ports::free()?, child: None };
            kafka.format(&options)?;
            match kafka.restart() {
                Ok(()) => return Ok(kafka),
                Err(error) if attempt >= ATTEMPTS => return Err(error),
                Err(_) => {}
            }
        }
        bail!("no attempt was made")
    }

    /// Address of the open listener.
    pub fn bootstrap(&self) -> String {
        format!("127.0.0.1:{}", self.ports.open)
    }

    /// Client properties for the open listener.
    pub fn properties(&self) -> Vec<(String, String)> {
        vec![("bootstrap.servers".into(), self.bootstrap())]
    }

    /// Starts the node again, on the same ports and data, and waits until it answers.
    ///
    /// # Errors
    /// As for [`Self::start`]; also when it runs already.
    pub fn restart(&mut self) -> Result<()> {
        ensure!(self.child.is_none(), "Kafka runs already");
        let log = File::options().create(true).append(true).open(self.path("log"))?;
        match fs::remove_file(self.path("pid")) {
            Err(error) if error.kind() != io::ErrorKind::NotFound => return Err(error.into()),
            _ => {}
        }
        let mut command = Command::new("sh");
        command.args(["-c", WRAPPER, "kafka", "java", "-Xms256m", "-Xmx512m", "-XX:+UseSerialGC", "-cp"]);
        command.arg(self.class_path()).arg("kafka.Kafka").arg(self.path("server.properties"));
        command.env("PID_FILE", self.path("pid")).current_dir(self.folder.path());
        command.stdin(Stdio::piped()).stdout(log.try_clone()?).stderr(log);
        self.child = Some(command.spawn().context("java")?);
        self.wait_until_ready().inspect_err(|_| self.let_go())
    }

    fn wait_until_ready(&mut self) -> Result<()> {
        let until = Instant::now() + READY_TIME;
        while Instant::now() < until {
            if let Some(child) = &mut self.child
                && let Some(status) = child.try_wait()?
            {
                bail!("Kafka ended with {status}: {}", self.log_end());
            }
            if self.path("pid").exists() && self.answers() {
                return Ok(());
            }
            thread::park_timeout(LOOK);
        }
        bail!("Kafka did not answer within {} s: {}", READY_TIME.as_secs(), self.log_end())
    }

    /// Ends the node as an operator would (SIGTERM), and waits for it.
    ///
    /// # Errors
    /// When it does not run, or does not end in time (it is killed then).
    pub fn stop(&mut self) -> Result<()> {
        self.signal(Signal::TERM)?;
        let stopped = self.wait_for_end(STOP_TIME);
        if stopped.is_err() {
            self.kill()?;
        }
        stopped
    }

    /// Ends the node at once (SIGKILL), and waits for it.
    ///
    /// # Errors
    /// When it does not run.
    pub fn kill(&mut self) -> Result<()> {
        self.signal(Signal::KILL)?;
        self.wait_for_end(STOP_TIME)
    }

    fn signal(&self, signal: Signal) -> Result<()> {
        ensure!(self.child.is_some(), "Kafka does not run");
        let text = fs::read_to_string(self.path("pid")).context("process id of Kafka")?;
        let pid = Pid::from_raw(text.trim().parse()?).context("process id of Kafka")?;
        Ok(kill_process(pid, signal)?)
    }

    fn wait_for_end(&mut self, time: Duration) -> Result<()> {
        let Some(child) = &mut self.child else { return Ok(()) };
        ensure!(ended(child, time)?, "Kafka did not end within {} s", time.as_secs());
        self.child = None;
        Ok(())
    }

    /// Ends what is left of the wrapper: without its standard input it kills the broker.
    fn let_go(&mut self) {
        let Some(mut child) = self.child.take() else { return };
        drop(child.stdin.take());
        if !ended(&mut child, STOP_TIME).unwrap_or(false) {
            drop(child.kill());
            drop(child.wait());
        }
    }

    /// The last lines that the node wrote.
    pub fn log_end(&self) -> String {
        let log = fs::read_to_string(self.path("log")).unwrap_or_default();
        let lines: Vec<&str> = log.lines().collect();
        lines[lines.len().saturating_sub(20)..].join("\n")
    }

    fn path(&self, name: &str) -> PathBuf {
        self.folder.path().join(name)
    }

    fn class_path(&self) -> String {
        format!("{}/*", self.jars.display())
    }

    fn format(&self, options: &Options) -> Result<()> {
        let mut lines = self.settings();
        if options.secure {
            security::certificates(self.folder.path())?;
            self.secure(&mut lines);
        }
        lines.extend(options.properties.iter().cloned());
        let text: String = lines.iter().map(|(name, value)| format!("{name}={value}\n")).collect();
        fs::write(self.path("server.properties"), text)?;
        let mut format = Command::new("java");
        format.args(["-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp"]).arg(self.class_path());
        format
            .args(["kafka.tools.StorageTool", "format", "-t", "4L6g3nShT-eMCtK--X86sw", "-c"])
            .arg(self.path("server.properties"));
        if options.secure {
            for mechanism in ["SCRAM-SHA-256", "SCRAM-SHA-512"] {
                format.arg("--add-scram").arg(format!("{mechanism}=[name={USER},password={PASSWORD}]"));
            }
        }
        run(format, TOOL_TIME).map(drop)
    }

    fn settings(&self) -> Vec<(String, String)> {
        let Ports { open, controller, .. } = self.ports;
        let lines = [
            ("process.roles", "broker,controller".to_owned()),
            ("node.id", "1".to_owned()),
            ("controller.quorum.voters", format!("1@127.0.0.1:{controller}")),
            ("listeners", format!("PLAINTEXT://127.0.0.1:{open},CONTROLLER://127.0.0.1:{controller}")),
            ("advertised.listeners", format!("PLAINTEXT://127.0.0.1:{open}")),
            ("controller.listener.names", "CONTROLLER".to_owned()),
            ("inter.broker.listener.name", "PLAINTEXT".to_owned()),
            ("log.dirs", self.path("data").display().to_string()),
            ("offsets.topic.replication.factor", "1".to_owned()),
            ("offsets.topic.num.partitions", "3".to_owned()),
            ("transaction.state.log.replication.factor", "1".to_owned()),
            ("transaction.state.log.min.isr", "1".to_owned()),
            ("transaction.state.log.num.partitions", "3".to_owned()),
            ("group.initial.rebalance.delay.ms", "0".to_owned()),
            ("auto.create.topics.enable", "false".to_owned()),
        ];
        lines.map(|(name, value)| (name.to_owned(), value)).into()
    }
}

impl Drop for Kafka {
    fn drop(&mut self) {
        if self.child.is_some() {
            // Nothing of it is kept, so nothing has to be saved.
            drop(self.kill());
        }
        self.let_go();
    }
}

/// Waits for a process, at most `time`. `false` when it still runs.
fn ended(child: &mut Child, time: Duration) -> io::Result<bool> {
    let until = Instant::now() + time;
    loop {
        if child.try_wait()?.is_some() {
            return Ok(true);
        }
        if Instant::now() >= until {
            return Ok(false);
        }
        thread::park_timeout(LOOK);
    }
}

/// Runs a tool and returns what it printed; its words are in the error when it fails or takes too long.
fn run(mut command: Command, time: Duration) -> Result<String> {
    let mut words = tempfile::tempfile()?;
    let mut printed = tempfile::tempfile()?;
    let name = format!("{command:?}");
    let mut child =
        command.stdin(Stdio::null()).stdout(printed.try_clone()?).stderr(words.try_clone()?).spawn().context(name.clone())?;
    let in_time = ended(&mut child, time)?;
    if !in_time {
        child.kill()?;
    }
    let status = child.wait()?;
    let (printed, words) = (text(&mut printed)?, text(&mut words)?);
    ensure!(in_time, "{name} took longer than {} s: {words}", time.as_secs());
    ensure!(status.success(), "{name}: {status}: {printed}{words}");
    Ok(printed)
}

fn text(file: &mut File) -> io::Result<String> {
    use std::io::Seek as _;
    file.rewind()?;
    let mut bytes = Vec::new();
    file.read_to_end(&mut bytes)?;
    Ok(String::from_utf8_lossy(&bytes).into_owned())
}

/// The folder with Kafka's jars.
fn jars() -> Result<PathBuf> {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../scripts/kafka.sh");
    Ok(PathBuf::from(run(Command::new(script), FETCH_TIME)?.trim()))
}
