//! Any order of commits, slices of upkeep, pending deltas and reopenings gives what a list in memory gives.

use std::time::Duration;

use proptest::prelude::*;
use sluicebox_core::commit::Sequence;
use sluicebox_core::port::Store;

use super::kit::*;

#[derive(Debug, Clone)]
enum Act {
    Commit(i64),
    Maintain(u8),
    Finish,
    Reopen,
    Stage(i64),
    Apply,
    Withdraw,
}

fn act() -> impl Strategy<Value = Act> {
    prop_oneof![
        4 => (1i64..40).prop_map(Act::Commit),
        2 => (2000i64..9000).prop_map(Act::Commit),
        3 => (1u8..6).prop_map(Act::Maintain),
        1 => Just(Act::Finish),
        1 => Just(Act::Reopen),
        2 => (1i64..3000).prop_map(Act::Stage),
        2 => Just(Act::Apply),
        1 => Just(Act::Withdraw),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig { cases: 24, ..ProptestConfig::default() })]
    #[test]
    fn the_store_equals_a_list(acts in prop::collection::vec(act(), 1..40)) {
        let folder = tempfile::tempdir().expect("folder");
        let path = folder.path().join("store.redb");
        let mut store = open(&path);
        let mut lane = sink(&store);
        let (mut next, mut sequence, mut pending) = (0, 0, None::<(Sequence, i64)>);
        for act in acts {
            match act {
                Act::Commit(count) if pending.is_none() => {
                    store.commit(&[delta(&mut *lane, next, count)]).expect("commits");
                    next += count;
                    sequence += 1;
                }
                Act::Stage(count) if pending.is_none() => {
                    let staged = store.stage(&delta(&mut *lane, next, count)).expect("stages");
                    sequence += 1;
                    prop_assert_eq!(staged, Sequence(sequence));
                    pending = Some((staged, count));
                }
                Act::Commit(_) | Act::Stage(_) => {}
                Act::Maintain(slices) => for _ in 0..slices {
                    store.maintain(0).expect("maintains");
                },
                Act::Finish => store.finish(0, Duration::from_secs(5)).expect("finishes"),
                Act::Reopen => {
                    drop((lane, store));
                    store = open(&path);
                    lane = sink(&store);
                    prop_assert_eq!(store.sequences(&pipeline()).expect("reads").0, pending.map(|(s, _)| s));
                }
                Act::Apply => if let Some((staged, count)) = pending.take() {
                    store.apply(&pipeline(), staged).expect("applies");
                    next += count;
                },
                Act::Withdraw => if let Some((staged, _)) = pending.take() {
                    store.withdraw(&pipeline(), staged).expect("withdraws");
                },
            }
            prop_assert_eq!(assert_exactly_once(&store), next);
        }
    }
}
