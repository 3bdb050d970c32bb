//! `now()` and its kin: the time at which the batch was closed, the same on every retry.
//!
//! Each planned step has a [`Moment`] of its own, set before a batch runs. The functions are volatile for the planner, so that it does not
//! put its own time in their place.

use std::hash::{Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};

use arrow_schema::{DataType, TimeUnit};
use datafusion::common::{Result, ScalarValue};
use datafusion::logical_expr::{ColumnarValue, ScalarFunctionArgs, ScalarUDF, ScalarUDFImpl, Signature, Volatility};
use sluicebox_core::column::timestamp_type;

const DAY_MICROS: i64 = 86_400_000_000;

/// Names that are known, with the function that each means.
const NAMES: [(&str, Part); 5] = [
    ("now", Part::Instant),
    ("current_timestamp", Part::Instant),
    ("current_date", Part::Date),
    ("today", Part::Date),
    ("current_time", Part::Time),
];

/// Microseconds since 1970 UTC that `now()` gives.
#[derive(Debug, Clone, Default)]
pub(crate) struct Moment(Arc<AtomicI64>);

impl Moment {
    /// Sets the time for the batch that runs next.
    pub(crate) fn set(&self, micros: i64) {
        self.0.store(micros, Ordering::Relaxed);
    }

    /// The functions that read this moment, by name.
    pub(crate) fn functions(&self) -> impl Iterator<Item = (&'static str, Arc<ScalarUDF>)> {
        NAMES.into_iter().map(|(name, part)| {
            let function = Now { name, part, moment: self.clone(), signature: Signature::nullary(Volatility::Volatile) };
            (name, Arc::new(ScalarUDF::new_from_impl(function)))
        })
    }
}

/// Whether the function is one of ours, which are repeatable although the planner is told otherwise.
pub(crate) fn is_now(function: &ScalarUDF) -> bool {
    function.inner().is::<Now>()
}

#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
enum Part {
    Instant,
    Date,
    Time,
}

#[derive(Debug)]
struct Now {
    name: &'static str,
    part: Part,
    moment: Moment,
    signature: Signature,
}

impl PartialEq for Now {
    fn eq(&self, other: &Self) -> bool {
        self.name == other.name && Arc::ptr_eq(&self.moment.0, &other.moment.0)
    }
}

impl Eq for Now {}

impl Hash for Now {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.name.hash(state);
    }
}

impl ScalarUDFImpl for Now {
    fn name(&self) -> &str {
        self.name
    }

    fn signature(&self) -> &Signature {
        &self.signature
    }

    fn return_type(&self, _: &[DataType]) -> Result<DataType> {
        Ok(match self.part {
            Part::Instant => timestamp_type(),
            Part::Date => DataType::Date32,
            Part::Time => DataType::Time64(TimeUnit::Nanosecond),
        })
    }

    fn invoke_with_args(&self, _: ScalarFunctionArgs) -> Result<ColumnarValue> {
        let micros = self.moment.0.load(Ordering::Relaxed);
        let value = match self.part {
            Part::Instant => ScalarValue::TimestampMicrosecond(Some(micros), Some("UTC".into())),
            Part::Date => ScalarValue::Date32(i32::try_from(micros.div_euclid(DAY_MICROS)).ok()),
            Part::Time => ScalarValue::Time64Nanosecond(Some(micros.rem_euclid(DAY_MICROS) * 1000)),
        };
        Ok(ColumnarValue::Scalar(value))
    }
}
