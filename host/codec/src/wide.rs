//! Sixteen bytes at a time: the one place with instructions of the processor.

/// A bit for each byte that ends the plain run of a string: a quote, a backslash, a control character.
#[cfg(target_arch = "x86_64")]
#[expect(unsafe_code, reason = "SSE2 finds the end of a string several times faster than a loop over bytes")]
#[inline(always)]
pub(crate) fn specials(chunk: &[u8; 16]) -> u32 {
    use std::arch::x86_64::{_mm_cmpeq_epi8, _mm_min_epu8, _mm_movemask_epi8, _mm_or_si128, _mm_set_epi64x, _mm_set1_epi8};
    let word = u128::from_le_bytes(*chunk);
    // SAFETY: each of these works on registers alone and needs SSE2, which every x86_64 processor has.
    unsafe {
        let bytes = _mm_set_epi64x((word >> 64) as i64, word as i64);
        let control = _mm_cmpeq_epi8(_mm_min_epu8(bytes, _mm_set1_epi8(0x1f)), bytes);
        let quote = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'"' as i8));
        let escape = _mm_cmpeq_epi8(bytes, _mm_set1_epi8(b'\\' as i8));
        _mm_movemask_epi8(_mm_or_si128(control, _mm_or_si128(quote, escape))) as u32
    }
}

/// A bit for each byte that ends the plain run of a string: a quote, a backslash, a control character.
#[cfg(not(target_arch = "x86_64"))]
pub(crate) fn specials(chunk: &[u8; 16]) -> u32 {
    portable_specials(chunk)
}

#[cfg(any(test, not(target_arch = "x86_64")))]
fn portable_specials(chunk: &[u8; 16]) -> u32 {
    let mark = |byte: u8| u32::from(byte < b' ' || byte == b'"' || byte == b'\\');
    chunk.iter().rev().fold(0, |bits, byte| bits << 1 | mark(*byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_byte_at_every_place_is_judged_as_by_the_plain_loop() {
        for byte in 0..=255u8 {
            for place in 0..16 {
                let mut chunk = [b'a'; 16];
                chunk[place] = byte;
                let ends = byte < 0x20 || byte == 0x22 || byte == 0x5c;
                assert_eq!(specials(&chunk), u32::from(ends) << place, "{byte} at {place}");
                assert_eq!(portable_specials(&chunk), specials(&chunk), "{byte} at {place}");
            }
        }
    }
}
