//! Records for demos and measurements: two shapes, the same bytes for the same number.

use std::sync::Arc;

use sluicebox_core::column::{Column, Kind, TimeFormat};
use sluicebox_core::position::{PartitionId, TopicId};
use sluicebox_core::record::{NO_TIMESTAMP, RecordRef, Records, RecordsBuilder};

/// A batch of records with these values, of one partition, from offset 0 on; `None` is a tombstone.
pub fn records<'v>(values: impl IntoIterator<Item = Option<&'v [u8]>>) -> Arc<Records> {
    let id = PartitionId { cluster: "sample".into(), topic_id: TopicId::default(), topic: "sample".into(), partition: 0 };
    let mut builder = RecordsBuilder::default();
    let partition = builder.partition(&id, 0);
    for (value, offset) in values.into_iter().zip(0..) {
        builder.push(partition, RecordRef { offset, timestamp: NO_TIMESTAMP, key: None, value });
    }
    Arc::new(builder.close())
}

/// A batch of the first `count` records that `write` makes ([`big`] or [`small`]).
pub fn batch(write: fn(u64, &mut Vec<u8>), count: u64) -> Arc<Records> {
    let values: Vec<Vec<u8>> = (0..count)
        .map(|n| {
            let mut value = Vec::new();
            write(n, &mut value);
            value
        })
        .collect();
    records(values.iter().map(|value| Some(value.as_slice())))
}

/// Appends the big record `n`: 217 bytes give or take 3, ten fields (four strings, a time, two integers, a float, a nested object, an
/// array of strings, a boolean).
pub fn big(n: u64, out: &mut Vec<u8>) {
    let (mix, event) = (mixed(n), event_type(n));
    let [os, page, tag] = [pick(mix >> 8, &OSES), pick(mix >> 16, &PAGES), pick(mix >> 24, &TAGS)];
    let text = format!(
        "{{\"event_id\":\"evt-{:012x}\",\"user_id\":\"u{:06}\",\"event_type\":\"{event}\",\"ts\":\"{}\",\"page\":\"{page}\",\
         \"seq\":{},\"price\":{}.{:02},\"device\":{{\"os\":\"{os}\",\"v\":{}}},\"tags\":[\"{tag}\",\"{}\"],\"open\":{}}}",
        mix >> 16,
        mix % 100_000,
        time(n),
        1_000_000 + n % 9_000_000,
        100 + (mix >> 32) % 900,
        (mix >> 42) % 100,
        10 + (mix >> 12) % 90,
        pick(mix >> 28, &TAGS),
        mix & 1 == 0,
    );
    out.extend_from_slice(text.as_bytes());
}

/// Appends the small record `n`: 71 bytes give or take 2, four fields.
pub fn small(n: u64, out: &mut Vec<u8>) {
    let mix = mixed(n);
    let text = format!(
        "{{\"user_id\":{},\"event_type\":\"{}\",\"amount\":{}.{:02},\"active\":{}}}",
        10_000 + mix % 90_000,
        event_type(n),
        100 + (mix >> 32) % 900,
        (mix >> 42) % 100,
        mix & 1 == 0,
    );
    out.extend_from_slice(text.as_bytes());
}

/// All columns of [`big`].
pub fn big_columns() -> Vec<Column> {
    let format = TimeFormat::Auto;
    let device = vec![Column::new("os", Kind::Text), Column::new("v", Kind::Long)];
    let mut tags = Column::new("tags", Kind::Text);
    tags.array = true;
    vec![
        Column::new("event_id", Kind::Text),
        Column::new("user_id", Kind::Text),
        Column::new("event_type", Kind::Text),
        Column::new("ts", Kind::Timestamp { format, zone: "UTC".to_owned() }),
        Column::new("page", Kind::Text),
        Column::new("seq", Kind::Long),
        Column::new("price", Kind::Double),
        Column::new("device", Kind::Struct(device)),
        tags,
        Column::new("open", boolean()),
    ]
}

/// All columns of [`small`].
pub fn small_columns() -> Vec<Column> {
    vec![
        Column::new("user_id", Kind::Long),
        Column::new("event_type", Kind::Text),
        Column::new("amount", Kind::Double),
        Column::new("active", boolean()),
    ]
}

fn boolean() -> Kind {
    let pattern =
        |written: &str| sluicebox_core::column::Pattern { written: written.to_owned(), regex: format!("^(?:{written})$") };
    Kind::Boolean { patterns: (pattern("true|1"), pattern("false|0")) }
}

const OSES: [&str; 4] = ["linux", "macos", "win11", "droid"];
const PAGES: [&str; 4] = ["/cart", "/item", "/news", "/deal"];
const TAGS: [&str; 4] = ["new", "vip", "web", "app"];
const EVENTS: [&str; 4] = ["page_view", "add_item_", "check_out", "log_in_ok"];

/// One record in ten is a heartbeat.
fn event_type(n: u64) -> &'static str {
    if n % 10 == 3 { "heartbeat" } else { pick(mixed(n) >> 20, &EVENTS) }
}

fn pick(bits: u64, from: &[&'static str; 4]) -> &'static str {
    from[(bits & 3) as usize]
}

/// Ten records a millisecond from noon of 2 January 2026 on, a day long, then again.
fn time(n: u64) -> String {
    let millis = n / 10 % 43_200_000;
    let (hour, minute, second) = (12 + millis / 3_600_000, millis / 60_000 % 60, millis / 1_000 % 60);
    format!("2026-01-02T{hour:02}:{minute:02}:{second:02}.{:03}Z", millis % 1_000)
}

/// Bits that look random (the finisher of SplitMix64).
fn mixed(n: u64) -> u64 {
    let n = n.wrapping_add(1).wrapping_mul(0x9e37_79b9_7f4a_7c15);
    let n = (n ^ (n >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
    let n = (n ^ (n >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
    n ^ (n >> 31)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn record(write: fn(u64, &mut Vec<u8>), n: u64) -> Vec<u8> {
        let mut out = Vec::new();
        write(n, &mut out);
        out
    }

    #[test]
    fn sizes_are_those_that_the_measurements_name() {
        for n in (0..2_000).chain([999_999, 123_456_789, u64::MAX]) {
            let (big, small) = (record(big, n), record(small, n));
            assert!((214..=220).contains(&big.len()), "{} {}", big.len(), String::from_utf8_lossy(&big));
            assert!((69..=73).contains(&small.len()), "{} {}", small.len(), String::from_utf8_lossy(&small));
        }
    }

    #[test]
    fn one_in_ten_is_a_heartbeat_and_bytes_repeat() {
        let beats = (0..1_000).filter(|n| record(big, *n).windows(9).any(|w| w == b"heartbeat")).count();
        assert_eq!(beats, 100);
        assert_eq!(record(big, 7), record(big, 7));
        let value: serde_json::Value = serde_json::from_slice(&record(big, 7)).expect("JSON");
        assert_eq!(value.as_object().map(serde_json::Map::len), Some(10));
    }
}
