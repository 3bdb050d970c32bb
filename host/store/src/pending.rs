//! Deltas that wait for a decider outside: durable, seen by no query, under a sequence number that is never used again.

use redb::{ReadableTable, WriteTransaction};
use sluicebox_core::audit::{AuditDelta, Event, Run};
use sluicebox_core::commit::Sequence;
use sluicebox_core::name::{PipelineName, TableName};
use sluicebox_core::outcome::Counts;
use sluicebox_core::position::{Advance, PartitionId, TopicId};
use sluicebox_core::start::Gap;

use crate::commit::{self, Staged};
use crate::fault::{Fault, Result};
use crate::layout::{PENDING, SEQUENCES, delete_parts};
use crate::segment::Header;
use crate::wire::{Reader, Writer};

/// Keeps a staged delta; gives its number.
pub(crate) fn keep(txn: &WriteTransaction, staged: &Staged) -> Result<Sequence> {
    let number = commit::next_sequence(txn, &staged.pipeline, false)?;
    txn.open_table(PENDING)?.insert((staged.pipeline.as_str(), number), to_bytes(staged).as_slice())?;
    Ok(Sequence(number))
}

/// Makes a pending delta visible.
pub(crate) fn apply(txn: &WriteTransaction, pipeline: &PipelineName, sequence: Sequence) -> Result<()> {
    let staged = take(txn, pipeline, sequence)?;
    commit::apply(txn, &staged)?;
    let mut sequences = txn.open_table(SEQUENCES)?;
    let last = sequences.get(pipeline.as_str())?.map_or(sequence.0, |v| v.value().0);
    sequences.insert(pipeline.as_str(), (last, sequence.0))?;
    Ok(())
}

/// Deletes a pending delta.
pub(crate) fn withdraw(txn: &WriteTransaction, pipeline: &PipelineName, sequence: Sequence) -> Result<()> {
    let staged = take(txn, pipeline, sequence)?;
    delete_parts(txn, staged.headers.iter().flat_map(|(_, header)| header.parts()))
}

/// The newest pending delta of a pipeline.
pub(crate) fn newest(
    table: &impl ReadableTable<(&'static str, u64), &'static [u8]>,
    pipeline: &PipelineName,
) -> Result<Option<Sequence>> {
    let name = pipeline.as_str();
    let last = table.range((name, 0)..=(name, u64::MAX))?.next_back().transpose()?;
    Ok(last.map(|(key, _)| Sequence(key.value().1)))
}

fn take(txn: &WriteTransaction, pipeline: &PipelineName, sequence: Sequence) -> Result<Staged> {
    let mut table = txn.open_table(PENDING)?;
    let Some(value) = table.remove((pipeline.as_str(), sequence.0))? else {
        return Err(Fault::Broken(format!("pipeline {pipeline} has no pending delta {}", sequence.0)));
    };
    from_bytes(pipeline, value.value())
}

fn to_bytes(staged: &Staged) -> Vec<u8> {
    let mut w = Writer::default();
    w.list(staged.advances.iter(), |w, advance| {
        write_partition(w, &advance.partition);
        w.i64(advance.from);
        w.i64(advance.to);
    });
    w.list(staged.headers.iter(), |w, (table, header)| {
        w.u32(*table);
        header.write(w);
    });
    write_audit(&mut w, &staged.audit);
    w.sealed()
}

fn from_bytes(pipeline: &PipelineName, bytes: &[u8]) -> Result<Staged> {
    let mut r = Reader::sealed(bytes)?;
    Ok(Staged {
        pipeline: pipeline.clone(),
        advances: r.list(|r| Ok(Advance { partition: read_partition(r)?, from: r.i64()?, to: r.i64()? }))?,
        headers: r.list(|r| Ok((r.u32()?, Header::read(r)?)))?,
        audit: read_audit(&mut r)?,
    })
}

fn write_partition(w: &mut Writer, partition: &PartitionId) {
    w.text(&partition.cluster);
    w.bytes(&partition.topic_id.0);
    w.text(&partition.topic);
    w.i64(partition.partition.into());
}

fn read_partition(r: &mut Reader<'_>) -> Result<PartitionId> {
    Ok(PartitionId {
        cluster: r.text()?.into(),
        topic_id: TopicId(r.bytes()?.try_into().map_err(|_| Fault::Broken("a topic id is cut short".into()))?),
        topic: r.text()?.into(),
        partition: r.i64()? as i32,
    })
}

/// The counts by code are for metrics, which were counted when the delta was made.
fn write_audit(w: &mut Writer, audit: &AuditDelta) {
    w.text(&audit.run.job_id);
    w.i64(audit.run.started_at);
    w.list(audit.run.topics.iter(), |w, topic| w.text(topic));
    w.list(audit.tables.iter(), |w, table| {
        w.text(&table.schema);
        w.text(&table.table);
    });
    let c = &audit.counts;
    for count in [c.consumed, c.emitted, c.filtered, c.tombstones, c.rejected, c.rows] {
        w.u64(count);
    }
    w.list(audit.events.iter(), |w, event| match event {
        Event::Gap { partition, gap } => {
            w.u8(0);
            write_partition(w, partition);
            w.i64(gap.wanted);
            w.i64(gap.taken);
        }
        Event::Restart { reason } => {
            w.u8(1);
            w.text(reason);
        }
    });
    w.i64(audit.at);
    w.option(audit.ended.as_ref(), |w, (success, message)| {
        w.u8(u8::from(*success));
        w.text(message);
    });
}

fn read_audit(r: &mut Reader<'_>) -> Result<AuditDelta> {
    Ok(AuditDelta {
        run: Run { job_id: r.text()?.to_owned(), started_at: r.i64()?, topics: r.list(|r| Ok(r.text()?.to_owned()))? },
        tables: r.list(|r| Ok(TableName::new(r.text()?, r.text()?)))?,
        counts: Counts {
            consumed: r.u64()?,
            emitted: r.u64()?,
            filtered: r.u64()?,
            tombstones: r.u64()?,
            rejected: r.u64()?,
            rows: r.u64()?,
            ..Counts::default()
        },
        events: r.list(|r| match r.u8()? {
            0 => Ok(Event::Gap { partition: read_partition(r)?, gap: Gap { wanted: r.i64()?, taken: r.i64()? } }),
            _ => Ok(Event::Restart { reason: r.text()?.to_owned() }),
        })?,
        at: r.i64()?,
        ended: r.option(|r| Ok((r.u8()? != 0, r.text()?.to_owned())))?,
    })
}
