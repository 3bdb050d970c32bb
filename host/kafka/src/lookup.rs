//! Asks the cluster what it takes to decide where partitions begin: oldest and newest offsets, the group's, those of a time.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, KafkaResult};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use sluicebox_core::position::{ClusterId, PartitionId, Positions, TopicId};
use sluicebox_core::start::{Begin, Gap, OutOfRange, PartitionFacts, Start, begin, within};
use sluicebox_core::{Domain, Error};

use crate::ffi::Client;
use crate::partition::made_again;

/// A request to the cluster may take this long; the reader tries again later.
pub(crate) const REQUEST_TIMEOUT: Duration = Duration::from_secs(3);

/// Where to begin, and what is there.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Beginning {
    /// The next offset to read.
    pub(crate) position: i64,
    /// Records that are gone.
    pub(crate) gap: Option<Gap>,
    /// The last stable offset.
    pub(crate) end: i64,
}

/// Why partitions cannot begin.
#[derive(Debug)]
pub(crate) enum Obstacle {
    /// The pipeline must stop.
    Stop(Error),
    /// The cluster did not answer.
    Later(KafkaError),
}

impl From<KafkaError> for Obstacle {
    fn from(error: KafkaError) -> Self {
        Self::Later(error)
    }
}

/// What decides where partitions begin.
#[derive(Debug, Clone)]
pub(crate) struct Rules {
    /// The cluster.
    pub(crate) cluster: ClusterId,
    /// `start` of the pipeline.
    pub(crate) start: Start,
    /// `on_offset_out_of_range` of the pipeline.
    pub(crate) out_of_range: OutOfRange,
    /// Positions that the store has.
    pub(crate) positions: Positions,
}

type Offsets = HashMap<i32, i64>;

impl Rules {
    /// Whether the store has positions of this cluster.
    pub(crate) fn known_pipeline(&self) -> bool {
        self.positions.iter().any(|(partition, _)| partition.cluster == self.cluster)
    }

    /// Whether the store has positions of a topic of this name with another id, and none with this one.
    fn made_again(&self, topic: &str, id: TopicId) -> bool {
        let same_name = |p: &&PartitionId| p.cluster == self.cluster && &*p.topic == topic;
        let mut ids = self.positions.iter().map(|(p, _)| p).filter(same_name).map(|p| p.topic_id).peekable();
        ids.peek().is_some() && ids.all(|other| other != id)
    }

    /// Decides where partitions of a topic begin. `late`: the source ran before they were seen.
    pub(crate) fn begin(
        &self,
        client: &Client,
        topic: &Arc<str>,
        id: TopicId,
        numbers: &[i32],
        late: bool,
    ) -> Result<Vec<(PartitionId, Beginning)>, Obstacle> {
        let made_again_before = self.made_again(topic, id);
        if made_again_before {
            return Err(Obstacle::Stop(made_again(topic)));
        }
        let known_pipeline = late || self.known_pipeline();
        let low = offsets(client, topic, numbers, Offset::Beginning)?;
        let high = offsets(client, topic, numbers, Offset::End)?;
        let (mut group, mut at_time) = (Offsets::new(), Offsets::new());
        match self.start {
            _ if known_pipeline => {}
            Start::Group => group = committed(client, topic, numbers)?,
            Start::Time(millis) => at_time = offsets(client, topic, numbers, Offset::Offset(millis))?,
            Start::Earliest | Start::Latest => {}
        }
        let decide = |number: &i32| {
            let partition = PartitionId { cluster: self.cluster.clone(), topic_id: id, topic: topic.clone(), partition: *number };
            let (low, high) = bounds(&low, &high, *number)?;
            let facts = PartitionFacts {
                stored: self.positions.get(&partition),
                made_again: made_again_before,
                known_pipeline,
                group: group.get(number).copied(),
                at_time: at_time.get(number).copied(),
                low,
                high,
            };
            let beginning = settle(&partition, begin(facts, self.start, self.out_of_range), facts)?;
            Ok((partition, beginning))
        };
        numbers.iter().map(decide).collect()
    }

    /// Decides what a running reader does whose position is gone.
    pub(crate) fn again(&self, client: &Client, partition: &PartitionId, wanted: i64) -> Result<Beginning, Obstacle> {
        let numbers = [partition.partition];
        let low = offsets(client, &partition.topic, &numbers, Offset::Beginning)?;
        let high = offsets(client, &partition.topic, &numbers, Offset::End)?;
        let (low, high) = bounds(&low, &high, partition.partition)?;
        let facts = PartitionFacts {
            stored: Some(wanted),
            made_again: false,
            known_pipeline: true,
            group: None,
            at_time: None,
            low,
            high,
        };
        settle(partition, within(wanted, facts, self.out_of_range), facts)
    }
}

