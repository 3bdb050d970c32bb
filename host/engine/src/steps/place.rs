//! Where a nested value stands: its row and its path, found only when something is wrong with it.

use std::ops::Range;

use arrow_array::{Array, ListArray, StructArray};
use sluicebox_core::batch::Rows;
use sluicebox_core::reject::{Code, Rejects, RowError};

/// Errors told of one record and column: an array of a million wrong values must not become a million messages (invariant 10).
pub(super) const ERRORS_MAX: usize = 20;

/// A row and the path of a value in it.
pub(super) type Place = (usize, String);

/// Finds the place of a value by its index; none for what lies under a null, which nobody sees.
pub(super) type Locate<'a> = &'a dyn Fn(usize) -> Option<Place>;

/// Runs `each` over the elements of some rows of a list: their indexes, and where they stand.
pub(super) fn elements<T>(
    list: &ListArray,
    rows: Range<usize>,
    locate: Locate<'_>,
    each: impl FnOnce(Range<usize>, Locate<'_>) -> T,
) -> T {
    let offsets = list.value_offsets();
    let inside = |element: usize| {
        let row = offsets.partition_point(|offset| *offset as usize <= element).checked_sub(1)?;
        let (at, path) = locate(row).filter(|_| list.is_valid(row))?;
        Some((at, format!("{path}[{}]", element - offsets[row] as usize)))
    };
    each(offsets[rows.start] as usize..offsets[rows.end] as usize, &inside)
}

/// Runs `each` with the places of the values of a nested column.
pub(super) fn nested<T>(structs: &StructArray, name: &str, locate: Locate<'_>, each: impl FnOnce(Locate<'_>) -> T) -> T {
    each(&|index: usize| {
        let (row, path) = locate(index).filter(|_| structs.is_valid(index))?;
        Some((row, format!("{path}.{name}")))
    })
}

/// Takes errors of one kind of check, of a batch's rows in order, and bounds them.
pub(super) struct Faults<'a> {
    rows: &'a Rows,
    rejects: &'a mut Rejects,
    code: Code,
    record: Option<u32>,
    told: usize,
}

impl<'a> Faults<'a> {
    pub(super) fn new(rows: &'a Rows, rejects: &'a mut Rejects, code: Code) -> Self {
        Self { rows, rejects, code, record: None, told: 0 }
    }

    /// The errors that follow are those of another column.
    pub(super) fn begin(&mut self) {
        self.record = None;
    }

    /// Refuses the record of a value, unless the value lies under a null.
    pub(super) fn add(&mut self, place: Option<Place>, message: impl FnOnce() -> String) {
        let Some((row, path)) = place else { return };
        let record = self.rows.record(row);
        if self.record.replace(record) != Some(record) {
            self.told = 0;
        }
        self.told += 1;
        if self.told <= ERRORS_MAX {
            self.rejects.add(record, RowError::new(path, self.code.clone(), message()));
        } else if self.told == ERRORS_MAX + 1 {
            let words = format!("wrong too, as others after it may be: {ERRORS_MAX} values of a column are listed");
            self.rejects.add(record, RowError::new(path, self.code.clone(), words));
        }
    }
}
