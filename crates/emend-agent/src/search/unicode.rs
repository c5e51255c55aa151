//! The Unicode data of patterns: the classes `\w`, `\d` and `\s`, and the other cases of characters.
//!
//! The tables of `regex-syntax` for this take 20 KiB in a browser and are left out. The tables in `tables` hold the
//! same data in an eighth of the size. A test generates them from those of `regex-syntax`, and tests compare both for
//! each kind of pattern.

#[cfg(any(feature = "regex", not(target_family = "wasm")))]
mod expand;
#[cfg_attr(
    all(target_family = "wasm", not(feature = "regex")),
    expect(dead_code, reason = "globs need the other cases alone")
)]
mod tables;

#[cfg(any(feature = "regex", not(target_family = "wasm")))]
pub(super) use expand::parse;

/// Adds to `ranges` the characters that differ only in case from those in them. Without Unicode, only ASCII letters count.
pub(super) fn add_other_cases(ranges: &mut Vec<(u32, u32)>, unicode: bool) {
    // The first pass leads to the smallest character of each case group, the second from there to all others.
    for _ in 0..2 {
        let found = linked(ranges, unicode);
        for char in found {
            if !ranges.iter().any(|&(first, last)| (first..=last).contains(&char)) {
                ranges.push((char, char));
            }
        }
    }
}

/// Returns the opposite end of each link of `tables::CASES` with one end in `ranges`. Without Unicode, only ASCII links
/// count.
fn linked(ranges: &[(u32, u32)], unicode: bool) -> Vec<u32> {
    let mut found = Vec::new();
    let last = ranges.iter().map(|range| range.1).max().unwrap_or(0);
    let mut numbers = Numbers(tables::CASES);
    let mut at = 0;
    while let (Some(gap), Some(shape), Some(distance)) = (numbers.next(), numbers.next(), numbers.next()) {
        at += gap;
        // Links are sorted by their lower ends. For most letters in practice the first few suffice.
        if at > last {
            break;
        }
        let (step, extent) = (1 + (shape & 1), (shape >> 1) * (1 + (shape & 1)));
        for &(start, end) in ranges {
            if end < at || start > at + extent + distance {
                continue;
            }
            for lower in (at..=at + extent).step_by(step as usize) {
                for (from, to) in [(lower, lower + distance), (lower + distance, lower)] {
                    if (start..=end).contains(&from) {
                        found.push(to);
                    }
                }
            }
        }
        if !unicode {
            break;
        }
    }
    found
}

/// Decodes the numbers of a table: seven bits per byte, lowest first; the eighth bit means that another byte follows.
struct Numbers(&'static [u8]);

impl Numbers {
    fn next(&mut self) -> Option<u32> {
        let (mut number, mut shift) = (0, 0);
        loop {
            let (&byte, rest) = self.0.split_first()?;
            self.0 = rest;
            number |= u32::from(byte & 0x7f) << shift;
            shift += 7;
            if byte < 0x80 {
                return Some(number);
            }
        }
    }
}

#[cfg(test)]
mod tests;
