//! Records of one closed batch, as the source handed them over.

use crate::budget::Permit;
use crate::position::{Advance, PartitionId};

/// A record that has no timestamp.
pub const NO_TIMESTAMP: i64 = i64::MIN;

/// Byte strings end to end in one buffer; each may be absent, which is not the same as empty.
#[derive(Debug, Default, Clone)]
pub struct Bytes {
    data: Vec<u8>,
    ends: Vec<u32>,
    present: Vec<bool>,
}

impl Bytes {
    /// Appends one value.
    pub fn push(&mut self, value: Option<&[u8]>) {
        if let Some(value) = value {
            self.data.extend_from_slice(value);
        }
        self.ends.push(self.data.len() as u32);
        self.present.push(value.is_some());
    }

    /// How many values there are, absent ones included.
    pub fn len(&self) -> usize {
        self.ends.len()
    }

    /// Whether there is no value.
    pub fn is_empty(&self) -> bool {
        self.ends.is_empty()
    }

    /// The value at `index`; `None` when it is absent.
    pub fn get(&self, index: usize) -> Option<&[u8]> {
        self.present[index].then(|| &self.data[self.start(index)..self.ends[index] as usize])
    }

    /// All bytes, end to end: what a decoder walks over once.
    pub fn data(&self) -> &[u8] {
        &self.data
    }

    /// Where value `index` begins in [`Self::data`].
    pub fn start(&self, index: usize) -> usize {
        if index == 0 { 0 } else { self.ends[index - 1] as usize }
    }

    /// Where value `index` ends in [`Self::data`].
    pub fn end(&self, index: usize) -> usize {
        self.ends[index] as usize
    }
}

/// Headers of all records of a batch: names may repeat, the order is kept (KIP-82).
#[derive(Debug, Default, Clone)]
pub struct Headers {
    ends: Vec<u32>,
    names: Bytes,
    values: Bytes,
}

impl Headers {
    /// The headers of one record, in order: name and value, which may be absent.
    pub fn get(&self, record: usize) -> impl Iterator<Item = (&[u8], Option<&[u8]>)> {
        let (from, to) = match (self.ends.get(record), record) {
            (None, _) => (0, 0),
            (Some(end), 0) => (0, *end),
            (Some(end), _) => (self.ends[record - 1], *end),
        };
        (from as usize..to as usize).map(|i| (self.names.get(i).unwrap_or_default(), self.values.get(i)))
    }

    /// Whether no record has a header.
    pub fn is_empty(&self) -> bool {
        self.names.is_empty()
    }
}

/// Records taken together, in the order in which they arrived: each payload copied once, end to end.
///
/// Record `i` has `value(i)`, `key(i)`, `headers(i)`, `offset(i)`, `timestamp(i)` and `partition(i)`. A record without a value is a
/// tombstone.
#[derive(Debug, Default)]
pub struct Records {
    partitions: Vec<PartitionId>,
    partition_of: Vec<u32>,
    offsets: Vec<i64>,
    timestamps: Vec<i64>,
    values: Bytes,
    keys: Bytes,
    headers: Headers,
    advances: Vec<Advance>,
    permit: Option<Permit>,
}

impl Records {
    /// How many records there are; none when only positions move (transaction markers, compaction holes).
    pub fn len(&self) -> usize {
        self.offsets.len()
    }

    /// Whether there is no record.
    pub fn is_empty(&self) -> bool {
        self.offsets.is_empty()
    }

    /// All values, for the decoder.
    pub fn values(&self) -> &Bytes {
        &self.values
    }

    /// All keys.
    pub fn keys(&self) -> &Bytes {
        &self.keys
    }

    /// The value of a record; `None` is a tombstone.
    pub fn value(&self, record: usize) -> Option<&[u8]> {
        self.values.get(record)
    }

    /// The key of a record.
    pub fn key(&self, record: usize) -> Option<&[u8]> {
        self.keys.get(record)
    }

    /// The headers of all records.
    pub fn headers(&self) -> &Headers {
        &self.headers
    }

    /// The offset of a record in its partition.
    pub fn offset(&self, record: usize) -> i64 {
        self.offsets[record]
    }

    /// Milliseconds since 1970 UTC; `None` when the record carries no time.
    pub fn timestamp(&self, record: usize) -> Option<i64> {
        Some(self.timestamps[record]).filter(|t| *t != NO_TIMESTAMP)
    }

    /// The partition of a record.
    pub fn partition(&self, record: usize) -> &PartitionId {
        &self.partitions[self.partition_of[record] as usize]
    }

    /// How far the positions move once everything that these records caused is durable, one entry a partition.
    pub fn advances(&self) -> &[Advance] {
        &self.advances
    }

    /// Bytes that keys, values and headers take.
    pub fn bytes(&self) -> usize {
        self.values.data.len() + self.keys.data.len() + self.headers.names.data.len() + self.headers.values.data.len()
    }

