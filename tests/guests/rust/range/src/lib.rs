//! A validator on the record plane: numbers must lie between two bounds.
//!
//! Settings: `min` and `max`, either may be missing. The column that names it is an integer, a float or a decimal; null passes. Codes:
//! `below_min`, `above_max`.

use sluicebox_guest_sdk::record::{Faults, Field, Kind, Validator, Value};
use sluicebox_guest_sdk::{Context, Error, Result, export_record_validator};

/// The column and its bounds.
#[derive(Debug)]
pub struct Range {
    column: String,
    min: f64,
    max: f64,
}

impl Validator for Range {
    const CODES: &'static [&'static str] = &["below_min", "above_max"];

    fn open(context: &Context, schema: &[Field]) -> Result<Self> {
        let min = context.settings.number("min")?.unwrap_or(f64::NEG_INFINITY);
        let max = context.settings.number("max")?.unwrap_or(f64::INFINITY);
        context.settings.finish()?;
        let is_number = |field: &Field| matches!(field.kind, Kind::Integer | Kind::Float | Kind::Decimal);
        if !schema.iter().any(|field| field.name == context.column && is_number(field)) {
            return Err(Error::Fatal(format!("column `{}` is no number", context.column)));
        }
        Ok(Range { column: context.column.clone(), min, max })
    }

    fn validate(&self, row: Vec<Value>, faults: &mut Faults<'_>) -> Result<()> {
        let number = match row.first() {
            Some(Value::Integer(number)) => *number as f64,
            Some(Value::Float(number)) => *number,
            Some(Value::Text(decimal)) => decimal.parse().map_err(|_| "a decimal that is no number")?,
            _ => return Ok(()),
        };
        if number < self.min {
            faults.add(&self.column, "below_min", format_args!("below {}", self.min));
        }
        if number > self.max {
            faults.add(&self.column, "above_max", format_args!("above {}", self.max));
        }
        Ok(())
    }
}

export_record_validator!(Range);

#[cfg(test)]
mod tests {
    use sluicebox_guest_sdk::record::{Kind, Value, field};
    use sluicebox_guest_sdk::testing::Host;
    use sluicebox_guest_sdk::{Error, Result};

    use super::Range;

    fn codes(kind: Kind, values: Vec<Value>) -> Result<Vec<(u32, String)>> {
        let rows: Vec<_> = values.into_iter().map(|value| vec![value]).collect();
        let host = Host::with_settings(r#"{"min":0,"max":9.5}"#).on_column("n");
        let rejects = host.validate_rows::<Range>(&[field("n", kind)], &rows)?;
        Ok(rejects.into_iter().map(|reject| (reject.row, reject.code)).collect())
    }

    #[test]
    fn refuses_numbers_beyond_the_bounds() {
        let want = Ok(vec![(1, "below_min".to_owned()), (3, "above_max".to_owned())]);
        let integers = [Some(0), Some(-1), None, Some(10)].map(|n| n.map_or(Value::Null, Value::Integer));
        assert_eq!(codes(Kind::Integer, integers.to_vec()), want);
        let floats = [Some(9.5), Some(-0.1), None, Some(9.6)].map(|n| n.map_or(Value::Null, Value::Float));
        assert_eq!(codes(Kind::Float, floats.to_vec()), want);
        let decimals = ["9.50", "-0.01", "0", "9.51"].map(|n| Value::Text(n.to_owned()));
        assert_eq!(codes(Kind::Decimal, decimals.to_vec()), want);
    }

    #[test]
    fn opens_on_numbers_only() {
        assert_eq!(codes(Kind::Text, vec![]), Err(Error::from("column `n` is no number")));
    }
}
