//! The review: changes grouped into hunks as a reader sees them.
//!
//! A hunk is a run of lines touched by changes of one status with nothing else shown between them. It is shown as the
//! difference that switching exactly its changes off and on makes to the present text.

use std::borrow::Cow;
use std::collections::{BTreeMap, BTreeSet};
use std::ops::Range;

use serde::Serialize;

use crate::diff::{HunkLine, LineKind};
use crate::line_log::hunk_size::{HUNK_BYTES_MAX, HUNK_LINES_MAX};
use crate::line_log::log::{ChangeState, LineLog, View};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{BASE, ChangeId, ChangeIx, ChangeOp, HunkId, Origin, Status};
use crate::size::compact_sort::{set_of, sort_by, sort_by_key};

/// Which hunks to list, and how.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkQuery<'a> {
    /// Changes of these statuses; hunks of different statuses are apart.
    pub statuses: &'a [Status],
    /// Changes of this origin.
    pub origin: Origin,
    /// Changes of this run only, if given.
    pub run: Option<&'a str>,
    /// How many unchanged lines to show around a hunk.
    pub context: usize,
}

impl Default for HunkQuery<'_> {
    /// The agent's pending changes with three lines of context.
    fn default() -> Self {
        Self { statuses: &[Status::Pending], origin: Origin::Agent, run: None, context: 3 }
    }
}

/// What a reviewer accepts or rejects as one.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its name, which keeps its meaning while the review lasts.
    pub id: HunkId,
    /// The changes in it, in order.
    pub change_ids: Vec<ChangeId>,
    /// The status of all of them.
    pub status: Status,
    /// What happens to the file itself, if it is created, deleted or renamed.
    pub entry: Option<ChangeOp>,
    /// Number of the first old line, from 1; with no old line, the number of the line before. Old numbers count the
    /// lines of [`LineLog::settled_text`].
    pub old_start: usize,
    /// How many old lines it covers, context included.
    pub old_lines: usize,
    /// Number of the first new line, by the same rule. New numbers count the lines of [`LineLog::visible_text`].
    pub new_start: usize,
    /// How many new lines it covers, context included.
    pub new_lines: usize,
    /// Its lines; in each run of changed lines removed ones come first.
    pub lines: Vec<HunkLine>,
    /// What stands on it: rejecting it asks about these.
    pub dependents: Vec<ChangeId>,
    /// Whether, though pending, any of it is on the disk because a line that is not the agent's stands on it.
    pub kept_by_user: bool,
    /// Whether, though pending, any of it is on the disk because anything there stands on it.
    pub kept: bool,
    /// Whether it deletes a line the user wrote.
    pub removes_user_lines: bool,
    /// Whether another program has deleted a line on the disk that it deletes too: both have put something in its place.
    pub contested: bool,
    /// Whether it exceeds the limits of a hunk and holds no seam to cut it at: see [`LineLog::split`].
    pub oversized: bool,
}

/// A range of positions in the sequence that becomes one hunk, or is still to be cut.
#[derive(Clone, Debug)]
struct Span {
    at: Range<usize>,
    ixs: BTreeSet<ChangeIx>,
}

/// The sequence laid out for one listing.
struct Layout {
    tokens: Vec<TokenIx>,
    /// Lines of the settled and of the visible text before each token, and at the end.
    settled_before: Vec<usize>,
    visible_before: Vec<usize>,
}

impl LineLog {
    /// Returns the hunks of a file in text order, changes of the file entry first.
    #[must_use]
    pub fn hunks(&self, query: HunkQuery<'_>) -> Vec<Hunk> {
        let layout = self.layout();
        let mut hunks = Vec::new();
        for &status in query.statuses {
            let chosen: Vec<bool> = (0..self.changes.len() as ChangeIx)
                .map(|ix| ix != BASE && self.is_chosen(ix, status, &query))
                .collect();
            for span in self.spans(&layout, &chosen) {
                for (span, oversized) in self.cut_span(&layout, span) {
                    hunks.push((span.at.start, self.hunk_of(&layout, span, status, oversized, query.context)));
                }
            }
            hunks.extend(self.entry_hunks(status, &chosen));
        }
        sort_by_key(&mut hunks, |(at, hunk)| (hunk.lines.is_empty(), *at));
        let (with_lines, without): (Vec<_>, Vec<_>) =
            hunks.into_iter().map(|(_, hunk)| hunk).partition(|hunk| !hunk.lines.is_empty());
        without.into_iter().chain(with_lines).collect()
    }

    fn is_chosen(&self, ix: ChangeIx, status: Status, query: &HunkQuery<'_>) -> bool {
        let (change, write) = (&self.changes[ix as usize], self.write_of(ix));
        change.status == status
            && change.parts.is_empty()
            && write.origin == query.origin
            && query.run.is_none_or(|run| write.meta.run == run)
    }

