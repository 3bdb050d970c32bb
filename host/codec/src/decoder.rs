//! The decoder: values of a batch in, columns and rejects out.

use std::sync::Arc;

use arrow_array::{RecordBatch, RecordBatchOptions, UInt32Array};
use arrow_buffer::NullBufferBuilder;
use arrow_schema::{ArrowError, Field, Schema, SchemaRef};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::column::{Column, Kind};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::port::{Decoder, Decoders};
use sluicebox_core::record::Records;
use sluicebox_core::reject::{Code, Rejects, RowError};

use crate::cells::{Bools, Fixed, Store, Texts};
use crate::columns::{Columns, Lists, Node, Rule, Slot, Structs};
use crate::convert::{ToBoolean, ToByte, ToDate, ToDecimal, ToDouble, ToLong, ToShort, ToTimestamp, primitive};
use crate::fault::{Broken, Fault};
use crate::place::{joined, path_at};
use crate::scan::{DEPTH_MAX, Scanner, Work};
use crate::time::TimeReader;

/// Makes [`JsonDecoder`]s for the engine.
#[derive(Debug, Default, Clone, Copy)]
pub struct JsonDecoders;

impl Decoders for JsonDecoders {
    fn json(&self, columns: &[Column], build: &[bool]) -> Result<Box<dyn Decoder>> {
        Ok(Box::new(JsonDecoder::new(columns, build)?))
    }
}

/// Decodes JSON objects into the declared columns. What it answers to doubtful input stands in [`crate::rules`].
#[derive(Debug)]
pub struct JsonDecoder {
    columns: Columns,
    /// Per column of `columns`: whether it is built.
    built: Vec<bool>,
    schema: SchemaRef,
    work: Work,
}

impl JsonDecoder {
    /// A decoder for the declared columns; `build` says, per column, whether something reads it. Columns with a script are not
    /// read from the payload.
    ///
    /// # Errors
    /// A format, pattern or default that can never work, or a name that is declared twice; the message names the column.
    pub fn new(columns: &[Column], build: &[bool]) -> Result<Self> {
        if columns.len() != build.len() {
            let (columns, marks) = (columns.len(), build.len());
            return Err(Error::internal(format!("{columns} columns and {marks} marks of what is read")));
        }
        let read: Vec<_> = columns.iter().zip(build).filter(|(column, _)| column.script.is_none()).collect();
        let names = read.iter().map(|(column, build)| (*column, **build));
        let nodes = nodes(names, false, 1)?;
        let built: Vec<_> = read.iter().map(|(_, build)| **build).collect();
        let fields: Vec<Field> = read.iter().filter(|(_, build)| **build).map(|(column, _)| column.decoded_field()).collect();
        Ok(Self { columns: Columns::new(nodes), built, schema: Arc::new(Schema::new(fields)), work: Work::default() })
    }

    /// Reads one value; false when it gives no row, which its reject explains.
    #[inline]
    fn record(&mut self, wide: &[u8], len: usize, checked: bool, record: u32, rows: usize, rejects: &mut Rejects) -> bool {
        self.work.clear();
        match document(&mut self.columns, &mut self.work, wide, len, checked) {
            Ok(()) if self.work.errors.is_empty() && !self.work.envelope => true,
            Ok(()) if self.work.envelope => {
                self.columns.truncate(rows);
                rejects.add(record, RowError::new("", Code::SYNTAX, ENVELOPE));
                false
            }
            Ok(()) => {
                self.tell(&wide[..len], record, rejects);
                true
            }
            Err(broken) => {
                self.columns.truncate(rows);
                rejects.add(record, self.explain(&wide[..len], broken));
                false
            }
        }
    }

    /// Hands over the errors of a record whose values do not all fit.
    #[cold]
    fn tell(&mut self, data: &[u8], record: u32, rejects: &mut Rejects) {
        let errors = &mut self.work.errors;
        for error in errors.told.drain(..) {
            let mut path = path_at(&self.columns, data, error.at);
            if let Some(name) = error.absent {
                path = joined(&path, &name);
            }
            rejects.add(record, RowError { path, code: error.code, message: error.message });
        }
        if errors.more > 0 {
            rejects.add(record, RowError::new("", Code::TYPE, format!("and {} more", errors.more)));
        }
    }

    /// Words for a value whose JSON is broken.
    #[cold]
    fn explain(&self, data: &[u8], broken: Broken) -> RowError {
        if let Some(words) = not_an_object(data) {
            return RowError::new("", Code::SYNTAX, words);
        }
        let path = path_at(&self.columns, data, broken.at);
        RowError::new(path, Code::SYNTAX, format!("{} at byte {}", broken.fault.words(), broken.at))
    }

