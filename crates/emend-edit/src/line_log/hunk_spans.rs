//! Groups the changes of a review into hunks, as ranges of tokens.

use std::collections::BTreeSet;
use std::ops::Range;

use crate::diff::LineKind;
use crate::line_log::log::{LineLog, View};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{ChangeIx, ChangeOp};
use crate::size::compact_sort::{set_of, sort_by};

/// A range of token positions that becomes one hunk, or is cut further.
#[derive(Clone, Debug)]
pub(super) struct Span {
    pub(super) at: Range<usize>,
    pub(super) ixs: BTreeSet<ChangeIx>,
}

/// The token sequence prepared for one listing of hunks.
pub(super) struct Layout {
    pub(super) tokens: Vec<TokenIx>,
    /// Number of lines of the settled and of the visible text before each token, and at the end.
    pub(super) settled_before: Vec<usize>,
    pub(super) visible_before: Vec<usize>,
}

impl LineLog {
    /// Returns the layout without numbers of lines, and with one line for several ones next to each other that no change
    /// touched.
    pub(super) fn short_layout(&self) -> Layout {
        let mut was_untouched = false;
        let is_kept = |&token: &TokenIx| {
            let is_untouched = self.sequence.token(token).is_untouched();
            !(std::mem::replace(&mut was_untouched, is_untouched) && is_untouched)
        };
        let tokens = self.sequence.iter().filter(is_kept).collect();
        Layout { tokens, settled_before: Vec::new(), visible_before: Vec::new() }
    }

    pub(super) fn layout(&self) -> Layout {
        let tokens = self.sequence.tokens_shown(&|_| true);
        let count = |view: View| -> Vec<usize> {
            let mut n = 0;
            let before = tokens.iter().map(|&token| {
                let before = n;
                n += usize::from(self.shows_in(token, view));
                before
            });
            let mut before: Vec<usize> = before.collect();
            before.push(n);
            before
        };
        let (settled_before, visible_before) = (count(View::Settled), count(View::Visible));
        Layout { tokens, settled_before, visible_before }
    }

