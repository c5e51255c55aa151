//! The sequence of line tokens: every line that the file ever had, in order, shown or not.
//!
//! Tokens are stored in an arena and never removed. Their order is stored in chunks of about √n tokens, each with a
//! count of its visible lines, so that hiding a line and finding its number take O(√n). Whether a token is visible is
//! a flag here; the log decides it.

use std::ops::Range;

use crate::line_log::types::{BASE, ChangeIx};
use crate::text::line_ends;
#[cfg(any(not(target_family = "wasm"), test))]
use crate::text::same_bytes;

/// Index of a token in the arena, in order of creation.
pub(super) type TokenIx = u32;

/// One line with its own line ending. Tokens are copied with their log, so they own nothing.
#[derive(Clone, Copy, Debug)]
pub(super) struct Token {
    start: usize,
    end: usize,
    pub(super) inserted_by: ChangeIx,
    /// Index into `Sequence::deletions`, plus one; 0 for a line that no change deleted.
    deletions: u32,
    chunk: u32,
    visible: bool,
}

impl Token {
    /// Returns whether no change has touched the line. Every view shows it then.
    #[inline(always)]
    pub(super) fn is_untouched(&self) -> bool {
        self.inserted_by == BASE && self.deletions == 0
    }
}

#[derive(Clone, Debug, Default)]
struct Chunk {
    tokens: Vec<TokenIx>,
    n_visible: usize,
    /// Position in `Sequence::order`.
    rank: usize,
}

/// A token whose appearance in the visible text changes, and its line index before the change.
#[derive(Clone, Copy, Debug)]
pub(super) struct Flip {
    pub(super) token: TokenIx,
    pub(super) line_before: usize,
    pub(super) was_visible: bool,
}

/// All tokens of a file.
#[derive(Debug)]
pub(super) struct Sequence {
    text: String,
    /// Size in bytes of the base text at the start of `text`; 0 if its lines are elsewhere.
    base_bytes: usize,
    tokens: Vec<Token>,
    /// The changes that deleted a line, for each line that any deleted.
    deletions: Vec<Vec<ChangeIx>>,
    chunks: Vec<Chunk>,
    /// The chunks in text order.
    order: Vec<u32>,
}

/// Minimum size of a chunk when it is cut.
const CHUNK_TOKENS_MIN: usize = 64;

impl Clone for Sequence {
    /// Copies the tokens, with space for an edit.
    fn clone(&self) -> Self {
        let mut text = String::with_capacity(self.text.len() + EDIT_BYTES);
        text.push_str(&self.text);
        let mut tokens = Vec::with_capacity(self.tokens.len() + EDIT_TOKENS);
        tokens.extend_from_slice(&self.tokens);
        let (deletions, chunks, order) = (self.deletions.clone(), self.chunks.clone(), self.order.clone());
        Self { text, base_bytes: self.base_bytes, tokens, deletions, chunks, order }
    }
}

/// Size in bytes of an edit that needs no further memory.
const EDIT_BYTES: usize = 16 << 10;
/// Number of lines of such an edit.
const EDIT_TOKENS: usize = 256;

impl Sequence {
    pub(super) fn new() -> Self {
        let (tokens, deletions) = (Vec::new(), Vec::new());
        let (chunks, order) = (vec![Chunk::default()], vec![0]);
        Self { text: String::new(), base_bytes: 0, tokens, deletions, chunks, order }
    }

    /// Returns the lines of a text.
    pub(super) fn of_text(text: &str) -> Self {
        let mut sequence = Self::new();
        sequence.text.reserve(text.len() + EDIT_BYTES);
        sequence.text.push_str(text);
        sequence.base_bytes = text.len();
        sequence.tokens.reserve_exact(memchr::memchr_iter(b'\n', text.as_bytes()).count() + EDIT_TOKENS);
        let mut start = 0;
        for end in line_ends(text) {
            sequence.push(start..end, BASE, 0);
            start = end;
        }
        sequence.fill_chunk(0, 0, 0..sequence.tokens.len() as TokenIx);
        sequence
    }

