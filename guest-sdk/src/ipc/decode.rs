//! Arrays out of the body of a message.

use std::collections::VecDeque;
use std::sync::Arc;

use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{
    ArrayRef, ArrowPrimitiveType, BooleanArray, FixedSizeBinaryArray, FixedSizeListArray, GenericByteArray, GenericByteViewArray,
    GenericListArray, MapArray, NullArray, OffsetSizeTrait, PrimitiveArray, RecordBatch, RecordBatchOptions, StructArray,
};
use arrow_buffer::{ArrowNativeType, BooleanBuffer, Buffer, NullBuffer, OffsetBuffer, ScalarBuffer};
use arrow_ipc::{FieldNode, RecordBatch as Description};
use arrow_schema::{ArrowError, DataType, FieldRef, Fields, SchemaRef};

use super::broken;

/// Reads the batch that `description` describes.
pub fn batch(description: &Description<'_>, body: &Buffer, schema: SchemaRef) -> Result<RecordBatch, ArrowError> {
    if description.compression().is_some() {
        return Err(broken("a body is compressed"));
    }
    let rows = count(description.length())?;
    let mut decoder = Decoder {
        body,
        nodes: description.nodes().iter().flatten().copied().collect(),
        buffers: description.buffers().iter().flatten().map(|buffer| (buffer.offset(), buffer.length())).collect(),
        view_buffers: description.variadicBufferCounts().iter().flatten().collect(),
    };
    let columns = schema.fields().iter().map(|field| decoder.array(field.data_type())).collect::<Result<Vec<_>, _>>()?;
    RecordBatch::try_new_with_options(schema, columns, &RecordBatchOptions::new().with_row_count(Some(rows)))
}

fn count(number: i64) -> Result<usize, ArrowError> {
    usize::try_from(number).map_err(|_| broken("a length is negative"))
}

/// What is left of the description, in the order of the schema, depth first.
struct Decoder<'a> {
    body: &'a Buffer,
    nodes: VecDeque<FieldNode>,
    buffers: VecDeque<(i64, i64)>,
    view_buffers: VecDeque<i64>,
}