    /// Takes the built columns; on failure nothing is left behind.
    fn finish(&mut self, rows: usize) -> Result<RecordBatch, ArrowError> {
        let mut arrays = Vec::with_capacity(self.schema.fields().len());
        for (node, _) in self.columns.nodes.iter_mut().zip(&self.built).filter(|(_, built)| **built) {
            arrays.push(node.slot.finish(self.schema.field(arrays.len()).data_type())?);
        }
        let options = RecordBatchOptions::new().with_row_count(Some(rows));
        RecordBatch::try_new_with_options(self.schema.clone(), arrays, &options)
    }
}

impl Decoder for JsonDecoder {
    fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    fn decode(&mut self, records: &Arc<Records>, closed_at: i64, rejects: &mut Rejects) -> Result<Batch> {
        let values = records.values();
        let data = values.data();
        let ascii = data.is_ascii();
        let utf8 = ascii || std::str::from_utf8(data).is_ok();
        // Numbers of the records that gave a row, once one did not.
        let mut numbers: Option<Vec<u32>> = None;
        let mut rows = 0;
        for record in 0..records.len() {
            let number = record as u32;
            let row = values.get(record).is_some_and(|value| {
                let start = values.start(record);
                let checked = ascii || (utf8 && starts_a_character(&data[start..]));
                self.record(&data[start..], value.len(), checked, number, rows, rejects)
            });
            match (&mut numbers, row) {
                (Some(numbers), true) => numbers.push(number),
                (None, false) => numbers = Some((0..number).collect()),
                _ => {}
            }
            rows += usize::from(row);
        }
        let columns = self.finish(rows);
        self.columns.truncate(0);
        let columns = columns.map_err(|e| Error::internal(format!("columns of a batch of {rows} rows: {e}")))?;
        let rows = numbers.map_or(Rows::Same(rows), |numbers| Rows::Numbers(UInt32Array::from(numbers)));
        Ok(Batch { columns, rows, records: records.clone(), closed_at })
    }
}

/// In a buffer that is UTF-8 as a whole, a value is UTF-8 by itself when it begins at the start of a character and the value after
/// it does too; a character cut at its end therefore shows as a fault of `starts_a_character` of the bytes that follow.
fn starts_a_character(rest: &[u8]) -> bool {
    rest.first().is_none_or(|byte| byte & 0xc0 != 0x80)
}

/// Reads one whole value.
#[inline]
fn document(columns: &mut Columns, work: &mut Work, wide: &[u8], len: usize, checked: bool) -> Result<(), Broken> {
    if !(checked && starts_a_character(&wide[len..]))
        && let Err(error) = std::str::from_utf8(&wide[..len])
    {
        return Err(Broken { at: error.valid_up_to(), fault: Fault::Utf8 });
    }
    let mut scanner = Scanner::new(wide, len, work);
    if scanner.data.starts_with(BOM) {
        scanner.pos = BOM.len();
    }
    if scanner.token() != Some(b'{') {
        return scanner.no_value();
    }
    scanner.object(columns, 0)?;
    match scanner.token() {
        None => Ok(()),
        Some(b'{' | b'[' | b'"' | b'0'..=b'9' | b't' | b'f' | b'n') => scanner.broken(Fault::SecondDocument),
        Some(_) => scanner.broken(Fault::Trailing),
    }
}

const BOM: &[u8] = b"\xef\xbb\xbf";

const ENVELOPE: &str = "the value is an envelope {\"schema\", \"payload\"} of Kafka Connect, not the payload: set \
    value.converter.schemas.enable=false at the producer, or declare `payload` as a column";

/// Words for a value that is something else than a JSON object, if it is.
fn not_an_object(data: &[u8]) -> Option<String> {
    let utf16 = "the value is UTF-16, JSON must be UTF-8: let the producer write UTF-8";
    match data {
        [] => return Some("the value is empty (zero bytes), expected a JSON object".to_owned()),
        [0xff, 0xfe, ..] | [0xfe, 0xff, ..] | [0, b'{' | b'[' | b'"', 0, ..] | [b'{' | b'[' | b'"', 0, _, 0, ..] => {
            return Some(utf16.to_owned());
        }
        [0, a, b, c, d, ..] => {
            let id = u32::from_be_bytes([*a, *b, *c, *d]);
            return Some(format!(
                "the value begins with the five-byte prefix of a schema registry (schema id {id}), expected a JSON object: let the \
                 producer write plain JSON, or read the topic in the format of that schema"
            ));
        }
        _ => {}
    }
    let text = data.strip_prefix(BOM).unwrap_or(data);
    let found = match text.iter().find(|byte| !matches!(byte, b' ' | b'\t' | b'\n' | b'\r')) {
        None => "white space only",
        Some(b'[') => "an array",
        Some(b'"') => "a string",
        Some(b'-' | b'0'..=b'9') => "a number",
        Some(b't' | b'f') => "a boolean or a bare word",
        Some(b'n') => "null or a bare word",
        Some(_) => return None,
    };
    Some(format!("expected a JSON object at the top, found {found}"))
}

