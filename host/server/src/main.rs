//! `sluicebox`: parses the command line, runs the command, ends the process.

use clap::Parser;

fn main() -> std::process::ExitCode {
    let cli = sluicebox_server::cli::Cli::parse();
    sluicebox_server::command::run(cli)
}
