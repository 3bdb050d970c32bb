//! Checked arithmetic: `+`, `-`, `*` and unary minus fail on overflow instead of wrapping.

use std::sync::Arc;

use arrow_array::{Array, RecordBatch};
use arrow_schema::{DataType, Schema};
use datafusion::common::tree_node::{Transformed, TreeNode};
use datafusion::common::{DFSchema, DataFusionError, Result, ScalarValue};
use datafusion::execution::context::ExecutionProps;
use datafusion::logical_expr::physical_planning_context::PhysicalPlanningContext;
use datafusion::logical_expr::{Expr, LogicalPlan, Operator};
use datafusion::physical_expr::expressions::{BinaryExpr, Literal, NegativeExpr};
use datafusion::physical_expr::{PhysicalExpr, create_physical_expr};

use crate::now;
use crate::words::words;

/// The physical expression, with every arithmetic operation checked.
pub(crate) fn checked(expr: &Expr, schema: &DFSchema) -> Result<Arc<dyn PhysicalExpr>> {
    let plain = create_physical_expr(expr, schema, &ExecutionProps::new(), &PhysicalPlanningContext::default())?;
    let arrow = schema.as_arrow();
    let rewritten = plain.transform_up(|node| {
        if let Some(binary) = node.downcast_ref::<BinaryExpr>()
            && is_arithmetic(*binary.op())
        {
            return Ok(Transformed::yes(Arc::new(binary.clone().with_fail_on_overflow(true)) as Arc<dyn PhysicalExpr>));
        }
        match node.downcast_ref::<NegativeExpr>() {
            Some(negative) => Ok(subtraction(negative, arrow)?.map_or(Transformed::no(node), Transformed::yes)),
            None => Ok(Transformed::no(node)),
        }
    });
    Ok(rewritten?.data)
}

fn is_arithmetic(operator: Operator) -> bool {
    matches!(operator, Operator::Plus | Operator::Minus | Operator::Multiply)
}

/// `-n` of an integer as `0 - n`, which fails where the negated value does not fit.
fn subtraction(negative: &NegativeExpr, schema: &Schema) -> Result<Option<Arc<dyn PhysicalExpr>>> {
    let kind = negative.arg().data_type(schema)?;
    if !kind.is_signed_integer() {
        return Ok(None);
    }
    let zero = Arc::new(Literal::new(ScalarValue::new_zero(&kind)?));
    let minus = BinaryExpr::new(zero, Operator::Minus, negative.arg().clone()).with_fail_on_overflow(true);
    Ok(Some(Arc::new(minus)))
}

/// Whether evaluating the expression may fail on a row.
pub(crate) fn may_fail(expr: &Expr) -> bool {
    let risky = |e: &Expr| match e {
        Expr::BinaryExpr(binary) => !(is_comparison(binary.op) || matches!(binary.op, Operator::And | Operator::Or)),
        Expr::Column(_)
        | Expr::Literal(..)
        | Expr::Alias(_)
        | Expr::Not(_)
        | Expr::IsNull(_)
        | Expr::IsNotNull(_)
        | Expr::IsTrue(_)
        | Expr::IsFalse(_)
        | Expr::IsNotTrue(_)
        | Expr::IsNotFalse(_)
        | Expr::Between(_)
        | Expr::InList(_)
        | Expr::Like(_)
        | Expr::Case(_) => false,
        _ => true,
    };
    expr.exists(|e| Ok(risky(e))).unwrap_or(true)
}

fn is_comparison(operator: Operator) -> bool {
    matches!(
        operator,
        Operator::Eq
            | Operator::NotEq
            | Operator::Lt
            | Operator::LtEq
            | Operator::Gt
            | Operator::GtEq
            | Operator::IsDistinctFrom
            | Operator::IsNotDistinctFrom
    )
}

/// Refuses arithmetic on literals alone that overflows: the optimizer would fold it to a wrapped value.
pub(crate) fn check_constants(plan: &LogicalPlan) -> Result<(), String> {
    let empty = DFSchema::empty();
    let mut found = None;
    let walked = plan.apply_with_subqueries(|node| {
        for expr in node.expressions() {
            expr.apply(|e| {
                if found.is_none()
                    && let Expr::BinaryExpr(binary) = e
                    && is_arithmetic(binary.op)
                    && is_constant(e)
                    && let Err(error) = constant(e, &empty)
                {
                    found = Some(format!("`{e}` fails on every row: {}", words(&error)));
                }
                Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
            })?;
        }
        Ok(datafusion::common::tree_node::TreeNodeRecursion::Continue)
    });
    match (found, walked) {
        (Some(found), _) => Err(found),
        (None, Err(error)) => Err(words(&error)),
        (None, Ok(_)) => Ok(()),
    }
}

fn is_constant(expr: &Expr) -> bool {
    let varies = |e: &Expr| match e {
        Expr::ScalarFunction(function) => now::is_now(&function.func),
        Expr::BinaryExpr(_) | Expr::Literal(..) | Expr::Cast(_) | Expr::Negative(_) => false,
        _ => true,
    };
    !expr.exists(|e| Ok(varies(e))).unwrap_or(true)
}

fn constant(expr: &Expr, empty: &DFSchema) -> Result<(), DataFusionError> {
    let options = arrow_array::RecordBatchOptions::new().with_row_count(Some(1));
    let one_row = RecordBatch::try_new_with_options(Arc::new(Schema::empty()), Vec::new(), &options)?;
    checked(expr, empty)?.evaluate(&one_row).map(|_| ())
}

/// Refuses decimals with more digits than their type has: arithmetic of decimals checks only that 128 bits hold them.
pub(crate) fn check_digits(array: &dyn Array) -> Result<()> {
    if let (DataType::Decimal128(precision, _), Some(decimals)) =
        (array.data_type(), array.as_any().downcast_ref::<arrow_array::Decimal128Array>())
    {
        decimals.validate_decimal_precision(*precision)?;
    }
    Ok(())
}
