//! Progress as intervals: apply or refuse.

use std::collections::BTreeMap;
use std::fmt;
use std::sync::Arc;

use crate::start::Gap;

/// Identity of a Kafka cluster, as the cluster itself reports it.
pub type ClusterId = Arc<str>;

/// Identity of a topic: another one when a topic is deleted and made again under the same name.
#[derive(Clone, Copy, PartialEq, Eq, Hash, PartialOrd, Ord, Default)]
pub struct TopicId(pub [u8; 16]);

impl fmt::Display for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.0.iter().try_for_each(|byte| write!(f, "{byte:02x}"))
    }
}

impl fmt::Debug for TopicId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Display::fmt(self, f)
    }
}

/// A partition for all time: cluster, topic (by identity, with its name for people) and number.
#[derive(Debug, Clone, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct PartitionId {
    /// The cluster.
    pub cluster: ClusterId,
    /// The topic's identity.
    pub topic_id: TopicId,
    /// The topic's name.
    pub topic: Arc<str>,
    /// The partition's number.
    pub partition: i32,
}

impl fmt::Display for PartitionId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}-{}", self.topic, self.partition)
    }
}

/// What was consumed of one partition: offsets from `from` up to, not with, `to`. A position is the next offset to read.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Advance {
    /// The partition.
    pub partition: PartitionId,
    /// Position before.
    pub from: i64,
    /// Position after; never below `from`.
    pub to: i64,
}

/// Next offset to read, per partition.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct Positions(BTreeMap<PartitionId, i64>);

/// Why an advance was refused: applying it would lose or repeat records.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("{partition}: the position is {stored}, but the batch covers {from} up to {to}: applying it would {harm} records")]
pub struct Refused {
    /// The partition.
    pub partition: PartitionId,
    /// The position that is stored.
    pub stored: i64,
    /// Where the advance begins.
    pub from: i64,
    /// Where it ends.
    pub to: i64,
    /// `lose` or `repeat`.
    pub harm: &'static str,
}

impl Positions {
    /// The next offset to read.
    pub fn get(&self, partition: &PartitionId) -> Option<i64> {
        self.0.get(partition).copied()
    }

    /// Sets a position, as a start or an accepted gap does.
    pub fn set(&mut self, partition: PartitionId, position: i64) {
        self.0.insert(partition, position);
    }

    /// Applies an advance.
    ///
    /// | stored | advance | result |
    /// |---|---|---|
    /// | none | any | taken: the source began here |
    /// | = from | any | taken |
    /// | < from | | refused: would lose `stored..from` |
    /// | > from | | refused: would repeat `from..stored` |
    ///
    /// # Errors
    /// [`Refused`], with nothing changed.
    pub fn apply(&mut self, advance: &Advance) -> Result<(), Refused> {
        let stored = self.get(&advance.partition).unwrap_or(advance.from);
        let harm = match stored.cmp(&advance.from) {
            std::cmp::Ordering::Equal => {
                self.set(advance.partition.clone(), advance.to);
                return Ok(());
            }
            std::cmp::Ordering::Less => "lose",
            std::cmp::Ordering::Greater => "repeat",
        };
        let Advance { partition, from, to } = advance.clone();
        Err(Refused { partition, stored, from, to, harm })
    }

    /// Passes over records that are gone: the position moves from `gap.wanted` to `gap.taken`. A gap found twice changes nothing.
    pub fn pass(&mut self, partition: &PartitionId, gap: Gap) {
        if self.get(partition).is_none_or(|stored| stored == gap.wanted) {
            self.set(partition.clone(), gap.taken);
        }
    }

    /// All positions, in order.
    pub fn iter(&self) -> impl Iterator<Item = (&PartitionId, i64)> {
        self.0.iter().map(|(p, o)| (p, *o))
    }

    /// Whether there is none.
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl FromIterator<(PartitionId, i64)> for Positions {
    fn from_iter<I: IntoIterator<Item = (PartitionId, i64)>>(iter: I) -> Self {
        Self(iter.into_iter().collect())
    }
}

#[cfg(test)]
pub(crate) mod tests {
    use super::*;
    use proptest::prelude::*;

    pub(crate) fn partition(topic: &str, number: i32) -> PartitionId {
        PartitionId { cluster: "c".into(), topic_id: TopicId([7; 16]), topic: topic.into(), partition: number }
    }

    fn advance(from: i64, to: i64) -> Advance {
        Advance { partition: partition("t", 0), from, to }
    }

    #[test]
    fn the_truth_table() {
        let mut positions = Positions::default();
        assert_eq!(positions.apply(&advance(3, 5)), Ok(()));
        assert_eq!(positions.apply(&advance(5, 9)), Ok(()));
        assert_eq!(positions.apply(&advance(10, 11)).map_err(|r| r.harm), Err("lose"));
        assert_eq!(positions.apply(&advance(8, 11)).map_err(|r| r.harm), Err("repeat"));
        assert_eq!(positions.get(&partition("t", 0)), Some(9));
    }

    #[test]
    fn a_gap_is_passed_once() {
        let mut positions: Positions = [(partition("t", 0), 9)].into_iter().collect();
        positions.pass(&partition("t", 0), Gap { wanted: 9, taken: 30 });
        positions.pass(&partition("t", 0), Gap { wanted: 9, taken: 40 });
        assert_eq!(positions.get(&partition("t", 0)), Some(30));
        assert_eq!(positions.apply(&advance(30, 31)), Ok(()));
    }

    #[test]
    fn a_topic_made_again_has_no_position() {
        let old = partition("t", 0);
        let positions: Positions = [(old.clone(), 9)].into_iter().collect();
        assert_eq!(positions.get(&PartitionId { topic_id: TopicId([8; 16]), ..old }), None);
    }

    proptest! {
        #[test]
        fn consecutive_advances_add_up_and_others_change_nothing(steps in prop::collection::vec((0i64..50, 0i64..50), 1..40)) {
            let mut positions = Positions::default();
            positions.set(partition("t", 0), 0);
            let mut expected = 0;
            for (from, len) in steps {
                let taken = positions.apply(&advance(from, from + len)).is_ok();
                prop_assert_eq!(taken, from == expected);
                if taken { expected = from + len; }
                prop_assert_eq!(positions.get(&partition("t", 0)), Some(expected));
            }
        }
    }
}
