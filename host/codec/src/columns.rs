//! Declared columns, ready to read: rules, lookup of keys, and the cells that grow.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::types::{Date32Type, Decimal128Type, Float64Type, Int8Type, Int16Type, Int64Type, TimestampMicrosecondType};
use arrow_array::{ArrayRef, ListArray, StructArray};
use arrow_buffer::{NullBufferBuilder, OffsetBuffer, ScalarBuffer};
use arrow_schema::{ArrowError, DataType};
use sluicebox_core::column::Trim;

use crate::cells::{Bools, Fixed, Store, Texts};
use crate::convert::{ToBoolean, ToByte, ToDate, ToDecimal, ToDouble, ToLong, ToShort, ToTimestamp};
use crate::misfit::Names;

/// What holds for every value of a column.
#[derive(Debug)]
pub(crate) struct Rule {
    pub(crate) primitive: &'static str,
    pub(crate) type_name: String,
    pub(crate) required: bool,
    pub(crate) trim: Trim,
    pub(crate) empty_is_null: bool,
    /// Whether a privacy rule hides the value, or something around or inside it.
    pub(crate) hidden: bool,
}

impl Rule {
    /// The text that counts, or `None` when it counts as null.
    #[inline(always)]
    pub(crate) fn prepared<'t>(&self, text: &'t [u8]) -> Option<&'t [u8]> {
        let text = if self.trim == Trim::None { text } else { self.trimmed(text) };
        if text.is_empty() && self.empty_is_null { None } else { Some(text) }
    }

    #[cold]
    fn trimmed<'t>(&self, text: &'t [u8]) -> &'t [u8] {
        let Ok(text) = std::str::from_utf8(text) else { return text };
        match self.trim {
            Trim::None => text,
            Trim::Left => text.trim_start(),
            Trim::Right => text.trim_end(),
            Trim::Both => text.trim(),
        }
        .as_bytes()
    }

    /// What messages say of the column.
    pub(crate) fn names(&self) -> Names<'_> {
        Names { primitive: self.primitive, type_name: &self.type_name, hidden: self.hidden }
    }
}

/// One declared column.
#[derive(Debug)]
pub(crate) struct Node {
    pub(crate) name: String,
    /// `"name":` as it stands in compact JSON; empty when the name needs escapes.
    pub(crate) written: Box<[u8]>,
    pub(crate) rule: Rule,
    pub(crate) slot: Slot,
    /// One cell that stands in place of null.
    pub(crate) default: Option<Box<Slot>>,
}

/// The cells of a column and how its values are read.
#[derive(Debug)]
pub(crate) enum Slot {
    Text(Texts),
    Variant(Texts),
    Long(Fixed<Int64Type>, ToLong),
    Short(Fixed<Int16Type>, ToShort),
    Byte(Fixed<Int8Type>, ToByte),
    Double(Fixed<Float64Type>, ToDouble),
    Decimal(Fixed<Decimal128Type>, ToDecimal),
    Boolean(Bools, Box<ToBoolean>),
    Date(Fixed<Date32Type>, ToDate),
    Timestamp(Fixed<TimestampMicrosecondType>, ToTimestamp),
    Struct(Structs),
    List(Lists),
}

/// Nested columns.
#[derive(Debug)]
pub(crate) struct Structs {
    pub(crate) columns: Columns,
    pub(crate) nulls: NullBufferBuilder,
}

/// Arrays.
#[derive(Debug)]
pub(crate) struct Lists {
    pub(crate) child: Box<Slot>,
    offsets: Vec<i32>,
    nulls: NullBufferBuilder,
}

impl Lists {
    pub(crate) fn new(child: Slot) -> Self {
        Self { child: Box::new(child), offsets: vec![0], nulls: NullBufferBuilder::new(0) }
    }

    /// Ends an array whose elements have been appended to the child.
    pub(crate) fn push(&mut self) {
        let end = self.child.len() as i32;
        self.offsets.push(end);
        self.nulls.append_non_null();
    }

    fn last(&self) -> usize {
        self.offsets.last().map_or(0, |end| *end as usize)
    }

    /// Takes back elements of an array that is not one.
    pub(crate) fn abandon(&mut self) {
        let end = self.last();
        self.child.truncate(end);
    }
}

impl Store for Lists {
    fn push_null(&mut self) {
        self.offsets.push(self.last() as i32);
        self.nulls.append_null();
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    fn truncate(&mut self, len: usize) {
        if len <= self.len() {
            self.offsets.truncate(len + 1);
            self.nulls.truncate(len);
            self.abandon();
        }
    }

    fn finish(&mut self, kind: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::List(field) = kind else {
            return Err(ArrowError::SchemaError(format!("{kind} is no list")));
        };
        let count = self.offsets.len();
        let offsets = std::mem::replace(&mut self.offsets, Vec::with_capacity(count));
        self.offsets.push(0);
        let child = self.child.finish(field.data_type())?;
        let offsets = OffsetBuffer::new(ScalarBuffer::from(offsets));
        Ok(Arc::new(ListArray::try_new(field.clone(), offsets, child, self.nulls.finish())?))
    }
}

impl Store for Structs {
    fn push_null(&mut self) {
        self.nulls.append_null();
        for node in &mut self.columns.nodes {
            node.slot.push_null();
        }
    }

    fn len(&self) -> usize {
        self.nulls.len()
    }

    fn truncate(&mut self, len: usize) {
        if len <= self.len() {
            self.nulls.truncate(len);
        }
        self.columns.truncate(len);
    }

