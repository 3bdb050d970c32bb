//! The settings of a component: a JSON object that the pipeline's author wrote.
//!
//! Read the keys that you know, then call [`Settings::finish`], so that a misspelt key is refused at the start, with words.

use std::cell::RefCell;

use crate::json::Json;

/// The settings, and which keys have been asked for.
#[derive(Debug)]
pub struct Settings {
    entries: Vec<(String, Json)>,
    known: RefCell<Vec<String>>,
}

impl Settings {
    /// Reads the text of a JSON object; an empty text has no keys.
    ///
    /// # Errors
    /// The text is not a JSON object.
    pub fn parse(text: &str) -> Result<Settings, String> {
        let value =
            if text.trim().is_empty() { Json::Object(Vec::new()) } else { Json::parse(text).map_err(|e| e.to_string())? };
        match value {
            Json::Object(entries) => Ok(Settings { entries, known: RefCell::default() }),
            other => Err(format!("settings are a mapping of names to values, found {other}")),
        }
    }

    /// The value of a key; `None` where it is not set, or set to null.
    pub fn get(&self, key: &str) -> Option<&Json> {
        self.known.borrow_mut().push(key.to_owned());
        let value = self.entries.iter().rev().find(|(name, _)| name == key).map(|(_, value)| value);
        value.filter(|value| **value != Json::Null)
    }

    /// A text.
    ///
    /// # Errors
    /// The value is something else.
    pub fn text(&self, key: &str) -> Result<Option<&str>, String> {
        self.read(key, "a text", Json::as_text)
    }

    /// A whole number.
    ///
    /// # Errors
    /// The value is something else.
    pub fn integer(&self, key: &str) -> Result<Option<i64>, String> {
        self.read(key, "a whole number", Json::as_number)
    }

    /// A number.
    ///
    /// # Errors
    /// The value is something else.
    pub fn number(&self, key: &str) -> Result<Option<f64>, String> {
        self.read(key, "a number", Json::as_number)
    }

    /// `true` or `false`.
    ///
    /// # Errors
    /// The value is something else.
    pub fn bool(&self, key: &str) -> Result<Option<bool>, String> {
        self.read(key, "true or false", Json::as_bool)
    }

    /// A list of texts; one text stands for a list of one.
    ///
    /// # Errors
    /// The value is something else.
    pub fn texts(&self, key: &str) -> Result<Option<Vec<&str>>, String> {
        self.read(key, "a list of texts", |value| match value {
            Json::Text(text) => Some(vec![text.as_str()]),
            Json::List(values) => values.iter().map(Json::as_text).collect(),
            _ => None,
        })
    }

    fn read<'a, T>(&'a self, key: &str, wanted: &str, read: impl Fn(&'a Json) -> Option<T>) -> Result<Option<T>, String> {
        let Some(value) = self.get(key) else { return Ok(None) };
        read(value).map(Some).ok_or_else(|| format!("setting `{key}` is {wanted}, found {value}"))
    }

    /// Refuses keys that were never asked for.
    ///
    /// # Errors
    /// There is such a key; the message lists those that exist.
    pub fn finish(&self) -> Result<(), String> {
        let known = self.known.borrow();
        let Some((key, _)) = self.entries.iter().find(|(key, _)| !known.contains(key)) else { return Ok(()) };
        if known.is_empty() {
            return Err(format!("unknown setting `{key}`: this component has none"));
        }
        Err(format!("unknown setting `{key}`: expected one of {}", known.join(", ")))
    }
}

#[cfg(test)]
mod tests {
    use super::Settings;

    #[test]
    fn reads_each_type_and_says_what_was_found() {
        let settings = Settings::parse(r#"{"a":"x","n":3,"f":0.5,"b":true,"l":["p","q"],"none":null}"#).unwrap();
        assert_eq!(settings.text("a"), Ok(Some("x")));
        assert_eq!(settings.integer("n"), Ok(Some(3)));
        assert_eq!(settings.number("f"), Ok(Some(0.5)));
        assert_eq!(settings.bool("b"), Ok(Some(true)));
        assert_eq!(settings.texts("l"), Ok(Some(vec!["p", "q"])));
        assert_eq!(settings.texts("a"), Ok(Some(vec!["x"])));
        assert_eq!(settings.text("none"), Ok(None));
        assert_eq!(settings.text("missing"), Ok(None));
        assert_eq!(settings.integer("f").unwrap_err(), "setting `f` is a whole number, found 0.5");
        assert_eq!(settings.finish(), Ok(()));
    }

    #[test]
    fn refuses_unknown_keys_and_other_values() {
        let settings = Settings::parse(r#"{"colums":["note"]}"#).unwrap();
        assert_eq!(settings.texts("columns"), Ok(None));
        assert_eq!(settings.text("replacement"), Ok(None));
        assert_eq!(settings.finish().unwrap_err(), "unknown setting `colums`: expected one of columns, replacement");
        assert_eq!(Settings::parse("[1]").unwrap_err(), "settings are a mapping of names to values, found [1]");
        assert_eq!(Settings::parse("").unwrap().finish(), Ok(()));
    }
}
