//! The exit codes of all commands.

/// How a command ended. One table for all of them; see `docs/commands.md`.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord)]
pub enum Exit {
    /// 0: it is done.
    Done,
    /// 75: something was away for too long; try again.
    TryAgain,
    /// 1: a pipeline, a test or a query failed.
    Failed,
    /// 2: the command line or the configuration is wrong.
    Usage,
}

impl Exit {
    /// The number.
    pub fn code(self) -> u8 {
        match self {
            Exit::Done => 0,
            Exit::Failed => 1,
            Exit::Usage => 2,
            Exit::TryAgain => 75,
        }
    }
}

impl From<Exit> for std::process::ExitCode {
    fn from(exit: Exit) -> Self {
        Self::from(exit.code())
    }
}
