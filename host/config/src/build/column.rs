//! Declared columns.

use std::collections::HashMap;

use sluicebox_core::column::{Column, Kind, Privacy, Trim};
use sluicebox_core::name::ComponentName;

use super::{Context, names};
use crate::document::{Object, Text};
use crate::error::Problems;
use crate::nearest::did_you_mean;
use crate::pattern;
use crate::privacy;
use crate::types::{self, Type};
use crate::walk::shown;

/// Keys that have no meaning for a value that is computed.
const NOT_COMPUTED: [(&str, &str); 9] = [
    ("privacy", "privacy comes before scripts, so it would protect nothing; put it on the columns that the script reads"),
    ("required", "values are checked before scripts; write a `filter`"),
    ("default", "write coalesce(…) in the script"),
    ("trim", "write trim(…) in the script"),
    ("empty_is_null", "write nullif(…, '') in the script"),
    ("rename", "give the column that `name`"),
    ("validate", "validators run before scripts; put it on the columns that the script reads"),
    ("array", "arrays are not computed in this version; write a step `sql`"),
    ("columns", "structs are not computed in this version; write a step `sql`"),
];

/// Keys that only a column of the record itself has.
const NOT_NESTED: [(&str, &str); 3] = [
    ("script", "it computes a column of the record; write it outside of the struct"),
    ("ignore", "a field that is not declared is left out anyway; leave the column out"),
    ("validate", "it checks a column of the record; put it on the struct"),
];

/// The columns of a pipeline, or of a struct inside one; wrong ones are left out.
pub(super) fn build<'o>(
    objects: impl Iterator<Item = &'o Object>,
    nested: bool,
    context: &Context<'_>,
    problems: &mut Problems,
) -> Vec<Column> {
    let (mut columns, mut lines, mut fields) = (Vec::new(), HashMap::new(), HashMap::new());
    for object in objects {
        let Some(column) = column(object, nested, context, problems) else { continue };
        let mark = object.value_mark(if column.rename.is_some() { "rename" } else { "name" });
        let first = *lines.entry(column.output_name().to_owned()).or_insert(mark);
        let field = if reads(&column) { *fields.entry(column.name.clone()).or_insert(mark) } else { mark };
        if first != mark {
            let (name, line) = (column.output_name(), first.line);
            problems.error(mark, format!("column `{name}` is here for the second time; line {line} has it first; keep one"));
        } else if field != mark {
            let (name, line) = (&column.name, field.line);
            let message = format!("field `{name}` is read twice, line {line} does it first; write a `script` for the second");
            problems.error(object.value_mark("name"), message);
        }
        columns.push(column);
    }
    columns
}

fn reads(column: &Column) -> bool {
    column.script.is_none()
}

fn column(object: &Object, nested: bool, context: &Context<'_>, problems: &mut Problems) -> Option<Column> {
    let name = object.text("name")?;
    if name.text.is_empty() {
        problems.error(name.mark, "a column has no name; expected the name of a field");
    }
    let script = object.text("script").map(|text| text.text.clone());
    misplaced(object, script.is_some(), nested, problems);
    let found = resolve(object, context, problems);
    let kind = found.as_ref().map_or(Kind::Text, |found| found.kind.clone());
    let kind = children(object, kind, context, problems);
    let column = Column {
        rename: rename(object, problems),
        type_name: object.text("type").map_or_else(|| "string".to_owned(), |text| text.text.clone()),
        pattern: found.as_ref().and_then(|found| found.pattern.clone()),
        array: object.boolean("array", false),
        required: object.boolean("required", false),
        privacy: rule(object, problems),
        trim: match object.choice("trim") {
            Some("left") => Trim::Left,
            Some("right") => Trim::Right,
            Some("both") => Trim::Both,
            _ => Trim::None,
        },
        empty_is_null: object.boolean("empty_is_null", true),
        default: object.text("default").map(|text| text.text.clone()),
        script,
        ignore: object.boolean("ignore", false),
        validate: validators(object, context, problems),
        comment: object.text("comment").map(|text| text.text.clone()),
        ..Column::new(&name.text, kind)
    };
    if column.privacy.protects() && matches!(column.kind, Kind::Struct(_)) {
        let message = "`privacy` is not for a struct; put it on each of the nested columns that it holds";
        problems.error(object.key_mark("privacy"), message);
    }
    check_default(object, &column, problems);
    found.map(|_| column)
}

fn misplaced(object: &Object, computed: bool, nested: bool, problems: &mut Problems) {
    if computed {
        for (key, advice) in NOT_COMPUTED.iter().filter(|(key, _)| object.has(key) && !is_default(object, key)) {
            problems.error(object.key_mark(key), format!("`{key}` has no meaning beside `script`: {advice}"));
        }
    }
    if nested {
        for (key, advice) in NOT_NESTED.iter().filter(|(key, _)| object.has(key) && !is_default(object, key)) {
            problems.error(object.key_mark(key), format!("`{key}` is not for a nested column: {advice}"));
        }
    }
}

