//! The document: what was written, by the shapes of the declaration tables, with the place of each value.
//!
//! A value that was wrong is not in here; its error was collected when the tree was walked.

use std::time::Duration;

use sluicebox_core::secret::Secret;

use crate::error::Mark;

/// Text and its place.
#[derive(Debug, Clone)]
pub(crate) struct Text {
    pub(crate) mark: Mark,
    pub(crate) text: String,
    /// Some of it came from a secret: no message may quote it.
    pub(crate) secret: bool,
}

/// A value.
#[derive(Debug, Clone)]
pub(crate) enum Value {
    Text(Text),
    Choice(&'static str),
    Boolean(bool),
    /// An integer, or bytes.
    Number(u64),
    Duration(Duration),
    /// A wrong item is None.
    List(Vec<Option<Value>>),
    Object(Object),
    Named(Vec<Named>),
    Properties(Vec<Property>),
    Json(serde_json::Value),
}

/// A mapping by a table.
#[derive(Debug, Clone)]
pub(crate) struct Object {
    pub(crate) mark: Mark,
    pub(crate) fields: Vec<Field>,
    /// Whether a key of it, or anything inside, is wrong.
    pub(crate) wrong: bool,
}

/// A key that was written; its value is None when it was wrong.
#[derive(Debug, Clone)]
pub(crate) struct Field {
    pub(crate) name: &'static str,
    pub(crate) key_mark: Mark,
    pub(crate) mark: Mark,
    pub(crate) value: Option<Value>,
}

/// An entry under a name of the user's.
#[derive(Debug, Clone)]
pub(crate) struct Named {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    /// None when it is no mapping, or its name was written twice.
    pub(crate) object: Option<Object>,
    /// Whether it or anything in it is wrong.
    pub(crate) wrong: bool,
}

/// A client property.
#[derive(Debug, Clone)]
pub(crate) struct Property {
    pub(crate) name: String,
    pub(crate) mark: Mark,
    pub(crate) value_mark: Mark,
    pub(crate) value: Secret,
}

impl Object {
    fn field(&self, name: &str) -> Option<&Field> {
        self.fields.iter().find(|field| field.name == name)
    }

    fn value(&self, name: &str) -> Option<&Value> {
        self.field(name)?.value.as_ref()
    }

    /// Whether the key was written, right or wrong.
    pub(crate) fn has(&self, name: &str) -> bool {
        self.field(name).is_some()
    }

    /// Where the key stands, or else the mapping.
    pub(crate) fn key_mark(&self, name: &str) -> Mark {
        self.field(name).map_or(self.mark, |field| field.key_mark)
    }

    /// Where the value stands, or else the mapping.
    pub(crate) fn value_mark(&self, name: &str) -> Mark {
        self.field(name).map_or(self.mark, |field| field.mark)
    }

    pub(crate) fn text(&self, name: &str) -> Option<&Text> {
        match self.value(name) {
            Some(Value::Text(text)) => Some(text),
            _ => None,
        }
    }

    pub(crate) fn choice(&self, name: &str) -> Option<&'static str> {
        match self.value(name) {
            Some(Value::Choice(word)) => Some(word),
            _ => None,
        }
    }

    pub(crate) fn boolean(&self, name: &str, default: bool) -> bool {
        match self.value(name) {
            Some(Value::Boolean(value)) => *value,
            _ => default,
        }
    }

    pub(crate) fn number(&self, name: &str) -> Option<u64> {
        match self.value(name) {
            Some(Value::Number(number)) => Some(*number),
            _ => None,
        }
    }

    pub(crate) fn duration(&self, name: &str) -> Option<Duration> {
        match self.value(name) {
            Some(Value::Duration(duration)) => Some(*duration),
            _ => None,
        }
    }

    pub(crate) fn object(&self, name: &str) -> Option<&Object> {
        match self.value(name) {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// The mappings of a list.
    pub(crate) fn objects(&self, name: &str) -> impl Iterator<Item = &Object> {
        self.list(name).iter().flatten().filter_map(|value| match value {
            Value::Object(object) => Some(object),
            _ => None,
        })
    }

    /// The texts of a list.
    pub(crate) fn texts(&self, name: &str) -> impl Iterator<Item = &Text> {
        self.list(name).iter().flatten().filter_map(|value| match value {
            Value::Text(text) => Some(text),
            _ => None,
        })
    }

    /// Whether it is a list without items.
    pub(crate) fn is_empty_list(&self, name: &str) -> bool {
        matches!(self.value(name), Some(Value::List(items)) if items.is_empty())
    }

    fn list(&self, name: &str) -> &[Option<Value>] {
        match self.value(name) {
            Some(Value::List(items)) => items,
            _ => &[],
        }
    }

    pub(crate) fn named(&self, name: &str) -> &[Named] {
        match self.value(name) {
            Some(Value::Named(entries)) => entries,
            _ => &[],
        }
    }

    pub(crate) fn properties(&self, name: &str) -> &[Property] {
        match self.value(name) {
            Some(Value::Properties(properties)) => properties,
            _ => &[],
        }
    }

    pub(crate) fn json(&self, name: &str) -> Option<&serde_json::Value> {
        match self.value(name) {
            Some(Value::Json(json)) => Some(json),
            _ => None,
        }
    }
}
