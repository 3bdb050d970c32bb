//! Topics and partitions of a reader: looked at once a second, taken up, and started again behind a gap.

use std::time::{Duration, Instant};

use rdkafka::consumer::Consumer;
use rdkafka::error::{KafkaError, RDKafkaErrorCode};
use rdkafka::topic_partition_list::{Offset, TopicPartitionList};
use sluicebox_core::port::SourceEvent;
use sluicebox_core::position::{PartitionId, TopicId};
use sluicebox_core::{Error, Result};

use super::Reader;
use crate::ffi::Description;
use crate::lookup::{Beginning, Obstacle, REQUEST_TIMEOUT, Rules};
use crate::partition::{Partition, Seen, made_again};

/// How often topics are looked at: new partitions, deleted topics and topics made again are seen within this time.
const METADATA_INTERVAL: Duration = Duration::from_secs(1);
/// A partition that is started again is forwarded again for this long: librdkafka undoes the forward when its stop completes, which
/// it does not tell.
const RESTART_TIME: Duration = Duration::from_secs(10);

impl Reader {
    /// Asks for topics when it is time to, and takes what is answered.
    pub(super) fn serve_topics(&mut self) -> Result<()> {
        let now = Instant::now();
        if let Some(answer) = self.describer.answer() {
            let asked = self.asked.take().unwrap_or(now);
            match answer {
                Ok(descriptions) => self.answered(&descriptions, asked)?,
                Err((code, words)) => self.unanswered(code, &words)?,
            }
        }
        // An answer always comes, within its time-out; twice that is a client that lost it.
        let waiting = self.asked.is_some_and(|asked| now < asked + 2 * REQUEST_TIMEOUT);
        if !waiting && now >= self.look_at {
            self.look_at = now + METADATA_INTERVAL;
            let names: Vec<_> = self.topics.iter().map(|topic| topic.native.clone()).collect();
            match self.describer.ask(&names, REQUEST_TIMEOUT) {
                Ok(()) => self.asked = Some(now),
                Err((code, words)) => self.unanswered(code, &words)?,
            }
        }
        Ok(())
    }

    /// Topics as the cluster has them, asked for at `asked`.
    fn answered(&mut self, descriptions: &[Description], asked: Instant) -> Result<()> {
        self.answered_at = Instant::now();
        let event = self.health.answered();
        self.say(event)?;
        self.missing.clear();
        let (mut grown, mut ready) = (Vec::new(), true);
        for index in 0..self.topics.len() {
            let Some(description) = descriptions.iter().find(|d| d.topic == *self.topics[index].name) else {
                ready = false;
                continue;
            };
            match self.topics[index].compare(description) {
                Seen::Same => {}
                Seen::Unready => ready = false,
                Seen::Grown(id, count) => grown.push((index, id, count)),
                Seen::MadeAgain => return Err(made_again(&self.topics[index].name)),
                Seen::Missing => self.missing.push(index),
                Seen::Refused(code, words) => {
                    let topic = self.topics[index].name.clone();
                    let event = self.health.unreadable(code, &topic, &words);
                    self.say(event)?;
                }
            }
        }
        let names: Vec<&str> = self.missing.iter().map(|index| &*self.topics[*index].name).collect();
        let event = self.health.missing(&names);
        self.say(event)?;
        if asked >= self.doubt_at {
            (self.suspect, self.confirmed) = (false, true);
        } else {
            self.look_at = Instant::now();
        }
        self.take_up(&grown, ready)
    }

    /// The cluster gave no answer, or refuses one.
    fn unanswered(&mut self, code: RDKafkaErrorCode, words: &str) -> Result<()> {
        self.describer.forget_brokers();
        let event = match code {
            RDKafkaErrorCode::OperationTimedOut | RDKafkaErrorCode::BrokerTransportFailure => {
                // A slow handshake is no outage.
                let away = self.answered_at.elapsed() >= REQUEST_TIMEOUT;
                away.then(|| self.health.unanswered(words)).flatten()
            }
            _ => self.health.error(code, words),
        };
        self.say(event)
    }

    /// The rules for beginnings, once the cluster's id is known.
    fn rules(&mut self) -> Option<Rules> {
        if self.rules.is_none() {
            let cluster = self.client.client().fetch_cluster_id(REQUEST_TIMEOUT)?;
            self.rules = Some(Rules {
                cluster: cluster.into(),
                start: self.settings.start,
                out_of_range: self.settings.out_of_range,
                positions: self.settings.positions.clone(),
            });
        }
        self.rules.clone()
    }

