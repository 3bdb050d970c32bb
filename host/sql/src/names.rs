//! How names match: exactly, else, when they are not quoted, without regard to case if only one fits.
//!
//! DataFusion matches exactly only. So a statement is planned, and where it misses a column, the name at that place is put right and it
//! is planned again. What cannot be put right is an error with the nearest name.

use std::collections::BTreeSet;
use std::ops::ControlFlow;

use datafusion::common::{Column, DataFusionError, SchemaError, Span};
use datafusion::sql::sqlparser::ast::{
    Expr, Ident, ObjectName, ObjectNamePart, Query, Visit, VisitMut, Visitor, visit_expressions_mut, visit_relations_mut,
};
use sluicebox_core::error::{Error, Result};

use crate::words::words;

/// A statement has at most this many names put right; more is refused.
const CORRECTIONS_MAX: usize = 2000;
/// How many columns an error lists.
const LISTED_MAX: usize = 20;
/// How alike two names must be for one to be called the nearest.
const LIKENESS_MIN: f64 = 0.7;

/// Plans a statement, putting right the case of unquoted column names.
pub(crate) fn plan<A: VisitMut, T>(ast: &mut A, plan: impl Fn(&A) -> Result<T, DataFusionError>) -> Result<T> {
    for _ in 0..CORRECTIONS_MAX {
        let error = match plan(ast) {
            Ok(planned) => return Ok(planned),
            Err(error) => error,
        };
        let Some((field, valid)) = missing(&error) else { return Err(Error::config(words(&error))) };
        let span = error.diagnostic().and_then(|d| d.span).or_else(|| field.spans().first());
        let (qualifier, name) = fitting(field, valid)?;
        if !put_right(ast, field, span, qualifier.as_deref(), &name) {
            return Err(unknown(field, valid));
        }
    }
    Err(Error::config(format!("more than {CORRECTIONS_MAX} names differ from the columns only in case; write them as they are")))
}

fn missing(error: &DataFusionError) -> Option<(&Column, &[Column])> {
    match error.find_root() {
        DataFusionError::SchemaError(error, _) => match error.as_ref() {
            SchemaError::FieldNotFound { field, valid_fields } => Some((field, valid_fields)),
            _ => None,
        },
        _ => None,
    }
}

/// The qualifier (when it must change) and the name that fit without regard to case.
fn fitting(field: &Column, valid: &[Column]) -> Result<(Option<String>, String)> {
    let table = field.relation.as_ref().map(|r| r.table());
    let in_table = |c: &&Column| table.is_none_or(|table| c.relation.as_ref().is_some_and(|r| same(r.table(), table)));
    let names: BTreeSet<&str> = valid.iter().filter(in_table).map(|c| c.name.as_str()).filter(|n| same(n, &field.name)).collect();
    if let Some(name) = only(&names, &field.name)? {
        let qualifiers: BTreeSet<&str> =
            valid.iter().filter(in_table).filter_map(|c| c.relation.as_ref()).map(|r| r.table()).collect();
        let qualifier = table.and_then(|table| qualifiers.into_iter().find(|q| same(q, table)));
        return Ok((qualifier.map(str::to_owned), name.to_owned()));
    }
    // `DEVICE.os`: a field of a struct column.
    if let Some(table) = table {
        let columns: BTreeSet<&str> = valid.iter().map(|c| c.name.as_str()).filter(|n| same(n, table)).collect();
        if let Some(column) = only(&columns, table)? {
            return Ok((Some(column.to_owned()), field.name.clone()));
        }
    }
    Err(unknown(field, valid))
}

fn only<'a>(names: &BTreeSet<&'a str>, written: &str) -> Result<Option<&'a str>> {
    if names.len() > 1 {
        let all: Vec<String> = names.iter().map(|n| format!("\"{n}\"")).collect();
        return Err(Error::config(format!(
            "the name {written} fits {}; write the one that is meant in double quotes",
            all.join(" and ")
        )));
    }
    Ok(names.first().copied())
}

fn same(a: &str, b: &str) -> bool {
    a == b || a.to_lowercase() == b.to_lowercase()
}

/// The error for a name that fits nothing, with the nearest one.
fn unknown(field: &Column, valid: &[Column]) -> Error {
    let names: BTreeSet<&str> = valid.iter().map(|c| c.name.as_str()).collect();
    Error::config(format!("no column \"{}\"; {}", field.name, nearest(&field.name, names.iter().copied())))
}

