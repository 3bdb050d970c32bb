//! Where a nested value stands: its row and its path, found only when something is wrong with it.

use arrow_array::{Array, ListArray};

/// Finds the row and the path of a value by its index.
pub(super) type Locate<'a> = &'a dyn Fn(usize) -> (usize, String);

/// Runs `each` over the elements of a list: the elements in use, the index of the first, and where they stand.
pub(super) fn elements<T>(list: &ListArray, locate: Locate<'_>, each: impl FnOnce(Locate<'_>) -> T) -> T {
    let offsets = list.value_offsets();
    each(&|element: usize| {
        let row = offsets.partition_point(|offset| *offset as usize <= element) - 1;
        let (at, path) = locate(row);
        (at, format!("{path}[{}]", element - offsets[row] as usize))
    })
}

/// Indexes of the elements of a list that belong to a row.
pub(super) fn used(list: &ListArray) -> std::ops::Range<usize> {
    let offsets = list.value_offsets();
    offsets[0] as usize..offsets[list.len()] as usize
}