/// Columns of one object, with what is read of each.
fn nodes<'c>(columns: impl Iterator<Item = (&'c Column, bool)>, hidden: bool, depth: usize) -> Result<Vec<Node>> {
    let mut nodes: Vec<Node> = Vec::new();
    for (column, keep) in columns {
        if nodes.iter().any(|node| node.name == column.name) {
            return Err(Error::config(format!("column `{}` is declared twice", column.name)));
        }
        let node = node(column, keep, hidden, depth).map_err(|e| e.at(format_args!("column `{}`", column.name)))?;
        nodes.push(node);
    }
    Ok(nodes)
}

fn node(column: &Column, keep: bool, hidden: bool, depth: usize) -> Result<Node> {
    let hides = hidden || column.protects();
    let rule = Rule {
        primitive: primitive(&column.kind),
        type_name: if column.type_name.is_empty() { primitive(&column.kind).to_owned() } else { column.type_name.clone() },
        required: column.required,
        trim: column.trim,
        empty_is_null: column.empty_is_null,
        hidden: hides,
    };
    let slot = slot(column, keep, hidden || column.privacy.protects(), depth)?;
    let plain = column.name.bytes().all(|byte| byte >= b' ' && byte != b'"' && byte != b'\\');
    let written = if plain { format!("\"{}\":", column.name) } else { String::new() };
    let default = match &column.default {
        Some(text) => Some(Box::new(default(column, text, hides)?)),
        None => None,
    };
    Ok(Node { name: column.name.clone(), written: written.into_bytes().into(), rule, slot, default })
}

fn slot(column: &Column, keep: bool, hidden: bool, depth: usize) -> Result<Slot> {
    let depth = depth + usize::from(column.array);
    if depth >= DEPTH_MAX {
        return Err(Error::config(format!("columns are nested deeper than {DEPTH_MAX} levels")));
    }
    let slot = match &column.kind {
        Kind::Text => Slot::Text(Texts::new(keep)),
        Kind::Variant => Slot::Variant(Texts::new(keep)),
        Kind::Long => Slot::Long(Fixed::new(), ToLong { plus: matches!(column.type_name.as_str(), "int" | "integer") }),
        Kind::Short => Slot::Short(Fixed::new(), ToShort),
        Kind::Byte => Slot::Byte(Fixed::new(), ToByte),
        Kind::Double => Slot::Double(Fixed::new(), ToDouble),
        Kind::Decimal { precision, scale } => Slot::Decimal(Fixed::new(), decimal(*precision, *scale)?),
        Kind::Boolean { patterns } => Slot::Boolean(Bools::new(), Box::new(ToBoolean::new(patterns)?)),
        Kind::Date { format } => Slot::Date(Fixed::new(), ToDate(TimeReader::date(format)?)),
        Kind::Timestamp { format, zone } => Slot::Timestamp(Fixed::new(), ToTimestamp(TimeReader::timestamp(format, zone)?)),
        Kind::Struct(children) => {
            let nodes = nodes(children.iter().map(|child| (child, keep)), hidden, depth + 1)?;
            Slot::Struct(Structs { columns: Columns::new(nodes), nulls: NullBufferBuilder::new(0) })
        }
    };
    Ok(if column.array { Slot::List(Lists::new(slot)) } else { slot })
}

fn decimal(precision: u8, scale: i8) -> Result<ToDecimal> {
    match u8::try_from(scale) {
        Ok(scale) if (1..=38).contains(&precision) && scale <= precision => Ok(ToDecimal { precision, scale }),
        _ => Err(Error::config(format!(
            "decimal({precision},{scale}) is no type: 1 to 38 digits, of them 0 to all after the point"
        ))),
    }
}

/// Reads a default as a value of the payload would be: text of a scalar, JSON of an array or variant.
fn default(column: &Column, text: &str, hidden: bool) -> Result<Slot> {
    let plain = Column { default: None, required: false, script: None, ..column.clone() };
    let mut node = node(&plain, true, hidden, 1)?;
    let raw = column.array || matches!(column.kind, Kind::Variant | Kind::Struct(_));
    let json = if raw { text.to_owned() } else { string_json(text) };
    let mut work = Work::default();
    let mut scanner = Scanner::new(json.as_bytes(), json.len(), &mut work);
    scanner.token();
    let read = scanner.node(&mut node, 1).and_then(|()| if scanner.token().is_none() { Ok(()) } else { scanner.no_value() });
    let message = match read {
        Ok(()) if work.errors.is_empty() => return Ok(node.slot),
        Ok(()) => work.errors.told.swap_remove(0).message,
        Err(broken) => format!("{} at byte {}", broken.fault.words(), broken.at),
    };
    Err(Error::config(format!("the default does not fit the type: {message}")))
}

/// Text as a JSON string.
fn string_json(text: &str) -> String {
    let mut json = String::from("\"");
    for character in text.chars() {
        match character {
            '"' | '\\' => json.extend(['\\', character]),
            control if control < ' ' => json.push_str(&format!("\\u{:04x}", control as u32)),
            other => json.push(other),
        }
    }
    json.push('"');
    json
}

#[cfg(test)]
mod tests;
