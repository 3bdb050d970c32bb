//! Arrays into the body of a message.

use arrow_array::cast::AsArray;
use arrow_array::types::{ByteArrayType, ByteViewType};
use arrow_array::{
    Array, GenericByteArray, GenericByteViewArray, GenericListArray, OffsetSizeTrait, PrimitiveArray, RecordBatch,
};
use arrow_buffer::{Buffer, OffsetBuffer};
use arrow_ipc::{Buffer as Place, FieldNode, MessageHeader, RecordBatchBuilder};
use arrow_schema::{ArrowError, DataType};
use flatbuffers::FlatBufferBuilder;

use super::{ALIGNMENT, finish};

/// Whether columns of that type can be written.
pub fn check(data_type: &DataType) -> Result<(), ArrowError> {
    macro_rules! known {
        ($type:ty) => {{
            const { assert!(size_of::<$type>() == 0, "a marker, no value") };
            Ok(())
        }};
    }
    match_type!(data_type, known, {
        Null | Boolean | Utf8 | LargeUtf8 | Utf8View | Binary | LargeBinary | BinaryView | FixedSizeBinary(_) => Ok(()),
        List(field) | LargeList(field) | FixedSizeList(field, _) | Map(field, _) => check(field.data_type()),
        Struct(fields) => fields.iter().try_for_each(|field| check(field.data_type())),
        _ => unknown(data_type),
    })
}

fn unknown<T>(data_type: &DataType) -> Result<T, ArrowError> {
    Err(ArrowError::NotYetImplemented(format!("columns of type {data_type} cannot be written")))
}

/// The buffers of a batch in the order of its schema, depth first, and what describes them.
#[derive(Default)]
pub struct Body {
    nodes: Vec<FieldNode>,
    buffers: Vec<Buffer>,
    view_buffers: Vec<i64>,
}

impl Body {
    /// Of all columns.
    pub fn of(batch: &RecordBatch) -> Result<Body, ArrowError> {
        let mut body = Body::default();
        batch.columns().iter().try_for_each(|column| body.array(column))?;
        Ok(body)
    }

    /// How many bytes it has.
    pub fn len(&self) -> usize {
        self.buffers.iter().map(|buffer| buffer.len().next_multiple_of(ALIGNMENT)).sum()
    }

    /// The message that stands before it.
    pub fn message(&self, rows: usize) -> Vec<u8> {
        let mut builder = FlatBufferBuilder::new();
        let mut offset = 0;
        let places: Vec<_> = self
            .buffers
            .iter()
            .map(|buffer| {
                let place = Place::new(offset as i64, buffer.len() as i64);
                offset += buffer.len().next_multiple_of(ALIGNMENT);
                place
            })
            .collect();
        let places = builder.create_vector(&places);
        let nodes = builder.create_vector(&self.nodes);
        let view_buffers = (!self.view_buffers.is_empty()).then(|| builder.create_vector(&self.view_buffers));
        let mut batch = RecordBatchBuilder::new(&mut builder);
        batch.add_length(rows as i64);
        batch.add_nodes(nodes);
        batch.add_buffers(places);
        if let Some(view_buffers) = view_buffers {
            batch.add_variadicBufferCounts(view_buffers);
        }
        let header = batch.finish().as_union_value();
        finish(builder, MessageHeader::RecordBatch, header, offset)
    }

    /// Appends the bytes.
    pub fn append(&self, bytes: &mut Vec<u8>) {
        for buffer in &self.buffers {
            let padded = bytes.len() + buffer.len().next_multiple_of(ALIGNMENT);
            bytes.extend_from_slice(buffer);
            bytes.resize(padded, 0);
        }
    }

    fn array(&mut self, array: &dyn Array) -> Result<(), ArrowError> {
        let data_type = array.data_type();
        if *data_type == DataType::Null {
            self.nodes.push(FieldNode::new(array.len() as i64, array.len() as i64));
            return Ok(());
        }
        self.nodes.push(FieldNode::new(array.len() as i64, array.null_count() as i64));
        let nulls = array.nulls().filter(|nulls| nulls.null_count() > 0);
        self.buffers.push(nulls.map_or_else(empty, |nulls| nulls.inner().sliced()));
        macro_rules! primitive {
            ($type:ty) => {{
                let array: &PrimitiveArray<$type> = array.as_primitive();
                self.buffers.push(array.values().inner().clone());
            }};
        }
        match_type!(data_type, primitive, {
            DataType::Boolean => self.buffers.push(array.as_boolean().values().sliced()),
            DataType::Utf8 => self.bytes::<Utf8Type>(array.as_bytes()),
            DataType::LargeUtf8 => self.bytes::<LargeUtf8Type>(array.as_bytes()),
            DataType::Binary => self.bytes::<BinaryType>(array.as_bytes()),
            DataType::LargeBinary => self.bytes::<LargeBinaryType>(array.as_bytes()),
            DataType::Utf8View => self.views::<StringViewType>(array.as_byte_view()),
            DataType::BinaryView => self.views::<BinaryViewType>(array.as_byte_view()),
            DataType::FixedSizeBinary(_) => {
                let array = array.as_fixed_size_binary();
                let size = array.value_length() as usize;
                self.buffers.push(Buffer::from(&array.value_data()[..array.len() * size]));
            }
            DataType::List(_) => return self.list::<i32>(array.as_list()),
            DataType::LargeList(_) => return self.list::<i64>(array.as_list()),
            DataType::FixedSizeList(..) => return self.array(array.as_fixed_size_list().values()),
            DataType::Struct(_) => return array.as_struct().columns().iter().try_for_each(|column| self.array(column)),
            DataType::Map(..) => {
                let array = array.as_map();
                let (start, end) = self.offsets(array.offsets());
                return self.array(&array.entries().slice(start, end - start));
            }
            other => return unknown(other),
        });
        Ok(())
    }

    /// Offsets from zero; gives the stretch of the values that they speak of.
    fn offsets<O: OffsetSizeTrait>(&mut self, offsets: &OffsetBuffer<O>) -> (usize, usize) {
        let (first, last) = (offsets[0], offsets[offsets.len() - 1]);
        self.buffers.push(if first == O::zero() {
            offsets.inner().inner().clone()
        } else {
            Buffer::from_vec(offsets.iter().map(|offset| *offset - first).collect::<Vec<_>>())
        });
        (first.as_usize(), last.as_usize())
    }

    fn bytes<T: ByteArrayType>(&mut self, array: &GenericByteArray<T>) {
        let (start, end) = self.offsets(array.offsets());
        self.buffers.push(array.values().slice_with_length(start, end - start));
    }

    fn views<T: ByteViewType>(&mut self, array: &GenericByteViewArray<T>) {
        self.buffers.push(array.views().inner().clone());
        self.buffers.extend(array.data_buffers().iter().cloned());
        self.view_buffers.push(array.data_buffers().len() as i64);
    }

    fn list<O: OffsetSizeTrait>(&mut self, array: &GenericListArray<O>) -> Result<(), ArrowError> {
        let (start, end) = self.offsets(array.offsets());
        self.array(&array.values().slice(start, end - start))
    }
}

fn empty() -> Buffer {
    Buffer::from_vec(Vec::<u8>::new())
}
