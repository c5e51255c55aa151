//! Ascending numbers as the distances between them, seven bits per byte, lowest first.

/// Appends `number` to `bytes`.
pub(crate) fn push(bytes: &mut Vec<u8>, mut number: u32) {
    while number >= 0x80 {
        bytes.push(number as u8 | 0x80);
        number >>= 7;
    }
    bytes.push(number as u8);
}

/// Writes an ascending list. The first distance is that to -1, so that every distance is at least 1.
pub(crate) struct Ascending {
    /// The next number has at least this value.
    next: u32,
    n_numbers: u32,
    bytes: Vec<u8>,
}

impl Ascending {
    pub(crate) fn new() -> Self {
        Self { next: 0, n_numbers: 0, bytes: Vec::new() }
    }

    /// Appends a number that is larger than all before; others are left out.
    pub(crate) fn push(&mut self, number: u32) {
        if let Some(distance) = number.checked_sub(self.next) {
            push(&mut self.bytes, distance);
            self.next = number.saturating_add(1);
            self.n_numbers += 1;
        }
    }

    pub(crate) fn n_numbers(&self) -> u32 {
        self.n_numbers
    }

    pub(crate) fn bytes(&self) -> &[u8] {
        &self.bytes
    }

    pub(crate) fn clear(&mut self) {
        (self.next, self.n_numbers) = (0, 0);
        self.bytes.clear();
    }
}

/// Returns the numbers of a list, up to the first malformed one.
pub(crate) fn numbers(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    let mut next = 0_u32;
    std::iter::from_fn(move || {
        let number = next.checked_add(decode(&mut bytes)?)?;
        next = number.checked_add(1)?;
        Some(number)
    })
}

fn decode(bytes: &mut &[u8]) -> Option<u32> {
    let (mut number, mut shift) = (0_u32, 0);
    loop {
        let (&byte, rest) = bytes.split_first()?;
        *bytes = rest;
        number |= u32::from(byte & 0x7f).checked_shl(shift)?;
        if byte < 0x80 {
            return Some(number);
        }
        shift += 7;
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    #[test]
    fn lists_of_all_distances_survive() {
        let list = [0, 1, 127, 128, 255, 256, 16_511, 2_000_000, u32::MAX - 1];
        let mut written = Ascending::new();
        list.iter().for_each(|&number| written.push(number));
        assert_eq!(numbers(written.bytes()).collect::<Vec<u32>>(), list);
        assert_eq!((written.n_numbers(), written.bytes()[..4].to_vec()), (9, vec![0, 0, 125, 0]));
        written.push(5);
        assert_eq!(written.n_numbers(), 9, "a smaller number is left out");
    }

    proptest! {
        #![proptest_config(ProptestConfig { failure_persistence: None, ..ProptestConfig::default() })]
        #[test]
        fn damaged_lists_end_and_ascend(bytes in prop::collection::vec(any::<u8>(), 0..200)) {
            let found: Vec<u32> = numbers(&bytes).collect();
            prop_assert!(found.len() <= bytes.len() && found.is_sorted_by(|a, b| a < b));
        }
    }
}
