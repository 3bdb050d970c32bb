//! The program itself, as a child process.

use std::path::{Path, PathBuf};
use std::process::{Child, Command, Output, Stdio};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail};

/// Longest time of a command that ends by itself.
const PATIENCE: Duration = Duration::from_secs(180);

/// `TARGET/release`: tests, examples and benches are below it.
fn release() -> PathBuf {
    let own = std::env::current_exe().unwrap_or_default();
    own.ancestors()
        .find(|folder| folder.file_name().is_some_and(|name| name == "release"))
        .map(Path::to_owned)
        .unwrap_or_default()
}

/// The target folder.
pub fn target() -> PathBuf {
    release().parent().map(Path::to_owned).unwrap_or_default()
}

/// The folder with the components that `scripts/components.sh` built.
pub fn components() -> PathBuf {
    target().join("components")
}

/// `sluicebox ARGS` in a folder.
///
/// # Errors
/// The program is not built.
pub fn sluicebox(folder: &Path, args: &[&str]) -> Result<Command> {
    let program = release().join("sluicebox");
    if !program.is_file() {
        bail!("{} is not built: cargo build --release -p sluicebox-server", program.display());
    }
    let mut command = Command::new(program);
    command.args(args).current_dir(folder).stdin(Stdio::null());
    Ok(command)
}

/// Runs a command to its end.
///
/// # Errors
/// It does not start, or does not end in time.
pub fn output(mut command: Command) -> Result<Output> {
    let mut child = command.stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().with_context(|| format!("{command:?}"))?;
    // Whoever waits must read, or a full pipe stops the child.
    let (stdout, stderr) = (child.stdout.take(), child.stderr.take());
    let read = |pipe: Option<Box<dyn std::io::Read + Send>>| {
        std::thread::spawn(move || {
            let mut bytes = Vec::new();
            if let Some(mut pipe) = pipe {
                let _ = pipe.read_to_end(&mut bytes);
            }
            bytes
        })
    };
    let stdout = read(stdout.map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
    let stderr = read(stderr.map(|pipe| Box::new(pipe) as Box<dyn std::io::Read + Send>));
    let status = wait(&mut child, PATIENCE)?;
    Ok(Output { status, stdout: stdout.join().unwrap_or_default(), stderr: stderr.join().unwrap_or_default() })
}

/// Waits for a child, and kills it when it does not end in time.
///
/// # Errors
/// It did not end in time.
pub fn wait(child: &mut Child, patience: Duration) -> Result<std::process::ExitStatus> {
    let deadline = Instant::now() + patience;
    loop {
        if let Some(status) = child.try_wait()? {
            return Ok(status);
        }
        if Instant::now() >= deadline {
            child.kill()?;
            child.wait()?;
            bail!("process {} did not end in {patience:?}", child.id());
        }
        std::thread::park_timeout(Duration::from_millis(5));
    }
}
