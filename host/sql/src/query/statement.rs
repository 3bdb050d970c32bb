//! What may be asked: one statement that reads.

use arrow_schema::SchemaRef;
use datafusion::execution::context::{SQLOptions, SessionContext};
use datafusion::logical_expr::LogicalPlan;
use datafusion::sql::parser::{DFParser, Statement as DfStatement};
use datafusion::sql::sqlparser::ast::{Ident, Query, SetExpr, Statement};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::name::{DEFAULT_SCHEMA, TableName};

use crate::names;
use crate::words::words;

/// Parses the statement and refuses whatever does more than read.
pub(super) fn parse(sql: &str) -> Result<DfStatement> {
    let mut statements = DFParser::parse_sql(sql).map_err(|error| Error::config(words(&error)))?;
    match (statements.pop_front(), statements.is_empty()) {
        (Some(statement), true) => reads(&statement).map(|()| statement),
        (None, _) => Err(Error::config("the query is empty")),
        (Some(_), false) => Err(Error::config("one statement at a time; send the others as queries of their own")),
    }
}

fn reads(statement: &DfStatement) -> Result<()> {
    match statement {
        DfStatement::Statement(inner) => match inner.as_ref() {
            Statement::Query(query) => check_query(query),
            Statement::ShowTables { .. } | Statement::ShowColumns { .. } | Statement::ExplainTable { .. } => Ok(()),
            Statement::Explain { statement, .. } => match statement.as_ref() {
                Statement::Query(query) => check_query(query),
                other => Err(refused(&other.to_string())),
            },
            other => Err(refused(&other.to_string())),
        },
        DfStatement::Explain(explain) => match explain.statement.as_ref() {
            DfStatement::Statement(inner) if matches!(inner.as_ref(), Statement::Query(_)) => reads(&explain.statement),
            other => Err(refused(&other.to_string())),
        },
        other => Err(refused(&other.to_string())),
    }
}

fn check_query(query: &Query) -> Result<()> {
    for cte in query.with.iter().flat_map(|with| &with.cte_tables) {
        check_query(&cte.query)?;
    }
    check_set(&query.body)
}

fn check_set(body: &SetExpr) -> Result<()> {
    match body {
        SetExpr::Select(select) if select.into.is_some() => Err(refused("SELECT INTO")),
        SetExpr::Select(_) | SetExpr::Values(_) | SetExpr::Table(_) => Ok(()),
        SetExpr::Query(query) => check_query(query),
        SetExpr::SetOperation { left, right, .. } => check_set(left).and_then(|()| check_set(right)),
        SetExpr::Insert(_) | SetExpr::Update(_) | SetExpr::Delete(_) | SetExpr::Merge(_) => Err(refused(&body.to_string())),
    }
}

fn refused(text: &str) -> Error {
    let words = if text == "SELECT INTO" { text.to_owned() } else { first_word(text) };
    Error::config(format!(
        "queries only read: SELECT, EXPLAIN, SHOW TABLES, SHOW COLUMNS and DESCRIBE are answered, not {words}; tables are written by pipelines"
    ))
}

fn first_word(text: &str) -> String {
    text.split_whitespace().next().unwrap_or_default().to_uppercase()
}

/// Plans a statement over the tables of the snapshot, names put right.
pub(super) fn plan(
    statement: &mut DfStatement,
    session: &SessionContext,
    tables: &[(TableName, SchemaRef)],
) -> Result<LogicalPlan> {
    let state = session.state();
    let sql = inner(statement)?;
    names::tables(sql, |idents| fitting(idents, tables));
    let sql: &mut Statement = sql;
    let explain = |ast: &Statement| DfStatement::Statement(Box::new(ast.clone()));
    // No table is read over a network here: these futures are ready at once.
    let planned = names::plan(sql, |ast| futures::executor::block_on(state.statement_to_plan(explain(ast))))?;
    let planned = match statement {
        DfStatement::Explain(_) => futures::executor::block_on(state.statement_to_plan(statement.clone())),
        _ => Ok(planned),
    };
    let planned = planned.map_err(|error| Error::config(words(&error)))?;
    let only_reads = SQLOptions::new().with_allow_ddl(false).with_allow_dml(false).with_allow_statements(false);
    only_reads.verify_plan(&planned).map_err(|error| Error::config(words(&error)))?;
    Ok(planned)
}

/// The statement in which names are put right.
fn inner(statement: &mut DfStatement) -> Result<&mut Statement> {
    match statement {
        DfStatement::Statement(statement) => Ok(statement),
        DfStatement::Explain(explain) => inner(&mut explain.statement),
        other => Err(refused(&other.to_string())),
    }
}

/// The table that a name means: exactly, else without regard to case when only one fits.
fn fitting(idents: &[Ident], tables: &[(TableName, SchemaRef)]) -> Option<Vec<String>> {
    let (schema, table) = match idents {
        [table] => (None, table),
        [schema, table] => (Some(schema), table),
        _ => return None,
    };
    let in_schema = |name: &TableName| match schema {
        Some(schema) => names::means(schema, &name.schema),
        None => name.schema.as_ref() == DEFAULT_SCHEMA,
    };
    let fits: Vec<&TableName> =
        tables.iter().map(|(name, _)| name).filter(|name| in_schema(name) && names::means(table, &name.table)).collect();
    let exact = |name: &&&TableName| {
        name.table.as_ref() == table.value && schema.is_none_or(|schema| name.schema.as_ref() == schema.value)
    };
    let name = match fits.as_slice() {
        [one] => *one,
        several => several.iter().find(exact)?,
    };
    let schema = schema.map(|_| name.schema.to_string());
    Some(schema.into_iter().chain([name.table.to_string()]).collect())
}
