//! YAML text to a tree of nodes, each with its place.
//!
//! Promises: YAML 1.2, one document; memory and time bounded by the limits of [`parse`], whatever aliases do; every error has a
//! place, and its words never quote a value of the file. A mapping keeps duplicate keys, so that whoever reads it can name both.

mod parse;
mod scalar;

#[cfg(test)]
mod tests;

use crate::error::Mark;

pub(crate) use parse::{FILE_BYTES_MAX, parse};
pub(crate) use scalar::{Meaning, meaning};

/// A value and its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Node {
    /// Where it begins; of an alias, where the alias stands.
    pub(crate) mark: Mark,
    /// What it is.
    pub(crate) content: Content,
}

/// What a node is.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Content {
    /// Text, a number, a truth value or null; see [`meaning`].
    Scalar(Scalar),
    /// A list.
    Sequence(Vec<Node>),
    /// Keys and values, in the order of the file; merged ones follow.
    Mapping(Vec<Entry>),
}

/// A scalar as written, after YAML's own escapes.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Scalar {
    /// The text.
    pub(crate) text: String,
    /// Written without quotes, so that it may mean a number, a truth value or null.
    pub(crate) plain: bool,
}

/// One key of a mapping.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Entry {
    /// The key.
    pub(crate) key: String,
    /// Where the key stands.
    pub(crate) key_mark: Mark,
    /// Its value.
    pub(crate) value: Node,
}