    fn finish(&mut self, kind: &DataType) -> Result<ArrayRef, ArrowError> {
        let DataType::Struct(fields) = kind else {
            return Err(ArrowError::SchemaError(format!("{kind} is no struct")));
        };
        let len = self.len();
        let pairs = self.columns.nodes.iter_mut().zip(fields.iter());
        let children: Vec<_> = pairs.map(|(node, field)| node.slot.finish(field.data_type())).collect::<Result<_, _>>()?;
        let array = StructArray::try_new_with_length(fields.clone(), children, self.nulls.finish(), len)?;
        Ok(Arc::new(array))
    }
}

impl Slot {
    fn store(&self) -> &dyn Store {
        match self {
            Slot::Text(cells) | Slot::Variant(cells) => cells,
            Slot::Long(cells, _) => cells,
            Slot::Short(cells, _) => cells,
            Slot::Byte(cells, _) => cells,
            Slot::Double(cells, _) => cells,
            Slot::Decimal(cells, _) => cells,
            Slot::Boolean(cells, _) => cells,
            Slot::Date(cells, _) => cells,
            Slot::Timestamp(cells, _) => cells,
            Slot::Struct(cells) => cells,
            Slot::List(cells) => cells,
        }
    }

    fn store_mut(&mut self) -> &mut dyn Store {
        match self {
            Slot::Text(cells) | Slot::Variant(cells) => cells,
            Slot::Long(cells, _) => cells,
            Slot::Short(cells, _) => cells,
            Slot::Byte(cells, _) => cells,
            Slot::Double(cells, _) => cells,
            Slot::Decimal(cells, _) => cells,
            Slot::Boolean(cells, _) => cells,
            Slot::Date(cells, _) => cells,
            Slot::Timestamp(cells, _) => cells,
            Slot::Struct(cells) => cells,
            Slot::List(cells) => cells,
        }
    }

    /// Appends the first cell of another slot of the same type.
    pub(crate) fn push_copy(&mut self, from: &Slot) {
        self.push_copy_of(from, 0);
    }

    fn push_copy_of(&mut self, from: &Slot, row: usize) {
        let copied = match (&mut *self, from) {
            (Slot::Text(to), Slot::Text(from)) | (Slot::Variant(to), Slot::Variant(from)) => from.get(row).map(|v| to.push(v)),
            (Slot::Long(to, _), Slot::Long(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Short(to, _), Slot::Short(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Byte(to, _), Slot::Byte(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Double(to, _), Slot::Double(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Decimal(to, _), Slot::Decimal(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Boolean(to, _), Slot::Boolean(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Date(to, _), Slot::Date(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Timestamp(to, _), Slot::Timestamp(from, _)) => from.get(row).map(|v| to.push(v)),
            (Slot::Struct(to), Slot::Struct(from)) if from.nulls.is_valid(row) => {
                to.nulls.append_non_null();
                for (to, from) in to.columns.nodes.iter_mut().zip(&from.columns.nodes) {
                    to.slot.push_copy_of(&from.slot, row);
                }
                Some(())
            }
            (Slot::List(to), Slot::List(from)) if from.nulls.is_valid(row) => {
                for element in from.offsets[row]..from.offsets[row + 1] {
                    to.child.push_copy_of(&from.child, element as usize);
                }
                to.push();
                Some(())
            }
            _ => None,
        };
        if copied.is_none() {
            self.push_null();
        }
    }
}

impl Store for Slot {
    fn push_null(&mut self) {
        self.store_mut().push_null();
    }

    fn len(&self) -> usize {
        self.store().len()
    }

    fn truncate(&mut self, len: usize) {
        self.store_mut().truncate(len);
    }

    fn finish(&mut self, kind: &DataType) -> Result<ArrayRef, ArrowError> {
        self.store_mut().finish(kind)
    }
}

/// Up to this many columns a key is looked up by comparing one by one.
const COMPARED_MAX: usize = 8;

/// The columns of one object.
#[derive(Debug)]
pub(crate) struct Columns {
    pub(crate) nodes: Vec<Node>,
    /// Filled when there are many.
    by_name: HashMap<Box<[u8]>, usize>,
    /// Which columns the object at hand has had, a bit each.
    seen: Vec<u64>,
}

impl Columns {
    pub(crate) fn new(nodes: Vec<Node>) -> Self {
        let many = nodes.len() > COMPARED_MAX;
        let names = nodes.iter().enumerate().filter(|_| many);
        let by_name = names.map(|(index, node)| (node.name.as_bytes().into(), index)).collect();
        let seen = vec![0; nodes.len().div_ceil(64)];
        Self { nodes, by_name, seen }
    }

    /// The column of a key.
    #[inline]
    pub(crate) fn find(&self, key: &[u8]) -> Option<usize> {
        if self.nodes.len() > COMPARED_MAX {
            return self.by_name.get(key).copied();
        }
        self.nodes.iter().position(|node| node.name.as_bytes() == key)
    }

    /// A new object begins.
    #[inline(always)]
    pub(crate) fn begin(&mut self) {
        self.seen.fill(0);
    }

    /// Marks a column as there; false when it was already.
    #[inline(always)]
    pub(crate) fn see(&mut self, index: usize) -> bool {
        let (word, bit) = (&mut self.seen[index / 64], 1 << (index % 64));
        let fresh = *word & bit == 0;
        *word |= bit;
        fresh
    }

    /// Whether the object at hand has had the column.
    #[inline]
    pub(crate) fn has(&self, index: usize) -> bool {
        self.seen[index / 64] >> (index % 64) & 1 == 1
    }

    /// Whether the object at hand has had no declared column.
    pub(crate) fn none_seen(&self) -> bool {
        self.seen.iter().all(|word| *word == 0)
    }

    /// Takes back what is beyond `len` rows.
    pub(crate) fn truncate(&mut self, len: usize) {
        for node in &mut self.nodes {
            node.slot.truncate(len);
        }
    }
}
