//! A set of small numbers, one bit each.

/// A set of numbers below a fixed bound.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Bits {
    words: Vec<u64>,
}

impl Bits {
    /// Returns an empty set of numbers below `bound`.
    pub(crate) fn none(bound: usize) -> Self {
        Self { words: vec![0; bound.div_ceil(64)] }
    }

    /// Adds a number. One beyond the bound is left out.
    pub(crate) fn insert(&mut self, number: u32) {
        if let Some(word) = self.words.get_mut(number as usize / 64) {
            *word |= 1 << (number % 64);
        }
    }

    pub(crate) fn contains(&self, number: u32) -> bool {
        self.words.get(number as usize / 64).is_some_and(|word| word >> (number % 64) & 1 == 1)
    }

    /// Keeps the numbers that `other` contains, too.
    pub(crate) fn retain(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word &= other;
        }
    }

    /// Adds the numbers of `other`.
    pub(crate) fn extend(&mut self, other: &Self) {
        for (word, other) in self.words.iter_mut().zip(&other.words) {
            *word |= other;
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn sets_are_joined_and_intersected() {
        let set = |numbers: &[u32]| {
            let mut set = Bits::none(130);
            numbers.iter().for_each(|&number| set.insert(number));
            set
        };
        let (a, b) = (set(&[0, 63, 64, 129]), set(&[63, 65, 129]));
        let (mut both, mut either) = (a.clone(), a.clone());
        both.retain(&b);
        either.extend(&b);
        assert_eq!((both, either), (set(&[63, 129]), set(&[0, 63, 64, 65, 129])));
        assert!(a.contains(64) && !a.contains(65) && !a.contains(4_000));
        assert_eq!(set(&[4_000]), set(&[]), "a number beyond the bound is left out");
    }
}
