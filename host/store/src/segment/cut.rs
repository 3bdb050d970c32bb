//! Cuts bytes into parts that stay just under a power of two of pages: redb gives each value such a run, so a byte too many doubles it.

use super::Piece;

const PAGE: usize = 4096;
/// The longest run: a larger one wastes more when a value does not fill it.
const RUN_MAX: usize = 256 * PAGE;
/// What redb keeps beside the value in its page, and some.
const ROOM: usize = 64;
/// A rest that fills this share of its run is not cut further.
const WELL_FILLED: f64 = 0.8;
/// Parts of a rest: more would cost more in keys than they save in pages.
const REST_PARTS: usize = 3;

/// Lengths of the parts of `len` bytes. All but the last are multiples of 16.
pub(crate) fn cut(len: usize) -> Vec<usize> {
    let mut rest = len;
    let mut lengths = Vec::new();
    while rest > RUN_MAX - ROOM {
        lengths.push(RUN_MAX - ROOM);
        rest -= RUN_MAX - ROOM;
    }
    for _ in 1..REST_PARTS {
        let run = (rest + ROOM).next_power_of_two().max(PAGE);
        if run <= 2 * PAGE || rest as f64 >= WELL_FILLED * run as f64 {
            break;
        }
        let part = run / 2 - ROOM;
        lengths.push(part);
        rest -= part;
    }
    if rest > 0 || lengths.is_empty() {
        lengths.push(rest);
    }
    lengths
}

/// The parts of `bytes` with their checksums.
pub(crate) fn pieces(bytes: &[u8]) -> Vec<Piece> {
    let mut rest = bytes;
    let piece = |len: usize| {
        let (head, tail) = rest.split_at(len);
        rest = tail;
        Piece { len: len as u32, crc: crc32fast::hash(head) }
    };
    cut(bytes.len()).into_iter().map(piece).collect()
}

/// Bytes of pages that a value takes.
#[cfg(test)]
fn run_of(len: usize) -> usize {
    (len + ROOM).next_power_of_two().max(PAGE)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_add_up_and_fill_their_pages() {
        for len in (0..4_000_000).step_by(9_973).chain([RUN_MAX, RUN_MAX - ROOM, RUN_MAX - ROOM + 1, 530_000]) {
            let parts = cut(len);
            assert_eq!(parts.iter().sum::<usize>(), len);
            assert!(parts.iter().rev().skip(1).all(|part| part % 16 == 0));
            let taken: usize = parts.iter().map(|part| run_of(*part)).sum();
            assert!(len < 20_000 || taken as f64 <= 1.26 * len as f64, "{len} takes {taken}: {parts:?}");
        }
    }

    #[test]
    fn a_value_that_fits_is_one_part() {
        assert_eq!(cut(RUN_MAX - ROOM), [RUN_MAX - ROOM]);
        assert_eq!(cut(RUN_MAX), [RUN_MAX - ROOM, ROOM]);
        assert_eq!(cut(0), [0]);
    }
}