/// `the nearest is "x"`, or the list of what there is.
pub(crate) fn nearest<'a>(written: &str, names: impl Iterator<Item = &'a str> + Clone) -> String {
    let lower = written.to_lowercase();
    let best = names
        .clone()
        .map(|name| (strsim::jaro_winkler(&lower, &name.to_lowercase()), name))
        .filter(|(likeness, _)| *likeness >= LIKENESS_MIN)
        .max_by(|a, b| a.0.total_cmp(&b.0));
    if let Some((_, name)) = best {
        return format!("the nearest is \"{name}\"");
    }
    let listed: Vec<String> = names.clone().take(LISTED_MAX).map(|name| format!("\"{name}\"")).collect();
    match names.count() {
        0 => "there is none".to_owned(),
        count if count > LISTED_MAX => format!("there are {} and {} more", listed.join(", "), count - LISTED_MAX),
        _ => format!("there are {}", listed.join(", ")),
    }
}

/// Puts the unquoted name at `span` right, or wherever it is written so when there is no span. `false` when nothing changed.
fn put_right<A: VisitMut>(ast: &mut A, field: &Column, span: Option<Span>, qualifier: Option<&str>, name: &str) -> bool {
    let mut changed = false;
    let _ = visit_expressions_mut(ast, |expr| {
        match expr {
            Expr::Identifier(ident) if at(ident, span) && field.relation.is_none() && ident.value == field.name => {
                changed |= set(ident, name);
            }
            Expr::CompoundIdentifier(idents) if idents.first().is_some_and(|first| at(first, span)) => {
                if let [.., before, last] = idents.as_mut_slice()
                    && last.value == field.name
                {
                    changed |= set(last, name);
                    changed |= qualifier.is_some_and(|qualifier| set(before, qualifier));
                }
            }
            _ => {}
        }
        ControlFlow::<()>::Continue(())
    });
    changed
}

fn at(ident: &Ident, span: Option<Span>) -> bool {
    span.is_none_or(|span| (ident.span.start.line, ident.span.start.column) == (span.start.line, span.start.column))
}

fn set(ident: &mut Ident, name: &str) -> bool {
    let changes = ident.quote_style.is_none() && ident.value != name;
    if changes {
        name.clone_into(&mut ident.value);
    }
    changes
}

/// Puts unquoted table names right: `known` gives the one that fits a name, if only one does.
pub(crate) fn tables<A: VisitMut + Visit>(ast: &mut A, known: impl Fn(&[Ident]) -> Option<Vec<String>>) {
    let with = with_names(ast);
    let in_with = |idents: &[Ident]| match idents {
        [ident] => with.get(&ident.value).or_else(|| with.iter().find(|name| means(ident, name))).map(|name| vec![name.clone()]),
        _ => None,
    };
    let _ = visit_relations_mut(ast, |relation: &mut ObjectName| {
        let idents: Option<Vec<Ident>> = relation.0.iter().map(|part| part.as_ident().cloned()).collect();
        if let Some(idents) = idents
            && let Some(names) = in_with(&idents).or_else(|| known(&idents))
            && names.len() == idents.len()
        {
            relation.0 = idents
                .into_iter()
                .zip(names)
                .map(|(ident, name)| ObjectNamePart::Identifier(Ident { value: name, ..ident }))
                .collect();
        }
        ControlFlow::<()>::Continue(())
    });
}

/// Names that WITH gives.
fn with_names<A: Visit>(ast: &A) -> BTreeSet<String> {
    struct Collect(BTreeSet<String>);
    impl Visitor for Collect {
        type Break = ();

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<()> {
            self.0.extend(query.with.iter().flat_map(|with| &with.cte_tables).map(|cte| cte.alias.name.value.clone()));
            ControlFlow::Continue(())
        }
    }
    let mut collect = Collect(BTreeSet::new());
    let _ = ast.visit(&mut collect);
    collect.0
}

/// Whether an identifier as written means the name.
pub(crate) fn means(ident: &Ident, name: &str) -> bool {
    ident.value == name || (ident.quote_style.is_none() && same(&ident.value, name))
}

/// All names that are written in expressions, for whoever must keep the columns that they may mean.
pub(crate) fn written<A: Visit>(ast: &A) -> BTreeSet<String> {
    struct Collect(BTreeSet<String>);
    impl Visitor for Collect {
        type Break = ();

        fn pre_visit_expr(&mut self, expr: &Expr) -> ControlFlow<()> {
            match expr {
                Expr::Identifier(ident) => {
                    self.0.insert(ident.value.clone());
                }
                Expr::CompoundIdentifier(idents) => self.0.extend(idents.iter().map(|ident| ident.value.clone())),
                _ => {}
            }
            ControlFlow::Continue(())
        }
    }
    let mut collect = Collect(BTreeSet::new());
    let _ = ast.visit(&mut collect);
    collect.0
}
