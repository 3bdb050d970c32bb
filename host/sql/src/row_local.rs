//! What a step may not ask for: whatever depends on other rows, on other tables or on chance.
//!
//! Where a batch closes must change nothing (invariant 5), so a step sees one row at a time.

use std::ops::ControlFlow;

use datafusion::common::tree_node::{TreeNode, TreeNodeRecursion};
use datafusion::logical_expr::{Expr, LogicalPlan, Volatility};
use datafusion::sql::sqlparser::ast::{Query, SetExpr, Visit, Visitor};
use sluicebox_core::error::{Error, Result};

use crate::context::MESSAGE;
use crate::now;
use crate::words::words;

/// The error for something that looks at other rows.
fn other_rows(what: &str) -> Error {
    Error::config(format!(
        "{what} depends on other rows, and a step sees one row at a time, so that it does not matter where a batch ends; keep the rows \
         and ask for this in a query over the table: sluicebox sql \"SELECT ...\""
    ))
}

/// Refuses what the plan shows only in other shapes or not at all, in the query and in all queries inside it.
pub(crate) fn check_query(query: &Query) -> Result<()> {
    struct Check;
    impl Visitor for Check {
        type Break = Error;

        fn pre_visit_query(&mut self, query: &Query) -> ControlFlow<Error> {
            match check_one(query) {
                Ok(()) => ControlFlow::Continue(()),
                Err(error) => ControlFlow::Break(error),
            }
        }
    }
    match query.visit(&mut Check) {
        ControlFlow::Continue(()) => Ok(()),
        ControlFlow::Break(error) => Err(error),
    }
}

fn check_one(query: &Query) -> Result<()> {
    if query.with.as_ref().is_some_and(|with| with.recursive) {
        return Err(other_rows("WITH RECURSIVE"));
    }
    if query.order_by.is_some() {
        return Err(other_rows("ORDER BY"));
    }
    if query.limit_clause.is_some() || query.fetch.is_some() {
        return Err(other_rows("LIMIT"));
    }
    check_set(&query.body)
}

fn check_set(body: &SetExpr) -> Result<()> {
    match body {
        SetExpr::SetOperation { op, .. } => Err(other_rows(&op.to_string())),
        SetExpr::Query(_) => Ok(()),
        SetExpr::Select(select) if select.from.is_empty() => {
            Err(Error::config(format!("a step must read its records: write FROM {MESSAGE}")))
        }
        SetExpr::Select(select) if select.into.is_some() => {
            Err(Error::config("SELECT INTO makes tables; a step only answers rows"))
        }
        SetExpr::Select(_) => Ok(()),
        _ => Err(Error::config(format!("a step is one SELECT over the table {MESSAGE}"))),
    }
}

/// Refuses a plan that is more than projections, filters and unnests over the one table.
pub(crate) fn check_plan(plan: &LogicalPlan) -> Result<()> {
    match plan {
        LogicalPlan::Projection(_)
        | LogicalPlan::Filter(_)
        | LogicalPlan::Unnest(_)
        | LogicalPlan::SubqueryAlias(_)
        | LogicalPlan::TableScan(_) => {}
        LogicalPlan::Aggregate(aggregate) => {
            return Err(match aggregate.aggr_expr.first() {
                Some(expr) if aggregate.group_expr.is_empty() => other_rows(&format!("the aggregate {}", named(expr))),
                _ => other_rows("GROUP BY"),
            });
        }
        LogicalPlan::Distinct(_) => return Err(other_rows("DISTINCT")),
        LogicalPlan::Sort(_) => return Err(other_rows("ORDER BY")),
        LogicalPlan::Limit(_) => return Err(other_rows("LIMIT")),
        LogicalPlan::Window(window) => {
            let name = window.window_expr.first().map(named).unwrap_or_default();
            return Err(other_rows(&format!("the window function {name}")));
        }
        LogicalPlan::Join(_) | LogicalPlan::Subquery(_) => {
            return Err(Error::config(
                "a join looks at other rows, and a step sees one row at a time; keep the rows and join in a query over the tables, and \
                 for the elements of a list write SELECT unnest(the_list) FROM message",
            ));
        }
        LogicalPlan::Union(_) => return Err(other_rows("UNION")),
        other => return Err(Error::config(format!("a step is one SELECT over the table {MESSAGE}, not {}", kind(other)))),
    }
    for expr in plan.expressions() {
        check_expr(&expr)?;
    }
    plan.inputs().into_iter().try_for_each(check_plan)
}

/// Refuses an expression that looks at other rows or at chance.
pub(crate) fn check_expr(expr: &Expr) -> Result<()> {
    let mut refused = None;
    let walked = expr.apply(|e| {
        refused = refusal(e);
        Ok(if refused.is_some() { TreeNodeRecursion::Stop } else { TreeNodeRecursion::Continue })
    });
    match (refused, walked) {
        (Some(error), _) => Err(error),
        (None, Err(error)) => Err(Error::config(words(&error))),
        (None, Ok(_)) => Ok(()),
    }
}

fn refusal(expr: &Expr) -> Option<Error> {
    match expr {
        Expr::AggregateFunction(_) => Some(other_rows(&format!("the aggregate {}", named(expr)))),
        Expr::WindowFunction(_) => Some(other_rows(&format!("the window function {}", named(expr)))),
        Expr::Exists(_) | Expr::InSubquery(_) | Expr::ScalarSubquery(_) | Expr::SetComparison(_) => {
            Some(other_rows("a subquery inside an expression"))
        }
        Expr::ScalarFunction(function)
            if function.func.signature().volatility == Volatility::Volatile && !now::is_now(&function.func) =>
        {
            Some(Error::config(format!(
                "{}() gives another value each time, so a batch that is run again would not give the same rows; take a value of the \
                 record instead, such as sha256(...) over its columns or its _kafka_partition and _kafka_offset",
                function.func.name()
            )))
        }
        _ => None,
    }
}

fn named(expr: &Expr) -> String {
    match expr {
        Expr::AggregateFunction(aggregate) => format!("{}()", aggregate.func.name()),
        Expr::WindowFunction(window) => format!("{}()", window.fun.name()),
        Expr::Alias(alias) => named(&alias.expr),
        other => other.to_string(),
    }
}

fn kind(plan: &LogicalPlan) -> String {
    plan.display().to_string().split([':', ' ']).next().unwrap_or_default().to_owned()
}
