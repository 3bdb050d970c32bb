//! Topics and partitions as the reader knows them.

use std::ffi::CString;
use std::sync::Arc;

use rdkafka::error::RDKafkaErrorCode;
use sluicebox_core::position::{PartitionId, TopicId};
use sluicebox_core::{Domain, Error, Result};

use crate::ffi::Description;

/// A topic that the pipeline names.
#[derive(Debug)]
pub(crate) struct Topic {
    /// Its name.
    pub(crate) name: Arc<str>,
    /// Its name for librdkafka.
    pub(crate) native: CString,
    /// Its identity, once it was seen.
    pub(crate) id: Option<TopicId>,
    /// Partitions taken up, by number: indexes into the reader's list.
    pub(crate) partitions: Vec<usize>,
}

/// A partition that is read.
#[derive(Debug)]
pub(crate) struct Partition {
    /// For all time.
    pub(crate) id: PartitionId,
    /// Its topic: an index into the reader's list.
    pub(crate) topic: usize,
    /// The next offset to read.
    pub(crate) position: i64,
    /// The position of the last batch handed over.
    pub(crate) handed: i64,
    /// The newest known high watermark.
    pub(crate) high: i64,
    /// The last stable offset seen at start.
    pub(crate) end: i64,
    /// Whether a run that ends has passed `end`.
    pub(crate) done: bool,
    /// Its number in the batch with this number.
    pub(crate) slot: Option<(u32, u32)>,
}

impl Topic {
    /// A topic that nobody has looked for yet.
    ///
    /// # Errors
    /// A name that no topic can have.
    pub(crate) fn new(name: &str) -> Result<Self> {
        let native =
            CString::new(name).map_err(|_| Error::config(format!("topic {name:?}: a name cannot contain a zero byte")))?;
        Ok(Self { name: name.into(), native, id: None, partitions: Vec::new() })
    }

    /// What a description says, measured by what is known.
    pub(crate) fn compare(&self, description: &Description) -> Seen {
        match &description.partitions {
            Err((RDKafkaErrorCode::UnknownTopicOrPartition | RDKafkaErrorCode::UnknownTopic, _)) => Seen::Missing,
            Err((RDKafkaErrorCode::LeaderNotAvailable, _)) if self.partitions.is_empty() => Seen::Unready,
            Err((RDKafkaErrorCode::LeaderNotAvailable, _)) => Seen::Same,
            Err((code, words)) => Seen::Refused(*code, words.clone()),
            Ok(0) => Seen::Missing,
            Ok(count) => {
                let id = description.id.unwrap_or_else(|| nameless(&self.name));
                match self.id {
                    Some(known) if known != id => Seen::MadeAgain,
                    _ if usize::try_from(*count).unwrap_or(0) > self.partitions.len() => Seen::Grown(id, *count),
                    _ => Seen::Same,
                }
            }
        }
    }
}

/// What a look at a topic found.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Seen {
    /// Nothing new.
    Same,
    /// It is there, but not yet ready to be read.
    Unready,
    /// More partitions than are read, of the topic with this id.
    Grown(TopicId, i32),
    /// Another topic under the same name.
    MadeAgain,
    /// The cluster does not have it.
    Missing,
    /// The cluster does not tell.
    Refused(RDKafkaErrorCode, String),
}

/// The identity of a topic in a cluster that gives none (Kafka before 2.8): made from its name (FNV-1a, 128 bits), so it stays the same
/// when the topic is made again. There, only a position that is out of range shows that it was.
pub(crate) fn nameless(name: &str) -> TopicId {
    let step = |hash: u128, byte: u8| (hash ^ u128::from(byte)).wrapping_mul(0x0000_0000_0100_0000_0000_0000_0000_013b);
    TopicId(name.bytes().fold(0x6c62_272e_07bb_0142_62b8_2175_6295_c58d, step).to_be_bytes())
}

/// Words for a topic that was made again.
pub(crate) fn made_again(topic: &str) -> Error {
    Error::fatal(
        Domain::Broker,
        format!(
            "topic {topic} was deleted and made again: the positions of the old one mean nothing in it; to read the new one from its oldest record, give the pipeline and its tables new names, or move the store away"
        ),
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    fn described(id: Option<TopicId>, partitions: Result<i32, (RDKafkaErrorCode, String)>) -> Description {
        Description { topic: "t".into(), id, partitions }
    }

    #[test]
    fn a_look_at_a_topic() {
        let (old, new) = (TopicId([1; 16]), TopicId([2; 16]));
        let mut topic = Topic::new("t").unwrap();
        assert_eq!(topic.compare(&described(Some(old), Ok(2))), Seen::Grown(old, 2));
        (topic.id, topic.partitions) = (Some(old), vec![0, 1]);
        assert_eq!(topic.compare(&described(Some(old), Ok(2))), Seen::Same);
        assert_eq!(topic.compare(&described(Some(old), Ok(3))), Seen::Grown(old, 3));
        assert_eq!(topic.compare(&described(Some(new), Ok(2))), Seen::MadeAgain);
        assert_eq!(topic.compare(&described(None, Err((RDKafkaErrorCode::UnknownTopicOrPartition, "".into())))), Seen::Missing);
        let refused = (RDKafkaErrorCode::TopicAuthorizationFailed, "no".to_owned());
        assert_eq!(topic.compare(&described(None, Err(refused.clone()))), Seen::Refused(refused.0, refused.1));
        assert!(Topic::new("a\0b").is_err());
    }

    #[test]
    fn a_cluster_without_ids_gives_a_topic_the_same_one_each_time() {
        assert_eq!(nameless("orders"), nameless("orders"));
        assert_ne!(nameless("orders"), nameless("orders-eu"));
    }
}