    /// Ties the share of the memory budget that these records use to their life.
    pub fn hold(&mut self, permit: Permit) {
        self.permit = Some(permit);
    }
}

/// Collects records until the batch closes.
#[derive(Debug, Default)]
pub struct RecordsBuilder {
    records: Records,
}

/// What one record brings besides its partition.
#[derive(Debug, Clone, Copy)]
pub struct RecordRef<'a> {
    /// Offset in the partition.
    pub offset: i64,
    /// Milliseconds since 1970 UTC, or [`NO_TIMESTAMP`].
    pub timestamp: i64,
    /// The key.
    pub key: Option<&'a [u8]>,
    /// The value; `None` is a tombstone.
    pub value: Option<&'a [u8]>,
}

impl RecordsBuilder {
    /// Appends a record of the partition with this number (from [`Self::partition`]) and moves that partition's position past it.
    pub fn push(&mut self, partition: u32, record: RecordRef<'_>) {
        let r = &mut self.records;
        r.partition_of.push(partition);
        r.offsets.push(record.offset);
        r.timestamps.push(record.timestamp);
        r.keys.push(record.key);
        r.values.push(record.value);
        if !r.headers.ends.is_empty() {
            r.headers.ends.push(r.headers.names.len() as u32);
        }
        r.advances[partition as usize].to = record.offset + 1;
    }

    /// Appends a header to the record pushed last.
    pub fn push_header(&mut self, name: &[u8], value: Option<&[u8]>) {
        let r = &mut self.records;
        r.headers.ends.resize(r.offsets.len(), r.headers.names.len() as u32);
        r.headers.names.push(Some(name));
        r.headers.values.push(value);
        if let Some(end) = r.headers.ends.last_mut() {
            *end = r.headers.names.len() as u32;
        }
    }

    /// The number of a partition in this batch; `from` is the position at which this batch takes it up.
    pub fn partition(&mut self, id: &PartitionId, from: i64) -> u32 {
        let r = &mut self.records;
        if let Some(found) = r.partitions.iter().position(|p| p == id) {
            return found as u32;
        }
        r.partitions.push(id.clone());
        r.advances.push(Advance { partition: id.clone(), from, to: from });
        (r.partitions.len() - 1) as u32
    }

    /// Moves a position past what is no record (transaction markers, compacted holes). Never back.
    pub fn move_to(&mut self, partition: u32, to: i64) {
        let advance = &mut self.records.advances[partition as usize];
        advance.to = advance.to.max(to);
    }

    /// Records so far.
    pub fn len(&self) -> usize {
        self.records.len()
    }

    /// Whether neither a record came nor a position moved.
    pub fn is_empty(&self) -> bool {
        self.records.is_empty() && self.records.advances.iter().all(|a| a.from == a.to)
    }

    /// Bytes so far.
    pub fn bytes(&self) -> usize {
        self.records.bytes()
    }

    /// Closes the batch and begins the next.
    pub fn close(&mut self) -> Records {
        let mut closed = std::mem::take(&mut self.records);
        closed.advances.retain(|a| a.from != a.to);
        closed
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::position::tests::partition;

    #[test]
    fn headers_keep_order_and_repeats_and_belong_to_their_record() {
        let mut builder = RecordsBuilder::default();
        let p = builder.partition(&partition("t", 3), 7);
        for offset in 7..11 {
            builder.push(p, RecordRef { offset, timestamp: NO_TIMESTAMP, key: None, value: Some(b"v") });
            if offset % 2 == 0 {
                builder.push_header(b"trace", Some(b"1"));
                builder.push_header(b"trace", None);
            }
        }
        let records = builder.close();
        let of = |i| records.headers().get(i).collect::<Vec<_>>();
        assert_eq!(of(0), vec![]);
        assert_eq!(of(1), vec![(&b"trace"[..], Some(&b"1"[..])), (&b"trace"[..], None)]);
        assert_eq!(of(2), vec![]);
        assert_eq!(of(3).len(), 2);
        assert_eq!(records.advances(), [Advance { partition: partition("t", 3), from: 7, to: 11 }]);
    }

    #[test]
    fn absent_is_not_empty() {
        let mut bytes = Bytes::default();
        for value in [Some(&b"a"[..]), None, Some(b""), Some(b"bc")] {
            bytes.push(value);
        }
        assert_eq!((0..4).map(|i| bytes.get(i)).collect::<Vec<_>>(), [Some(&b"a"[..]), None, Some(b""), Some(b"bc")]);
    }

    #[test]
    fn a_batch_of_markers_only_moves_positions() {
        let mut builder = RecordsBuilder::default();
        let p = builder.partition(&partition("t", 0), 5);
        assert!(builder.is_empty());
        builder.move_to(p, 8);
        builder.move_to(p, 6);
        assert!(!builder.is_empty());
        let records = builder.close();
        assert!(records.is_empty());
        assert_eq!(records.advances()[0].to, 8);
    }
}
