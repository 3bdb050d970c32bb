//! The catalog: each table's number, owner, retention and all versions of its schema.

use std::sync::Arc;
use std::time::Duration;

use arrow_ipc::convert::{IpcSchemaEncoder, fb_to_schema};
use arrow_ipc::root_as_schema;
use arrow_schema::{Schema, SchemaRef};
use redb::{ReadableTable, WriteTransaction};
use sluicebox_core::name::TableName;
use sluicebox_core::port::Retention;

use crate::fault::{Fault, Result};
use crate::layout::CATALOG;
use crate::wire::{Reader, Writer};

/// Owner of the tables that are ours.
pub(crate) const OURS: &str = "";

/// A table as the catalog has it.
#[derive(Debug, Clone, PartialEq)]
pub(crate) struct Entry {
    pub name: TableName,
    pub id: u32,
    /// The pipeline that writes it.
    pub owner: String,
    pub retention: Retention,
    /// Schemas, oldest first. Version `n` is at `n`.
    pub versions: Vec<SchemaRef>,
}

impl Entry {
    /// The newest schema.
    pub fn schema(&self) -> SchemaRef {
        self.versions.last().cloned().unwrap_or_else(|| Arc::new(Schema::empty()))
    }

    /// Number of the newest schema.
    pub fn version(&self) -> u32 {
        self.versions.len().saturating_sub(1) as u32
    }

    /// The schema that a segment was written with.
    pub fn schema_of(&self, version: u32) -> Result<&SchemaRef> {
        let unknown = || Fault::Broken(format!("table {}: schema version {version} is not in the catalog", self.name));
        self.versions.get(version as usize).ok_or_else(unknown)
    }

    fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.u32(self.id);
        w.text(&self.owner);
        w.option(self.retention.age, |w, age| w.u64(age.as_micros() as u64));
        w.option(self.retention.bytes, Writer::u64);
        w.list(self.versions.iter(), |w, schema| w.bytes(IpcSchemaEncoder::new().schema_to_fb(schema).finished_data()));
        w.sealed()
    }

    fn from_bytes(name: TableName, bytes: &[u8]) -> Result<Self> {
        let mut r = Reader::sealed(bytes)?;
        Ok(Self {
            name,
            id: r.u32()?,
            owner: r.text()?.to_owned(),
            retention: Retention { age: r.option(Reader::u64)?.map(Duration::from_micros), bytes: r.option(Reader::u64)? },
            versions: r.list(read_schema)?,
        })
    }
}

fn read_schema(r: &mut Reader<'_>) -> Result<SchemaRef> {
    // Flatbuffers are read where they are aligned.
    let bytes = arrow_buffer::Buffer::from_slice_ref(r.bytes()?);
    let schema = root_as_schema(&bytes).map_err(|e| Fault::Broken(format!("a schema: {e}")))?;
    Ok(Arc::new(fb_to_schema(schema)))
}

/// All tables, in order of name.
pub(crate) fn all(table: &impl ReadableTable<(&'static str, &'static str), &'static [u8]>) -> Result<Vec<Entry>> {
    let mut entries = Vec::new();
    for row in table.iter()? {
        let (key, value) = row?;
        let (schema, name) = key.value();
        entries.push(Entry::from_bytes(TableName::new(schema, name), value.value()).map_err(|e| e.at("the catalog"))?);
    }
    Ok(entries)
}

/// One table.
pub(crate) fn find(
    table: &impl ReadableTable<(&'static str, &'static str), &'static [u8]>,
    name: &TableName,
) -> Result<Option<Entry>> {
    let Some(value) = table.get((&*name.schema, &*name.table))? else { return Ok(None) };
    Entry::from_bytes(name.clone(), value.value()).map(Some).map_err(|e| e.at("the catalog"))
}

/// Writes a table.
pub(crate) fn put(txn: &WriteTransaction, entry: &Entry) -> Result<()> {
    let bytes = entry.to_bytes();
    txn.open_table(CATALOG)?.insert((&*entry.name.schema, &*entry.name.table), bytes.as_slice())?;
    Ok(())
}
