//! What is kept of a refused record. What a rule protects is not in it: neither bytes, nor key, nor words (invariant 9).
//!
//! Where nothing is protected, messages stay as they are. Else:
//! - a path keeps what names declared columns and places in arrays; the rest may be a key of the payload and is cut off;
//! - an error in, around or inside a protected column keeps its code, and its message is [`WITHHELD`];
//! - so is the message of an error elsewhere, or of the record as a whole, unless its words cannot come from the payload: those of the
//!   decoder about broken syntax (fixed words and a byte number), those of SQL and of a failed component step, which run after
//!   privacy and see no protected value. SQL's paths are names that the user wrote.
//!
//! An error of an unprotected column may quote that column's value.

use sluicebox_config::spec::RawRejects;
use sluicebox_core::column::{Column, Kind, Privacy};
use sluicebox_core::commit::RejectRow;
use sluicebox_core::record::Records;
use sluicebox_core::reject::{Code, Rejects, RowError};

use super::metadata;

/// Stands in place of words that could show a protected value.
pub const WITHHELD: &str = "withheld: the column has a privacy rule";
/// Stands in place of words about no declared column, which could show any value.
pub const WITHHELD_RECORD: &str = "withheld: columns of the record have a privacy rule";

/// Errors kept of one record; one more says how many were left out.
const ERRORS_MAX: usize = 20;
/// Characters kept of a message.
const MESSAGE_CHARS_MAX: usize = 1_000;
/// Characters kept of a path.
const PATH_CHARS_MAX: usize = 500;

/// Makes the rows of the reject route.
pub struct RejectWriter {
    raw: RawRejects,
    names: Vec<Name>,
    guarded: bool,
}

/// A name that a path may have, before or after a rename.
struct Name {
    name: String,
    /// A rule hides it, or all that is in it.
    hidden: bool,
    /// A rule hides it or something in it.
    protects: bool,
    children: Vec<Name>,
}

/// What a path leads to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Standing {
    /// The record as a whole.
    Record,
    Protected,
    Plain,
    /// No declared column.
    Unknown,
}

impl RejectWriter {
    /// For the columns of a pipeline. Raw bytes are kept only where the configuration says so and nothing is protected.
    pub fn new(columns: &[Column], raw: RawRejects, key: &Privacy) -> Self {
        let guarded = key.protects() || columns.iter().any(Column::protects);
        let mut names = names(columns);
        let hidden = key.protects();
        names.push(Name { name: metadata::Column::Key.name().to_owned(), hidden, protects: hidden, children: Vec::new() });
        Self { raw: if guarded { RawRejects::Omit } else { raw }, names, guarded }
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
        if let Some(first) = errors.get(ERRORS_MAX) {
            // Whoever found them may have counted some already.
            let more: usize = errors[ERRORS_MAX..].iter().map(|error| counted(&error.message).unwrap_or(1)).sum();
            kept.push(RowError::new("", first.code.clone(), format!("and {more} more")));
        }
        kept
    }

    fn redact(&self, error: &RowError) -> RowError {
        let RowError { path, code, message } = error;
        let (path, message) = if self.guarded {
            let (known, standing) = self.standing(path);
            let (known, standing) = match standing {
                Standing::Unknown if *code == Code::SQL => (path.as_str(), Standing::Plain),
                _ => (known, standing),
            };
            (known, withheld(standing, code, message).unwrap_or(message))
        } else {
            (path.as_str(), message.as_str())
        };
        RowError::new(shortened(path, PATH_CHARS_MAX), code.clone(), shortened(message, MESSAGE_CHARS_MAX))
    }

    /// The part of a path that names declared columns, and where it leads.
    fn standing<'p>(&self, path: &'p str) -> (&'p str, Standing) {
        if path.is_empty() {
            return (path, Standing::Record);
        }
        let (mut names, mut known, mut at, mut around) = (&self.names, 0, 0, false);
        // A declared name may hold a dot or a bracket itself: the longest that fits counts, and of several (renames may swap names) a hidden one.
        while let Some(name) =
            names.iter().filter(|n| begins(&path[at..], &n.name)).max_by_key(|n| (n.name.len(), n.hidden, n.protects))
        {
            known = at + name.name.len();
            known += indexes(&path[known..]);
            around = name.protects;
            let ends = known == path.len();
            if name.hidden || ends {
                return (&path[..known], if name.protects { Standing::Protected } else { Standing::Plain });
            }
            if !path[known..].starts_with('.') {
                break;
            }
            (at, names) = (known + 1, &name.children);
        }
        (&path[..known], if around { Standing::Protected } else { Standing::Unknown })
    }
}

/// What stands in place of a message that may not be shown.
fn withheld(standing: Standing, code: &Code, message: &str) -> Option<&'static str> {
    match standing {
        Standing::Plain => None,
        Standing::Protected => Some(WITHHELD),
        Standing::Record if [Code::SYNTAX, Code::SQL, Code::COMPONENT].contains(code) || counted(message).is_some() => None,
        Standing::Unknown if *code == Code::SYNTAX => None,
        Standing::Record | Standing::Unknown => Some(WITHHELD_RECORD),
    }
}

/// How many errors a message stands for that says nothing but their number.
fn counted(message: &str) -> Option<usize> {
    message.strip_prefix("and ")?.strip_suffix(" more").filter(|number| number.len() < 10)?.parse().ok()
}

fn names(columns: &[Column]) -> Vec<Name> {
    let both = |c: &Column| {
        let name = |name: &String| {
            let children = match &c.kind {
                Kind::Struct(children) => names(children),
                _ => Vec::new(),
            };
            Name { name: name.clone(), hidden: c.privacy.protects(), protects: c.protects(), children }
        };
        [Some(&c.name), c.rename.as_ref()].into_iter().flatten().map(name).collect::<Vec<_>>()
    };
    columns.iter().flat_map(both).collect()
}

/// Whether a path begins with this whole name.
fn begins(path: &str, name: &str) -> bool {
    path.strip_prefix(name).is_some_and(|rest| rest.is_empty() || rest.starts_with(['.', '[']))
}

/// Length of the array indexes `[0][12]` at the start.
fn indexes(path: &str) -> usize {
    let mut rest = path;
    while let Some((index, after)) = rest.strip_prefix('[').and_then(|inside| inside.split_once(']')) {
        if index.is_empty() || !index.bytes().all(|b| b.is_ascii_digit()) {
            break;
        }
        rest = after;
    }
    path.len() - rest.len()
}

fn shortened(text: &str, chars: usize) -> String {
    match text.char_indices().nth(chars) {
        Some((end, _)) => format!("{}…", &text[..end]),
        None => text.to_owned(),
    }
}

#[cfg(test)]
mod tests;