    /// Returns the runs of tokens that chosen changes touch. Runs that share a change are joined.
    pub(super) fn spans(&self, layout: &Layout, chosen: &[bool]) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        // Tables instead of maps keep the wasm module small.
        let mut span_of = vec![usize::MAX; self.changes.len()];
        let mut open = false;
        for (at, &token) in layout.tokens.iter().enumerate() {
            let state = self.sequence.token(token);
            if state.is_untouched() {
                open = false;
                continue;
            }
            let touching = self.sequence.deleted_by(token).iter().chain([&state.inserted_by]);
            let ixs = set_of(touching.copied().filter(|&ix| chosen[ix as usize]));
            if ixs.is_empty() {
                open &= !self.shows_in(token, View::Settled) && !self.shows_in(token, View::Visible);
                continue;
            }
            if !open {
                spans.push(Span { at: at..at, ixs: BTreeSet::new() });
                open = true;
            }
            // A change that also touches an earlier run joins everything since then to one hunk.
            let reach = ixs.iter().map(|&ix| span_of[ix as usize]).min().unwrap_or(usize::MAX);
            while spans.len() > 1 && spans.len() - 1 > reach {
                let Some(last) = spans.pop() else { break };
                let into = spans.len() - 1;
                last.ixs.iter().for_each(|&ix| span_of[ix as usize] = into);
                spans[into].ixs.extend(last.ixs);
            }
            let into = spans.len() - 1;
            ixs.iter().for_each(|&ix| span_of[ix as usize] = into);
            spans[into].ixs.extend(ixs);
            spans[into].at.end = at + 1;
        }
        spans.retain(|span| self.changes_anything(layout, span));
        spans
    }

    /// Returns whether switching the changes of a span shows or hides any line.
    pub(super) fn changes_anything(&self, layout: &Layout, span: &Span) -> bool {
        span.at.clone().any(|at| {
            let token = layout.tokens[at];
            self.shows_with(token, &span.ixs, true) != self.shows_with(token, &span.ixs, false)
        })
    }

    /// Returns whether a token is shown if all of `ixs` are on, or off, and the others stay as they are.
    pub(super) fn shows_with(&self, token: TokenIx, ixs: &BTreeSet<ChangeIx>, on: bool) -> bool {
        self.shows(token, |ix| if ixs.contains(&ix) { on } else { self.is_on(ix, View::Visible) })
    }

    /// Cuts a span that exceeds the limits. No change may be on both sides of a cut; ends of edits are preferred.
    ///
    /// Also returns whether each resulting span still exceeds the limits.
    pub(super) fn cut_span(&self, layout: &Layout, span: Span) -> Vec<(Span, bool)> {
        let units = self.units(layout, &span);
        let sizes: Vec<(usize, usize)> = units.iter().map(|unit| self.size_of(layout, unit)).collect();
        let fits = |(lines, bytes): (usize, usize)| self.hunk_limits.allow(lines, bytes);
        let total =
            |range: Range<usize>| sizes[range].iter().fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        let mut cuts = Vec::new();
        let mut start = 0;
        while start < units.len() {
            let mut end = start + 1;
            while end < units.len() && !self.starts_hunk(&units[end]) && fits(total(start..end + 1)) {
                end += 1;
            }
            if end < units.len() && !self.starts_hunk(&units[end]) {
                let ends_edit = |&at: &usize| !self.share_an_edit(&units[at - 1], &units[at]);
                end = (start + 1..=end).rev().find(ends_edit).unwrap_or(end);
            }
            let is_delete = |ix: &ChangeIx| self.changes[*ix as usize].op == ChangeOp::Delete;
            let ixs = set_of(units[start..end].iter().flat_map(|unit| unit.ixs.iter().copied()));
            let oversized = !fits(total(start..end)) && !ixs.iter().any(is_delete);
            cuts.push((Span { at: units[start].at.start..units[end - 1].at.end, ixs }, oversized));
            start = end;
        }
        cuts.retain(|(span, _)| self.changes_anything(layout, span));
        cuts
    }

    /// Returns whether a hunk was split before this part of it.
    fn starts_hunk(&self, unit: &Span) -> bool {
        unit.ixs.iter().any(|&ix| self.changes[ix as usize].starts_hunk)
    }

    /// Splits a span into the smallest parts that share no change.
    pub(super) fn units(&self, layout: &Layout, span: &Span) -> Vec<Span> {
        let [first, last] = [span.ixs.first(), span.ixs.last()].map(|ix| ix.map_or(0, |&ix| ix as usize));
        let mut last_at = vec![0; last + 1 - first];
        let touching = |at: usize| {
            let token = layout.tokens[at];
            let touching = self.sequence.deleted_by(token).iter().chain([&self.sequence.token(token).inserted_by]);
            touching.copied().filter(|ix| span.ixs.contains(ix))
        };
        for at in span.at.clone() {
            touching(at).for_each(|ix| last_at[ix as usize - first] = at);
        }
        let mut units: Vec<Span> = Vec::new();
        let mut reach = 0;
        for at in span.at.clone() {
            let ixs = set_of(touching(at));
            let unit_is_open = units.last().is_some_and(|unit| at <= reach || unit.ixs.is_empty() || ixs.is_empty());
            if !unit_is_open {
                units.push(Span { at: at..at, ixs: BTreeSet::new() });
            }
            reach = ixs.iter().map(|&ix| last_at[ix as usize - first]).fold(reach, usize::max);
            if let Some(unit) = units.last_mut() {
                unit.at.end = at + 1;
                unit.ixs.extend(ixs);
            }
        }
        units
    }

    pub(super) fn size_of(&self, layout: &Layout, unit: &Span) -> (usize, usize) {
        let lines = self.changed_tokens(layout, unit).map(|(token, _)| self.sequence.text(token).len());
        lines.fold((0, 0), |(n_lines, n_bytes), len| (n_lines + 1, n_bytes + len))
    }

    /// Returns the tokens that a span adds or removes.
    pub(super) fn changed_tokens<'a>(
        &'a self,
        layout: &'a Layout,
        span: &'a Span,
    ) -> impl Iterator<Item = (TokenIx, LineKind)> {
        span.at.clone().map(|at| layout.tokens[at]).filter_map(|token| {
            match (self.shows_with(token, &span.ixs, false), self.shows_with(token, &span.ixs, true)) {
                (true, false) => Some((token, LineKind::Removed)),
                (false, true) => Some((token, LineKind::Added)),
                _ => None,
            }
        })
    }

    pub(super) fn share_an_edit(&self, a: &Span, b: &Span) -> bool {
        let edit_of = |ix: &ChangeIx| {
            let meta = &self.write_of(*ix).meta;
            (meta.run.as_str(), meta.edit.as_str())
        };
        let mut edits: Vec<(&str, &str)> = a.ixs.iter().map(edit_of).collect();
        sort_by(&mut edits, Ord::cmp);
        b.ixs.iter().any(|ix| edits.binary_search(&edit_of(ix)).is_ok())
    }
}

impl Layout {
    pub(super) fn is_settled(&self, at: usize) -> bool {
        self.settled_before[at + 1] > self.settled_before[at]
    }

    pub(super) fn is_visible(&self, at: usize) -> bool {
        self.visible_before[at + 1] > self.visible_before[at]
    }

    pub(super) fn is_shown(&self, at: usize) -> bool {
        self.is_settled(at) || self.is_visible(at)
    }
}
