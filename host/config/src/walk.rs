//! Tree of nodes to document, driven by the declaration tables. All errors are collected.

use std::time::Duration;

use sluicebox_core::name::PipelineName;
use sluicebox_core::secret::Secret;

use crate::document::{Field, Named, Object, Property, Text, Value};
use crate::error::{Mark, Problems, Scope};
use crate::keys::{PIPELINE, TYPE};
use crate::nearest::{did_you_mean, nearest};
use crate::schema::{Key, Shape, Status, Table};
use crate::secrets::Secrets;
use crate::size;
use crate::yaml::{Content, Entry, Meaning, Node, Scalar, meaning};

/// Walks the tree of one file.
pub(crate) struct Walker<'a> {
    pub(crate) problems: &'a mut Problems,
    pub(crate) secrets: Secrets<'a>,
}

impl Walker<'_> {
    /// The mapping as the table says.
    pub(crate) fn object(&mut self, node: &Node, table: &'static Table) -> Option<Object> {
        let Content::Mapping(entries) = &node.content else {
            let expected = Shape::Object(table).expected();
            return self.misfit(node, &expected);
        };
        let before = self.problems.count();
        let mut object = Object { mark: node.mark, fields: Vec::new(), wrong: false };
        for entry in self.unique(entries) {
            self.field(entry, table, &mut object);
        }
        for key in table.keys.iter().filter(|key| key.required && !object.has(key.name)) {
            self.problems.error(node.mark, format!("{} without `{}`; expected {}", table.name, key.name, key.shape.expected()));
        }
        object.wrong = self.problems.count() > before;
        Some(object)
    }

    fn field(&mut self, entry: &Entry, table: &'static Table, object: &mut Object) {
        let Some(key) = table.key(&entry.key) else {
            return self.problems.error(entry.key_mark, unknown_key(&entry.key, table));
        };
        if object.has(key.name) {
            let first = object.key_mark(key.name).line;
            let message = format!("`{}` is another spelling of `{}`, which line {first} has; keep one", entry.key, key.name);
            return self.problems.error(entry.key_mark, message);
        }
        let value = match key.status {
            Status::Here => self.entries(entry, key),
            Status::Documentation(reason) => {
                self.problems.warn(entry.key_mark, format!("`{}` is kept for people only: {reason}", key.name));
                return;
            }
            Status::Later => {
                self.problems.error(entry.key_mark, format!("`{}` is not in this version", key.name));
                None
            }
            Status::Only(default) => return self.only(entry, key, default),
            Status::Instead(advice) => {
                let message = format!("unknown key `{}` of {}; {advice}", entry.key, table.name);
                return self.problems.error(entry.key_mark, message);
            }
        };
        object.fields.push(Field { name: key.name, key_mark: entry.key_mark, mark: entry.value.mark, value });
    }

    /// The value of a key. Errors inside the user's types, as inside of named entries, concern only what refers to them.
    fn entries(&mut self, entry: &Entry, key: &Key) -> Option<Value> {
        let (Shape::List(Shape::Object(table)), Content::Sequence(_)) = (key.shape, &entry.value.content) else {
            return self.value(&entry.value, key.shape, Some(key.name));
        };
        if !std::ptr::eq(*table, &raw const TYPE) {
            return self.value(&entry.value, key.shape, Some(key.name));
        }
        let outer = self.problems.enter(Scope::Entry);
        let value = self.value(&entry.value, key.shape, Some(key.name));
        self.problems.enter(outer);
        value
    }

    /// A key whose default may be written and nothing else.
    fn only(&mut self, entry: &Entry, key: &Key, default: &str) {
        if let Some(text) = self.text(&entry.value, "text", Some(key.name))
            && !text.text.eq_ignore_ascii_case(default)
        {
            let message = format!("{} for `{}` is not in this version; expected {default}", shown(&text), key.name);
            self.problems.error(entry.value.mark, message);
        }
    }

    /// Any value as its shape says. `name` is the key's, for messages.
    pub(crate) fn value(&mut self, node: &Node, shape: &'static Shape, name: Option<&str>) -> Option<Value> {
        match shape {
            Shape::Text(what) => self.text(node, what, name).map(Value::Text),
            Shape::Choice { here, later } => self.choice(node, here, later, name).map(Value::Choice),
            Shape::Boolean => self.boolean(node, name).map(Value::Boolean),
            Shape::Integer { min, max } => self.integer(node, (*min, *max), shape, name).map(Value::Number),
            Shape::Size { min, max } => self.size(node, (*min, *max), name).map(Value::Number),
            Shape::Duration { min_ms, max_ms } => self.duration(node, (*min_ms, *max_ms), name).map(Value::Duration),
            Shape::List(item) => self.list(node, shape, item, name).map(Value::List),
            Shape::Object(table) => self.object(node, table).map(Value::Object),
            Shape::Named(item) => self.named(node, shape, item).map(Value::Named),
            Shape::Either(scalar, other) => match node.content {
                Content::Scalar(_) => self.value(node, scalar, name),
                _ => self.value(node, other, name),
            },
            Shape::Properties => self.properties(node, shape).map(Value::Properties),
            Shape::Any => self.json(node).map(Value::Json),
        }
    }

    /// Text: any scalar as it is written, but for null.
    fn text(&mut self, node: &Node, what: &str, name: Option<&str>) -> Option<Text> {
        let Content::Scalar(scalar) = &node.content else { return self.misfit(node, &named(name, what)) };
        if meaning(scalar) == Meaning::Null {
            let hint = if scalar.text.is_empty() { "" } else { " (in quotes, if the word itself is meant)" };
            return self.fail(node.mark, format!("found null; expected {}{hint}", named(name, what)));
        }
        let (text, secret) = self.resolve(node.mark, scalar, false)?;
        Some(Text { mark: node.mark, text, secret })
    }

    fn choice(&mut self, node: &Node, here: &'static [&'static str], later: &[&str], name: Option<&str>) -> Option<&'static str> {
        let expected = if here.len() == 1 { here[0].to_owned() } else { format!("one of {}", here.join(", ")) };
        let text = self.text(node, &expected, name)?;
        let same = |word: &&&str| word.eq_ignore_ascii_case(&text.text);
        if let Some(word) = here.iter().find(same) {
            return Some(word);
        }
        let found = shown(&text);
        if !text.secret && later.iter().any(|word| word.eq_ignore_ascii_case(&text.text)) {
            return self.fail(node.mark, format!("{found} is not in this version; expected {}", named(name, &expected)));
        }
        let near = if text.secret { String::new() } else { did_you_mean(&text.text, here.iter().copied()) };
        self.fail(node.mark, format!("found {found}; expected {}{near}", named(name, &expected)))
    }

    fn boolean(&mut self, node: &Node, name: Option<&str>) -> Option<bool> {
        let text = self.text(node, "true or false", name)?;
        let plain = matches!(&node.content, Content::Scalar(scalar) if scalar.plain);
        match text.text.to_ascii_lowercase().as_str() {
            "true" if plain || text.secret => Some(true),
            "false" if plain || text.secret => Some(false),
            _ => {
                let quoted = if plain || text.secret { "" } else { " without quotes" };
                self.fail(node.mark, format!("found {}; expected {}{quoted}", shown(&text), named(name, "true or false")))
            }
        }
    }

    fn integer(&mut self, node: &Node, (min, max): (u64, u64), shape: &Shape, name: Option<&str>) -> Option<u64> {
        let text = self.text(node, &shape.expected(), name)?;
        match text.text.parse::<u64>() {
            Ok(number) if (min..=max).contains(&number) => Some(number),
            _ => self.fail(node.mark, format!("found {}; expected {}", shown(&text), named(name, &shape.expected()))),
        }
    }

    fn size(&mut self, node: &Node, (min, max): (u64, u64), name: Option<&str>) -> Option<u64> {
        let text = self.text(node, "a size such as 8MiB", name)?;
        let message = match size::size(&text.text) {
            Ok(bytes) if (min..=max).contains(&bytes) => return Some(bytes),
            Ok(_) => format!("expected a size from {} to {}", size::bytes_text(min), size::bytes_text(max)),
            Err(message) => format!("expected a size such as 8MiB: {message}"),
        };
        self.fail(node.mark, format!("found {}{}; {message}", shown(&text), purpose(name)))
    }

    fn duration(&mut self, node: &Node, (min, max): (u64, u64), name: Option<&str>) -> Option<Duration> {
        let text = self.text(node, "a duration such as 10s", name)?;
        let (min, max) = (Duration::from_millis(min), Duration::from_millis(max));
        let message = match size::duration(&text.text) {
            Ok(duration) if (min..=max).contains(&duration) => return Some(duration),
            Ok(_) => format!("expected a duration from {} to {}", size::duration_text(min), size::duration_text(max)),
            Err(message) => format!("expected a duration such as 100ms, 10s, 5m, 7d: {message}"),
        };
        self.fail(node.mark, format!("found {}{}; {message}", shown(&text), purpose(name)))
    }

    fn list(&mut self, node: &Node, shape: &Shape, item: &'static Shape, name: Option<&str>) -> Option<Vec<Option<Value>>> {
        let Content::Sequence(items) = &node.content else { return self.misfit(node, &named(name, &shape.expected())) };
        Some(items.iter().map(|node| self.value(node, item, None)).collect())
    }

    fn named(&mut self, node: &Node, shape: &Shape, item: &'static Shape) -> Option<Vec<Named>> {
        let Content::Mapping(entries) = &node.content else { return self.misfit(node, &shape.expected()) };
        let mut named: Vec<Named> = Vec::new();
        for entry in entries {
            let scope = match item {
                Shape::Object(table) if std::ptr::eq(*table, &raw const PIPELINE) => {
                    Scope::Pipeline(PipelineName::new(&entry.key))
                }
                _ => Scope::Entry,
            };
            let outer = self.problems.enter(scope);
            let before = self.problems.count();
            if let Some(first) = named.iter_mut().find(|other| other.name == entry.key) {
                (first.wrong, first.object) = (true, None);
                let line = first.mark.line;
                self.duplicate(entry, line);
            } else {
                let object = match item {
                    Shape::Object(table) => self.object(&entry.value, table),
                    _ => None,
                };
                let wrong = self.problems.count() > before;
                named.push(Named { name: entry.key.clone(), mark: entry.key_mark, object, wrong });
            }
            self.problems.enter(outer);
        }
        Some(named)
    }

    fn properties(&mut self, node: &Node, shape: &Shape) -> Option<Vec<Property>> {
        let Content::Mapping(entries) = &node.content else { return self.misfit(node, &shape.expected()) };
        let mut properties = Vec::new();
        for entry in self.unique(entries) {
            let (mark, value_mark) = (entry.key_mark, entry.value.mark);
            let Content::Scalar(scalar) = &entry.value.content else {
                self.problems.error(value_mark, format!("property `{}`: expected text, a number, true or false", entry.key));
                continue;
            };
            if meaning(scalar) == Meaning::Null {
                let message = format!("property `{}` is null; expected a value (`\"\"` for empty text)", entry.key);
                self.problems.error(value_mark, message);
                continue;
            }
            if let Some((text, _)) = self.resolve(value_mark, scalar, true) {
                properties.push(Property { name: entry.key.clone(), mark, value_mark, value: Secret::new(text) });
            }
        }
        Some(properties)
    }

    fn json(&mut self, node: &Node) -> Option<serde_json::Value> {
        match &node.content {
            Content::Sequence(items) => {
                let items = items.iter().map(|item| self.json(item)).collect::<Vec<_>>();
                items.into_iter().collect::<Option<Vec<_>>>().map(serde_json::Value::Array)
            }
            Content::Mapping(entries) => {
                let mut object = serde_json::Map::new();
                for entry in self.unique(entries) {
                    object.insert(entry.key.clone(), self.json(&entry.value)?);
                }
                Some(serde_json::Value::Object(object))
            }
            Content::Scalar(scalar) => self.json_scalar(node.mark, scalar),
        }
    }

    fn json_scalar(&mut self, mark: Mark, scalar: &Scalar) -> Option<serde_json::Value> {
        Some(match meaning(scalar) {
            Meaning::Null => serde_json::Value::Null,
            Meaning::Boolean(value) => value.into(),
            Meaning::Integer(value) => match u64::try_from(value) {
                Ok(value) => value.into(),
                Err(_) => i64::try_from(value).ok()?.into(),
            },
            Meaning::Float(value) => match serde_json::Number::from_f64(value) {
                Some(number) => number.into(),
                None => return self.fail(mark, "JSON has no infinity and no NaN; write the number as text, in quotes"),
            },
            Meaning::Text => self.resolve(mark, scalar, false)?.0.into(),
        })
    }

    /// The entries of a mapping; a key written twice is an error that names both lines, and counts once.
    fn unique<'n>(&mut self, entries: &'n [Entry]) -> Vec<&'n Entry> {
        let mut kept: Vec<&Entry> = Vec::with_capacity(entries.len());
        let mut lines = std::collections::HashMap::with_capacity(entries.len());
        for entry in entries {
            if let Some(line) = lines.get(entry.key.as_str()) {
                self.duplicate(entry, *line);
            } else {
                lines.insert(entry.key.as_str(), entry.key_mark.line);
                kept.push(entry);
            }
        }
        kept
    }

    fn duplicate(&mut self, entry: &Entry, first: usize) {
        let message = format!("`{}` is here for the second time; line {first} has it first; keep one", entry.key);
        self.problems.error(entry.key_mark, message);
    }

    fn resolve(&mut self, mark: Mark, scalar: &Scalar, private: bool) -> Option<(String, bool)> {
        match self.secrets.resolve(&scalar.text, private) {
            Ok(resolved) => Some((resolved.text, resolved.secret)),
            Err(message) => self.fail(mark, message),
        }
    }

    fn misfit<T>(&mut self, node: &Node, expected: &str) -> Option<T> {
        let found = match &node.content {
            Content::Sequence(_) => "a list",
            Content::Mapping(_) => "a mapping",
            Content::Scalar(scalar) => match meaning(scalar) {
                Meaning::Null => "nothing (null)",
                Meaning::Boolean(_) => "a truth value",
                Meaning::Integer(_) | Meaning::Float(_) => "a number",
                Meaning::Text => "text",
            },
        };
        self.fail(node.mark, format!("found {found}; expected {expected}"))
    }

    fn fail<T>(&mut self, mark: Mark, message: impl Into<String>) -> Option<T> {
        self.problems.error(mark, message);
        None
    }
}

