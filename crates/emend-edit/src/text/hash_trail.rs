//! Hashes of one text after another, of which each resembles the one before.
//!
//! SHA-256 reads a text from the start, so its state after a prefix serves every text with that prefix.

use sha2::{Digest as _, Sha256};

use super::hash::ContentHash;
use super::lines::same_bytes;

/// Number of bytes between two states that are kept. Texts up to this size are hashed anew.
const STEP: usize = 1 << 16;

/// The last large text that was hashed, with the states of the hash inside it.
///
/// The hash of a text that differs from the last one only after some place costs a comparison up to that place, and the
/// hashing of the rest. A trail uses as much memory as the text.
///
/// ```
/// use emend_edit::{ContentHash, HashTrail};
/// let mut trail = HashTrail::default();
/// let mut text = "line\n".repeat(100_000);
/// assert_eq!(trail.hash(&text), ContentHash::of(text.as_bytes()));
/// text.push_str("the end\n");
/// assert_eq!(trail.hash(&text), ContentHash::of(text.as_bytes()));
/// ```
#[derive(Clone, Debug, Default)]
pub struct HashTrail {
    text: Vec<u8>,
    /// The state after each whole step of the text.
    states: Vec<Sha256>,
    /// The hash of the text; `None` if there is none yet.
    hash: Option<ContentHash>,
}

impl HashTrail {
    /// Returns the hash of `text`, and keeps its states if it is large.
    pub fn hash(&mut self, text: &str) -> ContentHash {
        let text = text.as_bytes();
        if text.len() <= STEP {
            return ContentHash::of(text);
        }
        let n_common = common_steps(&self.text, text);
        let rest = &text[n_common * STEP..];
        if let Some(hash) = self.hash
            && self
                .text
                .get(n_common * STEP..)
                .is_some_and(|known| known.len() == rest.len() && same_bytes(known, rest))
        {
            return hash;
        }
        self.text.truncate(n_common * STEP);
        self.text.extend_from_slice(rest);
        self.states.truncate(n_common);
        let mut state = self.states.last().cloned().unwrap_or_default();
        let (steps, end) = rest.as_chunks::<STEP>();
        for step in steps {
            state.update(step);
            self.states.push(state.clone());
        }
        state.update(end);
        *self.hash.insert(ContentHash::of_state(state))
    }
}

/// Returns the number of steps at the start in which both texts agree.
fn common_steps(old: &[u8], new: &[u8]) -> usize {
    let (old, new) = (old.as_chunks::<STEP>().0, new.as_chunks::<STEP>().0);
    old.iter().zip(new).take_while(|(old, new)| same_bytes(*old, *new)).count()
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_trail_returns_the_hash_of_every_text() {
        let mut trail = HashTrail::default();
        let base: String = (0..60_000).map(|number| format!("line {number}\n")).collect();
        let changed = |at: usize| [&base[..at], "changed", &base[at + 3..]].concat();
        let mut texts = vec![String::new(), "small".to_owned(), base.clone(), base.clone(), "small".to_owned()];
        texts.extend([0, 1, STEP - 4, STEP - 1, STEP, STEP + 1, 5 * STEP, base.len() - 3].map(changed));
        texts.extend([STEP, STEP + 1, 2 * STEP - 1, 2 * STEP, 2 * STEP + 1].map(|end| base[..end].to_owned()));
        texts.extend([base.clone(), [&base, "more"].concat(), base.clone(), base.replace('1', "é")]);
        for text in &texts {
            let expected = ContentHash::of(text.as_bytes());
            assert_eq!(trail.hash(text), expected, "{} bytes", text.len());
            assert_eq!(trail.hash(text), expected, "{} bytes, again", text.len());
        }
    }
}
