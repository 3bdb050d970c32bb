//! Positions in the file: next offset per pipeline, cluster, topic id and partition.

use redb::{ReadableTable, WriteTransaction};
use sluicebox_core::error::{Domain, Error};
use sluicebox_core::name::PipelineName;
use sluicebox_core::position::{Advance, PartitionId, Positions, TopicId};

use crate::fault::{Fault, Result};
use crate::layout::{POSITIONS, Position, PositionKey};

/// All positions of a pipeline.
pub(crate) fn load(table: &impl ReadableTable<PositionKey, Position>, pipeline: &PipelineName) -> Result<Positions> {
    let mut positions = Positions::default();
    for row in table.range((pipeline.as_str(), "", [0; 16], i32::MIN)..)? {
        let (key, value) = row?;
        let (owner, cluster, topic_id, partition) = key.value();
        if owner != pipeline.as_str() {
            break;
        }
        let (topic, position) = value.value();
        let id = PartitionId { cluster: cluster.into(), topic_id: TopicId(topic_id), topic: topic.into(), partition };
        positions.set(id, position);
    }
    Ok(positions)
}

/// Applies advances in order (invariant 1: in the transaction that holds what the records caused).
pub(crate) fn advance(txn: &WriteTransaction, pipeline: &PipelineName, advances: &[Advance]) -> Result<()> {
    if advances.is_empty() {
        return Ok(());
    }
    let mut table = txn.open_table(POSITIONS)?;
    let mut positions = load(&table, pipeline)?;
    for advance in advances {
        let refused = |e| Fault::Port(Error::fatal(Domain::State, format!("pipeline {pipeline}: {e}")));
        positions.apply(advance).map_err(refused)?;
    }
    for advance in advances {
        let p = &advance.partition;
        let next = positions.get(p).unwrap_or(advance.to);
        table.insert((pipeline.as_str(), &*p.cluster, p.topic_id.0, p.partition), (&*p.topic, next))?;
    }
    Ok(())
}
