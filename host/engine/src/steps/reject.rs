//! What is kept of a refused record. What a rule protects is not in it: neither bytes, nor key, nor words (invariant 9).

use sluicebox_config::spec::RawRejects;
use sluicebox_core::column::{Column, Privacy};
use sluicebox_core::commit::RejectRow;
use sluicebox_core::record::Records;
use sluicebox_core::reject::{Code, Rejects, RowError};

/// Stands in place of words that could show a protected value.
pub const WITHHELD: &str = "withheld: the column has a privacy rule";
/// Errors kept of one record; one more says how many were left out.
const ERRORS_MAX: usize = 20;
/// Characters kept of a message.
const MESSAGE_MAX: usize = 1_000;

/// Makes the rows of the reject route.
pub struct RejectWriter {
    raw: RawRejects,
    /// Names that a path may begin with, with whether a rule protects what is there.
    columns: Vec<(String, bool)>,
    guarded: bool,
}

impl RejectWriter {
    /// For the columns of a pipeline. Raw bytes are kept only where the configuration says so and nothing is protected.
    pub fn new(columns: &[Column], raw: RawRejects, key: &Privacy) -> Self {
        let protected = columns.iter().any(Column::protects);
        let names = |c: &Column| {
            [Some(c.name.clone()), c.rename.clone()].into_iter().flatten().map(|name| (name, c.protects())).collect::<Vec<_>>()
        };
        let raw = if protected || key.protects() { RawRejects::Omit } else { raw };
        Self { raw, columns: columns.iter().flat_map(names).collect(), guarded: protected }
    }

    /// The rows, in order of records.
    pub fn rows(&self, records: &Records, rejects: &Rejects) -> Vec<RejectRow> {
        let plain = self.raw == RawRejects::Plain;
        let row = |(record, errors): (u32, &[RowError])| {
            let record = record as usize;
            let partition = records.partition(record);
            RejectRow {
                topic: partition.topic.clone(),
                partition: partition.partition,
                offset: records.offset(record),
                key: records.key(record).filter(|_| plain).map(<[u8]>::to_vec),
                value: records.value(record).filter(|_| plain).map(<[u8]>::to_vec),
                errors: self.errors(errors),
            }
        };
        rejects.iter().map(row).collect()
    }

    fn errors(&self, errors: &[RowError]) -> Vec<RowError> {
        let mut kept: Vec<RowError> = errors.iter().take(ERRORS_MAX).map(|error| self.redact(error)).collect();
        if let (Some(more), Some(last)) = (errors.len().checked_sub(ERRORS_MAX).filter(|more| *more > 0), errors.last()) {
            kept.push(RowError::new("", last.code.clone(), format!("and {more} more errors")));
        }
        kept
    }

    /// Names of undeclared fields and words about a protected column may be payload: they go where anything is protected.
    fn redact(&self, error: &RowError) -> RowError {
        let message: String = error.message.chars().take(MESSAGE_MAX).collect();
        let RowError { path, code, .. } = error.clone();
        if !self.guarded {
            return RowError { path, code, message };
        }
        let top = path.split(['.', '[']).next().unwrap_or_default();
        // A declared name may hold a dot or a bracket itself.
        let known = self.columns.iter().find(|(name, _)| *name == top || *name == path);
        match known {
            Some((_, true)) => RowError { path, code, message: WITHHELD.into() },
            Some((_, false)) => RowError { path, code, message },
            None if path.is_empty() || ours(&code) => RowError { path: String::new(), code, message },
            None => RowError { path: String::new(), code, message: WITHHELD.into() },
        }
    }
}

/// Codes whose messages never quote the payload.
fn ours(code: &Code) -> bool {
    [Code::SYNTAX, Code::REQUIRED].contains(code)
}

#[cfg(test)]
mod tests;
