//! Records taken together: Arrow columns plus where each row came from.

use std::sync::Arc;

use arrow_array::{BooleanArray, RecordBatch, UInt32Array};
use arrow_schema::ArrowError;

use crate::record::Records;
use crate::reject::Rejects;

/// Which record each row came from. Rising; a record may have no row, one or many.
#[derive(Debug, Clone, PartialEq)]
pub enum Rows {
    /// Row `i` is record `i`.
    Same(usize),
    /// Row `i` is record `numbers[i]`; no nulls.
    Numbers(UInt32Array),
}

impl Rows {
    /// How many rows there are.
    pub fn len(&self) -> usize {
        match self {
            Rows::Same(len) => *len,
            Rows::Numbers(numbers) => numbers.len(),
        }
    }

    /// Whether there is no row.
    pub fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The record of a row.
    pub fn record(&self, row: usize) -> u32 {
        match self {
            Rows::Same(_) => row as u32,
            Rows::Numbers(numbers) => numbers.value(row),
        }
    }

    /// Records of all rows, in order.
    pub fn iter(&self) -> impl Iterator<Item = u32> + '_ {
        (0..self.len()).map(|row| self.record(row))
    }

    /// The rows as numbers, for those who carry them along as a column.
    pub fn to_numbers(&self) -> UInt32Array {
        match self {
            Rows::Same(len) => UInt32Array::from_iter_values(0..*len as u32),
            Rows::Numbers(numbers) => numbers.clone(),
        }
    }

    /// Origin after a step that answered with numbers of *its* input rows.
    #[must_use]
    pub fn through(&self, answered: &UInt32Array) -> Rows {
        match self {
            Rows::Same(len) if is_identity(answered, *len) => Rows::Same(*len),
            Rows::Same(_) => Rows::Numbers(answered.clone()),
            Rows::Numbers(numbers) => {
                Rows::Numbers(UInt32Array::from_iter_values(answered.values().iter().map(|row| numbers.value(*row as usize))))
            }
        }
    }
}

fn is_identity(numbers: &UInt32Array, len: usize) -> bool {
    numbers.len() == len && numbers.values().iter().zip(0..).all(|(number, row)| *number == row)
}

/// Columns, and the records that their rows came from.
#[derive(Debug, Clone)]
pub struct Batch {
    /// One row per entry of `rows`.
    pub columns: RecordBatch,
    /// The origin of each row.
    pub rows: Rows,
    /// The records of the whole batch, refused and filtered ones too.
    pub records: Arc<Records>,
    /// When the batch was closed: microseconds since 1970 UTC. `now()` in SQL, the same on every retry.
    pub closed_at: i64,
}

impl Batch {
    /// The rows whose record is not refused.
    ///
    /// # Errors
    /// When Arrow cannot filter a column.
    pub fn without(self, rejects: &Rejects) -> Result<Batch, ArrowError> {
        if rejects.is_empty() || !self.rows.iter().any(|record| rejects.contains(record)) {
            return Ok(self);
        }
        let keep: BooleanArray = self.rows.iter().map(|record| Some(!rejects.contains(record))).collect();
        let columns = arrow_select::filter::filter_record_batch(&self.columns, &keep)?;
        let kept = self.rows.iter().filter(|record| !rejects.contains(*record));
        let rows = Rows::Numbers(UInt32Array::from_iter_values(kept));
        Ok(Batch { columns, rows, ..self })
    }

    /// Some rows of the batch, by a range.
    #[must_use]
    pub fn slice(&self, offset: usize, len: usize) -> Batch {
        let rows = Rows::Numbers(self.rows.to_numbers().slice(offset, len));
        Batch { columns: self.columns.slice(offset, len), rows, records: self.records.clone(), closed_at: self.closed_at }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::reject::{Code, RowError};
    use arrow_array::{Array, ArrayRef, Int64Array};

    fn batch(rows: Rows, values: Vec<i64>) -> Batch {
        let column: ArrayRef = Arc::new(Int64Array::from(values));
        let columns = RecordBatch::try_from_iter([("n", column)]).expect("one column");
        Batch { columns, rows, records: Arc::default(), closed_at: 0 }
    }

    #[test]
    fn refusing_a_record_takes_all_its_rows() {
        let rows = Rows::Numbers(UInt32Array::from(vec![0, 2, 2, 5]));
        let mut rejects = Rejects::default();
        rejects.add(2, RowError::new("n", Code::SQL, "no"));
        let left = batch(rows, vec![10, 20, 21, 50]).without(&rejects).expect("filters");
        assert_eq!(left.rows.iter().collect::<Vec<_>>(), [0, 5]);
        assert_eq!(left.columns.column(0).as_ref(), &Int64Array::from(vec![10, 50]) as &dyn Array);
    }

    #[test]
    fn numbers_of_a_step_are_translated_to_records() {
        let rows = Rows::Numbers(UInt32Array::from(vec![3, 4, 9]));
        assert_eq!(rows.through(&UInt32Array::from(vec![0, 2, 2])).iter().collect::<Vec<_>>(), [3, 9, 9]);
        assert_eq!(Rows::Same(2).through(&UInt32Array::from(vec![0, 1])), Rows::Same(2));
        assert_eq!(Rows::Same(2).through(&UInt32Array::from(vec![1])).iter().collect::<Vec<_>>(), [1]);
    }
}
