//! One row of the audit: what is known of a run for one table, and what a commit adds to it.

use sluicebox_core::audit::{AuditDelta, Event};
use sluicebox_core::outcome::Counts;

use crate::fault::Result;
use crate::wire::{Reader, Writer};

/// Gaps and restarts kept of a run: the first ones, since they tell what happened; the rest is counted.
const DETAILS_MAX: usize = 100;
/// Characters kept of the last message, as Starlake does.
const MESSAGE_CHARS: usize = 8000;

/// A row of `audit.audit`, without its key.
#[derive(Debug, Clone, Default, PartialEq)]
pub(crate) struct AuditRow {
    pub pipeline: String,
    pub paths: String,
    pub count: u64,
    pub accepted: u64,
    pub rejected: u64,
    pub filtered: u64,
    /// Time of the last commit: microseconds since 1970 UTC.
    pub at: i64,
    /// Set when the run has ended.
    pub success: Option<bool>,
    pub message: String,
    pub details: Vec<String>,
    pub more_details: u64,
}

impl AuditRow {
    /// A row that has no counts yet.
    pub fn begin(pipeline: &str, delta: &AuditDelta) -> Self {
        Self { pipeline: pipeline.to_owned(), paths: delta.run.topics.join(","), at: delta.at, ..Self::default() }
    }

    /// Adds what a commit says.
    pub fn add(&mut self, delta: &AuditDelta) {
        let Counts { consumed, emitted, filtered, rejected, .. } = &delta.counts;
        self.count += consumed;
        self.accepted += emitted;
        self.filtered += filtered;
        self.rejected += rejected;
        self.at = self.at.max(delta.at);
        for event in &delta.events {
            if self.details.len() < DETAILS_MAX {
                self.details.push(words(event));
            } else {
                self.more_details += 1;
            }
        }
        if let Some((success, message)) = &delta.ended {
            self.success = Some(*success);
            self.message = message.chars().take(MESSAGE_CHARS).collect();
        }
    }

    pub fn to_bytes(&self) -> Vec<u8> {
        let mut w = Writer::default();
        w.text(&self.pipeline);
        w.text(&self.paths);
        for count in [self.count, self.accepted, self.rejected, self.filtered] {
            w.u64(count);
        }
        w.i64(self.at);
        w.option(self.success, |w, success| w.u8(u8::from(success)));
        w.text(&self.message);
        w.list(self.details.iter(), |w, detail| w.text(detail));
        w.u64(self.more_details);
        w.sealed()
    }

    pub fn from_bytes(bytes: &[u8]) -> Result<Self> {
        let mut r = Reader::sealed(bytes)?;
        Ok(Self {
            pipeline: r.text()?.to_owned(),
            paths: r.text()?.to_owned(),
            count: r.u64()?,
            accepted: r.u64()?,
            rejected: r.u64()?,
            filtered: r.u64()?,
            at: r.i64()?,
            success: r.option(|r| Ok(r.u8()? != 0))?,
            message: r.text()?.to_owned(),
            details: r.list(|r| Ok(r.text()?.to_owned()))?,
            more_details: r.u64()?,
        })
    }
}

fn words(event: &Event) -> String {
    match event {
        Event::Gap { partition, gap } => {
            format!("gap: {partition}: wanted offset {}, went on at {}", gap.wanted, gap.taken)
        }
        Event::Restart { reason } => format!("restart: {reason}"),
    }
}
