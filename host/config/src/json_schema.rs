//! The JSON Schema of the configuration, made from the declaration tables.

use serde_json::{Map, Value, json};

use crate::keys::{COLUMN, ROOT};
use crate::schema::{Key, Shape, Status, Table};

/// A JSON Schema (draft 2020-12) of a configuration file, so that editors complete and check it.
pub fn json_schema() -> Value {
    let mut schema = object(&ROOT);
    if let Some(fields) = schema.as_object_mut() {
        fields.insert("$schema".to_owned(), json!("https://json-schema.org/draft/2020-12/schema"));
        fields.insert("title".to_owned(), json!("Sluicebox"));
        // The one table that contains itself.
        fields.insert("$defs".to_owned(), json!({ "column": object(&COLUMN) }));
    }
    schema
}

fn object(table: &Table) -> Value {
    let mut properties = Map::new();
    for key in table.keys {
        let Some(schema) = field(key) else { continue };
        for name in [Some(key.name), key.also].into_iter().flatten() {
            properties.insert(name.to_owned(), schema.clone());
        }
    }
    let required: Vec<_> = table.keys.iter().filter(|key| key.required).map(|key| key.name).collect();
    let mut schema = json!({ "type": "object", "properties": properties, "additionalProperties": false });
    if let (false, Some(fields)) = (required.is_empty(), schema.as_object_mut()) {
        fields.insert("required".to_owned(), json!(required));
    }
    schema
}

/// The schema of a key, or None when it is not in this version.
fn field(key: &Key) -> Option<Value> {
    let mut schema = match key.status {
        Status::Here => shape(key.shape),
        Status::Documentation(_) => json!({}),
        Status::Only(default) => json!({ "enum": [default] }),
        Status::Later | Status::Instead(_) => return None,
    };
    if let (false, Some(fields)) = (key.doc.is_empty(), schema.as_object_mut()) {
        fields.insert("description".to_owned(), json!(key.doc));
    }
    Some(schema)
}

fn shape(shape_of: &Shape) -> Value {
    match shape_of {
        Shape::Text(_) => json!({ "type": ["string", "number", "boolean"] }),
        Shape::Choice { here, .. } => {
            let upper = here.iter().map(|word| word.to_uppercase());
            let words: Vec<_> = here.iter().map(|word| (*word).to_owned()).chain(upper).collect();
            json!({ "enum": words })
        }
        Shape::Boolean => json!({ "type": "boolean" }),
        Shape::Integer { min, max } => json!({ "type": "integer", "minimum": min, "maximum": max }),
        Shape::Size { .. } => json!({ "type": ["string", "integer"], "pattern": "^[0-9]+ *([KMGTkmgt][Ii]?)?[Bb]?$" }),
        Shape::Duration { .. } => json!({ "type": ["string", "integer"], "pattern": "^([0-9]+ *(ms|s|m|h|d)|0)$", "maximum": 0 }),
        Shape::List(item) => json!({ "type": "array", "items": shape(item) }),
        Shape::Object(table) if std::ptr::eq(*table, &raw const COLUMN) => json!({ "$ref": "#/$defs/column" }),
        Shape::Object(table) => object(table),
        Shape::Named(item) => json!({ "type": "object", "additionalProperties": shape(item) }),
        Shape::Either(scalar, other) => json!({ "anyOf": [shape(scalar), shape(other)] }),
        Shape::Properties => {
            json!({ "type": "object", "additionalProperties": { "type": ["string", "number", "boolean"] } })
        }
        Shape::Any => json!({}),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_key_of_this_version_is_in_the_schema_and_no_later_one() {
        let schema = json_schema();
        let pipeline = &schema["properties"]["pipelines"]["additionalProperties"];
        assert_eq!(pipeline["required"], json!(["from", "to"]));
        assert_eq!(pipeline["properties"]["columns"]["items"], json!({ "$ref": "#/$defs/column" }));
        assert_eq!(pipeline["properties"]["delivery"]["enum"], json!(["exactly_once"]));
        assert_eq!(pipeline["properties"]["batch"]["properties"]["rows"]["maximum"], json!(1_000_000));
        assert_eq!(schema["$defs"]["column"]["properties"]["attributes"]["type"], json!("array"));
        assert_eq!(schema["additionalProperties"], json!(false));
        assert!(schema["properties"].get("datasets").is_none());
        for key in ROOT.keys.iter().filter(|key| matches!(key.status, Status::Here)) {
            assert!(!schema["properties"][key.name]["description"].as_str().unwrap_or_default().is_empty(), "{}", key.name);
        }
    }
}
