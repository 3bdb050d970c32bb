//! Values that have no type of their own on the record plane, as JSON text.

use std::sync::Arc;

use arrow_array::{Array, ArrayRef};
use arrow_json::writer::{EncoderOptions, make_encoder};
use arrow_schema::{Field, FieldRef};

/// The JSON text of each value; `None` for null.
pub(super) fn texts(column: &ArrayRef) -> Result<Vec<Option<String>>, String> {
    let wrong =
        |error: &dyn std::fmt::Display| format!("a value of type {} cannot be written as JSON: {error}", column.data_type());
    let field: FieldRef = Arc::new(Field::new("v", column.data_type().clone(), true));
    let options = EncoderOptions::default().with_explicit_nulls(true);
    let mut encoder = make_encoder(&field, column.as_ref(), &options).map_err(|e| wrong(&e))?;
    let text = |row: usize| {
        if column.is_null(row) {
            return Ok(None);
        }
        let mut bytes = Vec::new();
        encoder.encode(row, &mut bytes);
        String::from_utf8(bytes).map(Some).map_err(|e| wrong(&e))
    };
    (0..column.len()).map(text).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::{Int64Array, ListArray, StringArray, StructArray, types::Int64Type};

    #[test]
    fn structs_and_lists_are_json() {
        let inner = StructArray::from(vec![
            (
                Arc::new(Field::new("v", arrow_schema::DataType::Int64, true)),
                Arc::new(Int64Array::from(vec![Some(1), None])) as ArrayRef,
            ),
            (
                Arc::new(Field::new("t", arrow_schema::DataType::Utf8, true)),
                Arc::new(StringArray::from(vec![Some("a\"}\n"), Some("é")])) as ArrayRef,
            ),
        ]);
        let found = texts(&(Arc::new(inner) as ArrayRef)).expect("writes");
        assert_eq!(found, [Some(r#"{"v":1,"t":"a\"}\n"}"#.to_owned()), Some(r#"{"v":null,"t":"é"}"#.to_owned())]);
        let list = ListArray::from_iter_primitive::<Int64Type, _, _>(vec![Some(vec![Some(1), None]), None, Some(vec![])]);
        let found = texts(&(Arc::new(list) as ArrayRef)).expect("writes");
        assert_eq!(found, [Some("[1,null]".to_owned()), None, Some("[]".to_owned())]);
    }
}
