//! What a declaration table is made of: one table of keys per kind of mapping. The tables themselves are in [`crate::keys`];
//! the walker and the JSON Schema both read them, so that what is checked and what editors complete cannot differ.

/// The keys of one kind of mapping.
#[derive(Debug)]
pub(crate) struct Table {
    /// What such a mapping is, for messages and as the name of its schema: `pipeline`, `column`.
    pub(crate) name: &'static str,
    /// Its keys, in the order in which people write them.
    pub(crate) keys: &'static [Key],
}

/// One key.
#[derive(Debug)]
pub(crate) struct Key {
    /// The key.
    pub(crate) name: &'static str,
    /// Another spelling of it.
    pub(crate) also: Option<&'static str>,
    /// What its value must be.
    pub(crate) shape: &'static Shape,
    /// Whether it may not be left out.
    pub(crate) required: bool,
    /// Whether it is in this version.
    pub(crate) status: Status,
    /// What it does; becomes the description in the JSON Schema.
    pub(crate) doc: &'static str,
}

/// Whether a key is in this version.
#[derive(Debug, Clone, Copy)]
pub(crate) enum Status {
    /// It is.
    Here,
    /// Taken and kept for people; a warning says why it does nothing.
    Documentation(&'static str),
    /// A key of a later version.
    Later,
    /// A key of a later version whose default may be written already.
    Only(&'static str),
    /// No key of ours, but people try it: what to write instead.
    Instead(&'static str),
}

/// What a value must be.
#[derive(Debug)]
pub(crate) enum Shape {
    /// Text; the words say what it is.
    Text(&'static str),
    /// One of some words, in any case.
    Choice {
        /// The words of this version.
        here: &'static [&'static str],
        /// Words of a later version.
        later: &'static [&'static str],
    },
    /// `true` or `false`.
    Boolean,
    /// A whole number.
    Integer {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// Bytes: `8MiB`.
    Size {
        /// The least.
        min: u64,
        /// The greatest.
        max: u64,
    },
    /// A span of time, `100ms`, with bounds in milliseconds.
    Duration {
        /// The least.
        min_ms: u64,
        /// The greatest.
        max_ms: u64,
    },
    /// A list.
    List(&'static Shape),
    /// A mapping with the keys of a table.
    Object(&'static Table),
    /// A mapping from names that the user chooses.
    Named(&'static Shape),
    /// The first for a scalar, the second for anything else.
    Either(&'static Shape, &'static Shape),
    /// Client properties: names to scalars, which are secret.
    Properties,
    /// Any value; becomes JSON.
    Any,
}

impl Table {
    /// The keys that a user may write, for messages.
    pub(crate) fn written(&self) -> impl Iterator<Item = &'static str> {
        self.keys.iter().filter(|key| matches!(key.status, Status::Here | Status::Documentation(_))).map(|key| key.name)
    }

    /// The key of this name or other spelling.
    pub(crate) fn key(&self, name: &str) -> Option<&'static Key> {
        self.keys.iter().find(|key| key.name == name || key.also == Some(name))
    }

    /// The key under whose value the name is a key.
    pub(crate) fn deeper(&self, name: &str) -> Option<&'static str> {
        self.keys.iter().find_map(|key| {
            let (Shape::Object(table) | Shape::Either(_, Shape::Object(table))) = key.shape else { return None };
            table.written().any(|inner| inner == name).then_some(key.name)
        })
    }
}

impl Shape {
    /// What is expected, for messages.
    pub(crate) fn expected(&self) -> String {
        match self {
            Shape::Text(what) => (*what).to_owned(),
            Shape::Choice { here, .. } => match here {
                [only] => format!("`{only}`"),
                _ => format!("one of {}", here.join(", ")),
            },
            Shape::Boolean => "true or false".to_owned(),
            Shape::Integer { min, max } => format!("a whole number from {min} to {max}"),
            Shape::Size { .. } => "a size such as 8MiB".to_owned(),
            Shape::Duration { .. } => "a duration such as 100ms, 10s, 5m, 7d".to_owned(),
            Shape::List(item) => format!("a list, each item {}", item.expected()),
            Shape::Object(table) => {
                format!("a mapping: a {} with some of {}", table.name, table.written().collect::<Vec<_>>().join(", "))
            }

            Shape::Named(item) => format!("a mapping from names, each to {}", item.expected()),
            Shape::Either(scalar, other) => format!("{}, or {}", scalar.expected(), other.expected()),
            Shape::Properties => "a mapping of client properties".to_owned(),
            Shape::Any => "any value".to_owned(),
        }
    }
}