/// What a decision means for the reader.
fn settle(partition: &PartitionId, decision: Begin, facts: PartitionFacts) -> Result<Beginning, Obstacle> {
    let PartitionFacts { low, high, .. } = facts;
    match decision {
        Begin::At(position) => Ok(Beginning { position, gap: None, end: high }),
        Begin::After(gap) => Ok(Beginning { position: gap.taken, gap: Some(gap), end: high }),
        Begin::MadeAgain => Err(Obstacle::Stop(made_again(&partition.topic))),
        Begin::Refuse(Gap { wanted, .. }) => {
            let lost = if wanted < low {
                format!("{} records were deleted before they were read", low - wanted)
            } else {
                "the log is shorter than it was".to_owned()
            };
            Err(Obstacle::Stop(Error::fatal(
                Domain::Broker,
                format!(
                    "{partition}: offset {wanted} is wanted, but the broker has {low} to {high}: {lost}; set `on_offset_out_of_range` to `earliest` or `latest` to go on, which writes the gap to the audit"
                ),
            )))
        }
    }
}

fn bounds(low: &Offsets, high: &Offsets, number: i32) -> KafkaResult<(i64, i64)> {
    let absent = || KafkaError::OffsetFetch(rdkafka::error::RDKafkaErrorCode::UnknownPartition);
    let high = high.get(&number).copied().ok_or_else(absent)?;
    Ok((low.get(&number).copied().unwrap_or(high), high))
}

/// Offsets of all partitions in one request a broker: the oldest, the end (the last stable offset, for the client reads committed
/// records only), or those of a time, where a partition without a record that late has none.
fn offsets(client: &Client, topic: &str, numbers: &[i32], what: Offset) -> KafkaResult<Offsets> {
    read(client.offsets_for_times(list(topic, numbers, what)?, REQUEST_TIMEOUT)?)
}

/// Offsets that the group has committed.
fn committed(client: &Client, topic: &str, numbers: &[i32]) -> KafkaResult<Offsets> {
    read(client.committed_offsets(list(topic, numbers, Offset::Invalid)?, REQUEST_TIMEOUT)?)
}

fn list(topic: &str, numbers: &[i32], offset: Offset) -> KafkaResult<TopicPartitionList> {
    let mut list = TopicPartitionList::with_capacity(numbers.len());
    for number in numbers {
        list.add_partition_offset(topic, *number, offset)?;
    }
    Ok(list)
}

fn read(list: TopicPartitionList) -> KafkaResult<Offsets> {
    let mut offsets = Offsets::new();
    for element in list.elements() {
        element.error()?;
        if let Offset::Offset(offset) = element.offset() {
            offsets.insert(element.partition(), offset);
        }
    }
    Ok(offsets)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn partition(topic: &str, id: u8, cluster: &str) -> PartitionId {
        PartitionId { cluster: cluster.into(), topic_id: TopicId([id; 16]), topic: topic.into(), partition: 0 }
    }

    fn rules(positions: &[PartitionId]) -> Rules {
        let positions = positions.iter().map(|p| (p.clone(), 5)).collect();
        Rules { cluster: "c".into(), start: Start::Earliest, out_of_range: OutOfRange::Fail, positions }
    }

    #[test]
    fn made_again_is_another_id_and_none_of_ours() {
        let old = partition("t", 1, "c");
        assert!(rules(std::slice::from_ref(&old)).made_again("t", TopicId([2; 16])));
        assert!(!rules(std::slice::from_ref(&old)).made_again("t", TopicId([1; 16])));
        assert!(!rules(std::slice::from_ref(&old)).made_again("u", TopicId([2; 16])));
        assert!(!rules(&[old, partition("t", 2, "c")]).made_again("t", TopicId([2; 16])), "the new one was accepted");
        assert!(!rules(&[partition("t", 1, "d")]).made_again("t", TopicId([2; 16])), "another cluster");
        assert!(!rules(&[]).made_again("t", TopicId([2; 16])));
    }

    #[test]
    fn b058_a_refusal_names_partition_wanted_available_and_lost() {
        let facts = PartitionFacts {
            stored: Some(100),
            made_again: false,
            known_pipeline: true,
            group: None,
            at_time: None,
            low: 5000,
            high: 6000,
        };
        let refuse = Begin::Refuse(Gap { wanted: 100, taken: 5000 });
        let Err(Obstacle::Stop(error)) = settle(&partition("t", 1, "c"), refuse, facts) else { panic!("it must stop") };
        let expected =
            "t-0: offset 100 is wanted, but the broker has 5000 to 6000: 4900 records were deleted before they were read";
        assert!(error.message.starts_with(expected), "{error}");
    }
}
