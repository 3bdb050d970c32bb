//! Walks the route: records in; segments, rejects and closed books out.

use std::sync::Arc;

use sluicebox_core::batch::Batch;
use sluicebox_core::commit::{RejectRow, Segment};
use sluicebox_core::error::{Error, Result};
use sluicebox_core::outcome::Counts;
use sluicebox_core::port::Part;
use sluicebox_core::record::Records;
use sluicebox_core::reject::Rejects;

use crate::route::{OpenRoute, Route};

/// What became of a batch of records, before anything is decided.
#[derive(Debug)]
pub struct Transformed {
    /// One batch per sink, in order; rows of refused records are gone.
    pub outputs: Vec<Batch>,
    /// What was refused.
    pub rejects: Rejects,
    /// The records.
    pub records: Arc<Records>,
}

/// A batch that is ready to be decided.
#[derive(Debug)]
pub struct Prepared {
    /// Rows, encoded.
    pub segments: Vec<Segment>,
    /// Rejects, with privacy applied.
    pub rejects: Vec<RejectRow>,
    /// The closed books.
    pub counts: Counts,
    /// The records; they hold the memory budget until the decision.
    pub records: Arc<Records>,
}

impl Route {
    /// Decodes, checks, protects, computes and runs the user's steps. The same records and `closed_at` give the same answer.
    ///
    /// # Errors
    /// What is no record's fault: the pipeline stops or waits, and nothing of the batch is committed.
    pub fn transform(&mut self, records: Arc<Records>, closed_at: i64) -> Result<Transformed> {
        let mut rejects = Rejects::default();
        let mut batch = self.decoder.decode(&records, closed_at, &mut rejects)?;
        self.patterns.check(&batch, &mut rejects);
        for validator in &mut self.validators {
            validator.validate(&batch, &mut rejects)?;
        }
        batch = self.protect.apply(without(batch, &rejects)?, &mut rejects)?;
        for stage in &mut self.stages {
            batch = stage.process(without(batch, &rejects)?, &mut rejects)?;
        }
        let batch = without(batch, &rejects)?;
        let mut outputs = Vec::with_capacity(self.outputs.len());
        for output in &mut self.outputs {
            outputs.push(match &mut output.condition {
                Some(stage) => stage.process(batch.clone(), &mut rejects)?,
                None => batch.clone(),
            });
        }
        let outputs = outputs.into_iter().map(|batch| without(batch, &rejects)).collect::<Result<_>>()?;
        Ok(Transformed { outputs, rejects, records })
    }

    /// The rejects as the reject route keeps them.
    pub fn reject_rows(&self, transformed: &Transformed) -> Vec<RejectRow> {
        self.rejects.rows(&transformed.records, &transformed.rejects)
    }
}

impl OpenRoute {
    /// Walks the whole route and encodes for the sinks. A record that a sink refuses is taken from all of them.
    ///
    /// # Errors
    /// As for [`Route::transform`].
    pub fn prepare(&mut self, records: Arc<Records>, closed_at: i64) -> Result<Prepared> {
        let mut transformed = self.route.transform(records, closed_at)?;
        let segments = loop {
            let refused = transformed.rejects.len();
            let segments = encode(&mut self.sinks, &mut transformed)?;
            if transformed.rejects.len() == refused {
                break segments;
            }
            let rejects = &transformed.rejects;
            transformed.outputs = transformed.outputs.into_iter().map(|batch| without(batch, rejects)).collect::<Result<_>>()?;
        };
        let rows: Vec<_> = transformed.outputs.iter().map(|batch| &batch.rows).collect();
        let counts = Counts::of(&transformed.records, &transformed.rejects, &rows);
        let rejects = self.route.reject_rows(&transformed);
        Ok(Prepared { segments, rejects, counts, records: transformed.records })
    }
}

fn encode(sinks: &mut [Box<dyn sluicebox_core::port::Sink>], transformed: &mut Transformed) -> Result<Vec<Segment>> {
    let mut segments = Vec::new();
    for (sink, batch) in sinks.iter_mut().zip(&transformed.outputs) {
        if batch.rows.is_empty() {
            continue;
        }
        let Part::Segments(part) = sink.prepare(batch, &mut transformed.rejects)?;
        segments.extend(part);
    }
    Ok(segments)
}

fn without(batch: Batch, rejects: &Rejects) -> Result<Batch> {
    batch.without(rejects).map_err(|error| Error::internal(format!("cannot take refused rows out of a batch: {error}")))
}
