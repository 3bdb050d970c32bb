//! An expression of a plan, ready to run: checked, with the words that name it in an error.

use std::sync::Arc;

use arrow_array::{ArrayRef, RecordBatch};
use datafusion::common::{DFSchema, DataFusionError, Result};
use datafusion::logical_expr::Expr;
use datafusion::physical_expr::PhysicalExpr;
use datafusion::physical_expr::utils::collect_columns;

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

/// The expression as a person would write it: without the name of the one table.
fn text(expr: &Expr) -> String {
    expr.human_display().to_string().replace(&format!("{MESSAGE}."), "")
}
