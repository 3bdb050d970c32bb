//! An expression of a plan, ready to run: checked, with the words that name it in an error.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;
use datafusion::sql::unparser::Unparser;

use crate::checked::{check_digits, checked, may_fail};
use crate::context::MESSAGE;
use crate::words::words;

/// What a row did wrong.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Fault {
    /// The column that was to be made; empty for a condition.
    pub(crate) column: String,
    /// The expression and what went wrong with it.
    pub(crate) message: String,
}

impl Fault {
    /// A fault that belongs to no expression.
    pub(crate) fn of(error: &DataFusionError) -> Self {
        Self { column: String::new(), message: words(error) }
    }
}

/// An expression over the columns of one stage.
#[derive(Debug)]
pub(crate) struct Expression {
    physical: Arc<dyn PhysicalExpr>,
    /// Columns that it reads, rising.
    pub(crate) reads: Vec<usize>,
    column: String,
    text: String,
    digits: bool,
}

impl Expression {
    /// Prepares an expression; `column` is the column that it makes.
    pub(crate) fn new(expr: &Expr, column: &str, schema: &DFSchema) -> Result<Self> {
        let physical = checked(expr, schema)?;
        let mut reads: Vec<usize> = collect_columns(&physical).into_iter().map(|c| c.index()).collect();
        reads.sort_unstable();
        let bare = expr.clone().unalias_nested().data;
        let column = if column.starts_with("__common_expr") { "" } else { column };
        Ok(Self { physical, reads, column: column.to_owned(), text: text(&bare), digits: may_fail(&bare) })
    }

    /// Its values, one a row.
    pub(crate) fn evaluate(&self, batch: &RecordBatch) -> Result<ArrayRef, Fault> {
        let values = self.physical.evaluate(batch).and_then(|values| values.into_array(batch.num_rows()));
        let values = values.map_err(|error| self.fault(&error))?;
        if self.digits {
            check_digits(&values).map_err(|error| self.fault(&error))?;
        }
        Ok(values)
    }

    /// Words for an error of this expression.
    pub(crate) fn fault(&self, error: &DataFusionError) -> Fault {
        Fault { column: self.column.clone(), message: format!("`{}`: {}", self.text, words(error)) }
    }
}

/// The expression as a person would write it: SQL without the name of the one table.
fn text(expr: &Expr) -> String {
    let unparser = Unparser::default().with_pretty(true);
    let sql = unparser.expr_to_sql(expr).map_or_else(|_| expr.human_display().to_string(), |sql| sql.to_string());
    named_unnest(&sql.replace(&format!("{MESSAGE}."), "").replace(&format!("\"{MESSAGE}\"."), ""))
}

/// `unnest(tags)` in place of the name that the planner gives to it.
fn named_unnest(text: &str) -> String {
    const HIDDEN: &str = "__unnest_placeholder(";
    const DEPTH: &str = ",depth=";
    let mut rest = text.replace(&format!("\"{HIDDEN}"), HIDDEN);
    while let Some(start) = rest.find(HIDDEN) {
        let after = start + HIDDEN.len();
        let Some(depth) = rest[after..].find(DEPTH) else { break };
        let end = rest[after + depth..].find(')').map_or(rest.len(), |end| after + depth + end + 1);
        let end = if rest[end..].starts_with('"') { end + 1 } else { end };
        rest = format!("{}unnest({}){}", &rest[..start], &rest[after..after + depth], &rest[end..]);
    }
    rest
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_unnest_is_named_as_written() {
        let text = named_unnest(r#"id / ("__unnest_placeholder(tags,depth=1)" - 1) + __unnest_placeholder(a,depth=2)"#);
        assert_eq!(text, "id / (unnest(tags) - 1) + unnest(a)");
    }
}
