//! Guests as component text, and pipelines' worth of context to run them in.
//!
//! The text guest asks for the column `v`, answers with it as it came, and does something of its own when what it was given holds
//! `BOOM`: so which rows are guilty is known.
#![expect(dead_code, reason = "each test crate uses a part of it")]

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::{Arc, Mutex};
use std::time::Duration;

use arrow_array::cast::AsArray;
use arrow_array::{Int64Array, RecordBatch, StringArray};
use arrow_ipc::writer::StreamWriter;
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use sluicebox_core::batch::{Batch, Rows};
use sluicebox_core::error::Result;
use sluicebox_core::name::{ComponentName, PipelineName, TenantName};
use sluicebox_core::port::{ComponentContext, Components, Step, Validator};
use sluicebox_core::reject::Rejects;
use sluicebox_core::secret::Secret;
use sluicebox_wasm::{ComponentSettings, WasmComponents};
use tempfile::TempDir;
use tracing::field::Visit;

/// The instant at which the batches of the tests were closed.
pub const CLOSED_AT: i64 = 1_700_000_000_000_000;

/// Parts of a text guest that a test may set.
#[derive(Default)]
pub struct Text<'a> {
    /// Imports of the component, and core instances made of them.
    pub imports: &'a str,
    /// Core instances that the core module is given.
    pub with: &'a str,
    /// Imports of the core module.
    pub core_imports: &'a str,
    /// More functions, tables and data of the core module.
    pub more: &'a str,
    /// What `open` does before it answers with the plan.
    pub open: &'a str,
    /// What `process` does before it answers.
    pub process: &'a str,
    /// What `process` does when it sees `BOOM`.
    pub boom: &'a str,
    /// What `realloc` does with `$size` first.
    pub realloc: &'a str,
}

/// The schema of what the guest answers with: `v`, text.
pub fn answered_schema() -> Vec<u8> {
    let schema = Schema::new(vec![Field::new("v", DataType::Utf8, true)]);
    let mut writer = StreamWriter::try_new(Vec::new(), &schema).expect("begins");
    writer.finish().expect("ends");
    writer.into_inner().expect("bytes")
}

/// The core module. Memory: 0.. answers, 256.. the plan's lists, 512.. texts, 1024.. scratch, 2048.. the schema of the answer,
/// 4096.. what the host gives.
fn core(text: &Text<'_>, open_answer: &str, process_answer: &str) -> String {
    let Text { core_imports, more, open, process, boom, realloc, .. } = text;
    let params = "i32 ".repeat(14);
    let schema: String = answered_schema().iter().map(|byte| format!("\\{byte:02x}")).collect();
    format!(
        r#"
  (core module $m
    {core_imports}
    (memory (export "memory") 2)
    (global $next (mut i32) (i32.const 4096))
    {more}
    (data (i32.const 512) "v")
    (data (i32.const 516) "bad")
    (data (i32.const 520) "no good")
    (data (i32.const 530) "\c3\28")
    (data (i32.const 540) "odd!code")
    ;; columns: ["v"], codes: ["bad"]
    (data (i32.const 256) "\00\02\00\00\01\00\00\00")
    (data (i32.const 264) "\04\02\00\00\03\00\00\00")
    (data (i32.const 300) "\00\02\00\00\01\00\00\00\03\00\00\00")
    (data (i32.const 2048) "{schema}")
    (func (export "realloc") (param $old i32) (param $old_size i32) (param $align i32) (param $size i32) (result i32)
      (local $at i32)
      {realloc}
      (local.set $at (i32.and (i32.add (global.get $next) (i32.const 15)) (i32.const -16)))
      (global.set $next (i32.add (local.get $at) (local.get $size)))
      (block $fits (loop $grow
        (br_if $fits (i32.le_u (global.get $next) (i32.mul (memory.size) (i32.const 65536))))
        (if (i32.eq (memory.grow (i32.const 16)) (i32.const -1)) (then unreachable))
        (br $grow)))
      (local.get $at))
    (func (export "done") (param i32) (global.set $next (i32.const 4096)))
    (func $sees (result i32)
      (local $p i32) (local $end i32)
      (local.set $p (i32.const 4096))
      (local.set $end (i32.sub (global.get $next) (i32.const 4)))
      (if (i32.lt_u (local.get $end) (local.get $p)) (then (return (i32.const 0))))
      (loop $next
        (if (i32.eq (i32.load (local.get $p)) (i32.const 0x4d4f4f42)) (then (return (i32.const 1))))
        (local.set $p (i32.add (local.get $p) (i32.const 1)))
        (br_if $next (i32.le_u (local.get $p) (local.get $end))))
      (i32.const 0))
    (func (export "open") (param {params}) (result i32)
      {open}
      (i32.store (i32.const 0) (i32.const 0))
      (i32.store (i32.const 4) (i32.const 256)) (i32.store (i32.const 8) (i32.const 1))
      {open_answer}
      (i32.const 0))
    (func (export "process") (param $p i32) (param $n i32) (result i32)
      {process}
      (if (call $sees) (then {boom}))
      (i32.store (i32.const 0) (i32.const 0))
      {process_answer}
      (i32.const 0)))
"#
    )
}

