//! What a user may type.

use std::net::SocketAddr;
use std::path::PathBuf;

use clap::{Args, Parser, Subcommand, ValueEnum};

/// A stream processor in one binary: from Kafka topics to clean tables that SQL can query.
#[derive(Debug, Parser)]
#[command(name = "sluicebox", version, propagate_version = true)]
pub struct Cli {
    /// What to log: a level (error, warn, info, debug, trace) or tracing directives
    #[arg(long, global = true, env = "SLUICEBOX_LOG", default_value = "info", hide_env_values = true)]
    pub log: String,
    /// The command.
    #[command(subcommand)]
    pub command: Command,
}

/// Where the configuration is.
#[derive(Debug, Clone, Args)]
pub struct ConfigArgs {
    /// The configuration: a file, or a folder with sluicebox.yaml and tenants/NAME.yaml
    #[arg(short = 'f', long = "file", env = "SLUICEBOX_CONFIG", default_value = "sluicebox.yaml")]
    pub file: PathBuf,
}

/// Whose tables or pipelines.
#[derive(Debug, Clone, Args)]
pub struct TenantArgs {
    /// The tenant
    #[arg(long, default_value = sluicebox_core::name::DEFAULT_TENANT)]
    pub tenant: String,
}

/// The commands.
#[derive(Debug, Subcommand)]
pub enum Command {
    /// Run the pipelines of a configuration
    Run(RunArgs),
    /// Find everything that is wrong with a configuration, without running it
    Check(CheckArgs),
    /// Send real records through a pipeline and print what comes out; nothing is committed
    Preview(PreviewArgs),
    /// Run golden folders: configuration and input beside the expected tables
    Test(TestArgs),
    /// Query the tables: one statement, or a prompt when none is given
    Sql(SqlArgs),
    /// List the pipelines of a running host, or tell one what to do
    Pipeline(PipelineArgs),
}

/// `sluicebox run`
#[derive(Debug, Args)]
pub struct RunArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Start nothing when anything of the configuration is wrong
    #[arg(long)]
    pub strict: bool,
    /// Address of the HTTP API; loopback only
    #[arg(long, default_value = "127.0.0.1:8090")]
    pub listen: SocketAddr,
    /// How long a `once` run waits for a broker or disk that is away, in seconds
    #[arg(long, default_value_t = 60)]
    pub wait: u64,
}

/// `sluicebox check`
#[derive(Debug, Args)]
pub struct CheckArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// Print the JSON Schema of the configuration instead, for editors
    #[arg(long)]
    pub schema: bool,
}

/// `sluicebox preview`
#[derive(Debug, Args)]
pub struct PreviewArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The tenant.
    #[command(flatten)]
    pub tenant: TenantArgs,
    /// The pipeline
    pub pipeline: String,
    /// How many records to read
    #[arg(long, default_value_t = 20)]
    pub records: usize,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

/// `sluicebox test`
#[derive(Debug, Args)]
pub struct TestArgs {
    /// Golden folders, or folders of golden folders
    #[arg(required = true)]
    pub folders: Vec<PathBuf>,
    /// Also run each folder stopped and started again after every commit
    #[arg(long)]
    pub interrupted: bool,
    /// Write what came out as the expected files
    #[arg(long)]
    pub bless: bool,
}

/// `sluicebox sql`
#[derive(Debug, Args)]
pub struct SqlArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The tenant.
    #[command(flatten)]
    pub tenant: TenantArgs,
    /// The statement; without one, a prompt that reads statements ended by `;`
    pub statement: Option<String>,
    /// How to print
    #[arg(long, value_enum, default_value_t = Format::Table)]
    pub output: Format,
}

/// `sluicebox pipeline`
#[derive(Debug, Args)]
pub struct PipelineArgs {
    /// The configuration.
    #[command(flatten)]
    pub config: ConfigArgs,
    /// The tenant.
    #[command(flatten)]
    pub tenant: TenantArgs,
    /// What to do.
    #[command(subcommand)]
    pub action: PipelineAction,
}

/// What `sluicebox pipeline` does.
#[derive(Debug, Subcommand)]
pub enum PipelineAction {
    /// Print state, counts and lag of each pipeline
    List {
        /// How to print
        #[arg(long, value_enum, default_value_t = Format::Table)]
        output: Format,
    },
    /// Stop reading and commit what was read; survives a restart of the host
    Pause {
        /// The pipeline
        name: String,
    },
    /// Go on after a pause
    Resume {
        /// The pipeline
        name: String,
    },
    /// Begin again from what is committed, also after a failure
    Restart {
        /// The pipeline
        name: String,
    },
}

/// How rows are printed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, ValueEnum)]
pub enum Format {
    /// A table for people
    Table,
    /// A JSON array of objects
    Json,
    /// Comma separated, with a header line
    Csv,
}

impl Format {
    /// The media type that stands for it in HTTP.
    pub fn media_type(self) -> &'static str {
        match self {
            Format::Table => "text/plain",
            Format::Json => "application/json",
            Format::Csv => "text/csv",
        }
    }

    /// The format that an `Accept` header asks for; JSON where it names none of ours.
    pub fn accepted(accept: &str) -> Self {
        let wants = |format: &Format| accept.contains(format.media_type());
        [Format::Json, Format::Csv, Format::Table].into_iter().find(wants).unwrap_or(Format::Json)
    }
}
