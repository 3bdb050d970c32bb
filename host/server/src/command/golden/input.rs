//! Input files of a golden folder, as records of topics.
//!
//! `TOPIC.jsonl`: each line is the bytes of one value, without a key, in partition 0.
//! `TOPIC.records.json`: an array of objects. `value`: text, or null for a tombstone; `value_hex`: bytes instead; `key` and `key_hex` likewise;
//! `headers`: array of `[name, text or null]`, then `headers_hex`: array of `[name, bytes]`; `timestamp`: milliseconds; `partition`: number, default 0.

use std::collections::BTreeMap;
use std::path::Path;

use anyhow::{Context, Result, bail};
use serde::Deserialize;
use sluicebox_config::spec::Spec;
use sluicebox_kafka::{EmbeddedBroker, Message};

#[derive(Debug, Default, Deserialize)]
#[serde(deny_unknown_fields, default)]
struct Written {
    key: Option<String>,
    key_hex: Option<String>,
    value: Option<String>,
    value_hex: Option<String>,
    headers: Vec<(String, Option<String>)>,
    headers_hex: Vec<(String, String)>,
    timestamp: Option<i64>,
    partition: usize,
}

/// Makes the topics of all pipelines and fills those that have input.
pub(super) fn fill(broker: &EmbeddedBroker, folder: &Path, spec: &Spec) -> Result<()> {
    let mut inputs: BTreeMap<String, Vec<(usize, Message)>> = BTreeMap::new();
    for topic in spec.tenants.iter().flat_map(|t| &t.pipelines).flat_map(|p| &p.source.topics) {
        inputs.insert(topic.clone(), read(&folder.join("input"), topic)?);
    }
    for (topic, messages) in inputs {
        let partitions = messages.iter().map(|(partition, _)| partition + 1).max().unwrap_or(1);
        broker.create_topic(&topic, partitions)?;
        for partition in 0..partitions {
            let own: Vec<Message> =
                messages.iter().filter(|(p, _)| *p == partition).map(|(_, message)| message.clone()).collect();
            broker.produce(&topic, partition, &own)?;
        }
    }
    Ok(())
}

fn read(folder: &Path, topic: &str) -> Result<Vec<(usize, Message)>> {
    let lines = folder.join(format!("{topic}.jsonl"));
    if lines.is_file() {
        let bytes = std::fs::read(&lines).with_context(|| lines.display().to_string())?;
        let bytes = bytes.strip_suffix(b"\n").unwrap_or(&bytes);
        let message = |line: &[u8]| (0, Message::of(line));
        return Ok(if bytes.is_empty() { Vec::new() } else { bytes.split(|byte| *byte == b'\n').map(message).collect() });
    }
    let records = folder.join(format!("{topic}.records.json"));
    if !records.is_file() {
        return Ok(Vec::new());
    }
    let text = std::fs::read_to_string(&records).with_context(|| records.display().to_string())?;
    let written: Vec<Written> = serde_json::from_str(&text).with_context(|| records.display().to_string())?;
    written.into_iter().map(message).collect::<Result<_>>().with_context(|| records.display().to_string())
}

fn message(written: Written) -> Result<(usize, Message)> {
    let texts = written.headers.into_iter().map(|(name, value)| Ok((name, value.map(String::into_bytes))));
    let hexes = written.headers_hex.into_iter().map(|(name, value)| Ok((name, bytes(None, Some(value))?)));
    let message = Message {
        key: bytes(written.key, written.key_hex)?,
        value: bytes(written.value, written.value_hex)?,
        headers: texts.chain(hexes).collect::<Result<_>>()?,
        timestamp: written.timestamp,
    };
    Ok((written.partition, message))
}

fn bytes(text: Option<String>, hex: Option<String>) -> Result<Option<Vec<u8>>> {
    let Some(hex) = hex else { return Ok(text.map(String::into_bytes)) };
    let digits: Vec<u8> = hex.bytes().filter(|byte| !byte.is_ascii_whitespace()).collect();
    let pair = |pair: &[u8]| {
        let text = std::str::from_utf8(pair).ok()?;
        u8::from_str_radix(text, 16).ok().filter(|_| pair.len() == 2)
    };
    match digits.chunks(2).map(pair).collect() {
        Some(bytes) => Ok(Some(bytes)),
        None => bail!("`{hex}` is not pairs of hexadecimal digits"),
    }
}
