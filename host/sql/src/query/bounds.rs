//! Conditions as bounds: what lets the store leave out whole segments.

use arrow_schema::{DataType, Schema, TimeUnit};
use datafusion::common::ScalarValue;
use datafusion::logical_expr::expr::{Between, InList};
use datafusion::logical_expr::{BinaryExpr, Expr, Operator};
use sluicebox_core::query::{Bound, Comparison, Scalar};

/// Bounds that rows meeting the condition meet too; none when the condition says nothing that statistics could answer.
pub(super) fn bounds(condition: &Expr, schema: &Schema) -> Vec<Bound> {
    match condition {
        Expr::BinaryExpr(BinaryExpr { left, op: Operator::And, right }) => {
            let mut both = bounds(left, schema);
            both.extend(bounds(right, schema));
            both
        }
        Expr::BinaryExpr(BinaryExpr { left, op, right }) => compared(left, *op, right, schema).into_iter().collect(),
        Expr::Between(Between { expr, negated: false, low, high }) => {
            let low = compared(expr, Operator::GtEq, low, schema);
            low.into_iter().chain(compared(expr, Operator::LtEq, high, schema)).collect()
        }
        Expr::InList(InList { expr, list, negated: false }) => range(expr, list, schema).unwrap_or_default(),
        _ => Vec::new(),
    }
}

fn compared(left: &Expr, op: Operator, right: &Expr, schema: &Schema) -> Option<Bound> {
    let (column, op, literal) = match (left, right) {
        (Expr::Column(column), Expr::Literal(literal, _)) => (column, op, literal),
        (Expr::Literal(literal, _), Expr::Column(column)) => (column, op.swap()?, literal),
        _ => return None,
    };
    let comparison = match op {
        Operator::Eq => Comparison::Equal,
        Operator::Lt => Comparison::Less,
        Operator::LtEq => Comparison::LessOrEqual,
        Operator::Gt => Comparison::Greater,
        Operator::GtEq => Comparison::GreaterOrEqual,
        _ => return None,
    };
    let column = schema.index_of(&column.name).ok()?;
    let value = scalar(literal, schema.field(column).data_type())?;
    Some(Bound { column, comparison, value })
}

/// The smallest and the largest value of a list.
fn range(expr: &Expr, list: &[Expr], schema: &Schema) -> Option<Vec<Bound>> {
    let equal = list.iter().map(|value| compared(expr, Operator::Eq, value, schema)).collect::<Option<Vec<_>>>()?;
    let column = equal.first()?.column;
    let mut values = equal.into_iter().map(|bound| bound.value);
    let first = values.next()?;
    let mut ends = (first.clone(), first);
    for value in values {
        if less(&value, &ends.0)? {
            ends.0 = value.clone();
        }
        if less(&ends.1, &value)? {
            ends.1 = value;
        }
    }
    let low = Bound { column, comparison: Comparison::GreaterOrEqual, value: ends.0 };
    let high = Bound { column, comparison: Comparison::LessOrEqual, value: ends.1 };
    Some(vec![low, high])
}

fn less(a: &Scalar, b: &Scalar) -> Option<bool> {
    match (a, b) {
        (Scalar::Int(a), Scalar::Int(b)) => Some(a < b),
        (Scalar::Float(a), Scalar::Float(b)) => Some(a < b),
        (Scalar::Text(a), Scalar::Text(b)) => Some(a < b),
        (Scalar::Bool(a), Scalar::Bool(b)) => Some(!a & b),
        _ => None,
    }
}

/// The literal in the column's own type; `None` for null, for NaN, and where the types differ.
fn scalar(literal: &ScalarValue, column: &DataType) -> Option<Scalar> {
    if literal.data_type() != *column {
        return None;
    }
    match literal {
        ScalarValue::Int8(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::Int16(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::Int32(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::Int64(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::UInt8(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::UInt16(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::UInt32(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::UInt64(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::Date32(v) => v.map(|v| Scalar::Int(v.into())),
        ScalarValue::TimestampMicrosecond(v, _) if matches!(column, DataType::Timestamp(TimeUnit::Microsecond, _)) => {
            v.map(|v| Scalar::Int(v.into()))
        }
        ScalarValue::Decimal128(v, _, _) => v.map(Scalar::Int),
        ScalarValue::Float32(v) => v.filter(|v| !v.is_nan()).map(|v| Scalar::Float(v.into())),
        ScalarValue::Float64(v) => v.filter(|v| !v.is_nan()).map(Scalar::Float),
        ScalarValue::Utf8(v) => v.clone().map(Scalar::Text),
        ScalarValue::Boolean(v) => v.map(Scalar::Bool),
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_schema::Field;
    use datafusion::logical_expr::{col, lit};

    fn schema() -> Schema {
        Schema::new(vec![
            Field::new("a", DataType::Utf8, true),
            Field::new("n", DataType::Int64, true),
            Field::new("x", DataType::Float64, true),
        ])
    }

    fn n(comparison: Comparison, value: i128) -> Bound {
        Bound { column: 1, comparison, value: Scalar::Int(value) }
    }

    #[test]
    fn simple_conditions_become_bounds() {
        for (condition, expected) in [
            (col("n").eq(lit(3_i64)), vec![n(Comparison::Equal, 3)]),
            (lit(3_i64).lt(col("n")), vec![n(Comparison::Greater, 3)]),
            (
                col("n").gt(lit(3_i64)).and(col("n").lt_eq(lit(9_i64))),
                vec![n(Comparison::Greater, 3), n(Comparison::LessOrEqual, 9)],
            ),
            (col("n").between(lit(1_i64), lit(2_i64)), vec![n(Comparison::GreaterOrEqual, 1), n(Comparison::LessOrEqual, 2)]),
            (
                col("n").in_list(vec![lit(5_i64), lit(2_i64), lit(9_i64)], false),
                vec![n(Comparison::GreaterOrEqual, 2), n(Comparison::LessOrEqual, 9)],
            ),
            (col("a").eq(lit("x")), vec![Bound { column: 0, comparison: Comparison::Equal, value: Scalar::Text("x".into()) }]),
        ] {
            assert_eq!(bounds(&condition, &schema()), expected, "{condition}");
        }
    }

    #[test]
    fn what_says_nothing_is_left_to_the_filter() {
        for condition in [
            col("n").not_eq(lit(3_i64)),
            col("n").eq(lit(3_i64)).or(col("a").eq(lit("x"))),
            col("n").in_list(vec![lit(5_i64)], true),
            col("n").in_list(vec![lit(5_i64), col("x")], false),
            col("n").eq(lit(3_i32)),
            col("x").gt(lit(f64::NAN)),
            col("n").eq(lit(ScalarValue::Int64(None))),
        ] {
            assert_eq!(bounds(&condition, &schema()), [], "{condition}");
        }
    }
}