/// The text for a message: in back-quotes and cut, or words where it is secret.
pub(crate) fn shown(text: &Text) -> String {
    const SHOWN_CHARS_MAX: usize = 60;
    if text.secret {
        return "a value from a secret".to_owned();
    }
    match text.text.char_indices().nth(SHOWN_CHARS_MAX) {
        Some((end, _)) => format!("`{}…`", &text.text[..end]),
        None => format!("`{}`", text.text),
    }
}

fn named(name: Option<&str>, what: &str) -> String {
    format!("{what}{}", purpose(name))
}

fn purpose(name: Option<&str>) -> String {
    name.map_or_else(String::new, |name| format!(" for `{name}`"))
}

fn unknown_key(found: &str, table: &Table) -> String {
    let near = match (table.deeper(found), nearest(found, table.keys.iter().map(|key| key.name))) {
        (Some(place), _) => format!("; `{found}` belongs under `{place}`"),
        (None, Some(name)) => match table.key(name).map(|key| key.status) {
            Some(Status::Instead(advice)) => format!("; {advice}"),
            Some(Status::Later) => format!("; did you mean `{name}`, which is not in this version?"),
            _ => format!("; did you mean `{name}`?"),
        },
        (None, None) => String::new(),
    };
    format!("unknown key `{found}` of {}; expected one of {}{near}", table.name, table.written().collect::<Vec<_>>().join(", "))
}
