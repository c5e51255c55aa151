//! A fast number for a line, to find or count equal ones.
//!
//! Equal bytes have equal numbers; equal numbers prove nothing, so whoever needs certainty compares the lines as well.
//! It is not for texts that mean harm: those can only make a search slow, never wrong.

/// Returns the number of these bytes.
pub(crate) fn fingerprint(bytes: &[u8]) -> u64 {
    const FACTOR: u64 = 0x9e37_79b9_7f4a_7c15;
    let mix = |hash: u64, word: u64| (hash.rotate_left(23) ^ word).wrapping_mul(FACTOR);
    let (words, rest) = bytes.as_chunks::<8>();
    let hash = words.iter().fold(bytes.len() as u64, |hash, word| mix(hash, u64::from_le_bytes(*word)));
    let hash = if rest.is_empty() { hash } else { mix(hash, tail_of(bytes, rest)) };
    hash ^ hash >> 32
}

/// Reads the end of `bytes` in one go, bytes that were read before among it: one by one takes longer than all the rest.
fn tail_of(bytes: &[u8], rest: &[u8]) -> u64 {
    let word = |bytes: &[u8; 4]| u64::from(u32::from_le_bytes(*bytes));
    match (bytes.last_chunk::<8>(), rest.first_chunk::<4>(), rest.last_chunk::<4>()) {
        (Some(last), ..) => u64::from_le_bytes(*last),
        (None, Some(first), Some(last)) => word(first) | word(last) << 32,
        _ => rest.iter().fold(0, |word, &byte| word << 8 | u64::from(byte)),
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn lines_that_differ_a_little_differ_in_number() {
        let lines: Vec<String> = (0..5_000)
            .flat_map(|number| [format!("let x_{number} = 1;"), format!("{number}"), " ".repeat(number)])
            .collect();
        let numbers: HashSet<u64> = lines.iter().map(|line| fingerprint(line.as_bytes())).collect();
        assert_eq!(numbers.len(), lines.len());
        assert_eq!(fingerprint(b"the same line"), fingerprint(b"the same line"));
    }
}