    /// Takes up partitions that are new to the reader.
    fn take_up(&mut self, grown: &[(usize, TopicId, i32)], ready: bool) -> Result<()> {
        if grown.is_empty() {
            self.begun |= ready;
            return Ok(());
        }
        let Some(rules) = self.rules() else {
            let event = self.health.unanswered("the cluster does not tell its id");
            return self.say(event);
        };
        let late = self.begun;
        let mut list = TopicPartitionList::new();
        let mut ended = Vec::new();
        for (topic, id, count) in grown {
            let known = i32::try_from(self.topics[*topic].partitions.len()).unwrap_or(i32::MAX);
            let numbers: Vec<i32> = (known..*count).collect();
            match rules.begin(&self.client, &self.topics[*topic].name.clone(), *id, &numbers, late) {
                Ok(begun) => {
                    self.topics[*topic].id = Some(*id);
                    for (partition, beginning) in begun {
                        self.adopt(*topic, partition, beginning, &mut list, &mut ended)?;
                    }
                }
                Err(Obstacle::Stop(error)) => return Err(error),
                Err(Obstacle::Later(error)) => {
                    self.put_off(&error)?;
                    self.assign(&list, &ended)?;
                    return Ok(());
                }
            }
        }
        self.assign(&list, &ended)?;
        self.begun |= ready;
        self.count_lag();
        Ok(())
    }

    /// Remembers a partition and tells the pipeline of it.
    fn adopt(
        &mut self,
        topic: usize,
        id: PartitionId,
        beginning: Beginning,
        list: &mut TopicPartitionList,
        ended: &mut Vec<usize>,
    ) -> Result<()> {
        let Beginning { position, gap, end } = beginning;
        if let Some(gap) = gap {
            self.outbox.put(SourceEvent::Gap { partition: id.clone(), gap });
        }
        self.outbox.put(SourceEvent::Assigned { partition: id.clone(), position });
        self.queue.forward(&self.topics[topic].native, id.partition);
        list.add_partition_offset(&id.topic, id.partition, Offset::Offset(position)).map_err(unexpected)?;
        let index = self.partitions.len();
        let done = position >= end;
        if done && self.settings.stop_at_end {
            ended.push(index);
        }
        self.topics[topic].partitions.push(index);
        self.partitions.push(Partition { id, topic, position, handed: position, high: end, end, done, slot: None });
        Ok(())
    }

    fn assign(&self, list: &TopicPartitionList, ended: &[usize]) -> Result<()> {
        if list.count() > 0 {
            self.client.incremental_assign(list).map_err(unexpected)?;
        }
        self.pause(ended)
    }

    /// The cluster did not answer in the middle: it is asked again with the next look.
    fn put_off(&mut self, error: &KafkaError) -> Result<()> {
        let code = error.rdkafka_error_code().unwrap_or(RDKafkaErrorCode::Fail);
        let event = self.health.error(code, &error.to_string());
        self.say(event)
    }

    /// Goes on behind records that are gone, as the configuration says.
    pub(super) fn replace_gone(&mut self) -> Result<()> {
        while let Some(index) = self.gone.last().copied() {
            let Some(rules) = self.rules() else { return Ok(()) };
            let (id, wanted) = (self.partitions[index].id.clone(), self.partitions[index].position);
            match rules.again(&self.client, &id, wanted) {
                Ok(beginning) => {
                    if !self.flush()? {
                        return Ok(());
                    }
                    self.restart(index, beginning)?;
                    self.gone.pop();
                }
                Err(Obstacle::Stop(error)) => return Err(error),
                Err(Obstacle::Later(error)) => return self.put_off(&error),
            }
        }
        Ok(())
    }

    fn restart(&mut self, index: usize, beginning: Beginning) -> Result<()> {
        let partition = &mut self.partitions[index];
        if let Some(gap) = beginning.gap {
            self.outbox.put(SourceEvent::Gap { partition: partition.id.clone(), gap });
            self.outbox.put(SourceEvent::Assigned { partition: partition.id.clone(), position: beginning.position });
        }
        (partition.position, partition.handed) = (beginning.position, beginning.position);
        partition.high = partition.high.max(beginning.end);
        partition.done = partition.done || partition.position >= partition.end;
        let done = partition.done && self.settings.stop_at_end;
        let mut list = TopicPartitionList::with_capacity(1);
        let offset = Offset::Offset(beginning.position);
        list.add_partition_offset(&partition.id.topic, partition.id.partition, offset).map_err(unexpected)?;
        self.client.incremental_unassign(&list).map_err(unexpected)?;
        self.client.incremental_assign(&list).map_err(unexpected)?;
        self.restarted.push((index, Instant::now() + RESTART_TIME));
        self.pause(if done { std::slice::from_ref(&index) } else { &[] })
    }

    /// Stops fetching partitions of which nothing more is wanted.
    pub(super) fn pause(&self, ended: &[usize]) -> Result<()> {
        if ended.is_empty() {
            return Ok(());
        }
        let mut list = TopicPartitionList::with_capacity(ended.len());
        for index in ended {
            let partition = &self.partitions[*index].id;
            list.add_partition(&partition.topic, partition.partition);
        }
        self.client.pause(&list).map_err(unexpected)
    }
}

fn unexpected(error: KafkaError) -> Error {
    Error::internal(format!("the Kafka client refuses an assignment: {error}"))
}
