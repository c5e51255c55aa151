//! The review: changes grouped into hunks as a reader sees them.
//!
//! A hunk is a run of lines that changes of one status touch, with no other line shown between them. It shows the
//! difference between the text with exactly these changes off and with them on.

use std::borrow::Cow;
use std::collections::BTreeSet;

use serde::Serialize;

use crate::diff::{HunkLine, LineKind};
use crate::line_log::hunk_spans::{Layout, Span};
use crate::line_log::log::{ChangeState, LineLog};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{BASE, ChangeId, ChangeIx, ChangeOp, HunkId, Origin, Status};
use crate::size::compact_sort::{set_of, sort_by_key};

/// Selects the hunks to list, and how much context they show.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HunkQuery<'a> {
    /// Lists changes of these statuses. Changes of different statuses are in different hunks.
    pub statuses: &'a [Status],
    /// Lists changes of this origin.
    pub origin: Origin,
    /// Lists changes of these runs only, if given.
    pub runs: Option<&'a [String]>,
    /// Number of unchanged lines shown around a hunk.
    pub context: usize,
}

impl Default for HunkQuery<'_> {
    /// Selects the agent's pending changes, with three lines of context.
    fn default() -> Self {
        Self { statuses: &[Status::Pending], origin: Origin::Agent, runs: None, context: 3 }
    }
}

/// A unit that a reviewer accepts or rejects as a whole.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Hunk {
    /// Its id, which keeps its meaning while the review lasts.
    pub id: HunkId,
    /// The changes in it, in order.
    pub change_ids: Vec<ChangeId>,
    /// The status of all of them.
    pub status: Status,
    /// The creation, deletion or renaming of the file, if the hunk includes it.
    pub entry: Option<ChangeOp>,
    /// Number of the first old line, from 1; without old lines, the number of the line before. Old numbers count the
    /// lines of [`LineLog::settled_text`].
    pub old_start: usize,
    /// Number of old lines it covers, context included.
    pub old_lines: usize,
    /// Number of the first new line, by the same rule. New numbers count the lines of [`LineLog::visible_text`].
    pub new_start: usize,
    /// Number of new lines it covers, context included.
    pub new_lines: usize,
    /// Its lines. In each run of changed lines, removed ones come first.
    pub lines: Vec<HunkLine>,
    /// The changes that depend on it. Rejecting the hunk asks about them.
    pub dependents: Vec<ChangeId>,
    /// Whether a pending part of it is on the disk because a line that the agent did not write depends on it.
    pub kept_by_user: bool,
    /// Whether a pending part of it is on the disk because any change there depends on it.
    pub kept: bool,
    /// Whether it deletes a line that the user wrote.
    pub removes_user_lines: bool,
    /// Whether the user or another program has changed or deleted the same lines since: see [`LineLog::contested`].
    pub contested: bool,
    /// Whether it exceeds the limits of a hunk and cannot be cut automatically: see [`LineLog::split`].
    pub oversized: bool,
}