impl Decoder<'_> {
    fn array(&mut self, data_type: &DataType) -> Result<ArrayRef, ArrowError> {
        let node = self.nodes.pop_front().ok_or_else(|| broken("a column is missing"))?;
        let len = count(node.length())?;
        if *data_type == DataType::Null {
            return Ok(Arc::new(NullArray::new(len)));
        }
        let nulls = self.nulls(len, node.null_count())?;
        macro_rules! primitive {
            ($type:ty) => {
                self.primitive::<$type>(data_type, len, nulls)
            };
        }
        match_type!(data_type, primitive, {
            DataType::Boolean => Ok(Arc::new(BooleanArray::new(self.bits(len)?, nulls))),
            DataType::Utf8 => self.bytes::<Utf8Type>(len, nulls),
            DataType::LargeUtf8 => self.bytes::<LargeUtf8Type>(len, nulls),
            DataType::Binary => self.bytes::<BinaryType>(len, nulls),
            DataType::LargeBinary => self.bytes::<LargeBinaryType>(len, nulls),
            DataType::Utf8View => self.views::<StringViewType>(len, nulls),
            DataType::BinaryView => self.views::<BinaryViewType>(len, nulls),
            DataType::FixedSizeBinary(size) => {
                let values = self.buffer()?;
                Ok(Arc::new(FixedSizeBinaryArray::try_new(*size, values, nulls)?))
            }
            DataType::List(field) => self.list::<i32>(field, len, nulls),
            DataType::LargeList(field) => self.list::<i64>(field, len, nulls),
            DataType::FixedSizeList(field, size) => {
                let values = self.array(field.data_type())?;
                Ok(Arc::new(FixedSizeListArray::try_new(Arc::clone(field), *size, values, nulls)?))
            }
            DataType::Struct(fields) => Ok(Arc::new(self.structure(fields, len, nulls)?)),
            DataType::Map(field, ordered) => self.map(field, len, nulls, *ordered),
            other => Err(ArrowError::NotYetImplemented(format!("columns of type {other} cannot be read"))),
        })
    }

    fn buffer(&mut self) -> Result<Buffer, ArrowError> {
        let (offset, len) = self.buffers.pop_front().ok_or_else(|| broken("a buffer is missing"))?;
        let (offset, len) = (count(offset)?, count(len)?);
        if offset.checked_add(len).is_none_or(|end| end > self.body.len()) {
            return Err(broken("a buffer lies outside of the body"));
        }
        Ok(self.body.slice_with_length(offset, len))
    }

    /// Numbers in place; copied where they do not lie as their type wants.
    fn numbers<T: ArrowNativeType>(&mut self, len: usize) -> Result<ScalarBuffer<T>, ArrowError> {
        let mut buffer = self.buffer()?;
        if buffer.len() / size_of::<T>() < len {
            return Err(broken("a buffer is too short"));
        }
        if buffer.as_ptr().align_offset(align_of::<T>()) != 0 {
            buffer = Buffer::from(buffer.as_slice());
        }
        Ok(ScalarBuffer::new(buffer, 0, len))
    }

    fn bits(&mut self, len: usize) -> Result<BooleanBuffer, ArrowError> {
        let buffer = self.buffer()?;
        if buffer.len() < len.div_ceil(8) {
            return Err(broken("a buffer is too short"));
        }
        Ok(BooleanBuffer::new(buffer, 0, len))
    }

    fn nulls(&mut self, len: usize, null_count: i64) -> Result<Option<NullBuffer>, ArrowError> {
        if null_count == 0 {
            return self.buffer().map(|_| None);
        }
        self.bits(len).map(|bits| Some(NullBuffer::new(bits)))
    }

    fn offsets<O: OffsetSizeTrait>(&mut self, len: usize) -> Result<OffsetBuffer<O>, ArrowError> {
        if len == 0 {
            return self.buffer().map(|_| OffsetBuffer::new_empty());
        }
        let offsets = self.numbers::<O>(len + 1)?;
        if offsets[0] < O::zero() || !offsets.is_sorted() {
            return Err(broken("offsets do not rise"));
        }
        Ok(OffsetBuffer::new(offsets))
    }

    fn primitive<T: ArrowPrimitiveType>(
        &mut self,
        data_type: &DataType,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        let array = PrimitiveArray::<T>::try_new(self.numbers(len)?, nulls)?;
        Ok(Arc::new(array.with_data_type(data_type.clone())))
    }

    fn bytes<T: ByteArrayType>(&mut self, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let offsets = self.offsets(len)?;
        Ok(Arc::new(GenericByteArray::<T>::try_new(offsets, self.buffer()?, nulls)?))
    }

    fn views<T: ByteViewType>(&mut self, len: usize, nulls: Option<NullBuffer>) -> Result<ArrayRef, ArrowError> {
        let views = self.numbers(len)?;
        let more = self.view_buffers.pop_front().ok_or_else(|| broken("a count of buffers is missing"))?;
        let buffers = (0..more).map(|_| self.buffer()).collect::<Result<Vec<_>, _>>()?;
        Ok(Arc::new(GenericByteViewArray::<T>::try_new(views, buffers, nulls)?))
    }

    fn list<O: OffsetSizeTrait>(
        &mut self,
        field: &FieldRef,
        len: usize,
        nulls: Option<NullBuffer>,
    ) -> Result<ArrayRef, ArrowError> {
        let offsets = self.offsets::<O>(len)?;
        let values = self.array(field.data_type())?;
        Ok(Arc::new(GenericListArray::try_new(Arc::clone(field), offsets, values, nulls)?))
    }

    fn structure(&mut self, fields: &Fields, len: usize, nulls: Option<NullBuffer>) -> Result<StructArray, ArrowError> {
        let arrays = fields.iter().map(|field| self.array(field.data_type())).collect::<Result<Vec<_>, _>>()?;
        StructArray::try_new_with_length(fields.clone(), arrays, nulls, len)
    }

    fn map(&mut self, field: &FieldRef, len: usize, nulls: Option<NullBuffer>, ordered: bool) -> Result<ArrayRef, ArrowError> {
        let offsets = self.offsets(len)?;
        let entries = self.array(field.data_type())?;
        let entries =
            entries.as_any().downcast_ref::<StructArray>().ok_or_else(|| broken("the entries of a map are no struct"))?;
        Ok(Arc::new(MapArray::try_new(Arc::clone(field), offsets, entries.clone(), nulls, ordered)?))
    }
}
