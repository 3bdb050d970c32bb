use std::sync::Arc;

use arrow_array::{
    Date32Array, Decimal128Array, Float64Array, Int8Array, Int16Array, Int64Array, StringArray, TimestampMicrosecondArray,
};

use super::*;

fn texts(values: ArrayRef) -> Vec<String> {
    let texts = Texts::of(&values).expect("a type with texts");
    let mut scratch = "left over".to_owned();
    (0..values.len()).map(|index| texts.get(index, &mut scratch).to_owned()).collect()
}

#[test]
fn b177_each_type_has_one_canonical_text() {
    assert_eq!(texts(Arc::new(StringArray::from(vec!["", "null", " x "]))), ["", "null", " x "]);
    assert_eq!(texts(Arc::new(Int64Array::from(vec![1, 0, i64::MIN]))), ["1", "0", "-9223372036854775808"]);
    assert_eq!(texts(Arc::new(Int16Array::from(vec![-7]))), ["-7"]);
    assert_eq!(texts(Arc::new(Int8Array::from(vec![65]))), ["65"]);
    assert_eq!(texts(Arc::new(BooleanArray::from(vec![true, false]))), ["true", "false"]);
    let decimal = Decimal128Array::from(vec![1250, -5, 0]).with_precision_and_scale(12, 2).expect("a decimal");
    assert_eq!(texts(Arc::new(decimal)), ["12.50", "-0.05", "0.00"]);
    assert_eq!(texts(Arc::new(Date32Array::from(vec![0, 15_311, -1]))), ["1970-01-01", "2011-12-03", "1969-12-31"]);
}

/// Values and texts of RFC 8785, appendix B, and some more.
#[test]
fn b177_a_double_is_written_as_in_rfc_8785() {
    for (value, text) in [
        (1.0, "1"),
        (1e0, "1"),
        (-0.0, "0"),
        (0.0, "0"),
        (4.5, "4.5"),
        (-1.5, "-1.5"),
        (5e-324, "5e-324"),
        (f64::MAX, "1.7976931348623157e+308"),
        (9007199254740992.0, "9007199254740992"),
        (295147905179352830000.0, "295147905179352830000"),
        (999999999999999900000.0, "999999999999999900000"),
        (1e21, "1e+21"),
        (9.999999999999997e22, "9.999999999999997e+22"),
        (333333333.3333332, "333333333.3333332"),
        (0.000001, "0.000001"),
        (9.999999999999997e-7, "9.999999999999997e-7"),
        (-0.0000033333333333333333, "-0.0000033333333333333333"),
        (1424953923781206.2, "1424953923781206.2"),
        (0.002, "0.002"),
        (123456.0, "123456"),
    ] {
        assert_eq!(texts(Arc::new(Float64Array::from(vec![value]))), [text]);
    }
    assert_eq!(texts(Arc::new(Float64Array::from(vec![f64::NAN, f64::NEG_INFINITY]))), ["NaN", "-Infinity"]);
}

#[test]
fn a_time_is_written_in_utc_with_the_fraction_that_it_has() {
    let at = 1_322_907_330_000_000;
    let times = TimestampMicrosecondArray::from(vec![at, at + 250_000, at + 1, -1, 0]).with_timezone("UTC");
    assert_eq!(
        texts(Arc::new(times)),
        [
            "2011-12-03T10:15:30Z",
            "2011-12-03T10:15:30.25Z",
            "2011-12-03T10:15:30.000001Z",
            "1969-12-31T23:59:59.999999Z",
            "1970-01-01T00:00:00Z"
        ]
    );
}

#[test]
fn days_out_of_the_calendar_stay_apart() {
    let [a, b] = [i32::MAX, i32::MAX - 1].map(|day| texts(Arc::new(Date32Array::from(vec![day]))));
    assert_ne!(a, b);
}
