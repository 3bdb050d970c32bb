//! Cells of the columns while a batch grows: plain vectors that become Arrow arrays without a copy.

use std::sync::Arc;

use arrow_array::{ArrayRef, ArrowPrimitiveType, BooleanArray, PrimitiveArray, StringArray};
use arrow_buffer::{BooleanBufferBuilder, Buffer, NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};

/// What all cells can do.
pub(crate) trait Store {
    /// Appends a null.
    fn push_null(&mut self);
    /// How many cells there are.
    fn len(&self) -> usize;
    /// Takes back what is beyond `len`.
    fn truncate(&mut self, len: usize);
    /// Hands over the array and begins anew, with room for as much again.
    fn finish(&mut self, kind: &DataType) -> Result<ArrayRef, ArrowError>;
}

/// Text cells.
#[derive(Debug)]
pub(crate) struct Texts {
    data: Vec<u8>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
    /// Whether anything reads them; else nothing is kept.
    keep: bool,
}

impl Texts {
    pub(crate) fn new(keep: bool) -> Self {
        Self { data: Vec::new(), offsets: vec![0], nulls: NullBufferBuilder::new(0), keep }
    }

    /// Appends text that is known to be UTF-8.
    #[inline(always)]
    pub(crate) fn push(&mut self, text: &[u8]) {
        if self.keep {
            self.data.extend_from_slice(text);
            self.offsets.push(self.data.len() as i32);
            self.nulls.append_non_null();
        }
    }

    /// The bytes of a cell; `None` for a null.
    pub(crate) fn get(&self, row: usize) -> Option<&[u8]> {
        self.nulls.is_valid(row).then(|| &self.data[self.offsets[row] as usize..self.offsets[row + 1] as usize])
    }
}

impl Store for Texts {
    fn push_null(&mut self) {
        if self.keep {
            self.offsets.push(self.data.len() as i32);
            self.nulls.append_null();
        }
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.offsets.truncate(len + 1);
            self.data.truncate(self.offsets.last().map_or(0, |end| *end as usize));
            self.nulls.truncate(len);
        }
    }

    fn finish(&mut self, _: &DataType) -> Result<ArrayRef, ArrowError> {
        if i32::try_from(self.data.len()).is_err() {
            self.truncate(0);
            return Err(ArrowError::OffsetOverflowError(self.data.len()));
        }
        let (bytes, count) = (self.data.len(), self.offsets.len());
        let data = std::mem::replace(&mut self.data, Vec::with_capacity(bytes));
        let offsets = std::mem::replace(&mut self.offsets, Vec::with_capacity(count));
        self.offsets.push(0);
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(StringArray::try_new(offsets, Buffer::from_vec(data), self.nulls.finish())?))
    }
}

/// Cells of one width.
#[derive(Debug)]
pub(crate) struct Fixed<T: ArrowPrimitiveType> {
    values: Vec<T::Native>,
    nulls: NullBufferBuilder,
}

impl<T: ArrowPrimitiveType> Fixed<T> {
    pub(crate) fn new() -> Self {
        Self { values: Vec::new(), nulls: NullBufferBuilder::new(0) }
    }

    #[inline(always)]
    pub(crate) fn push(&mut self, value: T::Native) {
        self.values.push(value);
        self.nulls.append_non_null();
    }

    pub(crate) fn get(&self, row: usize) -> Option<T::Native> {
        self.nulls.is_valid(row).then(|| self.values[row])
    }
}

impl<T: ArrowPrimitiveType> Store for Fixed<T> {
    fn push_null(&mut self) {
        self.values.push(T::Native::default());
        self.nulls.append_null();
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn truncate(&mut self, len: usize) {
        self.values.truncate(len);
        self.nulls.truncate(len);
    }

    fn finish(&mut self, kind: &DataType) -> Result<ArrayRef, ArrowError> {
        let count = self.values.len();
        let values = std::mem::replace(&mut self.values, Vec::with_capacity(count));
        let array = PrimitiveArray::<T>::try_new(values.into(), self.nulls.finish())?;
        Ok(Arc::new(array.with_data_type(kind.clone())))
    }
}

/// Truth values.
#[derive(Debug)]
pub(crate) struct Bools {
    values: BooleanBufferBuilder,
    nulls: NullBufferBuilder,
}

impl Bools {
    pub(crate) fn new() -> Self {
        Self { values: BooleanBufferBuilder::new(0), nulls: NullBufferBuilder::new(0) }
    }

    #[inline]
    pub(crate) fn push(&mut self, value: bool) {
        self.values.append(value);
        self.nulls.append_non_null();
    }

    pub(crate) fn get(&self, row: usize) -> Option<bool> {
        self.nulls.is_valid(row).then(|| self.values.get_bit(row))
    }
}

impl Store for Bools {
    fn push_null(&mut self) {
        self.values.append(false);
        self.nulls.append_null();
    }

    fn len(&self) -> usize {
        self.values.len()
    }

    fn truncate(&mut self, len: usize) {
        if len < self.len() {
            self.values.truncate(len);
            self.nulls.truncate(len);
        }
    }

    fn finish(&mut self, _: &DataType) -> Result<ArrayRef, ArrowError> {
        Ok(Arc::new(BooleanArray::new(self.values.finish(), self.nulls.finish())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::cast::AsArray;
    use arrow_array::types::Int64Type;

    #[test]
    fn what_is_taken_back_leaves_no_trace() {
        let mut texts = Texts::new(true);
        for text in ["a", "bc"] {
            texts.push(text.as_bytes());
        }
        texts.push_null();
        texts.push(b"lost");
        texts.truncate(3);
        texts.push(b"d");
        let array = texts.finish(&DataType::Utf8).expect("an array");
        assert_eq!(array.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("a"), Some("bc"), None, Some("d")]);
        let mut longs = Fixed::<Int64Type>::new();
        longs.push(1);
        longs.push_null();
        longs.truncate(1);
        longs.push(3);
        let array = longs.finish(&DataType::Int64).expect("an array");
        assert_eq!(array.as_primitive::<Int64Type>().iter().collect::<Vec<_>>(), [Some(1), Some(3)]);
        let mut bools = Bools::new();
        bools.push(true);
        bools.push_null();
        bools.truncate(1);
        bools.push(false);
        let array = bools.finish(&DataType::Boolean).expect("an array");
        assert_eq!(array.as_boolean().iter().collect::<Vec<_>>(), [Some(true), Some(false)]);
    }

    #[test]
    fn a_finished_column_begins_anew() {
        let mut texts = Texts::new(true);
        texts.push(b"first");
        texts.finish(&DataType::Utf8).expect("an array");
        texts.push(b"second");
        let array = texts.finish(&DataType::Utf8).expect("an array");
        assert_eq!(array.as_string::<i32>().iter().collect::<Vec<_>>(), [Some("second")]);
    }
}