    fn push(&mut self, text: Range<usize>, inserted_by: ChangeIx, chunk: u32) {
        let Range { start, end } = text;
        self.tokens.push(Token { start, end, inserted_by, deletions: 0, chunk, visible: true });
    }

    /// Puts new visible tokens into a chunk.
    fn fill_chunk(&mut self, chunk: u32, at: usize, new: Range<TokenIx>) {
        let home = &mut self.chunks[chunk as usize];
        home.n_visible += new.len();
        home.tokens.splice(at..at, new);
        if self.chunks[chunk as usize].tokens.len() > 2 * self.chunk_tokens() {
            self.cut_chunk(chunk);
        }
    }

    pub(super) fn len(&self) -> usize {
        self.tokens.len()
    }

    #[inline(always)]
    pub(super) fn token(&self, ix: TokenIx) -> &Token {
        &self.tokens[ix as usize]
    }

    pub(super) fn token_mut(&mut self, ix: TokenIx) -> &mut Token {
        &mut self.tokens[ix as usize]
    }

    /// Returns the place of a line in [`slice`](Self::slice). Lines of one write are next to each other.
    #[inline(always)]
    pub(super) fn range(&self, ix: TokenIx) -> Range<usize> {
        let token = self.token(ix);
        token.start..token.end
    }

    /// Returns the changes that deleted a line.
    pub(super) fn deleted_by(&self, ix: TokenIx) -> &[ChangeIx] {
        match self.token(ix).deletions {
            0 => &[],
            at => &self.deletions[at as usize - 1],
        }
    }

    /// Returns the list of changes that deleted a line, to change it.
    pub(super) fn deleted_by_mut(&mut self, ix: TokenIx) -> &mut Vec<ChangeIx> {
        let at = &mut self.tokens[ix as usize].deletions;
        if *at == 0 {
            self.deletions.push(Vec::new());
            *at = self.deletions.len() as u32;
        }
        &mut self.deletions[*at as usize - 1]
    }

    /// Returns the base text, if it is in one piece.
    pub(super) fn base(&self) -> Option<&str> {
        (self.base_bytes > 0).then(|| &self.text[..self.base_bytes])
    }

    /// Returns the text of lines that are next to each other.
    pub(super) fn slice(&self, range: Range<usize>) -> &str {
        &self.text[range]
    }

    /// Returns the bytes of all lines that the file ever had. [`range`](Self::range) has the place of a line in them.
    pub(super) fn bytes(&self) -> &[u8] {
        self.text.as_bytes()
    }

    /// Returns whether a line ends at this place of [`slice`](Self::slice) without a line ending.
    #[inline(always)]
    pub(super) fn is_bare_at(&self, end: usize) -> bool {
        !end.checked_sub(1).is_some_and(|last| matches!(self.text.as_bytes()[last], b'\n' | b'\r'))
    }

    /// Returns the size in bytes of all lines that the file ever had.
    pub(super) fn size(&self) -> usize {
        self.text.len()
    }

    /// Returns the line, with its line ending.
    pub(super) fn text(&self, ix: TokenIx) -> &str {
        &self.text[self.range(ix)]
    }

    pub(super) fn is_visible(&self, ix: TokenIx) -> bool {
        self.tokens[ix as usize].visible
    }

    /// Creates visible tokens directly after `anchor`, or at the start.
    pub(super) fn insert_after(
        &mut self,
        anchor: Option<TokenIx>,
        lines: &[&str],
        inserted_by: ChangeIx,
    ) -> Range<TokenIx> {
        let (chunk, at) = self.place_after(anchor);
        let first = self.tokens.len() as TokenIx;
        for line in lines {
            let start = self.text.len();
            self.text.push_str(line);
            self.push(start..self.text.len(), inserted_by, chunk);
        }
        let new = first..self.tokens.len() as TokenIx;
        self.fill_chunk(chunk, at, new.clone());
        new
    }

