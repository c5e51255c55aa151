//! Finds the changes on which a new change depends, while it is recorded.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::line_log::log::{LineLog, View};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{BASE, ChangeIx, Origin};
use crate::size::compact_sort::set_of;

/// The text against which a write was made, as tokens.
pub(super) struct Seen {
    pub(super) tokens: Vec<TokenIx>,
    /// The view that decides which changes count as on: the visible text or the disk.
    pub(super) view: View,
    /// For a text that may be older than the view: the tokens that it shows.
    pub(super) shown: Option<Vec<bool>>,
}

impl LineLog {
    /// Returns the last line that a live change deleted at the place of a pure insertion: between `anchor` and the next
    /// line shown. The insertion belongs after it. An insertion of the agent depends on these changes, which are added to
    /// `deps`. A line of the user depends on none of them, so a pending deletion stays off the disk.
    ///
    /// Lines that this next line replaced do not count, because their place is behind the insertion.
    pub(super) fn find_deleted_at(
        &self,
        ix: ChangeIx,
        anchor: Option<TokenIx>,
        seen: &Seen,
        deps: &mut BTreeSet<ChangeIx>,
    ) -> Option<TokenIx> {
        let mut hidden = Vec::new();
        let mut right = None;
        for token in self.sequence.iter_after(anchor) {
            if self.is_seen(token, seen) && !self.is_deleted_with(token, ix) {
                right = Some(token);
                break;
            }
            hidden.push(token);
        }
        let mut replacing = set_of(right.iter().map(|&token| self.sequence.token(token).inserted_by));
        let mut last = None;
        for &token in hidden.iter().rev() {
            let inserted_by = self.sequence.token(token).inserted_by;
            if self.sequence.deleted_by(token).iter().any(|by| replacing.contains(by)) {
                replacing.insert(inserted_by);
            } else if last.is_none() && self.is_on(inserted_by, seen.view) {
                last = self.others_deleting(token, ix, seen).next().map(|_| token);
            }
            if self.write_of(ix).origin == Origin::Agent {
                deps.extend(self.others_deleting(token, ix, seen).filter(|by| !replacing.contains(by)));
            }
        }
        last
    }

    /// Returns the indexes in `seen` before which a replacement of the lines `range` by a user is cut: a line that only the
    /// other view shows is there. So this line keeps its place, and the replacement does not depend on the change that
    /// hides it.
    pub(super) fn cuts_in(&self, range: Range<usize>, seen: &Seen) -> Vec<usize> {
        let other = if seen.view == View::Visible { View::Disk } else { View::Visible };
        let is_behind_hidden = |&index: &usize| {
            let between = self.sequence.iter_after(Some(seen.tokens[index - 1]));
            let mut between = between.take_while(|&token| token != seen.tokens[index]);
            between.any(|token| self.shows_in(token, other))
        };
        range.skip(1).filter(is_behind_hidden).collect()
    }

    /// Returns the last hidden line that replaces `line`, directly or through other hidden lines; `line` itself if there
    /// is none.
    pub(super) fn end_of_replacement(&self, line: TokenIx, seen: &Seen) -> TokenIx {
        let mut replacing = self.sequence.deleted_by(line).to_vec();
        let mut end = line;
        for token in self.sequence.iter_after(Some(line)).take_while(|&token| !self.is_seen(token, seen)) {
            let state = self.sequence.token(token);
            if replacing.contains(&state.inserted_by) {
                replacing.extend(self.sequence.deleted_by(token));
                end = token;
            }
        }
        end
    }

    /// Adds the changes that deleted lines among those that a replacement of the agent deletes.
    pub(super) fn find_deleted_between(
        &self,
        ix: ChangeIx,
        first: TokenIx,
        last: Option<TokenIx>,
        seen: &Seen,
        deps: &mut BTreeSet<ChangeIx>,
    ) {
        if Some(first) == last {
            return;
        }
        for token in self.sequence.iter_after(Some(first)).take_while(|&token| Some(token) != last) {
            if !self.is_seen(token, seen) && self.write_of(ix).origin == Origin::Agent {
                deps.extend(self.others_deleting(token, ix, seen));
            }
        }
    }

    /// Adds the changes that have lines on both sides of `anchor`, and sets the innermost one as the parent.
    pub(super) fn find_around(
        &mut self,
        ix: ChangeIx,
        anchor: Option<TokenIx>,
        seen: &Seen,
        deps: &mut BTreeSet<ChangeIx>,
    ) {
        let right = self.sequence.iter_after(anchor).next();
        let block_of = |token: Option<TokenIx>| token.map_or(BASE, |token| self.sequence.token(token).inserted_by);
        let parent = self.innermost_around(block_of(anchor), block_of(right));
        let mut around = parent;
        while around != BASE {
            if self.is_on(around, seen.view) {
                deps.insert(around);
            }
            around = self.changes[around as usize].parent;
        }
        let depth = self.changes[parent as usize].depth + 1;
        (self.changes[ix as usize].parent, self.changes[ix as usize].depth) = (parent, depth);
    }

    /// Returns whether the text of the write, as changed by it so far, shows a token.
    pub(super) fn is_seen(&self, token: TokenIx, seen: &Seen) -> bool {
        match &seen.shown {
            Some(shown) => shown.get(token as usize).copied().unwrap_or(true),
            None => self.shows_in(token, seen.view),
        }
    }

    /// Returns whether the write of change `ix` has deleted a token.
    pub(super) fn is_deleted_with(&self, token: TokenIx, ix: ChangeIx) -> bool {
        self.sequence.deleted_by(token).iter().any(|&by| self.are_of_one_write(by, ix))
    }

    /// Returns the changes that are on and deleted a token, except those of the same write as `ix`.
    pub(super) fn others_deleting(&self, token: TokenIx, ix: ChangeIx, seen: &Seen) -> impl Iterator<Item = ChangeIx> {
        let deleting = self.sequence.deleted_by(token).iter().copied();
        deleting.filter(move |&by| !self.are_of_one_write(by, ix) && self.is_on(by, seen.view))
    }

    pub(super) fn are_of_one_write(&self, a: ChangeIx, b: ChangeIx) -> bool {
        self.changes[a as usize].write == self.changes[b as usize].write
    }

    /// Returns the innermost change with lines on both sides of a boundary between lines of `left` and `right`.
    ///
    /// Each change inserts its lines in one place, so the lines of changes nest like brackets.
    pub(super) fn innermost_around(&self, mut left: ChangeIx, mut right: ChangeIx) -> ChangeIx {
        while left != right {
            let (left_change, right_change) = (&self.changes[left as usize], &self.changes[right as usize]);
            if left_change.depth >= right_change.depth {
                left = left_change.parent;
            } else {
                right = right_change.parent;
            }
        }
        left
    }

    pub(super) fn set_deps(&mut self, ix: ChangeIx, deps: &BTreeSet<ChangeIx>) {
        for &dep in deps.iter().filter(|&&dep| dep != BASE && dep != ix) {
            self.changes[dep as usize].dependents.push(ix);
            self.changes[ix as usize].deps.push(dep);
        }
    }
}