/// Whether the key says what it would be without it.
fn is_default(object: &Object, key: &str) -> bool {
    match key {
        "required" | "array" | "ignore" => !object.boolean(key, true),
        "empty_is_null" => object.boolean(key, false),
        "trim" => object.choice(key) == Some("none"),
        "privacy" => object.text(key).is_some_and(|text| matches!(privacy::parse(&text.text), Ok(Privacy::None))),
        _ => false,
    }
}

fn resolve(object: &Object, context: &Context<'_>, problems: &mut Problems) -> Option<Type> {
    let Some(text) = object.text("type") else {
        return if object.has("type") { None } else { types::built_in("string").ok().flatten() };
    };
    let message = match types::built_in(&text.text) {
        Ok(Some(found)) => return Some(found),
        Err(message) => message,
        Ok(None) => match context.types.get(&text.text) {
            Some(Some(user)) => return Some(user.clone()),
            Some(None) => format!("type `{}` has errors of its own, see `types`; mend them first", text.text),
            None if text.secret => format!("{} is no type", shown(text)),
            None => types::unknown(&text.text, &context.types),
        },
    };
    problems.error(text.mark, message);
    None
}

fn children(object: &Object, kind: Kind, context: &Context<'_>, problems: &mut Problems) -> Kind {
    match kind {
        Kind::Struct(_) => {
            let columns = build(object.objects("columns"), true, context, problems);
            if !object.has("columns") || object.is_empty_list("columns") {
                problems.error(
                    object.value_mark("type"),
                    "`type: struct` without `columns`; expected the list of its nested columns",
                );
            }
            Kind::Struct(columns)
        }
        kind => {
            if object.has("columns") {
                problems.error(object.key_mark("columns"), "`columns` inside a column is for `type: struct`; write that type");
            }
            kind
        }
    }
}

fn rename(object: &Object, problems: &mut Problems) -> Option<String> {
    let text = object.text("rename")?;
    if !names::is_rename(&text.text) {
        let expected = "letters (a to z), digits and `_`, beginning with a letter or `_`, at most 768";
        problems.error(text.mark, format!("found {} for `rename`; expected {expected}", shown(text)));
    }
    Some(text.text.clone())
}

/// The privacy rule under the key `privacy`.
pub(super) fn rule(object: &Object, problems: &mut Problems) -> Privacy {
    let Some(text) = object.text("privacy") else { return Privacy::None };
    match privacy::parse(&text.text) {
        Ok(rule) => rule,
        Err(message) => {
            let message =
                if text.secret && !privacy::is_keyed(&text.text) { "the privacy rule is wrong".to_owned() } else { message };
            problems.error(text.mark, message);
            Privacy::None
        }
    }
}

fn validators(object: &Object, context: &Context<'_>, problems: &mut Problems) -> Vec<ComponentName> {
    object.texts("validate").filter_map(|text| component(text, context, problems)).collect()
}

/// A component by its name.
pub(super) fn component(text: &Text, context: &Context<'_>, problems: &mut Problems) -> Option<ComponentName> {
    let Some(declared) = context.components.get(&text.text) else {
        let names = || context.components.keys().map(String::as_str);
        let near = if text.secret { String::new() } else { did_you_mean(&text.text, names()) };
        let expected = names().collect::<Vec<_>>().join(", ");
        let expected =
            if expected.is_empty() { "one of `components`, which has none".to_owned() } else { format!("one of {expected}") };
        problems.error(text.mark, format!("unknown component {}; expected {expected}{near}", shown(text)));
        return None;
    };
    declared.refuse_wrong("component", &text.text, text.mark, problems);
    Some(ComponentName::new(&text.text))
}

fn check_default(object: &Object, column: &Column, problems: &mut Problems) {
    let (Some(text), None) = (object.text("default"), &column.script) else { return };
    let mark = object.key_mark("default");
    if column.required {
        return problems.error(mark, "`default` beside `required: true`: a null would never be refused; keep one of them");
    }
    if column.array {
        return problems.error(mark, "a `default` for an array is not in this version; leave it out");
    }
    let number = text.text.trim();
    let fits = match &column.kind {
        Kind::Struct(_) => return problems.error(mark, "`default` is not for a struct; put it on the nested columns"),
        Kind::Text => true,
        Kind::Long => number.parse::<i64>().is_ok(),
        Kind::Short => number.parse::<i16>().is_ok(),
        Kind::Double | Kind::Decimal { .. } => number.parse::<f64>().is_ok(),
        Kind::Boolean { patterns: (yes, no) } => pattern::matches(yes, &text.text) || pattern::matches(no, &text.text),
        Kind::Variant => serde_json::from_str::<serde::de::IgnoredAny>(&text.text).is_ok(),
        Kind::Byte | Kind::Date { .. } | Kind::Timestamp { .. } => true,
    };
    if !fits || column.pattern.as_ref().is_some_and(|wanted| !pattern::matches(wanted, &text.text)) {
        problems.error(text.mark, format!("the default {} is no value of type `{}`", shown(text), column.type_name));
    }
}
