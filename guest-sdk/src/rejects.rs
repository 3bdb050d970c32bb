//! Rows that are refused.

use std::fmt::Display;

use crate::Reject;

/// What is wrong with the rows of a call; a row may be named several times.
#[derive(Debug, Default)]
pub struct Rejects(Vec<Reject>);

impl Rejects {
    /// Refuses a row, numbered from 0 in the batch of the call. `path` says where in it (`column`, `column.field`, `column[0]`; empty for
    /// the row as a whole), `code` is one of the `CODES`, `message` is for a person and shows no protected value.
    pub fn add(&mut self, row: usize, path: &str, code: &str, message: impl Display) {
        self.0.push(Reject {
            // A batch has at most 4 MiB, so its rows can be counted in 32 bits.
            row: u32::try_from(row).unwrap_or(u32::MAX),
            path: path.to_owned(),
            code: code.to_owned(),
            message: message.to_string(),
            attributes: Vec::new(),
        });
    }

    /// Whether none is refused.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Those that were added, in order.
    pub fn into_vec(self) -> Vec<Reject> {
        self.0
    }
}
