//! Bytes that rows take when they cross the border, and where a batch is cut so that no part takes too many.

use std::ops::Range;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch};
use arrow_schema::DataType;

/// Bytes of the rows of one call.
pub(crate) const CALL_BYTES_MAX: usize = 4 << 20;

/// Ranges of rows that take at most [`CALL_BYTES_MAX`] each, or are one row that takes more.
pub(crate) fn parts(rows: &RecordBatch) -> Vec<Range<usize>> {
    let mut parts = Vec::new();
    if rows.num_rows() > 0 {
        cut(rows, 0..rows.num_rows(), &mut parts);
    }
    parts
}

fn cut(rows: &RecordBatch, range: Range<usize>, parts: &mut Vec<Range<usize>>) {
    if range.len() == 1 || of(rows, &range) <= CALL_BYTES_MAX {
        parts.push(range);
        return;
    }
    let middle = range.start + range.len() / 2;
    cut(rows, range.start..middle, parts);
    cut(rows, middle..range.end, parts);
}

/// Bytes of some rows.
pub(crate) fn of(rows: &RecordBatch, range: &Range<usize>) -> usize {
    rows.columns().iter().map(|column| bytes(column.as_ref(), range)).sum()
}

fn bytes(column: &dyn Array, range: &Range<usize>) -> usize {
    let rows = range.len();
    let nulls = rows / 8;
    let values = match column.data_type() {
        DataType::Utf8 => rows * 4 + offsets(column.as_string::<i32>().value_offsets(), range).len(),
        DataType::Binary => rows * 4 + offsets(column.as_binary::<i32>().value_offsets(), range).len(),
        DataType::LargeUtf8 => rows * 8 + offsets(column.as_string::<i64>().value_offsets(), range).len(),
        DataType::LargeBinary => rows * 8 + offsets(column.as_binary::<i64>().value_offsets(), range).len(),
        DataType::Utf8View => rows * 16 + viewed(column.as_string_view().views(), range),
        DataType::BinaryView => rows * 16 + viewed(column.as_binary_view().views(), range),
        DataType::List(_) => {
            let list = column.as_list::<i32>();
            rows * 4 + bytes(list.values(), &offsets(list.value_offsets(), range))
        }
        DataType::LargeList(_) => {
            let list = column.as_list::<i64>();
            rows * 8 + bytes(list.values(), &offsets(list.value_offsets(), range))
        }
        DataType::Map(_, _) => {
            let map = column.as_map();
            rows * 4 + bytes(map.entries(), &offsets(map.value_offsets(), range))
        }
        DataType::Struct(_) => column.as_struct().columns().iter().map(|child| bytes(child.as_ref(), range)).sum(),
        DataType::Boolean => rows / 8,
        fixed => match fixed.primitive_width() {
            Some(width) => rows * width,
            // The rest is rare here: its share of the whole.
            None => column.get_buffer_memory_size() * rows / column.len().max(1),
        },
    };
    values + nulls
}

/// The range of values behind a range of rows.
fn offsets<O: Copy + TryInto<usize>>(offsets: &[O], range: &Range<usize>) -> Range<usize> {
    let at = |row: usize| offsets.get(row).and_then(|offset| (*offset).try_into().ok()).unwrap_or(0);
    at(range.start)..at(range.end)
}

/// Bytes behind views; the low 32 bits of a view are its length, and up to 12 bytes lie in the view itself.
fn viewed(views: &[u128], range: &Range<usize>) -> usize {
    views[range.clone()].iter().map(|view| *view as u32 as usize).filter(|len| *len > 12).sum()
}

/// A batch that holds no more bytes than its rows need: views drag whole buffers along.
pub(crate) fn compact(rows: RecordBatch) -> RecordBatch {
    let is_view = |column: &ArrayRef| matches!(column.data_type(), DataType::Utf8View | DataType::BinaryView);
    if !rows.columns().iter().any(is_view) {
        return rows;
    }
    let column = |column: &ArrayRef| -> ArrayRef {
        match column.data_type() {
            DataType::Utf8View => std::sync::Arc::new(column.as_string_view().gc()),
            DataType::BinaryView => std::sync::Arc::new(column.as_binary_view().gc()),
            _ => column.clone(),
        }
    };
    RecordBatch::try_new(rows.schema(), rows.columns().iter().map(column).collect()).unwrap_or(rows)
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::types::Int64Type;
    use arrow_array::{ListArray, StringArray, StringViewArray};

    use super::*;

    fn batch(column: ArrayRef) -> RecordBatch {
        RecordBatch::try_from_iter_with_nullable([("v", column, true)]).expect("a batch")
    }

    #[test]
    fn parts_are_small_and_cover_all_rows() {
        let mut texts = vec!["x".repeat(1_000); 20_000];
        texts[7_777] = "y".repeat(CALL_BYTES_MAX + 1);
        for column in [
            Arc::new(StringArray::from_iter_values(&texts)) as ArrayRef,
            Arc::new(StringViewArray::from_iter_values(&texts)) as ArrayRef,
        ] {
            let rows = batch(column);
            let parts = parts(&rows);
            assert_eq!(parts.iter().flat_map(Clone::clone).collect::<Vec<_>>(), (0..20_000).collect::<Vec<_>>());
            assert!((7..40).contains(&parts.len()), "{}", parts.len());
            for part in parts {
                assert!(part == (7_777..7_778) || of(&rows, &part) <= CALL_BYTES_MAX, "{part:?}");
            }
        }
    }

    #[test]
    fn a_slice_of_lists_counts_its_own_values() {
        let list =
            ListArray::from_iter_primitive::<Int64Type, _, _>((0..100).map(|i| Some((0..i).map(Some).collect::<Vec<_>>())));
        let rows = batch(Arc::new(list));
        assert_eq!(of(&rows, &(10..11)), 4 + 10 * 8 + 1);
        assert_eq!(of(&rows.slice(10, 5), &(0..1)), 4 + 10 * 8 + 1);
    }

    #[test]
    fn views_are_compacted() {
        let long = "z".repeat(100);
        let rows = batch(Arc::new(StringViewArray::from_iter_values((0..1_000).map(|_| long.as_str()))));
        let part = compact(rows.slice(10, 1));
        assert_eq!(part, rows.slice(10, 1));
        assert!(part.column(0).as_string_view().data_buffers().iter().map(|b| b.len()).sum::<usize>() < 200);
    }
}
