use std::sync::Arc;

use super::*;
use arrow_array::{
    BooleanArray, Decimal128Array, Float64Array, Int64Array, StringArray, TimestampMillisecondArray, TimestampNanosecondArray,
};

fn of(array: impl Array + 'static) -> ColumnStats {
    ColumnStats::of(&(Arc::new(array) as ArrayRef))
}

#[test]
fn bounds_hold_their_values() {
    let ints = of(Int64Array::from(vec![Some(3), None, Some(-2)]));
    assert_eq!((ints.nulls, ints.min, ints.max), (1, Some(Scalar::Int(-2)), Some(Scalar::Int(3))));
    let decimals = of(Decimal128Array::from(vec![125, -5]).with_precision_and_scale(12, 2).expect("fits"));
    assert_eq!((decimals.min, decimals.max), (Some(Scalar::Int(-5)), Some(Scalar::Int(125))));
    let times = of(TimestampMillisecondArray::from(vec![2, 1]));
    assert_eq!((times.min, times.max), (Some(Scalar::Int(1000)), Some(Scalar::Int(2000))));
    let nanos = of(TimestampNanosecondArray::from(vec![-1, 1]));
    assert_eq!((nanos.min, nanos.max), (Some(Scalar::Int(-1)), Some(Scalar::Int(1))));
    let flags = of(BooleanArray::from(vec![true, true]));
    assert_eq!((flags.min, flags.max), (Some(Scalar::Bool(true)), Some(Scalar::Bool(true))));
    assert_eq!(of(Float64Array::from(vec![1.0, f64::NAN])), ColumnStats::default());
}

#[test]
fn a_long_text_is_bounded_by_a_prefix_on_each_side() {
    let stats = of(StringArray::from(vec!["aaaaaaaaaaaaaaaaaaaaX", "zzzzzzzzzzzzzzzzzzzz"]));
    assert_eq!(stats.min, Some(Scalar::Text("a".repeat(16))));
    assert_eq!(stats.max, Some(Scalar::Text(format!("{}{{", "z".repeat(15)))));
    let top = of(StringArray::from(vec!["\u{10ffff}".repeat(9)]));
    assert_eq!(top.max, None);
    assert_eq!(above(&"\u{d7ff}".repeat(9)).map(|t| t.ends_with('\u{e000}')), Some(true));
}

#[test]
fn pruning_follows_the_truth_table() {
    let stats = ColumnStats { nulls: 0, min: Some(Scalar::Int(10)), max: Some(Scalar::Int(20)) };
    for (comparison, inside, outside) in [
        (Comparison::Equal, vec![10, 15, 20], vec![9, 21]),
        (Comparison::Less, vec![11, 30], vec![10, 5]),
        (Comparison::LessOrEqual, vec![10], vec![9]),
        (Comparison::Greater, vec![19, 0], vec![20, 25]),
        (Comparison::GreaterOrEqual, vec![20], vec![21]),
    ] {
        inside.into_iter().for_each(|v| assert!(stats.may_hold(5, comparison, &Scalar::Int(v)), "{comparison:?} {v}"));
        outside.into_iter().for_each(|v| assert!(!stats.may_hold(5, comparison, &Scalar::Int(v)), "{comparison:?} {v}"));
    }
    assert!(stats.may_hold(5, Comparison::Equal, &Scalar::Text("x".into())));
    let nulls = ColumnStats { nulls: 5, min: None, max: None };
    assert!(!nulls.may_hold(5, Comparison::Equal, &Scalar::Int(1)));
    assert!(ColumnStats::default().may_hold(5, Comparison::Equal, &Scalar::Int(1)));
}

#[test]
fn merged_statistics_cover_both() {
    let (a, b) = (of(Int64Array::from(vec![1, 2])), of(Int64Array::from(vec![Some(7), None])));
    assert_eq!(a.merge(2, &b, 2), ColumnStats { nulls: 1, min: Some(Scalar::Int(1)), max: Some(Scalar::Int(7)) });
    let none = of(Int64Array::from(vec![None::<i64>, None]));
    assert_eq!(a.merge(2, &none, 2).max, Some(Scalar::Int(2)));
    assert_eq!(none.merge(2, &b, 2).min, Some(Scalar::Int(7)));
    let unknown = of(Float64Array::from(vec![f64::NAN]));
    assert_eq!(unknown.merge(1, &of(Float64Array::from(vec![1.0])), 1).min, None);
}
