//! Which segments are merged next: a pure decision over their sizes.
//!
//! Neighbours are merged, so that rows keep their order. Enough rows for a full big segment are merged at once; small ones that trickle
//! in are merged in tiers, sixteen of a tier at a time, which makes one of the next: each row is rewritten a few times at most.

use std::ops::Range;

/// Rows of a full segment: an 8-byte column then fills one value just under 1 MiB.
pub(crate) const ROWS_FULL: u64 = 122_880;
/// Bytes of a full segment, for rows that are large.
const BYTES_FULL: u64 = 16 << 20;
/// From here on columns are stored apart.
pub(crate) const ROWS_BIG: u64 = 4096;
/// Segments of a tier that are merged.
const FAN_IN: usize = 16;
/// A tier has segments of up to this many rows; sixteen of them make a segment of the next tier.
const TIERS: [u64; 3] = [FAN_IN as u64, 256, ROWS_BIG];

/// What the decision looks at.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct Size {
    pub rows: u64,
    pub bytes: u64,
    /// Its columns are stored apart.
    pub big: bool,
}

impl Size {
    fn full(&self) -> bool {
        self.big && (self.rows >= ROWS_FULL / 2 || self.bytes >= BYTES_FULL / 2)
    }

    /// Whether merging it alone changes something.
    fn convertible(&self) -> bool {
        !self.big && self.rows >= ROWS_BIG
    }
}

/// The next segments to merge; `last` merges what is left too.
pub(crate) fn next_merge(segments: &[Size], last: bool) -> Option<Range<usize>> {
    let mut start = 0;
    while start < segments.len() {
        if segments[start].full() {
            start += 1;
            continue;
        }
        let end = group_end(segments, start);
        let open = end == segments.len();
        let group = &segments[start..end];
        let pays = group.len() > 1 || group[0].convertible();
        if pays && (!open || last) {
            return Some(start..end);
        }
        if open {
            return tier(segments, start);
        }
        start = end;
    }
    None
}

/// How many neighbours from `start` make one segment.
fn group_end(segments: &[Size], start: usize) -> usize {
    let (mut rows, mut bytes) = (0, 0);
    for (index, segment) in segments.iter().enumerate().skip(start) {
        rows += segment.rows;
        bytes += segment.bytes;
        let too_much = rows > ROWS_FULL || bytes > BYTES_FULL;
        if segment.full() || (too_much && index > start) {
            return index;
        }
    }
    segments.len()
}

/// The small segments at the end, when there are enough of one tier.
fn tier(segments: &[Size], start: usize) -> Option<Range<usize>> {
    let mut least = 0;
    TIERS.iter().find_map(|limit| {
        let trailing = segments[start..].iter().rev().take_while(|segment| segment.rows < *limit);
        let (all, of_tier) = trailing.fold((0, 0), |(all, of_tier), s| (all + 1, of_tier + usize::from(s.rows >= least)));
        least = *limit;
        (of_tier >= FAN_IN).then(|| segments.len() - all..segments.len())
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    fn small(rows: u64) -> Size {
        Size { rows, bytes: rows * 100, big: false }
    }

    fn big(rows: u64) -> Size {
        Size { big: true, ..small(rows) }
    }

    #[test]
    fn a_full_load_is_merged_once() {
        let mut segments = vec![small(10_000); 12];
        assert_eq!(next_merge(&segments, false), None);
        segments.push(small(10_000));
        assert_eq!(next_merge(&segments, false), Some(0..12));
        assert_eq!(next_merge(&[big(120_000), small(10_000)], false), None);
        assert_eq!(next_merge(&[big(120_000), small(10_000)], true), Some(1..2));
        assert_eq!(next_merge(&[big(120_000), big(10_000)], true), None);
        assert_eq!(next_merge(&[big(10_000), small(5)], true), Some(0..2));
        assert_eq!(next_merge(&[small(500_000), small(5)], false), Some(0..1));
        assert_eq!(next_merge(&[small(5)], true), None);
        assert_eq!(next_merge(&[], true), None);
    }

    #[test]
    fn a_trickle_is_rewritten_a_few_times_at_most() {
        let mut segments: Vec<Size> = Vec::new();
        let (mut written, total) = (0, 200_000);
        for _ in 0..total / 5 {
            segments.push(small(5));
            while let Some(range) = next_merge(&segments, false) {
                let rows = segments[range.clone()].iter().map(|s| s.rows).sum();
                written += rows;
                let merged = if rows >= ROWS_BIG { big(rows) } else { small(rows) };
                segments.splice(range, [merged]);
            }
        }
        assert!(segments.len() < 64, "{}", segments.len());
        assert!(written < 6 * total, "{written}");
        while let Some(range) = next_merge(&segments, true) {
            let rows = segments[range.clone()].iter().map(|s| s.rows).sum();
            segments.splice(range, [if rows >= ROWS_BIG { big(rows) } else { small(rows) }]);
        }
        assert!(segments.len() <= 3, "{segments:?}");
    }
}
