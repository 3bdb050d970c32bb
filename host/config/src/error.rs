//! Errors of the configuration: where, what was found, what was expected, how to mend it.

use std::fmt;
use std::path::{Path, PathBuf};

use sluicebox_core::name::{PipelineName, TenantName};

/// A place in a file, counted from 1.
#[derive(Debug, Clone, Copy, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Mark {
    /// Line.
    pub line: usize,
    /// Column, in characters.
    pub column: usize,
}

/// One error, or one warning. `Display` is `file:line:column: message`.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct ConfigError {
    /// The file, as it was reached from the path given.
    pub file: PathBuf,
    /// Line from 1, or 0 when the whole file is meant.
    pub line: usize,
    /// Column from 1 in characters, or 0 when the whole file is meant.
    pub column: usize,
    /// What was found, what was expected, and the nearest valid name. It never quotes a secret nor a client property's value.
    pub message: String,
    /// The tenant it keeps from starting, wholly or in part. None for what concerns no tenant.
    pub tenant: Option<TenantName>,
    /// The pipeline it keeps from starting. None for what concerns the whole tenant, or an entry that pipelines refer to.
    pub pipeline: Option<PipelineName>,
}

impl fmt::Display for ConfigError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.line {
            0 => write!(f, "{}: {}", self.file.display(), self.message),
            _ => write!(f, "{}:{}:{}: {}", self.file.display(), self.line, self.column, self.message),
        }
    }
}

impl std::error::Error for ConfigError {}

/// What an error keeps from starting.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Scope {
    /// The whole tenant.
    Tenant,
    /// An entry (connection, type, component): the pipelines that refer to it.
    Entry,
    /// One pipeline.
    Pipeline(PipelineName),
}

/// Collects the errors and warnings of one file.
#[derive(Debug)]
pub(crate) struct Problems {
    file: PathBuf,
    tenant: Option<TenantName>,
    scope: Scope,
    tenant_wrong: bool,
    found: usize,
    errors: Vec<ConfigError>,
    warnings: Vec<ConfigError>,
}

impl Problems {
    pub(crate) fn new(file: &Path, tenant: Option<TenantName>) -> Self {
        let (errors, warnings) = (Vec::new(), Vec::new());
        Self { file: file.to_owned(), tenant, scope: Scope::Tenant, tenant_wrong: false, found: 0, errors, warnings }
    }

    /// An error of the current scope. The same words at the same place (an anchor used twice) are said once.
    /// The file.
    pub(crate) fn file(&self) -> &Path {
        &self.file
    }

    pub(crate) fn error(&mut self, mark: Mark, message: impl Into<String>) {
        let error = self.make(Some(mark), message.into());
        self.tenant_wrong |= self.scope == Scope::Tenant;
        self.found += 1;
        if !self.errors.contains(&error) {
            self.errors.push(error);
        }
    }

    /// An error that has no place in the file.
    pub(crate) fn file_error(&mut self, message: impl Into<String>) {
        let error = self.make(None, message.into());
        self.tenant_wrong = true;
        self.found += 1;
        self.errors.push(error);
    }

    pub(crate) fn warn(&mut self, mark: Mark, message: impl Into<String>) {
        let warning = self.make(Some(mark), message.into());
        if !self.warnings.contains(&warning) {
            self.warnings.push(warning);
        }
    }

    /// Runs `work` with errors counted for `scope`.
    pub(crate) fn within<T>(&mut self, scope: Scope, work: impl FnOnce(&mut Self) -> T) -> T {
        let outer = std::mem::replace(&mut self.scope, scope);
        let result = work(self);
        self.scope = outer;
        result
    }

    /// Replaces the scope and gives the one before, for those who cannot lend themselves to a closure.
    pub(crate) fn enter(&mut self, scope: Scope) -> Scope {
        std::mem::replace(&mut self.scope, scope)
    }

    /// How many errors were found so far, repeated ones too.
    pub(crate) fn count(&self) -> usize {
        self.found
    }

    /// Whether an error keeps the whole tenant from starting.
    pub(crate) fn tenant_wrong(&self) -> bool {
        self.tenant_wrong
    }

    /// Whether an error keeps the pipeline from starting.
    pub(crate) fn pipeline_wrong(&self, name: &PipelineName) -> bool {
        self.errors.iter().any(|error| error.pipeline.as_ref() == Some(name))
    }

    /// Errors and warnings, each in the order of the file.
    pub(crate) fn finish(mut self) -> (Vec<ConfigError>, Vec<ConfigError>) {
        self.errors.sort_by_key(|error| (error.line, error.column));
        self.warnings.sort_by_key(|warning| (warning.line, warning.column));
        (self.errors, self.warnings)
    }

    fn make(&self, mark: Option<Mark>, message: String) -> ConfigError {
        let pipeline = match &self.scope {
            Scope::Pipeline(name) => Some(name.clone()),
            Scope::Tenant | Scope::Entry => None,
        };
        let Mark { line, column } = mark.unwrap_or(Mark { line: 0, column: 0 });
        ConfigError { file: self.file.clone(), line, column, message, tenant: self.tenant.clone(), pipeline }
    }
}
