//! One module a command.

use std::process::ExitCode;

use crate::cli::{Cli, Command};
use crate::exit::Exit;

mod check;
pub mod golden;
mod load;
mod pipeline;
mod preview;
mod run;
mod sql;
mod test;

/// Runs a command and answers with its exit code.
pub fn run(cli: Cli) -> ExitCode {
    log(&cli.log);
    let exit = match cli.command {
        Command::Run(args) => run::run(&args),
        Command::Check(args) => check::check(&args),
        Command::Preview(args) => preview::preview(&args),
        Command::Test(args) => test::test(&args),
        Command::Sql(args) => sql::sql(&args),
        Command::Pipeline(args) => pipeline::pipeline(&args),
    };
    match exit {
        Ok(exit) => exit.into(),
        Err(error) => {
            say(&format!("sluicebox: {error:#}"));
            Exit::Failed.into()
        }
    }
}

/// Log lines go to standard error, so that standard output is only what was asked for.
fn log(directives: &str) {
    use std::io::IsTerminal;
    let filter =
        tracing_subscriber::EnvFilter::try_new(directives).unwrap_or_else(|_| tracing_subscriber::EnvFilter::new("info"));
    let subscriber = tracing_subscriber::fmt().with_env_filter(filter).with_writer(std::io::stderr).with_target(false);
    subscriber.with_ansi(std::io::stderr().is_terminal()).init();
}

/// Prints to standard error what is for people.
#[expect(clippy::print_stderr, reason = "the command line speaks to people here")]
pub(crate) fn say(text: &str) {
    eprintln!("{text}");
}

/// Prints what was asked for to standard output. A reader that has gone is no error.
pub(crate) fn answer(text: &str) {
    use std::io::Write;
    let _ = std::io::stdout().lock().write_all(text.as_bytes());
}
