//! Which names the user may choose.

use sluicebox_core::name::TableName;

use crate::document::Text;
use crate::error::{Mark, Problems};
use crate::walk::shown;

/// Names end in group names, metrics and file names.
const LENGTH_MAX: usize = 128;
/// Kafka's own limit.
const TOPIC_LENGTH_MAX: usize = 249;
/// Schemas of the store itself.
const SCHEMAS_RESERVED: [&str; 2] = ["audit", "information_schema"];

/// Checks the name of a pipeline, connection, component or type.
pub(crate) fn check(what: &str, name: &str, mark: Mark, problems: &mut Problems) {
    let right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    if name.is_empty() || name.len() > LENGTH_MAX || !name.chars().all(right) || name.starts_with(['-', '.']) {
        let expected =
            format!("letters (a to z), digits, `_`, `-` and `.`, at most {LENGTH_MAX}, beginning with a letter, digit or `_`");
        problems.error(mark, format!("`{name}` is no name for a {what}; expected {expected}"));
    }
}

/// Topics of `kafka:a` or `kafka:[a, b]`.
pub(crate) fn topics(text: &Text, problems: &mut Problems) -> Option<Vec<String>> {
    let Some(rest) = text.text.trim().strip_prefix("kafka:") else {
        problems.error(text.mark, format!("found {}; expected `kafka:TOPIC` or `kafka:[TOPIC, TOPIC]`", shown(text)));
        return None;
    };
    let rest = rest.trim();
    let inner = rest.strip_prefix('[').map(|rest| rest.strip_suffix(']').unwrap_or(rest));
    let names = inner.unwrap_or(rest).split(if inner.is_some() { ',' } else { '\n' }).map(unquoted);
    let mut topics: Vec<String> = Vec::new();
    for name in names {
        let message = match name {
            name if topics.iter().any(|topic| topic == name) => format!("topic `{name}` is named twice; keep one"),
            name if name.starts_with("__") => {
                format!("`{name}` is an internal topic of Kafka; expected a topic that applications write")
            }
            name if is_topic(name) => {
                topics.push(name.to_owned());
                continue;
            }
            "" => "a topic has no name; expected `kafka:TOPIC` or `kafka:[TOPIC, TOPIC]`".to_owned(),
            name if name.contains(',') => "several topics are written in brackets: `kafka:[TOPIC, TOPIC]`".to_owned(),
            name => {
                format!("`{name}` is no name of a topic; expected letters, digits, `.`, `_` and `-`, at most {TOPIC_LENGTH_MAX}")
            }
        };
        let message =
            if text.secret { "a value from a secret holds no topics; expected `kafka:TOPIC`".to_owned() } else { message };
        problems.error(text.mark, message);
        return None;
    }
    Some(topics)
}

/// YAML takes `kafka:[a, "b"]` for one text, so that quotes inside are still there.
fn unquoted(name: &str) -> &str {
    let name = name.trim();
    let inner = |quote: char| name.strip_prefix(quote).and_then(|rest| rest.strip_suffix(quote));
    inner('"').or_else(|| inner('\'')).unwrap_or(name)
}

fn is_topic(name: &str) -> bool {
    let right = |c: char| c.is_ascii_alphanumeric() || matches!(c, '_' | '-' | '.');
    !name.is_empty() && name.len() <= TOPIC_LENGTH_MAX && name.chars().all(right) && name != "." && name != ".."
}

/// `table` or `schema.table`.
pub(crate) fn table(text: &Text, problems: &mut Problems) -> Option<TableName> {
    let table = TableName::parse(text.text.trim());
    let plain = |part: &str| {
        let mut characters = part.chars();
        characters.next().is_some_and(|c| c.is_ascii_alphabetic() || c == '_')
            && characters.all(|c| c.is_ascii_alphanumeric() || c == '_')
            && part.len() <= LENGTH_MAX
    };
    match table {
        Some(table) if SCHEMAS_RESERVED.iter().any(|schema| schema.eq_ignore_ascii_case(&table.schema)) => {
            problems.error(text.mark, format!("the schema `{}` is Sluicebox's own; choose another", table.schema));
            None
        }
        Some(table) if plain(&table.schema) && plain(&table.table) => Some(table),
        _ => {
            let expected = "`TABLE` or `SCHEMA.TABLE` of letters (a to z), digits and `_`, each beginning with a letter or `_`";
            problems.error(text.mark, format!("{} is no name of a table; expected {expected}", shown(text)));
            None
        }
    }
}

/// What a column may be renamed to. Starlake's pattern `[a-zA-Z_][a-zA-Z0-9_]{1,767}` leaves out names of one letter, which `x` and
/// `y` need; so here one letter is enough.
pub(crate) fn is_rename(name: &str) -> bool {
    const RENAME_LENGTH_MAX: usize = 768;
    name.starts_with(|c: char| c.is_ascii_alphabetic() || c == '_')
        && name.chars().all(|c| c.is_ascii_alphanumeric() || c == '_')
        && name.len() <= RENAME_LENGTH_MAX
}
