//! What one message, or event of a partition, does to the batch and to the partition.

use rdkafka::error::RDKafkaErrorCode;
use sluicebox_core::{Domain, Error};

use crate::ffi::Taken;
use crate::filling::Filling;
use crate::partition::{Partition, Topic};
use crate::properties;

/// What one message did.
pub(super) enum Consumed {
    /// It is in the batch, or was an end of partition.
    Read,
    /// Topics have to be looked at.
    Look,
    /// The position of this partition is gone.
    Gone(usize),
    /// The partition of this topic may not be read.
    Closed(RDKafkaErrorCode, String, String),
    /// The reader cannot go on.
    Broken(Error),
}

/// The partition that a message came from.
pub(super) fn find(topics: &[Topic], taken: &Taken<'_>) -> Option<usize> {
    let number = usize::try_from(taken.partition()).ok()?;
    let topic = topics.iter().find(|topic| topic.name.as_bytes() == taken.topic())?;
    topic.partitions.get(number).copied()
}

/// Takes one message or event of a partition.
pub(super) fn consume(
    index: Option<usize>,
    partitions: &mut [Partition],
    filling: &mut Filling,
    taken: &Taken<'_>,
    stop_at_end: bool,
    ended: &mut Vec<usize>,
) -> Consumed {
    let Some((index, partition)) = index.and_then(|index| Some((index, partitions.get_mut(index)?))) else {
        return Consumed::Look;
    };
    let was_done = partition.done;
    if stop_at_end && was_done {
        return Consumed::Read;
    }
    let offset = taken.offset();
    match taken.error() {
        // What is older than the position was delivered before a restart of the partition.
        None if offset < partition.position => return Consumed::Read,
        // Written after the start of a run that ends.
        None if stop_at_end && offset >= partition.end => filling.move_to(partition, partition.end),
        None => filling.push(partition, taken),
        Some(RDKafkaErrorCode::PartitionEOF) => {
            let to = if stop_at_end { offset.min(partition.end) } else { offset };
            filling.move_to(partition, to);
        }
        Some(code) => return event(index, partition, code, taken),
    }
    partition.done = partition.position >= partition.end;
    if stop_at_end && partition.done && !was_done {
        ended.push(index);
    }
    Consumed::Read
}

/// What an error of a partition means.
fn event(index: usize, partition: &Partition, code: RDKafkaErrorCode, taken: &Taken<'_>) -> Consumed {
    use RDKafkaErrorCode as Code;
    match code {
        Code::AutoOffsetReset | Code::OffsetOutOfRange => Consumed::Gone(index),
        Code::UnknownTopicOrPartition
        | Code::UnknownTopic
        | Code::UnknownPartition
        | Code::LeaderNotAvailable
        | Code::NotLeaderForPartition
        | Code::BrokerTransportFailure
        | Code::AllBrokersDown
        | Code::OperationTimedOut
        | Code::RequestTimedOut
        | Code::BrokerNotAvailable => Consumed::Look,
        Code::TopicAuthorizationFailed => Consumed::Closed(code, partition.id.topic.to_string(), taken.words()),
        _ => Consumed::Broken(Error::fatal(
            Domain::Broker,
            format!("{}@{}: the records cannot be read: {}", partition.id, taken.offset(), properties::fragment(&taken.words())),
        )),
    }
}