    /// Moves tokens directly before `target`, in the given order. None of them is `target`.
    pub(super) fn move_before(&mut self, moved: &[TokenIx], target: TokenIx) {
        for &token in moved {
            let at = self.place_in_chunk(token);
            let visible = usize::from(self.is_visible(token));
            let from = &mut self.chunks[self.tokens[token as usize].chunk as usize];
            from.tokens.remove(at);
            from.n_visible -= visible;
            let to = self.tokens[target as usize].chunk;
            let at = self.place_in_chunk(target);
            self.tokens[token as usize].chunk = to;
            let home = &mut self.chunks[to as usize];
            home.tokens.insert(at, token);
            home.n_visible += visible;
        }
        let chunk = self.tokens[target as usize].chunk;
        if self.chunks[chunk as usize].tokens.len() > 2 * self.chunk_tokens() {
            self.cut_chunk(chunk);
        }
    }

    /// Returns the target size of a chunk: the square root of the number of tokens, so that neither the size of chunks
    /// nor their number dominates.
    fn chunk_tokens(&self) -> usize {
        self.tokens.len().isqrt().max(CHUNK_TOKENS_MIN)
    }

    fn cut_chunk(&mut self, chunk: u32) {
        let size = self.chunk_tokens();
        let tokens = std::mem::take(&mut self.chunks[chunk as usize].tokens);
        let rank = self.chunks[chunk as usize].rank;
        let mut added = Vec::new();
        for (index, part) in tokens.chunks(size).enumerate() {
            let id = if index == 0 { chunk } else { self.chunks.len() as u32 };
            let mut n_visible = 0;
            for &token in part {
                let token = &mut self.tokens[token as usize];
                token.chunk = id;
                n_visible += usize::from(token.visible);
            }
            let piece = Chunk { tokens: part.to_vec(), n_visible, rank };
            if index == 0 {
                self.chunks[chunk as usize] = piece;
            } else {
                self.chunks.push(piece);
                added.push(id);
            }
        }
        self.order.splice(rank + 1..rank + 1, added);
        for (rank, &id) in self.order.iter().enumerate().skip(rank) {
            self.chunks[id as usize].rank = rank;
        }
    }

    /// Returns the chunk of `anchor` and the position in it directly after `anchor`.
    fn place_after(&self, anchor: Option<TokenIx>) -> (u32, usize) {
        match anchor {
            None => (self.order[0], 0),
            Some(token) => {
                let chunk = self.tokens[token as usize].chunk;
                (chunk, self.place_in_chunk(token) + 1)
            }
        }
    }

    fn place_in_chunk(&self, token: TokenIx) -> usize {
        let chunk = &self.chunks[self.tokens[token as usize].chunk as usize];
        chunk.tokens.iter().position(|&other| other == token).unwrap_or(chunk.tokens.len())
    }

    /// Returns a key that orders tokens in text order.
    pub(super) fn place(&self, token: TokenIx) -> (usize, usize) {
        (self.chunks[self.tokens[token as usize].chunk as usize].rank, self.place_in_chunk(token))
    }

    /// Returns whether all tokens of `before` are tokens with the same text here. The order may differ.
    #[cfg(any(not(target_family = "wasm"), test))]
    pub(super) fn continues(&self, before: &Self) -> bool {
        let is_same = |(token, earlier): (&Token, &Token)| (token.start, token.end) == (earlier.start, earlier.end);
        let text = self.text.as_bytes().get(..before.text.len());
        self.tokens.len() >= before.tokens.len()
            && text.is_some_and(|text| same_bytes(text, before.text.as_bytes()))
            && self.tokens.iter().zip(&before.tokens).all(is_same)
    }

