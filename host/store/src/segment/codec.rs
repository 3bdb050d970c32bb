//! The forms of a column chunk in a big segment: as it is, LZ4, or a dictionary.
//!
//! Numbers stay as they are, so that a query reads them where they lie. Texts with few different values become a dictionary; what LZ4
//! makes a tenth smaller is compressed.

use std::collections::HashMap;
use std::sync::Arc;

use arrow_array::cast::AsArray;
use arrow_array::{Array, ArrayRef, RecordBatch, StringArray, UInt8Array, UInt16Array};
use arrow_buffer::Buffer;
use arrow_schema::{DataType, Field, Schema, SchemaRef};

use super::block::{self, Encoder};
use crate::fault::{Fault, Result};

/// How a chunk is encoded.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Codec {
    /// A block.
    Message = 0,
    /// A block, compressed, with its length before it.
    Lz4 = 1,
    /// A block of the different values, then a block of their numbers.
    Dictionary = 2,
}

impl Codec {
    pub fn parse(number: u8) -> Result<Self> {
        match number {
            0 => Ok(Codec::Message),
            1 => Ok(Codec::Lz4),
            2 => Ok(Codec::Dictionary),
            other => Err(Fault::Broken(format!("unknown codec {other}"))),
        }
    }
}

/// The most different values of a dictionary: their numbers take two bytes at most, and finding them stays cheap.
const DICTIONARY_MAX: usize = 4096;
/// A dictionary pays when each value occurs this often.
const REPEATS_MIN: usize = 8;
/// Compression must save this share, else reading without a copy is worth more.
const SAVING_MIN: f64 = 0.1;

/// The schema of a chunk of one column.
pub(crate) fn chunk_schema(data_type: &DataType) -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("c", data_type.clone(), true)]))
}

/// Encodes one chunk of a column.
pub(crate) fn encode(encoder: &mut Encoder, array: &ArrayRef) -> Result<(Codec, Vec<u8>)> {
    if let Some((values, numbers)) = dictionary(array) {
        return Ok((Codec::Dictionary, join(&plain(encoder, &values)?, &plain(encoder, &numbers)?)));
    }
    let block = plain(encoder, array)?;
    if array.data_type().is_primitive() || *array.data_type() == DataType::Boolean {
        return Ok((Codec::Message, block));
    }
    let packed = lz4_flex::compress_prepend_size(&block);
    let pays = (packed.len() as f64) < (1.0 - SAVING_MIN) * block.len() as f64;
    Ok(if pays { (Codec::Lz4, packed) } else { (Codec::Message, block) })
}

/// Decodes a chunk whose checksum has matched.
pub(crate) fn decode(codec: Codec, bytes: Buffer, data_type: &DataType) -> Result<ArrayRef> {
    match codec {
        Codec::Message => column(&bytes, data_type),
        Codec::Lz4 => {
            let block = lz4_flex::decompress_size_prepended(&bytes).map_err(|e| Fault::Broken(e.to_string()))?;
            column(&aligned(&block), data_type)
        }
        Codec::Dictionary => {
            let split = bytes.get(..4).and_then(|b| b.try_into().ok()).map(u32::from_le_bytes).unwrap_or(u32::MAX) as usize;
            if split > bytes.len() {
                return Err(Fault::Broken("a dictionary is cut short".into()));
            }
            let values = column(&bytes.slice_with_length(JOINT, split - JOINT), &DataType::Utf8)?;
            let wide = values.len() > usize::from(u8::MAX) + 1;
            let numbers = column(&bytes.slice(split), if wide { &DataType::UInt16 } else { &DataType::UInt8 })?;
            Ok(arrow_select::take::take(&values, &numbers, None)?)
        }
    }
}

/// Bytes before the two blocks of a dictionary: where the second begins.
const JOINT: usize = 16;

fn join(first: &[u8], second: &[u8]) -> Vec<u8> {
    let split = (JOINT + first.len()).next_multiple_of(16);
    let mut bytes = Vec::with_capacity(split + second.len());
    bytes.extend_from_slice(&(split as u32).to_le_bytes());
    bytes.resize(JOINT, 0);
    bytes.extend_from_slice(first);
    bytes.resize(split, 0);
    bytes.extend_from_slice(second);
    bytes
}

fn aligned(bytes: &[u8]) -> Buffer {
    Buffer::from_slice_ref(bytes)
}

fn plain(encoder: &mut Encoder, array: &ArrayRef) -> Result<Vec<u8>> {
    let batch = RecordBatch::try_new(chunk_schema(array.data_type()), vec![array.clone()])?;
    Ok(encoder.encode(&batch)?)
}

fn column(bytes: &Buffer, data_type: &DataType) -> Result<ArrayRef> {
    Ok(block::decode(bytes, chunk_schema(data_type), None)?.column(0).clone())
}

/// The different values of a text column and the number of each row's, when that pays.
fn dictionary(array: &ArrayRef) -> Option<(ArrayRef, ArrayRef)> {
    let texts = array.as_string_opt::<i32>()?;
    let most = DICTIONARY_MAX.min(texts.len() / REPEATS_MIN);
    let mut known: HashMap<&str, u16> = HashMap::new();
    let mut numbers: Vec<Option<u16>> = Vec::with_capacity(texts.len());
    for text in texts.iter() {
        let Some(text) = text else {
            numbers.push(None);
            continue;
        };
        let next = known.len();
        let number = *known.entry(text).or_insert(next as u16);
        if known.len() > most {
            return None;
        }
        numbers.push(Some(number));
    }
    let mut values = vec![""; known.len()];
    known.into_iter().for_each(|(text, number)| values[usize::from(number)] = text);
    let wide = values.len() > usize::from(u8::MAX) + 1;
    let numbers: ArrayRef = if wide {
        Arc::new(UInt16Array::from(numbers))
    } else {
        Arc::new(numbers.into_iter().map(|n| n.map(|n| n as u8)).collect::<UInt8Array>())
    };
    Some((Arc::new(StringArray::from(values)), numbers))
}

#[cfg(test)]
mod tests {
    use super::*;
    use arrow_array::Int64Array;

    fn round_trip(array: ArrayRef, expected: Codec) {
        let mut encoder = Encoder::new().expect("options");
        let (codec, bytes) = encode(&mut encoder, &array).expect("encodes");
        assert_eq!(codec, expected);
        let back = decode(codec, aligned(&bytes), array.data_type()).expect("decodes");
        assert_eq!(&back, &array);
    }

    #[test]
    fn each_codec_gives_back_what_it_took() {
        round_trip(Arc::new(Int64Array::from_iter((0..1000).map(|n| (n % 7 != 0).then_some(n)))), Codec::Message);
        let few = (0..1000).map(|n| (n % 11 != 0).then(|| ["a", "", "ccc"][n % 3]));
        round_trip(Arc::new(StringArray::from_iter(few)), Codec::Dictionary);
        let many = (0..9000).map(|n| format!("value {}", n % 500));
        round_trip(Arc::new(StringArray::from_iter_values(many)), Codec::Dictionary);
        let all = (0..1000).map(|n| format!("a text of its own, number {n}"));
        round_trip(Arc::new(StringArray::from_iter_values(all)), Codec::Lz4);
        round_trip(Arc::new(StringArray::from(vec![None::<&str>; 20])), Codec::Dictionary);
        let random = (0..4000u64)
            .map(|n| char::from_u32((n.wrapping_mul(0x9e37_79b9_7f4a_7c15) >> 48) as u32 | 1).unwrap_or('x').to_string());
        round_trip(Arc::new(StringArray::from_iter_values([random.collect::<String>()])), Codec::Message);
    }
}
