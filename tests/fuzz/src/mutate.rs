//! Generates inputs from samples: a seeded stream of mutations, so that a run can be repeated.

use crate::Target;

/// Maximum length of an input.
const BYTES_MAX: usize = 4096;

/// Maximum number of inputs kept for further mutation.
const POOL_MAX: usize = 256;

/// A stream of inputs for one target.
pub struct Source {
    pool: Vec<Vec<u8>>,
    words: Vec<Vec<u8>>,
    state: u64,
}

impl Source {
    /// Starts from the samples of the target.
    #[must_use]
    pub fn new(target: &Target, seed: u64) -> Self {
        let common =
            ["\n", "\r\n", "\r", "\u{feff}", " ", "\t", "\u{1e}", "\0", "é", "\u{2028}", "🦀", "-1", "99999999999"];
        Self {
            pool: target.samples.iter().map(|sample| sample.as_bytes().to_vec()).collect(),
            words: target.words.iter().chain(&common).map(|word| word.as_bytes().to_vec()).collect(),
            state: seed,
        }
    }

    /// Returns the next input.
    pub fn next_input(&mut self) -> Vec<u8> {
        let mut input = self.pick_from_pool();
        for _ in 0..=self.below(6) {
            self.mutate(&mut input);
        }
        input.truncate(BYTES_MAX);
        // Chains of mutations reach further than single ones. Samples stay in the pool, so that it does not drift
        // away.
        if self.below(8) == 0 {
            if self.pool.len() < POOL_MAX {
                self.pool.push(input.clone());
            } else {
                let place = POOL_MAX / 2 + self.below(POOL_MAX / 2);
                self.pool[place].clone_from(&input);
            }
        }
        input
    }

    fn mutate(&mut self, input: &mut Vec<u8>) {
        let at = self.below(input.len() + 1);
        let to = (at + self.below(24)).min(input.len());
        match self.below(9) {
            0 => drop(input.drain(at..to)),
            1 if at < input.len() => input[at] ^= 1 << self.below(8),
            2 => input.insert(at, self.below(256) as u8),
            3 => {
                let piece = input[at..to].to_vec();
                let place = self.below(input.len() + 1);
                input.splice(place..place, piece);
            }
            4 | 5 => {
                let index = self.below(self.words.len());
                let word = self.words[index].clone();
                input.splice(at..at, word);
            }
            6 => {
                let other = self.pick_from_pool();
                let from = self.below(other.len() + 1);
                input.splice(at..to, other[from..].iter().copied().take(64));
            }
            7 => self.move_line(input),
            _ => input.truncate(at),
        }
    }

    /// Duplicates, deletes or moves a whole line, because the grammars are line-based.
    fn move_line(&mut self, input: &mut Vec<u8>) {
        let mut lines: Vec<Vec<u8>> = input.split_inclusive(|&byte| byte == b'\n').map(<[u8]>::to_vec).collect();
        if lines.is_empty() {
            return;
        }
        let line = self.below(lines.len());
        let taken = if self.below(2) == 0 { lines[line].clone() } else { lines.remove(line) };
        if self.below(4) > 0 {
            let place = self.below(lines.len() + 1);
            lines.insert(place, taken);
        }
        *input = lines.concat();
    }

    fn pick_from_pool(&mut self) -> Vec<u8> {
        let index = self.below(self.pool.len());
        self.pool[index].clone()
    }

    fn below(&mut self, limit: usize) -> usize {
        // SplitMix64.
        self.state = self.state.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut mixed = self.state;
        mixed = (mixed ^ mixed >> 30).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        mixed = (mixed ^ mixed >> 27).wrapping_mul(0x94d0_49bb_1331_11eb);
        ((mixed ^ mixed >> 31) % limit.max(1) as u64) as usize
    }
}