    /// Returns all tokens in text order.
    pub(super) fn iter(&self) -> impl Iterator<Item = TokenIx> + '_ {
        self.order.iter().flat_map(|&chunk| self.chunks[chunk as usize].tokens.iter().copied())
    }

    /// Returns the tokens in text order that no change touched or that `shows` selects.
    pub(super) fn tokens_shown(&self, shows: &dyn Fn(TokenIx) -> bool) -> Vec<TokenIx> {
        let mut shown = Vec::with_capacity(self.tokens.len());
        for &chunk in &self.order {
            for &token in &self.chunks[chunk as usize].tokens {
                if self.tokens[token as usize].is_untouched() || shows(token) {
                    shown.push(token);
                }
            }
        }
        shown
    }

    /// Returns the tokens after `anchor` in text order.
    pub(super) fn iter_after(&self, anchor: Option<TokenIx>) -> impl Iterator<Item = TokenIx> + '_ {
        let (chunk, at) = self.place_after(anchor);
        let rank = self.chunks[chunk as usize].rank;
        let rest = self.order[rank + 1..].iter().flat_map(|&chunk| self.chunks[chunk as usize].tokens.iter());
        self.chunks[chunk as usize].tokens[at..].iter().chain(rest).copied()
    }

    /// Returns the number of lines of the visible text.
    pub(super) fn n_visible(&self) -> usize {
        self.order.iter().map(|&chunk| self.chunks[chunk as usize].n_visible).sum()
    }

    /// Returns the last line of the visible text.
    pub(super) fn last_visible(&self) -> Option<TokenIx> {
        let chunk = self.order.iter().rev().find(|&&chunk| self.chunks[chunk as usize].n_visible > 0)?;
        self.chunks[*chunk as usize].tokens.iter().rev().copied().find(|&token| self.is_visible(token))
    }

    /// Shows or hides one token.
    pub(super) fn set_visible(&mut self, ix: TokenIx, visible: bool) {
        let token = &mut self.tokens[ix as usize];
        if token.visible != visible {
            token.visible = visible;
            let count = &mut self.chunks[token.chunk as usize].n_visible;
            *count = if visible { *count + 1 } else { *count - 1 };
        }
    }

    /// Shows each hidden token and hides each visible token of `tokens`. Returns them in text order with their line
    /// indexes.
    ///
    /// A last line without a line ending changes its form when it stops or starts being the last one. Such a line is
    /// returned even if it is not in `tokens`, as visible before and after.
    pub(super) fn flip(&mut self, tokens: &[TokenIx]) -> Vec<Flip> {
        let last_before = self.last_visible();
        let mut marks: Vec<TokenIx> = tokens.to_vec();
        marks.sort_unstable();
        for &token in &marks {
            let visible = self.is_visible(token);
            self.set_visible(token, !visible);
        }
        let last_after = self.last_visible();
        let mut restyled = Vec::new();
        if last_before != last_after {
            let is_bare = |&token: &TokenIx| !self.text(token).ends_with(['\n', '\r']);
            restyled.extend(last_before.into_iter().chain(last_after).filter(is_bare));
            restyled.retain(|token| marks.binary_search(token).is_err());
        }
        let ranks = marks.iter().chain(&restyled).map(|&t| self.chunks[self.tokens[t as usize].chunk as usize].rank);
        let mut ranks: Vec<usize> = ranks.collect();
        ranks.sort_unstable();
        ranks.dedup();

        let mut flips = Vec::with_capacity(marks.len() + restyled.len());
        let (mut line_before, mut rank_at) = (0, 0);
        for rank in ranks {
            line_before +=
                self.order[rank_at..rank].iter().map(|&chunk| self.chunks[chunk as usize].n_visible).sum::<usize>();
            rank_at = rank + 1;
            for &token in &self.chunks[self.order[rank] as usize].tokens {
                let flipped = marks.binary_search(&token).is_ok();
                let was_visible = self.is_visible(token) != flipped;
                if flipped || restyled.contains(&token) {
                    flips.push(Flip { token, line_before, was_visible });
                }
                line_before += usize::from(was_visible);
            }
        }
        flips
    }
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::line_log::types::BASE;
    use crate::test_support::cases;

    #[derive(Clone, Debug)]
    enum Step {
        Insert { at: prop::sample::Index, n: usize },
        Flip { tokens: Vec<prop::sample::Index> },
        Move { from: prop::sample::Index, n: usize, to: prop::sample::Index },
    }

    fn step() -> impl Strategy<Value = Step> {
        let n = prop_oneof![8 => 1..5_usize, 1 => 100..600_usize];
        let insert = (any::<prop::sample::Index>(), n).prop_map(|(at, n)| Step::Insert { at, n });
        let flip = vec(any::<prop::sample::Index>(), 1..8).prop_map(|tokens| Step::Flip { tokens });
        let places = (any::<prop::sample::Index>(), 1..5_usize, any::<prop::sample::Index>());
        prop_oneof![insert, flip, places.prop_map(|(from, n, to)| Step::Move { from, n, to })]
    }

    /// Compares with the plain list of tokens in order, and checks the counts and sizes that make the sequence fast.
    #[track_caller]
    fn check(sequence: &Sequence, plain: &[(TokenIx, bool)]) {
        let found: Vec<(TokenIx, bool)> = sequence.iter().map(|token| (token, sequence.is_visible(token))).collect();
        assert_eq!(found, plain);
        let visible = || plain.iter().filter(|(_, visible)| *visible).map(|(token, _)| *token);
        assert_eq!(sequence.n_visible(), visible().count());
        assert_eq!(sequence.last_visible(), visible().next_back());
        for (rank, &id) in sequence.order.iter().enumerate() {
            let chunk = &sequence.chunks[id as usize];
            assert_eq!(chunk.rank, rank);
            assert!(chunk.tokens.iter().all(|&token| sequence.token(token).chunk == id));
            assert_eq!(chunk.n_visible, chunk.tokens.iter().filter(|&&token| sequence.is_visible(token)).count());
            assert!(chunk.tokens.len() <= 2 * sequence.chunk_tokens());
        }
        assert!(sequence.order.len() <= 2 + 2 * sequence.len() / CHUNK_TOKENS_MIN);
    }

    proptest! {
        #![proptest_config(cases(2_000))]

        #[test]
        fn a_sequence_is_a_list_with_counts(steps in vec(step(), 1..20)) {
            let mut sequence = Sequence::new();
            let mut plain: Vec<(TokenIx, bool)> = Vec::new();
            for step in &steps {
                match step {
                    Step::Insert { at, n } => {
                        let at = at.index(plain.len() + 1);
                        let anchor = at.checked_sub(1).map(|before| plain[before].0);
                        let new = sequence.insert_after(anchor, &vec!["line\n"; *n], BASE);
                        plain.splice(at..at, new.map(|token| (token, true)));
                    }
                    Step::Flip { tokens } if !plain.is_empty() => {
                        let mut places: Vec<usize> = tokens.iter().map(|index| index.index(plain.len())).collect();
                        places.sort_unstable();
                        places.dedup();
                        let shown_before = |place: usize| plain[..place].iter().filter(|(_, shown)| *shown).count();
                        let expected: Vec<(TokenIx, usize, bool)> =
                            places.iter().map(|&at| (plain[at].0, shown_before(at), plain[at].1)).collect();
                        let chosen: Vec<TokenIx> = places.iter().rev().map(|&place| plain[place].0).collect();
                        let flips = sequence.flip(&chosen);
                        let found = flips.iter().map(|flip| (flip.token, flip.line_before, flip.was_visible));
                        prop_assert_eq!(found.collect::<Vec<_>>(), expected);
                        places.iter().for_each(|&place| plain[place].1 ^= true);
                    }
                    Step::Move { from, n, to } if !plain.is_empty() => {
                        let from = from.index(plain.len());
                        let moved: Vec<_> = plain[from..].iter().take(*n).copied().collect();
                        let rest: Vec<_> = plain.iter().filter(|each| !moved.contains(each)).copied().collect();
                        if !rest.is_empty() {
                            let to = to.index(rest.len());
                            let tokens: Vec<TokenIx> = moved.iter().map(|(token, _)| *token).collect();
                            sequence.move_before(&tokens, rest[to].0);
                            plain = [&rest[..to], &moved, &rest[to..]].concat();
                        }
                    }
                    Step::Flip { .. } | Step::Move { .. } => {}
                }
                check(&sequence, &plain);
            }
            for (at, &(token, _)) in plain.iter().enumerate() {
                let rest = plain[at + 1..].iter().map(|(token, _)| *token);
                prop_assert!(at % 50 > 0 || sequence.iter_after(Some(token)).eq(rest));
            }
            prop_assert!(plain.windows(2).all(|pair| sequence.place(pair[0].0) < sequence.place(pair[1].0)));
        }
    }
}
