//! Finding the guilty rows of a call that fails as a whole (invariant 6): by halves, within a budget.
//!
//! Used for components (a trap, an overrun, a malformed answer) and for SQL (a cast or division that fails).

use std::ops::Range;

/// What a call on a range of rows answers.
pub enum Attempt<T, E> {
    /// It worked.
    Done(T),
    /// It failed because of some row in the range.
    Guilty(E),
    /// It failed in a way that halving cannot mend: give up.
    Stop(E),
}

/// What isolation found: results of the innocent ranges and errors of the guilty rows, both in order of rows.
#[derive(Debug, PartialEq, Eq)]
pub struct Isolated<T, E> {
    /// Ranges that worked, rising.
    pub done: Vec<(Range<usize>, T)>,
    /// Rows that failed alone, rising.
    pub guilty: Vec<(usize, E)>,
}

/// Runs `call` over `rows`, and where it fails over halves, until single rows are found guilty.
///
/// `call` sees the range; a caller that limits time counts its calls there and answers [`Attempt::Stop`] when the budget is
/// spent. At most `2 · guilty · log2(rows)` calls are made after the first.
///
/// # Errors
/// The error of the first [`Attempt::Stop`].
pub fn isolate<T, E>(rows: usize, mut call: impl FnMut(Range<usize>) -> Attempt<T, E>) -> Result<Isolated<T, E>, E> {
    let mut found = Isolated { done: Vec::new(), guilty: Vec::new() };
    if rows == 0 {
        return Ok(found);
    }
    let mut waiting = vec![0..rows];
    while let Some(range) = waiting.pop() {
        match call(range.clone()) {
            Attempt::Done(result) => found.done.push((range, result)),
            Attempt::Stop(error) => return Err(error),
            Attempt::Guilty(error) if range.len() == 1 => found.guilty.push((range.start, error)),
            Attempt::Guilty(_) => {
                let middle = range.start + range.len() / 2;
                waiting.push(middle..range.end);
                waiting.push(range.start..middle);
            }
        }
    }
    Ok(found)
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::collections::BTreeSet;

    proptest! {
        #[test]
        fn each_row_ends_once_as_done_or_guilty(rows in 0usize..300, bad in prop::collection::btree_set(0usize..300, 0..12)) {
            let mut calls = 0;
            let found = isolate(rows, |range| {
                calls += 1;
                if range.clone().any(|row| bad.contains(&row)) { Attempt::Guilty(()) } else { Attempt::Done(()) }
            }).expect("never stops");
            let guilty: BTreeSet<_> = found.guilty.iter().map(|(row, ())| *row).collect();
            let expected: BTreeSet<_> = bad.iter().copied().filter(|row| *row < rows).collect();
            let done: Vec<usize> = found.done.iter().flat_map(|(range, ())| range.clone()).collect();
            prop_assert!(done.is_sorted());
            prop_assert_eq!(done.len() + guilty.len(), rows);
            prop_assert!(done.iter().all(|row| !guilty.contains(row)));
            prop_assert!(calls <= 1 + 2 * guilty.len() * (rows.max(2).ilog2() as usize + 1));
            prop_assert_eq!(guilty, expected);
        }
    }

    #[test]
    fn a_stop_ends_it() {
        let mut budget = 3;
        let answer = isolate(64, |_| -> Attempt<(), &str> {
            budget -= 1;
            if budget == 0 { Attempt::Stop("budget") } else { Attempt::Guilty("trap") }
        });
        assert_eq!(answer, Err("budget"));
    }
}
