//! `audit.audit`: one row per run and table, rewritten in each commit while the run lives, read as a table like others.

use std::sync::Arc;

use arrow_array::builder::{BooleanBuilder, Int64Builder, ListBuilder, StringBuilder, TimestampMicrosecondBuilder};
use arrow_array::{ArrayRef, RecordBatch, new_null_array};
use arrow_schema::{DataType, Field, Schema, SchemaRef, TimeUnit};
use redb::{ReadableTable, WriteTransaction};
use sluicebox_core::audit::AuditDelta;
use sluicebox_core::name::PipelineName;

use crate::audit_rows::AuditRow;
use crate::fault::Result;
use crate::layout::AUDIT;

type Key = (i64, &'static str, &'static str, &'static str);

/// The columns of `audit.audit`.
pub(crate) fn schema() -> SchemaRef {
    let field = |name: &str, data_type| Field::new(name, data_type, true);
    let time = || DataType::Timestamp(TimeUnit::Microsecond, Some("UTC".into()));
    Arc::new(Schema::new(vec![
        field("jobid", DataType::Utf8),
        field("paths", DataType::Utf8),
        field("domain", DataType::Utf8),
        field("schema", DataType::Utf8),
        field("success", DataType::Boolean),
        field("count", DataType::Int64),
        field("countAccepted", DataType::Int64),
        field("countRejected", DataType::Int64),
        field("timestamp", time()),
        field("duration", DataType::Int64),
        field("message", DataType::Utf8),
        field("step", DataType::Utf8),
        field("database", DataType::Utf8),
        field("tenant", DataType::Utf8),
        field("scheduledDate", time()),
        field("countFiltered", DataType::Int64),
        field("pipeline", DataType::Utf8),
        field("details", DataType::List(Arc::new(Field::new("item", DataType::Utf8, true)))),
    ]))
}

/// Adds a commit to the rows of its run.
pub(crate) fn record(txn: &WriteTransaction, pipeline: &PipelineName, delta: &AuditDelta) -> Result<()> {
    let mut table = txn.open_table(AUDIT)?;
    for name in &delta.tables {
        let key = (delta.run.started_at, delta.run.job_id.as_str(), &*name.schema, &*name.table);
        let stored = table.get(key)?.map(|value| AuditRow::from_bytes(value.value())).transpose()?;
        let mut row = stored.unwrap_or_else(|| AuditRow::begin(pipeline.as_str(), delta));
        row.add(delta);
        table.insert(key, row.to_bytes().as_slice())?;
    }
    Ok(())
}

/// Deletes rows of runs whose last commit was before `time`; gives how many.
pub(crate) fn forget_before(txn: &WriteTransaction, time: i64) -> Result<u64> {
    let mut table = txn.open_table(AUDIT)?;
    let mut gone = 0;
    table.retain(|_, value| {
        let old = AuditRow::from_bytes(value).is_ok_and(|row| row.at < time);
        gone += u64::from(old);
        !old
    })?;
    Ok(gone)
}

/// The oldest last commit of any run.
pub(crate) fn oldest(table: &impl ReadableTable<Key, &'static [u8]>) -> Result<Option<i64>> {
    let mut oldest: Option<i64> = None;
    for row in table.iter()? {
        let at = AuditRow::from_bytes(row?.1.value())?.at;
        oldest = Some(oldest.map_or(at, |time| time.min(at)));
    }
    Ok(oldest)
}

/// All rows.
pub(crate) fn rows(table: &impl ReadableTable<Key, &'static [u8]>, tenant: &str) -> Result<RecordBatch> {
    let mut columns = Columns::default();
    for row in table.iter()? {
        let (key, value) = row?;
        let (started_at, job_id, domain, name) = key.value();
        columns.push(started_at, [job_id, domain, name, tenant], &AuditRow::from_bytes(value.value())?);
    }
    columns.finish()
}

#[derive(Default)]
struct Columns {
    texts: [StringBuilder; 8],
    numbers: [Int64Builder; 5],
    success: BooleanBuilder,
    times: TimestampMicrosecondBuilder,
    details: ListBuilder<StringBuilder>,
}

impl Columns {
    fn push(&mut self, started_at: i64, [job_id, domain, name, tenant]: [&str; 4], row: &AuditRow) {
        let texts = [job_id, &row.paths, domain, name, &row.message, "LOAD", tenant, &row.pipeline];
        self.texts.iter_mut().zip(texts).for_each(|(column, text)| column.append_value(text));
        let duration_ms = (row.at - started_at).max(0) / 1000;
        let counts = [row.count, row.accepted, row.rejected, row.filtered].map(|count| count as i64);
        let numbers = counts.into_iter().chain([duration_ms]);
        self.numbers.iter_mut().zip(numbers).for_each(|(column, number)| column.append_value(number));
        self.success.append_option(row.success);
        self.times.append_value(row.at);
        for detail in &row.details {
            self.details.values().append_value(detail);
        }
        if row.more_details > 0 {
            self.details.values().append_value(format!("and {} more", row.more_details));
        }
        self.details.append(true);
    }

    fn finish(mut self) -> Result<RecordBatch> {
        let [job_id, paths, domain, name, message, step, tenant, pipeline] =
            self.texts.each_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let [count, accepted, rejected, filtered, duration] =
            self.numbers.each_mut().map(|column| Arc::new(column.finish()) as ArrayRef);
        let rows = count.len();
        let schema = schema();
        let times = Arc::new(self.times.finish().with_timezone("UTC"));
        let database = new_null_array(&DataType::Utf8, rows);
        let scheduled = new_null_array(schema.field(14).data_type(), rows);
        let success = Arc::new(self.success.finish());
        let details = Arc::new(self.details.finish());
        let columns = vec![
            job_id, paths, domain, name, success, count, accepted, rejected, times, duration, message, step, database, tenant,
            scheduled, filtered, pipeline, details,
        ];
        Ok(RecordBatch::try_new(schema, columns)?)
    }
}
