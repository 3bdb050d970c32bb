//! Where a partition begins, decided from facts alone (DESIGN: delivery).

/// `start` of a pipeline: counts only while no position is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum Start {
    /// The oldest record.
    #[default]
    Earliest,
    /// What comes after now.
    Latest,
    /// Where the consumer group stands, else the oldest record.
    Group,
    /// The first record at or after this time: milliseconds since 1970 UTC.
    Time(i64),
}

/// `on_offset_out_of_range` of a pipeline: the stored position is gone from the broker.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
pub enum OutOfRange {
    /// Stop the pipeline with words.
    #[default]
    Fail,
    /// Go on at the oldest record; the gap is written to the audit.
    Earliest,
    /// Go on at the end; the gap is written to the audit.
    Latest,
}

/// What is known of a partition when it is taken up.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct PartitionFacts {
    /// Our stored position for this very topic id.
    pub stored: Option<i64>,
    /// The store has positions of a topic of this name with another id.
    pub made_again: bool,
    /// The pipeline has stored positions before: a partition without one is new, whatever `start` says.
    pub known_pipeline: bool,
    /// The group's committed offset, when `start: group` asked for it.
    pub group: Option<i64>,
    /// The offset of the time that `start` names, when it asked for it; `None` when no record is that late.
    pub at_time: Option<i64>,
    /// The oldest offset that the broker has.
    pub low: i64,
    /// The next offset that the broker will give.
    pub high: i64,
}

/// Records that are gone.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Gap {
    /// The position that was wanted.
    pub wanted: i64,
    /// The position taken instead.
    pub taken: i64,
}

/// What to do with the partition.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub enum Begin {
    /// Read from this offset.
    At(i64),
    /// Read from `taken`; write the gap to the audit.
    After(Gap),
    /// The position is out of range and the pipeline says to fail.
    Refuse(Gap),
    /// The topic was made again: its old positions mean nothing, and nobody accepted that yet.
    MadeAgain,
}

/// Decides where a partition begins.
pub fn begin(facts: PartitionFacts, start: Start, out_of_range: OutOfRange) -> Begin {
    if let Some(stored) = facts.stored {
        return within(stored, facts, out_of_range);
    }
    if facts.made_again {
        return Begin::MadeAgain;
    }
    if facts.known_pipeline {
        return Begin::At(facts.low);
    }
    match start {
        Start::Earliest => Begin::At(facts.low),
        Start::Latest => Begin::At(facts.high),
        Start::Group => facts.group.map_or(Begin::At(facts.low), |group| within(group, facts, out_of_range)),
        Start::Time(_) => Begin::At(facts.at_time.unwrap_or(facts.high).max(facts.low)),
    }
}

/// Also what to do when a running reader finds its position gone.
pub fn within(wanted: i64, facts: PartitionFacts, out_of_range: OutOfRange) -> Begin {
    if (facts.low..=facts.high).contains(&wanted) {
        return Begin::At(wanted);
    }
    let gap = |taken| Gap { wanted, taken };
    match out_of_range {
        OutOfRange::Fail => Begin::Refuse(gap(facts.low)),
        OutOfRange::Earliest => Begin::After(gap(facts.low)),
        OutOfRange::Latest => Begin::After(gap(facts.high)),
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const FACTS: PartitionFacts =
        PartitionFacts { stored: None, made_again: false, known_pipeline: false, group: None, at_time: None, low: 10, high: 20 };

    #[test]
    fn start_counts_only_while_nothing_is_stored() {
        for start in [Start::Earliest, Start::Latest, Start::Group, Start::Time(5)] {
            let stored = PartitionFacts { stored: Some(12), group: Some(15), ..FACTS };
            assert_eq!(begin(stored, start, OutOfRange::Fail), Begin::At(12));
            let new_partition = PartitionFacts { known_pipeline: true, ..FACTS };
            assert_eq!(
                begin(new_partition, start, OutOfRange::Fail),
                Begin::At(10),
                "a new partition begins at its oldest record"
            );
        }
    }

    #[test]
    fn a_first_start_follows_the_key() {
        let first = |start, facts| begin(facts, start, OutOfRange::Fail);
        assert_eq!(first(Start::Earliest, FACTS), Begin::At(10));
        assert_eq!(first(Start::Latest, FACTS), Begin::At(20));
        assert_eq!(first(Start::Group, FACTS), Begin::At(10));
        assert_eq!(first(Start::Group, PartitionFacts { group: Some(13), ..FACTS }), Begin::At(13));
        assert_eq!(first(Start::Time(1), PartitionFacts { at_time: Some(14), ..FACTS }), Begin::At(14));
        assert_eq!(first(Start::Time(1), FACTS), Begin::At(20), "no record is that late");
    }

    #[test]
    fn a_position_that_is_gone_follows_the_key_and_is_never_silent() {
        for (wanted, out_of_range, expected) in [
            (9, OutOfRange::Fail, Begin::Refuse(Gap { wanted: 9, taken: 10 })),
            (9, OutOfRange::Earliest, Begin::After(Gap { wanted: 9, taken: 10 })),
            (9, OutOfRange::Latest, Begin::After(Gap { wanted: 9, taken: 20 })),
            (21, OutOfRange::Fail, Begin::Refuse(Gap { wanted: 21, taken: 10 })),
            (21, OutOfRange::Earliest, Begin::After(Gap { wanted: 21, taken: 10 })),
            (10, OutOfRange::Fail, Begin::At(10)),
            (20, OutOfRange::Fail, Begin::At(20)),
        ] {
            let facts = PartitionFacts { stored: Some(wanted), ..FACTS };
            assert_eq!(begin(facts, Start::Earliest, out_of_range), expected, "{wanted} {out_of_range:?}");
        }
    }

    #[test]
    fn a_topic_made_again_is_never_continued() {
        let facts = PartitionFacts { made_again: true, known_pipeline: true, ..FACTS };
        assert_eq!(begin(facts, Start::Earliest, OutOfRange::Earliest), Begin::MadeAgain);
    }
}
