//! One query on its thread: snapshot, plan, batches, limits.

use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Instant;

use arrow::compute::cast;
use arrow_array::{RecordBatch, RecordBatchOptions};
use arrow_schema::{DataType, Field, Schema, SchemaRef};
use datafusion::common::DataFusionError;
use datafusion::execution::SendableRecordBatchStream;
use futures::StreamExt;
use sluicebox_core::error::{Domain, Error, Result};
use sluicebox_core::query::Snapshots;
use tokio::sync::{OwnedSemaphorePermit, mpsc, oneshot};

use super::{QueryLimits, session, statement};
use crate::words::words;

/// A query and where its answer goes.
pub(super) struct Job {
    pub(super) snapshots: Arc<dyn Snapshots>,
    pub(super) limits: QueryLimits,
    pub(super) sql: String,
    pub(super) deadline: Instant,
    pub(super) sender: mpsc::Sender<Result<RecordBatch>>,
    /// Held while the query runs.
    pub(super) turn: OwnedSemaphorePermit,
}

/// Where the schema goes, or why there is none.
type Head = oneshot::Sender<Result<SchemaRef>>;

/// The error of a query whose thread ended without an answer.
pub(super) fn broken() -> Error {
    Error::internal("the query ended without an answer; it met a fault of the query engine")
}

/// An error of a run, as it leaves the crate.
pub(super) fn failed(error: &DataFusionError) -> Error {
    match error.find_root() {
        DataFusionError::External(inner) => match inner.downcast_ref::<Error>() {
            Some(error) => error.clone(),
            None => Error::fatal(Domain::Guest, words(error)),
        },
        DataFusionError::ResourcesExhausted(_) => Error::fatal(
            Domain::Guest,
            format!("resources exhausted: the query needs more memory than it may use; narrow it ({})", words(error)),
        ),
        _ => Error::fatal(Domain::Guest, words(error)),
    }
}

/// The error of a query that took too long.
pub(super) fn late(limits: &QueryLimits) -> Error {
    Error::fatal(Domain::Guest, format!("stopped after {:?}, the time that a query may take; narrow it", limits.time))
}

impl Job {
    /// Runs to the end of the answer, an error, or until nobody listens.
    pub(super) fn run(self, head: Head) {
        let sender = self.sender.clone();
        if catch_unwind(AssertUnwindSafe(|| self.answer(head))).is_err() {
            // Nobody may be listening any more; then there is nobody to tell.
            let _ = sender.blocking_send(Err(broken()));
        }
    }

    fn answer(self, head: Head) {
        let runtime = tokio::runtime::Builder::new_current_thread().enable_time().build();
        let started = runtime.map_err(|error| Error::backoff(Domain::State, format!("cannot start a query: {error}")));
        let (runtime, mut stream) = match started.and_then(|runtime| self.start(&runtime).map(|stream| (runtime, stream))) {
            Ok(started) => started,
            Err(error) => {
                let _ = head.send(Err(error));
                return;
            }
        };
        let schema = plain(&stream.schema());
        if head.send(Ok(schema.clone())).is_ok() {
            runtime.block_on(self.send_all(&mut stream, &schema));
        }
        drop(self.turn);
    }

    fn start(&self, runtime: &tokio::runtime::Runtime) -> Result<SendableRecordBatchStream> {
        let mut statement = statement::parse(&self.sql)?;
        let snapshot = self.snapshots.snapshot()?;
        let session = session::open(&snapshot, &self.limits, self.deadline).map_err(|error| failed(&error))?;
        let plan = statement::plan(&mut statement, &session, &snapshot.tables())?;
        let stream = runtime.block_on(async { session.execute_logical_plan(plan).await?.execute_stream().await });
        stream.map_err(|error| match failed(&error) {
            Error { domain: Domain::Guest, message, .. } => Error::config(message),
            other => other,
        })
    }

    async fn send_all(&self, stream: &mut SendableRecordBatchStream, schema: &SchemaRef) {
        let mut left = self.limits.rows;
        let deadline = tokio::time::Instant::from_std(self.deadline);
        loop {
            let next = tokio::select! {
                () = self.sender.closed() => return,
                () = tokio::time::sleep_until(deadline) => Some(Err(late(&self.limits))),
                next = stream.next() => next.map(|batch| batch.map_err(|error| failed(&error))),
            };
            let batch = match next {
                None => return,
                Some(batch) => batch.and_then(|batch| reshape(&batch, schema)),
            };
            let over = matches!(&batch, Ok(batch) if batch.num_rows() > left);
            let batch = batch.map(|batch| batch.slice(0, batch.num_rows().min(left)));
            left -= batch.as_ref().map_or(0, RecordBatch::num_rows);
            let ended = batch.is_err();
            if self.send(batch, deadline).await.is_err() || ended {
                return;
            }
            if over {
                let rows = self.limits.rows;
                let error =
                    format!("stopped after {rows} rows, as many as an answer may have; narrow the query or add LIMIT {rows}");
                let _ = self.send(Err(Error::fatal(Domain::Guest, error)), deadline).await;
                return;
            }
        }
    }

    /// Sends, but waits for a slow reader no longer than the query may take.
    async fn send(&self, batch: Result<RecordBatch>, deadline: tokio::time::Instant) -> Result<(), ()> {
        match tokio::time::timeout_at(deadline, self.sender.reserve()).await {
            Ok(Ok(place)) => {
                place.send(batch);
                Ok(())
            }
            Ok(Err(_)) => Err(()),
            Err(_) => self.sender.send(Err(late(&self.limits))).await.map_err(|_| ()).and(Err(())),
        }
    }
}

/// Types that clients know: text and bytes in one form each.
fn plain(schema: &Schema) -> SchemaRef {
    let field = |f: &Arc<Field>| match f.data_type() {
        DataType::Utf8View | DataType::LargeUtf8 => f.as_ref().clone().with_data_type(DataType::Utf8),
        DataType::BinaryView | DataType::LargeBinary => f.as_ref().clone().with_data_type(DataType::Binary),
        _ => f.as_ref().clone(),
    };
    Arc::new(Schema::new(schema.fields().iter().map(field).collect::<Vec<_>>()))
}

fn reshape(batch: &RecordBatch, schema: &SchemaRef) -> Result<RecordBatch> {
    let columns = batch.columns().iter().zip(schema.fields()).map(|(column, field)| {
        if column.data_type() == field.data_type() { Ok(column.clone()) } else { cast(column, field.data_type()) }
    });
    let options = RecordBatchOptions::new().with_row_count(Some(batch.num_rows()));
    let shaped =
        columns.collect::<Result<Vec<_>, _>>().and_then(|c| RecordBatch::try_new_with_options(schema.clone(), c, &options));
    shaped.map_err(|error| Error::internal(error.to_string()))
}