    fn layout(&self) -> Layout {
        let tokens: Vec<TokenIx> = self.sequence.iter().collect();
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

    /// Finds the runs of touched tokens, joined where one change is in both.
    fn spans(&self, layout: &Layout, chosen: &[bool]) -> Vec<Span> {
        let mut spans: Vec<Span> = Vec::new();
        let mut span_of: BTreeMap<ChangeIx, usize> = BTreeMap::new();
        let mut open = false;
        for (at, &token) in layout.tokens.iter().enumerate() {
            let state = self.sequence.token(token);
            let touching = state.deleted_by.iter().chain([&state.inserted_by]).filter(|&&ix| chosen[ix as usize]);
            let ixs = set_of(touching.copied());
            if ixs.is_empty() {
                open &= !layout.is_shown(at);
                continue;
            }
            if !open {
                spans.push(Span { at: at..at, ixs: BTreeSet::new() });
                open = true;
            }
            // A change seen before reaches back: everything since belongs to one hunk.
            let reach = ixs.iter().filter_map(|ix| span_of.get(ix).copied()).min().unwrap_or(usize::MAX);
            while spans.len() > 1 && spans.len() - 1 > reach {
                let Some(last) = spans.pop() else { break };
                let into = spans.len() - 1;
                span_of.extend(last.ixs.iter().map(|&ix| (ix, into)));
                spans[into].ixs.extend(last.ixs);
            }
            let into = spans.len() - 1;
            span_of.extend(ixs.iter().map(|&ix| (ix, into)));
            spans[into].ixs.extend(ixs);
            spans[into].at.end = at + 1;
        }
        spans.retain(|span| self.changes_anything(layout, span));
        spans
    }

    /// Returns whether switching a span's changes shows or hides any line.
    fn changes_anything(&self, layout: &Layout, span: &Span) -> bool {
        span.at.clone().any(|at| {
            let token = layout.tokens[at];
            self.shows_with(token, &span.ixs, true) != self.shows_with(token, &span.ixs, false)
        })
    }

    /// Returns whether a token shows if all of `ixs` are on or off and the others are as they are.
    fn shows_with(&self, token: TokenIx, ixs: &BTreeSet<ChangeIx>, on: bool) -> bool {
        self.shows(token, |ix| if ixs.contains(&ix) { on } else { self.is_on(ix, View::Visible) })
    }

    /// Cuts a span that exceeds the limits where no change lies on both sides, at the ends of edits if possible.
    fn cut_span(&self, layout: &Layout, span: Span) -> Vec<(Span, bool)> {
        let units = self.units(layout, &span);
        let sizes: Vec<(usize, usize)> = units.iter().map(|unit| self.size_of(layout, unit)).collect();
        let fits = |(lines, bytes): (usize, usize)| lines <= HUNK_LINES_MAX && bytes <= HUNK_BYTES_MAX;
        let total =
            |range: Range<usize>| sizes[range].iter().fold((0, 0), |sum, size| (sum.0 + size.0, sum.1 + size.1));
        let mut cuts = Vec::new();
        let mut start = 0;
        while start < units.len() {
            let mut end = start + 1;
            while end < units.len() && fits(total(start..end + 1)) {
                end += 1;
            }
            if end < units.len() {
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

    /// Splits a span into the smallest parts that share no change.
    fn units(&self, layout: &Layout, span: &Span) -> Vec<Span> {
        let mut last_at: BTreeMap<ChangeIx, usize> = BTreeMap::new();
        let touching = |at: usize| {
            let state = self.sequence.token(layout.tokens[at]);
            state.deleted_by.iter().chain([&state.inserted_by]).copied().filter(|ix| span.ixs.contains(ix))
        };
        for at in span.at.clone() {
            last_at.extend(touching(at).map(|ix| (ix, at)));
        }
        let mut units: Vec<Span> = Vec::new();
        let mut reach = 0;
        for at in span.at.clone() {
            let ixs = set_of(touching(at));
            let unit_is_open = units.last().is_some_and(|unit| at <= reach || unit.ixs.is_empty() || ixs.is_empty());
            if !unit_is_open {
                units.push(Span { at: at..at, ixs: BTreeSet::new() });
            }
            reach = ixs.iter().filter_map(|ix| last_at.get(ix).copied()).max().unwrap_or(reach).max(reach);
            if let Some(unit) = units.last_mut() {
                unit.at.end = at + 1;
                unit.ixs.extend(ixs);
            }
        }
        units
    }

    fn size_of(&self, layout: &Layout, unit: &Span) -> (usize, usize) {
        let lines = self.changed_tokens(layout, unit).map(|(token, _)| self.sequence.text(token).len());
        lines.fold((0, 0), |(n_lines, n_bytes), len| (n_lines + 1, n_bytes + len))
    }

    /// The tokens that a span adds or removes.
    fn changed_tokens<'a>(&'a self, layout: &'a Layout, span: &'a Span) -> impl Iterator<Item = (TokenIx, LineKind)> {
        span.at.clone().map(|at| layout.tokens[at]).filter_map(|token| {
            match (self.shows_with(token, &span.ixs, false), self.shows_with(token, &span.ixs, true)) {
                (true, false) => Some((token, LineKind::Removed)),
                (false, true) => Some((token, LineKind::Added)),
                _ => None,
            }
        })
    }

    fn share_an_edit(&self, a: &Span, b: &Span) -> bool {
        let edit_of = |ix: &ChangeIx| {
            let meta = &self.write_of(*ix).meta;
            (meta.run.as_str(), meta.edit.as_str())
        };
        let mut edits: Vec<(&str, &str)> = a.ixs.iter().map(edit_of).collect();
        sort_by(&mut edits, Ord::cmp);
        b.ixs.iter().any(|ix| edits.binary_search(&edit_of(ix)).is_ok())
    }

    fn hunk_of(&self, layout: &Layout, span: Span, status: Status, oversized: bool, context: usize) -> Hunk {
        let sides = self.sides(layout, &span, status);
        let lead = self.context_before(layout, &sides, span.at.start, context);
        let trail = self.context_after(layout, &sides, span.at.end, context);
        let first = lead.first().copied().unwrap_or(span.at.start);
        let (old_from, new_from) = (layout.settled_before[first], layout.visible_before[first]);
        let mut builder = LineBuilder { old_at: old_from, new_at: new_from, lines: Vec::new(), added: Vec::new() };
        for at in lead.into_iter().chain(span.at.clone()).chain(trail) {
            let token = layout.tokens[at];
            let is_inside = span.at.contains(&at);
            let is_old = !is_inside || self.shows_with(token, &span.ixs, false);
            let is_new = !is_inside || self.shows_with(token, &span.ixs, true);
            let (old, new) = (self.text_at(token, sides.last_old), self.text_at(token, sides.last_new));
            builder.push(is_old.then_some(&old), is_new.then_some(&new));
        }
        builder.flush();
        let (old_lines, new_lines) = (builder.old_at - old_from, builder.new_at - new_from);
        Hunk {
            old_start: old_from + usize::from(old_lines > 0),
            old_lines,
            new_start: new_from + usize::from(new_lines > 0),
            new_lines,
            lines: builder.lines,
            oversized,
            ..self.hunk_without_lines(&span.ixs, status)
        }
    }

    /// Finds the last lines of the two texts a hunk lies between: only they go without an ending.
    fn sides(&self, layout: &Layout, span: &Span, status: Status) -> Sides {
        let last = |shown: &dyn Fn(usize) -> bool| {
            (0..layout.tokens.len()).rev().find(|&at| shown(at)).map(|at| layout.tokens[at])
        };
        match status {
            Status::Pending => {
                Sides { last_old: last(&|at| layout.is_settled(at)), last_new: last(&|at| layout.is_visible(at)) }
            }
            _ => Sides {
                last_old: last(&|at| self.shows_with(layout.tokens[at], &span.ixs, false)),
                last_new: last(&|at| self.shows_with(layout.tokens[at], &span.ixs, true)),
            },
        }
    }

    /// Returns a line as a text shows it that ends with the token `last`.
    fn text_at(&self, token: TokenIx, last: Option<TokenIx>) -> Cow<'_, str> {
        let line = self.sequence.text(token);
        match line.ends_with(['\n', '\r']) || last == Some(token) {
            true => Cow::Borrowed(line),
            false => Cow::Owned(format!("{line}{}", self.eol())),
        }
    }

    fn reads_the_same(&self, layout: &Layout, sides: &Sides, at: usize) -> bool {
        let token = layout.tokens[at];
        self.text_at(token, sides.last_old) == self.text_at(token, sides.last_new)
    }

    /// Returns the positions of up to `n` unchanged lines before `at`; in any case that of a line right before it that
    /// gets or loses its ending with this hunk.
    fn context_before(&self, layout: &Layout, sides: &Sides, at: usize, n: usize) -> Vec<usize> {
        let shown = (0..at).rev().filter(|&at| layout.is_shown(at));
        let mut unchanged = shown.take_while(|&at| layout.is_settled(at) && layout.is_visible(at)).peekable();
        let nearest_changes = unchanged.peek().is_some_and(|&at| !self.reads_the_same(layout, sides, at));
        let mut found: Vec<usize> = unchanged.take(n.max(usize::from(nearest_changes))).collect();
        found.reverse();
        found
    }

    /// Returns the positions of up to `n` unchanged lines from `at` on.
    fn context_after(&self, layout: &Layout, sides: &Sides, at: usize, n: usize) -> Vec<usize> {
        let shown = (at..layout.tokens.len()).filter(|&at| layout.is_shown(at));
        let unchanged = shown
            .take_while(|&at| layout.is_settled(at) && layout.is_visible(at) && self.reads_the_same(layout, sides, at));
        unchanged.take(n).collect()
    }

    /// Everything about a hunk that does not concern its place.
    fn hunk_without_lines(&self, ixs: &BTreeSet<ChangeIx>, status: Status) -> Hunk {
        let change_ids: Vec<ChangeId> = ixs.iter().map(|&ix| self.id_of(ix)).collect();
        let dependents = self.dependents_of(ixs);
        let kept = status == Status::Pending && ixs.iter().any(|&ix| self.changes[ix as usize].on_disk);
        let by_user = |&ix: &ChangeIx| self.write_of(ix).origin != Origin::Agent;
        let entry = ixs.iter().map(|&ix| &self.changes[ix as usize].op).find(|&op| *op != ChangeOp::Edit);
        let is_by = |ix: ChangeIx, origin: Origin| ix != BASE && self.write_of(ix).origin == origin;
        let deleted = ixs.iter().flat_map(|&ix| &self.changes[ix as usize].deleted);
        let mut deleted = deleted.map(|&token| self.sequence.token(token));
        let removes_user_lines = deleted.clone().any(|token| is_by(token.inserted_by, Origin::User));
        let is_live_external = |&by: &ChangeIx| is_by(by, Origin::External) && self.is_on(by, View::Visible);
        let contested = deleted.any(|token| token.deleted_by.iter().any(is_live_external));
        Hunk {
            id: HunkId::of(&change_ids),
            change_ids,
            status,
            entry: entry.cloned(),
            old_start: 0,
            old_lines: 0,
            new_start: 0,
            new_lines: 0,
            lines: Vec::new(),
            kept_by_user: kept && dependents.iter().any(by_user),
            kept,
            dependents: dependents.into_iter().map(|ix| self.id_of(ix)).collect(),
            removes_user_lines,
            contested,
            oversized: false,
        }
    }

    /// Hunks for changes of the file entry that touch no line: an empty file created or deleted, a rename.
    fn entry_hunks(&self, status: Status, chosen: &[bool]) -> Vec<(usize, Hunk)> {
        let touches_no_line = |change: &ChangeState| change.inserted.is_empty() && change.deleted.is_empty();
        let ixs = (1..self.changes.len()).filter(|&ix| chosen[ix]);
        ixs.filter(|&ix| self.changes[ix].op != ChangeOp::Edit && touches_no_line(&self.changes[ix]))
            .map(|ix| (0, self.hunk_without_lines(&set_of([ix as ChangeIx]), status)))
            .collect()
    }
}

impl Layout {
    fn is_settled(&self, at: usize) -> bool {
        self.settled_before[at + 1] > self.settled_before[at]
    }

    fn is_visible(&self, at: usize) -> bool {
        self.visible_before[at + 1] > self.visible_before[at]
    }

    fn is_shown(&self, at: usize) -> bool {
        self.is_settled(at) || self.is_visible(at)
    }
}

/// The last lines of the two texts a hunk lies between.
struct Sides {
    last_old: Option<TokenIx>,
    last_new: Option<TokenIx>,
}

/// Numbers the lines of a hunk, and puts removed lines before added ones in each run of changed lines.
struct LineBuilder {
    old_at: usize,
    new_at: usize,
    lines: Vec<HunkLine>,
    added: Vec<HunkLine>,
}

impl LineBuilder {
    /// Adds a line as it reads in the old and in the new text.
    fn push(&mut self, old: Option<&Cow<'_, str>>, new: Option<&Cow<'_, str>>) {
        let is_context = old.is_some() && old == new;
        if is_context {
            self.flush();
        }
        self.old_at += usize::from(old.is_some());
        self.new_at += usize::from(new.is_some());
        let (old_number, new_number) = (Some(self.old_at), Some(self.new_at));
        match (old, new) {
            (Some(text), _) if is_context => {
                self.lines.push(HunkLine::new(LineKind::Context, text, old_number, new_number));
            }
            _ => {
                self.lines.extend(old.map(|text| HunkLine::new(LineKind::Removed, text, old_number, None)));
                self.added.extend(new.map(|text| HunkLine::new(LineKind::Added, text, None, new_number)));
            }
        }
    }

    fn flush(&mut self) {
        self.lines.append(&mut self.added);
    }
}
