//! Masks a column: what is between the found parts is copied in long pieces, and a column with nothing found is not touched.

use std::sync::Arc;

use arrow_array::builder::StringViewBuilder;
use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, GenericStringArray, OffsetSizeTrait, StringViewArray};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_schema::{ArrowError, DataType};

use crate::finder::{Finder, Wanted};
use crate::span::{Kind, Span};

/// What to look for, and what to put in its place.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Rules {
    /// What to look for.
    pub wanted: Wanted,
    /// One text for all kinds; without it each kind has its label.
    pub replacement: Option<String>,
}

impl Rules {
    fn put(&self, kind: Kind) -> &str {
        self.replacement.as_deref().unwrap_or(kind.label())
    }
}

/// The column masked. Another type than text is passed on as it is.
///
/// # Errors
/// The column has grown beyond what its type can hold.
pub fn mask(column: &ArrayRef, rules: &Rules) -> Result<ArrayRef, ArrowError> {
    let masked = match column.data_type() {
        DataType::Utf8 => mask_offsets(column.as_string::<i32>(), rules)?.map(|array| Arc::new(array) as ArrayRef),
        DataType::LargeUtf8 => mask_offsets(column.as_string::<i64>(), rules)?.map(|array| Arc::new(array) as ArrayRef),
        DataType::Utf8View => mask_views(column.as_string_view(), rules).map(|array| Arc::new(array) as ArrayRef),
        _ => None,
    };
    Ok(masked.unwrap_or_else(|| Arc::clone(column)))
}

/// The masked text, written to `out` in place of what stood there.
pub fn mask_text(text: &str, spans: &[Span], rules: &Rules, out: &mut String) {
    out.clear();
    let mut copied = 0;
    for span in spans {
        out.push_str(&text[copied..span.start]);
        out.push_str(rules.put(span.kind));
        copied = span.end;
    }
    out.push_str(&text[copied..]);
}

/// The new array; `None` where nothing was found.
fn mask_offsets<O: OffsetSizeTrait>(
    array: &GenericStringArray<O>,
    rules: &Rules,
) -> Result<Option<GenericStringArray<O>>, ArrowError> {
    let offsets = array.value_offsets();
    let values = array.value_data();
    let base = offsets[0].as_usize();
    let mut out: Vec<u8> = Vec::new();
    let mut ends: Vec<usize> = Vec::new();
    // All of `values` before this is in `out`.
    let mut copied = base;
    let mut finder = Finder::new(rules.wanted);
    for row in 0..array.len() {
        let start = offsets[row].as_usize();
        let spans = if array.is_valid(row) { finder.find(array.value(row)) } else { &[] };
        if !spans.is_empty() {
            if ends.is_empty() {
                out.reserve(values.len() - base + 1024);
                ends.reserve(array.len() + 1);
                ends.extend(offsets[..=row].iter().map(|end| end.as_usize() - base));
            }
            for span in spans {
                out.extend_from_slice(&values[copied..start + span.start]);
                out.extend_from_slice(rules.put(span.kind).as_bytes());
                copied = start + span.end;
            }
        }
        if !ends.is_empty() {
            ends.push(out.len() + offsets[row + 1].as_usize() - copied);
        }
    }
    if ends.is_empty() {
        return Ok(None);
    }
    out.extend_from_slice(&values[copied..offsets[array.len()].as_usize()]);
    let ends: Option<Vec<O>> = ends.into_iter().map(O::from_usize).collect();
    let ends = ends.ok_or_else(|| ArrowError::OffsetOverflowError(out.len()))?;
    let offsets = OffsetBuffer::new(ends.into());
    GenericStringArray::try_new(offsets, Buffer::from_vec(out), array.nulls().cloned()).map(Some)
}

/// The new array; `None` where nothing was found.
fn mask_views(array: &StringViewArray, rules: &Rules) -> Option<StringViewArray> {
    let mut finder = Finder::new(rules.wanted);
    let first = (0..array.len()).find(|row| array.is_valid(*row) && !finder.find(array.value(*row)).is_empty())?;
    let mut builder = StringViewBuilder::with_capacity(array.len());
    let mut text = String::new();
    for (row, value) in array.iter().enumerate() {
        match value {
            Some(value) if row >= first => {
                mask_text(value, finder.find(value), rules, &mut text);
                builder.append_value(&text);
            }
            value => builder.append_option(value),
        }
    }
    Some(builder.finish())
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use arrow_array::{Array, ArrayRef, Int64Array, LargeStringArray, StringArray, StringViewArray};

    use super::{Rules, mask};
    use crate::finder::Wanted;
    use crate::span::Kind;

    const ROWS: [Option<&str>; 8] = [
        Some("nothing here"),
        None,
        Some(""),
        Some("Zoë🙂 ann@example.org 👩‍👩‍👧 0170 1234567é"),
        Some("né 2026-12-01"),
        Some("ann@example.org"),
        None,
        Some("DE89370400440532013000, ask for 日本"),
    ];
    const MASKED: [Option<&str>; 8] = [
        Some("nothing here"),
        None,
        Some(""),
        Some("Zoë🙂 [email] 👩‍👩‍👧 [phone]é"),
        Some("né 2026-12-01"),
        Some("[email]"),
        None,
        Some("[iban], ask for 日本"),
    ];

    fn rules(replacement: Option<&str>) -> Rules {
        Rules { wanted: Wanted::of(&Kind::ALL), replacement: replacement.map(str::to_owned) }
    }

    #[test]
    fn b179_masks_every_type_of_text_at_character_boundaries() {
        let columns: [(ArrayRef, ArrayRef); 3] = [
            (Arc::new(StringArray::from(ROWS.to_vec())), Arc::new(StringArray::from(MASKED.to_vec()))),
            (Arc::new(LargeStringArray::from(ROWS.to_vec())), Arc::new(LargeStringArray::from(MASKED.to_vec()))),
            (Arc::new(StringViewArray::from(ROWS.to_vec())), Arc::new(StringViewArray::from(MASKED.to_vec()))),
        ];
        for (column, want) in columns {
            for start in 0..ROWS.len() {
                for len in 0..=ROWS.len() - start {
                    let masked = mask(&column.slice(start, len), &rules(None)).unwrap();
                    assert_eq!(&masked, &want.slice(start, len), "{start}+{len}");
                }
            }
        }
    }

    #[test]
    fn puts_one_replacement_for_all() {
        let column: ArrayRef = Arc::new(StringArray::from(vec!["a@b.de é +491701234567"]));
        let masked = mask(&column, &rules(Some("▇"))).unwrap();
        assert_eq!(&masked, &(Arc::new(StringArray::from(vec!["▇ é ▇"])) as ArrayRef));
        let masked = mask(&column, &rules(Some(""))).unwrap();
        assert_eq!(&masked, &(Arc::new(StringArray::from(vec![" é "])) as ArrayRef));
    }

    #[test]
    fn hands_on_the_very_column_where_nothing_is_found() {
        for column in [
            Arc::new(StringArray::from(vec!["nothing", "at all"])) as ArrayRef,
            Arc::new(StringViewArray::from(vec!["nothing", "at all"])),
            Arc::new(Int64Array::from(vec![491_701_234_567])),
        ] {
            assert!(Arc::ptr_eq(&mask(&column, &rules(None)).unwrap(), &column));
        }
    }
}