const TYPES: &str = r#"
  (type $attributes (list (tuple string string)))
  (type $context' (record (field "tenant" string) (field "pipeline" string) (field "component" string) (field "column" string)
    (field "settings" string) (field "attributes" $attributes)))
  (export $context "context" (type $context'))
  (type $error' (variant (case "fatal" string) (case "retry" string)))
  (export $error "error" (type $error'))
  (type $reject' (record (field "row" u32) (field "path" string) (field "code" string) (field "message" string)
    (field "attributes" $attributes)))
  (export $reject "reject" (type $reject'))
  (type $origin' (variant (case "same") (case "rows" (list u32))))
  (export $origin "origin" (type $origin'))
"#;

const LIFT: &str = r#"(memory (core memory $i "memory")) (realloc (core func $i "realloc")) (post-return (core func $i "done"))"#;

/// A transform on the batch plane that answers with the column `v` as it came.
pub fn transform(text: &Text<'_>) -> String {
    let len = answered_schema().len();
    let types = r#"(type $schema (list u8)) (type $rows (list u8))"#;
    transform_of(text, "batch-transform", types, "batch", (2048, len))
}

/// The same on the record plane.
pub fn record_transform(text: &Text<'_>) -> String {
    let types = r#"
  (type $kind' (enum "boolean" "integer" "float" "text" "bytes" "decimal" "date" "timestamp" "json"))
  (export $kind "kind" (type $kind'))
  (type $field' (record (field "name" string) (field "kind" $kind) (field "precision" u8) (field "scale" s8)))
  (export $field "field" (type $field'))
  (type $value' (variant (case "null") (case "boolean" bool) (case "integer" s64) (case "float" f64) (case "text" string) (case "bytes" (list u8))))
  (export $value "value" (type $value'))
  (type $schema (list $field)) (type $row (list $value)) (type $rows (list $row))"#;
    transform_of(text, "record-transform", types, "rows", (300, 1))
}

fn transform_of(text: &Text<'_>, interface: &str, types: &str, rows: &str, schema: (usize, usize)) -> String {
    let (schema, len) = schema;
    let open = format!(
        "(i32.store (i32.const 12) (i32.const {schema})) (i32.store (i32.const 16) (i32.const {len}))
      (i32.store (i32.const 20) (i32.const 264)) (i32.store (i32.const 24) (i32.const 1))
      (i32.store (i32.const 28) (i32.const 0)) (i32.store (i32.const 32) (i32.const 0))"
    );
    let process = "(i32.store (i32.const 4) (local.get $p)) (i32.store (i32.const 8) (local.get $n))
      (i32.store (i32.const 12) (i32.const 0))
      (i32.store (i32.const 24) (i32.const 0)) (i32.store (i32.const 28) (i32.const 0))";
    let core = core(text, &open, process);
    let Text { imports, with, .. } = text;
    format!(
        r#"(component
  {imports}
  {core}
  (core instance $i (instantiate $m {with}))
  {TYPES}
  {types}
  (type $plan' (record (field "columns" (list string)) (field "schema" $schema) (field "codes" (list string)) (field "attributes" $attributes)))
  (export $plan "transform-plan" (type $plan'))
  (type $answer' (record (field "{rows}" $rows) (field "origin" $origin) (field "rejects" (list $reject))))
  (export $answer "answer" (type $answer'))
  (func $open (param "context" $context) (param "schema" $schema) (result (result $plan (error $error)))
    (canon lift (core func $i "open") {LIFT}))
  (func $process (param "{rows}" $rows) (result (result $answer (error $error)))
    (canon lift (core func $i "process") {LIFT}))
  (instance $b (export "open" (func $open)) (export "process" (func $process)))
  (export "sluicebox:component/{interface}@0.1.0" (instance $b)))"#
    )
}

/// A validator on the batch plane that refuses nothing.
pub fn validator(text: &Text<'_>) -> String {
    let open = "(i32.store (i32.const 12) (i32.const 264)) (i32.store (i32.const 16) (i32.const 1))
      (i32.store (i32.const 20) (i32.const 0)) (i32.store (i32.const 24) (i32.const 0))";
    let process = "(i32.store (i32.const 4) (i32.const 0)) (i32.store (i32.const 8) (i32.const 0))";
    let core = core(text, open, process);
    let Text { imports, with, .. } = text;
    format!(
        r#"(component
  {imports}
  {core}
  (core instance $i (instantiate $m {with}))
  {TYPES}
  (type $plan' (record (field "columns" (list string)) (field "codes" (list string)) (field "attributes" $attributes)))
  (export $plan "validator-plan" (type $plan'))
  (func $open (param "context" $context) (param "schema" (list u8)) (result (result $plan (error $error)))
    (canon lift (core func $i "open") {LIFT}))
  (func $process (param "batch" (list u8)) (result (result (list $reject) (error $error)))
    (canon lift (core func $i "process") {LIFT}))
  (instance $b (export "open" (func $open)) (export "process" (func $process)))
  (export "sluicebox:component/batch-validator@0.1.0" (instance $b)))"#
    )
}

/// Core code that answers one reject of row `row`, whose message begins at `message` and has `len` bytes; its address is given back by
/// `process` of a validator. For a transform see [`reject_of_transform`].
pub fn reject(row: u32, code: (u32, u32), message: (u32, u32)) -> String {
    format!(
        "(i32.store (i32.const 1024) (i32.const {row}))
         (i32.store (i32.const 1028) (i32.const 512)) (i32.store (i32.const 1032) (i32.const 1))
         (i32.store (i32.const 1036) (i32.const {})) (i32.store (i32.const 1040) (i32.const {}))
         (i32.store (i32.const 1044) (i32.const {})) (i32.store (i32.const 1048) (i32.const {}))
         (i32.store (i32.const 1052) (i32.const 0)) (i32.store (i32.const 1056) (i32.const 0))",
        code.0, code.1, message.0, message.1
    )
}

/// Core code that answers, for a transform, with the batch at `(p, n)`, an origin and the reject at 1024, if any.
pub fn answer(batch: (&str, &str), origin: Option<(u32, u32)>, rejects: u32) -> String {
    let (case, rows, len) = origin.map_or((0, 0, 0), |(rows, len)| (1, rows, len));
    format!(
        "(i32.store (i32.const 0) (i32.const 0))
         (i32.store (i32.const 4) {}) (i32.store (i32.const 8) {})
         (i32.store (i32.const 12) (i32.const {case})) (i32.store (i32.const 16) (i32.const {rows})) (i32.store (i32.const 20) (i32.const {len}))
         (i32.store (i32.const 24) (i32.const 1024)) (i32.store (i32.const 28) (i32.const {rejects}))
         (return (i32.const 0))",
        batch.0, batch.1
    )
}

/// Imports the log, as core function `$log` with level, pointer and length.
pub fn with_log() -> Text<'static> {
    Text {
        imports: r#"
  (import "sluicebox:component/log@0.1.0" (instance $log
    (type $level' (enum "debug" "info" "warn" "error"))
    (export "level" (type $level (eq $level')))
    (export "log" (func (param "level" $level) (param "message" string)))))
  (core module $lend (memory (export "memory") 4) (data (i32.const 0) "hello from the guest")
    (func (export "realloc") (param i32 i32 i32 i32) (result i32) unreachable))
  (core instance $lent (instantiate $lend))
  (core func $log' (canon lower (func $log "log") (memory (core memory $lent "memory")) (realloc (core func $lent "realloc"))))
  (core instance $logs (export "log" (func $log')))"#,
        with: r#"(with "logs" (instance $logs))"#,
        core_imports: r#"(import "logs" "log" (func $log (param i32 i32 i32)))"#,
        ..Text::default()
    }
}

/// A folder with one component, `guest`, and its limits.
pub struct Bench {
    pub folder: TempDir,
    settings: ComponentSettings,
}

impl Bench {
    /// A component of text with 16 MiB and 100 ms.
    pub fn new(text: &str) -> Bench {
        Bench::of(text.as_bytes())
    }

    /// A component of bytes.
    pub fn of(bytes: &[u8]) -> Bench {
        let folder = tempfile::tempdir().expect("a folder");
        let path = folder.path().join("guest.wasm");
        std::fs::write(&path, bytes).expect("writes");
        let settings =
            ComponentSettings { path, memory: 16 << 20, cpu_per_batch: Duration::from_millis(100), settings: Secret::new("{}") };
        Bench { folder, settings }
    }

    /// With so many bytes of memory.
    pub fn memory(mut self, bytes: usize) -> Bench {
        self.settings.memory = bytes;
        self
    }

    /// With so much CPU time a batch.
    pub fn cpu(mut self, cpu: Duration) -> Bench {
        self.settings.cpu_per_batch = cpu;
        self
    }

    pub fn path(&self) -> &Path {
        &self.settings.path
    }

    pub fn cache(&self) -> PathBuf {
        self.folder.path().join("cache")
    }

    pub fn components(&self) -> WasmComponents {
        let components = BTreeMap::from([(ComponentName::new("guest"), self.settings.clone())]);
        WasmComponents::new(components, Some(self.cache())).expect("a sandbox")
    }

    /// Opens it as a transform over [`schema`].
    pub fn transform(&self) -> Result<Box<dyn Step>> {
        self.components().transform(&ComponentName::new("guest"), context(None, &[]))
    }

    /// Opens it as a transform that sees `v`, which a privacy rule protects.
    pub fn protected(&self) -> Result<Box<dyn Step>> {
        self.components().transform(&ComponentName::new("guest"), context(None, &[1]))
    }

    /// Opens it as a validator of `v`.
    pub fn validator(&self) -> Result<Box<dyn Validator>> {
        self.components().validator(&ComponentName::new("guest"), context(Some(1), &[]))
    }
}

/// Columns `n` (a number that travels past the guest) and `v` (text).
pub fn schema() -> SchemaRef {
    Arc::new(Schema::new(vec![Field::new("n", DataType::Int64, true), Field::new("v", DataType::Utf8, true)]))
}

pub fn context(column: Option<usize>, protected: &[usize]) -> ComponentContext {
    ComponentContext {
        tenant: TenantName::new("default"),
        pipeline: PipelineName::new("orders"),
        schema: schema(),
        column,
        protected: protected.to_vec(),
    }
}

/// A batch with these texts; `n` counts from 0, record numbers from 100.
pub fn batch(texts: &[&str]) -> Batch {
    let numbers = Int64Array::from_iter_values(0..texts.len() as i64);
    let texts = StringArray::from_iter_values(texts);
    let columns = RecordBatch::try_new(schema(), vec![Arc::new(numbers), Arc::new(texts)]).expect("fits");
    let rows = Rows::Numbers((100..100 + columns.num_rows() as u32).collect::<Vec<_>>().into());
    Batch { columns, rows, records: Arc::default(), closed_at: CLOSED_AT }
}

/// The two columns of a batch: numbers and texts.
pub fn cells(batch: &Batch) -> (Vec<i64>, Vec<&str>) {
    let numbers = batch.columns.column(0).as_primitive::<arrow_array::types::Int64Type>().values().to_vec();
    (numbers, batch.columns.column(1).as_string::<i32>().iter().map(|v| v.expect("a value")).collect())
}

/// Record, path, code and message of each error.
pub fn errors(rejects: &Rejects) -> Vec<(u32, String, String, String)> {
    let each = |(record, errors): (u32, &[sluicebox_core::reject::RowError])| {
        errors.iter().map(|e| (record, e.path.clone(), e.code.to_string(), e.message.clone())).collect::<Vec<_>>()
    };
    rejects.iter().flat_map(each).collect()
}

/// What was logged while `run` ran on this thread.
pub fn lines(run: impl FnOnce()) -> Vec<String> {
    let lines = Arc::new(Mutex::new(Vec::new()));
    tracing::subscriber::with_default(Lines(lines.clone()), run);
    std::mem::take(&mut lines.lock().expect("not poisoned"))
}

/// Keeps the text of each event, all its fields.
struct Lines(Arc<Mutex<Vec<String>>>);

struct Words(String);

impl Visit for Words {
    fn record_debug(&mut self, field: &tracing::field::Field, value: &dyn std::fmt::Debug) {
        self.0 += &format!("{}={value:?} ", field.name());
    }
}

impl tracing::Subscriber for Lines {
    fn enabled(&self, metadata: &tracing::Metadata<'_>) -> bool {
        metadata.target().starts_with("sluicebox")
    }

    fn new_span(&self, _: &tracing::span::Attributes<'_>) -> tracing::span::Id {
        tracing::span::Id::from_u64(1)
    }

    fn record(&self, _: &tracing::span::Id, _: &tracing::span::Record<'_>) {}

    fn record_follows_from(&self, _: &tracing::span::Id, _: &tracing::span::Id) {}

    fn event(&self, event: &tracing::Event<'_>) {
        let mut words = Words(format!("{} ", event.metadata().level()));
        event.record(&mut words);
        self.0.lock().expect("not poisoned").push(words.0);
    }

    fn enter(&self, _: &tracing::span::Id) {}

    fn exit(&self, _: &tracing::span::Id) {}
}
