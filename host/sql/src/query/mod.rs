//! Queries over the tables of a store: read only, one snapshot, within limits.
//!
//! A query runs from planning to its last batch on a thread of its own, so that a big one stops neither the load nor those who ask over the
//! network. What it answers travels through a short channel; dropping the [`QueryResult`] ends it.

mod bounds;
mod run;
mod scan;
mod session;
mod statement;
mod table;

use std::sync::Arc;
use std::time::{Duration, Instant};

use arrow_array::RecordBatch;
use arrow_schema::SchemaRef;
use sluicebox_core::error::{Domain, Error, Result};
use sluicebox_core::query::Snapshots;
use tokio::sync::{Semaphore, mpsc, oneshot};

/// Queries that run at once; more wait, within their time limit. Two cores are shared with the load.
const QUERIES_AT_ONCE: usize = 4;
/// Batches that wait for a slow reader of the answer.
const BATCHES_WAITING: usize = 2;

/// What one query may use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct QueryLimits {
    /// From the question to the last batch.
    pub time: Duration,
    /// Bytes that sorting, grouping and joining may hold.
    pub memory_bytes: usize,
    /// Rows of the answer.
    pub rows: usize,
}

/// Answers queries over the tables of one tenant.
pub struct QueryEngine {
    snapshots: Arc<dyn Snapshots>,
    limits: QueryLimits,
    turns: Arc<Semaphore>,
}

/// An answer that is being made: its schema is known, batches come one by one.
#[derive(Debug)]
pub struct QueryResult {
    schema: SchemaRef,
    batches: mpsc::Receiver<Result<RecordBatch>>,
}

impl QueryEngine {
    /// An engine over the tables that `snapshots` gives.
    pub fn new(snapshots: Arc<dyn Snapshots>, limits: QueryLimits) -> Self {
        Self { snapshots, limits, turns: Arc::new(Semaphore::new(QUERIES_AT_ONCE)) }
    }

    /// Plans a statement and starts to run it: SELECT, EXPLAIN, SHOW TABLES or DESCRIBE.
    ///
    /// # Errors
    /// A statement that is refused, does not parse or does not plan ([`Domain::Config`]); too many queries at once.
    pub async fn query(&self, sql: &str) -> Result<QueryResult> {
        let deadline = Instant::now() + self.limits.time;
        let turn = tokio::time::timeout(self.limits.time, self.turns.clone().acquire_owned()).await;
        let Ok(Ok(turn)) = turn else {
            return Err(Error::backoff(Domain::Guest, format!("{QUERIES_AT_ONCE} queries run already; ask again later")));
        };
        let (head, schema) = oneshot::channel();
        let (sender, batches) = mpsc::channel(BATCHES_WAITING);
        let job =
            run::Job { snapshots: self.snapshots.clone(), limits: self.limits, sql: sql.to_owned(), deadline, sender, turn };
        let thread = std::thread::Builder::new().name("query".to_owned()).spawn(move || job.run(head));
        thread.map_err(|error| Error::backoff(Domain::State, format!("cannot start a thread for the query: {error}")))?;
        let schema = schema.await.map_err(|_| run::broken())??;
        Ok(QueryResult { schema, batches })
    }
}

impl QueryResult {
    /// Columns of the answer.
    pub fn schema(&self) -> SchemaRef {
        self.schema.clone()
    }

    /// The next batch; `None` after the last one.
    ///
    /// # Errors
    /// The query failed or met a limit ([`Domain::Guest`]), or the store did; nothing comes after.
    pub async fn next(&mut self) -> Option<Result<RecordBatch>> {
        self.batches.recv().await
    }

    /// The answer as a stream.
    pub fn into_stream(self) -> impl futures::Stream<Item = Result<RecordBatch>> + Send {
        futures::stream::unfold(self.batches, |mut batches| async move { batches.recv().await.map(|batch| (batch, batches)) })
    }

    /// All batches, for answers that are known to be small.
    ///
    /// # Errors
    /// As for [`QueryResult::next`].
    pub async fn collect(mut self) -> Result<Vec<RecordBatch>> {
        let mut all = Vec::new();
        while let Some(batch) = self.next().await {
            all.push(batch?);
        }
        Ok(all)
    }
}

#[cfg(test)]
mod tests;
