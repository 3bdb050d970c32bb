//! Whether a pipeline may go on writing a table: its owner must be the same, and its schema may only have gained nullable columns.

use std::sync::Arc;

use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::PipelineName;

use crate::catalog::Entry;

/// What to do with the schema that a pipeline writes.
#[derive(Debug, PartialEq)]
pub(crate) enum Evolution {
    /// It is the newest version.
    Same,
    /// It is a new version.
    Grown(SchemaRef),
}

/// A schema as the catalog keeps it: without metadata, of types that a table can hold.
pub(crate) fn storable(table: &impl std::fmt::Display, schema: &Schema) -> Result<SchemaRef> {
    for (index, field) in schema.fields().iter().enumerate() {
        if schema.fields()[..index].iter().any(|before| before.name() == field.name()) {
            return Err(Error::config(format!("table {table} would have two columns `{}`; give one another name", field.name())));
        }
        check_type(field.data_type()).map_err(|kind| {
            Error::config(format!(
                "table {table}: column `{}` has type {kind}, which a table cannot hold; cast it to another type",
                field.name()
            ))
        })?;
    }
    let bare = |f: &Arc<Field>| Field::new(f.name(), f.data_type().clone(), f.is_nullable());
    Ok(Arc::new(Schema::new(schema.fields().iter().map(bare).collect::<Vec<_>>())))
}

fn check_type(data_type: &DataType) -> Result<(), String> {
    match data_type {
        DataType::Dictionary(..) | DataType::Union(..) | DataType::RunEndEncoded(..) => Err(data_type.to_string()),
        DataType::List(field) | DataType::LargeList(field) | DataType::FixedSizeList(field, _) | DataType::Map(field, _) => {
            check_type(field.data_type())
        }
        DataType::Struct(fields) => fields.iter().try_for_each(|field| check_type(field.data_type())),
        _ => Ok(()),
    }
}

/// Decides about a table that is there.
pub(crate) fn evolve(entry: &Entry, owner: &PipelineName, wanted: &SchemaRef) -> Result<Evolution> {
    let table = &entry.name;
    if entry.owner != owner.as_str() {
        let words = format!(
            "table {table} is written by pipeline {}, so pipeline {owner} cannot write it too; give it a table of its own",
            entry.owner
        );
        return Err(Error::config(words));
    }
    let stored = entry.schema();
    let mut at = 0;
    for field in stored.fields() {
        at += position(&wanted.fields()[at..], field.name(), table, wanted)? + 1;
        same_type(table, field, &wanted.fields()[at - 1])?;
    }
    let added = wanted.fields().iter().filter(|f| stored.column_with_name(f.name()).is_none());
    for field in added.clone() {
        if !field.is_nullable() {
            let words = format!(
                "table {table}: column `{}` is new and cannot be null, but the rows that are there have no value for it; let it be null",
                field.name()
            );
            return Err(Error::config(words));
        }
    }
    Ok(if added.count() == 0 { Evolution::Same } else { Evolution::Grown(wanted.clone()) })
}

fn position(rest: &[Arc<Field>], name: &str, table: &impl std::fmt::Display, wanted: &Schema) -> Result<usize> {
    let found = rest.iter().position(|f| f.name() == name);
    found.ok_or_else(|| {
        let way_out = "or write another table";
        Error::config(if wanted.column_with_name(name).is_some() {
            format!("table {table}: column `{name}` comes in another order than the table has it; keep the order, {way_out}")
        } else {
            format!(
                "table {table} has a column `{name}`, but the pipeline writes none; keep it (NULL AS {name} will do), {way_out}"
            )
        })
    })
}

fn same_type(table: &impl std::fmt::Display, stored: &Field, wanted: &Field) -> Result<()> {
    let name = stored.name();
    if stored.data_type() != wanted.data_type() {
        let (had, has) = (stored.data_type(), wanted.data_type());
        let mend = "cast it back, give the column another name, or write another table";
        return Err(Error::config(format!(
            "table {table}: column `{name}` is {had} in the table, but the pipeline writes {has}; {mend}"
        )));
    }
    if stored.is_nullable() != wanted.is_nullable() {
        let words = |nullable| if nullable { "may be null" } else { "may not be null" };
        let (had, has) = (words(stored.is_nullable()), words(wanted.is_nullable()));
        return Err(Error::config(format!(
            "table {table}: column `{name}` {had} in the table, but {has} in the pipeline; write another table"
        )));
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use sluicebox_core::name::TableName;
    use sluicebox_core::port::Retention;

    fn schema(fields: &[(&str, DataType)]) -> SchemaRef {
        Arc::new(Schema::new(fields.iter().map(|(n, t)| Field::new(*n, t.clone(), true)).collect::<Vec<_>>()))
    }

    fn decide(wanted: &[(&str, DataType)], owner: &str) -> Result<Evolution, String> {
        let versions = vec![schema(&[("a", DataType::Int64), ("b", DataType::Utf8)])];
        let entry = Entry { name: TableName::new("s", "t"), id: 2, owner: "p".into(), retention: Retention::default(), versions };
        evolve(&entry, &PipelineName::new(owner), &schema(wanted)).map_err(|e| e.message)
    }

    #[test]
    fn only_a_new_nullable_column_is_taken() {
        use DataType::{Float64, Int64, Utf8};
        assert_eq!(decide(&[("a", Int64), ("b", Utf8)], "p"), Ok(Evolution::Same));
        let grown = [("a", Int64), ("c", Float64), ("b", Utf8)];
        assert_eq!(decide(&grown, "p"), Ok(Evolution::Grown(schema(&grown))));
        for (wanted, owner, words) in [
            (vec![("a", Int64), ("b", Utf8)], "q", "table s.t is written by pipeline p, so pipeline q"),
            (vec![("a", Utf8), ("b", Utf8)], "p", "column `a` is Int64 in the table, but the pipeline writes Utf8; cast it back"),
            (vec![("a", Int64)], "p", "table s.t has a column `b`, but the pipeline writes none; keep it (NULL AS b will do)"),
            (vec![("b", Utf8), ("a", Int64)], "p", "comes in another order"),
        ] {
            let refused = decide(&wanted, owner).expect_err("refused");
            assert!(refused.contains(words), "{refused}");
        }
    }

    #[test]
    fn a_type_that_a_table_cannot_hold_is_named() {
        let odd = DataType::Dictionary(Box::new(DataType::Int8), Box::new(DataType::Utf8));
        let error = storable(&"s.t", &schema(&[("d", odd)])).expect_err("refused");
        assert!(error.message.contains("column `d`") && error.message.contains("cast it"), "{error}");
        let error = storable(&"s.t", &schema(&[("a", DataType::Int8), ("a", DataType::Utf8)])).expect_err("refused");
        assert!(error.message.contains("two columns `a`"), "{error}");
    }
}