impl LineLog {
    /// Returns the hunks of a file in text order. Hunks without lines, such as the deletion of an empty file, come
    /// first.
    #[must_use]
    pub fn hunks(&self, query: HunkQuery<'_>) -> Vec<Hunk> {
        let layout = self.layout();
        let mut hunks = Vec::new();
        for &status in query.statuses {
            let chosen = self.chosen(status, &query);
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

    /// Returns the number of [`hunks`](Self::hunks), without building them.
    #[must_use]
    pub fn n_hunks(&self, query: &HunkQuery<'_>) -> usize {
        let layout = self.short_layout();
        let of_status = |&status: &Status| {
            let chosen = self.chosen(status, query);
            let spans = self.spans(&layout, &chosen).into_iter();
            spans.map(|span| self.cut_span(&layout, span).len()).sum::<usize>() + self.entry_ixs(&chosen).count()
        };
        query.statuses.iter().map(of_status).sum()
    }

    fn chosen(&self, status: Status, query: &HunkQuery<'_>) -> Vec<bool> {
        (0..self.changes.len() as ChangeIx).map(|ix| ix != BASE && self.is_chosen(ix, status, query)).collect()
    }

    fn is_chosen(&self, ix: ChangeIx, status: Status, query: &HunkQuery<'_>) -> bool {
        let (change, write) = (&self.changes[ix as usize], self.write_of(ix));
        change.status == status
            && change.parts.is_empty()
            && write.origin == query.origin
            && query.runs.is_none_or(|runs| runs.contains(&write.meta.run))
    }

    fn hunk_of(&self, layout: &Layout, span: Span, status: Status, oversized: bool, context: usize) -> Hunk {
        let (first, builder) = self.lines_of(layout, &span, status, context);
        let (old_from, new_from) = (layout.settled_before[first], layout.visible_before[first]);
        let (old_lines, new_lines) = (builder.old_at - old_from, builder.new_at - new_from);
        Hunk {
            old_start: old_from + usize::from(old_lines > 0),
            old_lines,
            new_start: new_from + usize::from(new_lines > 0),
            new_lines,
            lines: builder.lines.into_iter().map(|(_, line)| line).collect(),
            oversized,
            ..self.hunk_without_lines(&span.ixs, status)
        }
    }

    /// Returns the position of a hunk's first line, context included, and its lines.
    pub(super) fn lines_of(
        &self,
        layout: &Layout,
        span: &Span,
        status: Status,
        context: usize,
    ) -> (usize, LineBuilder) {
        let sides = self.sides(layout, span, status);
        let lead = self.context_before(layout, &sides, span.at.start, context);
        let trail = self.context_after(layout, &sides, span.at.end, context);
        let first = lead.first().copied().unwrap_or(span.at.start);
        let (old_at, new_at) = (layout.settled_before[first], layout.visible_before[first]);
        let mut builder = LineBuilder { old_at, new_at, lines: Vec::new(), added: Vec::new() };
        for at in lead.into_iter().chain(span.at.clone()).chain(trail) {
            let token = layout.tokens[at];
            let is_inside = span.at.contains(&at);
            let is_old = !is_inside || self.shows_with(token, &span.ixs, false);
            let is_new = !is_inside || self.shows_with(token, &span.ixs, true);
            let (old, new) = (self.text_at(token, sides.last_old), self.text_at(token, sides.last_new));
            builder.push(token, is_old.then_some(&old), is_new.then_some(&new));
        }
        builder.flush();
        (first, builder)
    }

    /// Finds the last lines of the old and the new text. Only they may be shown without a line ending.
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

    /// Returns a line as it is in a text that ends with the token `last`.
    pub(super) fn text_at(&self, token: TokenIx, last: Option<TokenIx>) -> Cow<'_, str> {
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

    /// Returns the positions of up to `n` unchanged lines before `at`.
    ///
    /// A line directly before `at` that gets or loses its line ending with this hunk is always included.
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

    /// Returns a hunk with all data except its lines and numbers.
    fn hunk_without_lines(&self, ixs: &BTreeSet<ChangeIx>, status: Status) -> Hunk {
        let change_ids: Vec<ChangeId> = ixs.iter().map(|&ix| self.id_of(ix)).collect();
        let dependents = self.dependents_of(ixs);
        let kept = status == Status::Pending && ixs.iter().any(|&ix| self.changes[ix as usize].on_disk);
        let by_user = |&ix: &ChangeIx| self.write_of(ix).origin != Origin::Agent;
        let entry = ixs.iter().map(|&ix| &self.changes[ix as usize].op).find(|&op| *op != ChangeOp::Edit);
        let is_by = |ix: ChangeIx, origin: Origin| ix != BASE && self.write_of(ix).origin == origin;
        let deleted = ixs.iter().flat_map(|&ix| &self.changes[ix as usize].deleted);
        let mut deleted = deleted.map(|&token| self.sequence.token(token));
        let removes_user_lines = deleted.any(|token| is_by(token.inserted_by, Origin::User));
        let contested = ixs.iter().any(|&ix| !self.rivals_of(ix).is_empty());
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

    /// Returns hunks for changes that touch no line.
    fn entry_hunks(&self, status: Status, chosen: &[bool]) -> Vec<(usize, Hunk)> {
        self.entry_ixs(chosen).map(|ix| (0, self.hunk_without_lines(&set_of([ix]), status))).collect()
    }

    /// Returns the changes that touch no line: an empty file created or deleted, or a rename.
    fn entry_ixs(&self, chosen: &[bool]) -> impl Iterator<Item = ChangeIx> {
        let touches_no_line = |change: &ChangeState| change.inserted.is_empty() && change.deleted.is_empty();
        let is_entry = move |change: &ChangeState| change.op != ChangeOp::Edit && touches_no_line(change);
        (1..self.changes.len()).filter(move |&ix| chosen[ix] && is_entry(&self.changes[ix])).map(|ix| ix as ChangeIx)
    }
}

/// The last lines of the old and the new text of a hunk.
struct Sides {
    last_old: Option<TokenIx>,
    last_new: Option<TokenIx>,
}

/// Numbers the lines of a hunk, and puts removed lines before added ones in each run of changed lines.
pub(super) struct LineBuilder {
    old_at: usize,
    new_at: usize,
    pub(super) lines: Vec<(TokenIx, HunkLine)>,
    added: Vec<(TokenIx, HunkLine)>,
}

impl LineBuilder {
    /// Adds a line as it is in the old and in the new text.
    fn push(&mut self, token: TokenIx, old: Option<&Cow<'_, str>>, new: Option<&Cow<'_, str>>) {
        let is_context = old.is_some() && old == new;
        if is_context {
            self.flush();
        }
        self.old_at += usize::from(old.is_some());
        self.new_at += usize::from(new.is_some());
        let (old_number, new_number) = (Some(self.old_at), Some(self.new_at));
        let line = |kind, text, old_number, new_number| (token, HunkLine::new(kind, text, old_number, new_number));
        match (old, new) {
            (Some(text), _) if is_context => {
                self.lines.push(line(LineKind::Context, text, old_number, new_number));
            }
            _ => {
                self.lines.extend(old.map(|text| line(LineKind::Removed, text, old_number, None)));
                self.added.extend(new.map(|text| line(LineKind::Added, text, None, new_number)));
            }
        }
    }

    fn flush(&mut self) {
        self.lines.append(&mut self.added);
    }
}
