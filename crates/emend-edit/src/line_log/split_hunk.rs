//! Splitting a hunk at a line, or into chosen lines and the rest, as a reviewer sees them.
//!
//! A hunk that was split at a line stays split: its second part starts with a change that begins a hunk. A decision on
//! chosen lines needs no such mark, because changes of different statuses are in different hunks anyway.

use std::collections::BTreeSet;

use crate::diff::LineKind;
use crate::line_log::history::Action;
use crate::line_log::hunk_spans::{Layout, Span};
use crate::line_log::log::LineLog;
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{ChangeId, ChangeIx, ChangeOp, DecisionError, Origin, Status};
use crate::size::compact_sort::set_of;

/// A hunk prepared for splitting.
struct Shown {
    /// Its changes.
    ixs: BTreeSet<ChangeIx>,
    /// The tokens of its lines in the order in which they are shown. Lines that its changes left are context.
    lines: Vec<(TokenIx, LineKind)>,
}

impl LineLog {
    /// Splits the hunk of the changes `ids` in two, as an entry of the history that can be undone.
    ///
    /// The second part starts with `line`, an index in [`Hunk::lines`](crate::line_log::Hunk::lines) as listed with
    /// `context`. A change with lines on both sides is split. Returns whether the hunk was split: it is not if one part
    /// would have no changed line, or if `line` cuts through the deletion of the file. Where as many lines follow as are
    /// removed, each removed line stays with the added one at its place. An undo joins parts that touch.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`]; also if the changes are no longer one hunk.
    ///
    /// ```
    /// use emend_edit::line_log::{ChangeMeta, HunkQuery, LineLog, Origin, Status};
    /// let mut log = LineLog::new(Some("top\n"));
    /// log.write(Origin::Agent, ChangeMeta::default(), "top\none\ntwo\n", Status::Pending);
    /// let hunk = &log.hunks(HunkQuery::default())[0];
    /// assert_eq!(hunk.lines[2].text, "two\n");
    /// assert!(log.split_hunk(&hunk.change_ids, 2, 3, Origin::User, 0)?);
    /// assert_eq!(log.hunks(HunkQuery::default()).len(), 2);
    /// # Ok::<(), emend_edit::line_log::DecisionError>(())
    /// ```
    pub fn split_hunk(
        &mut self,
        ids: &[ChangeId],
        line: usize,
        context: usize,
        by: Origin,
        at_ms: u64,
    ) -> Result<bool, DecisionError> {
        let shown = self.shown_lines(ids, context)?;
        let is_changed = |(_, kind): &&(TokenIx, LineKind)| *kind != LineKind::Context;
        let Some(skipped) = shown.lines.iter().skip(line).position(|each| is_changed(&each)) else { return Ok(false) };
        let chosen = line + skipped;
        let first = self.pair_at(&shown.lines, chosen).unwrap_or(shown.lines[chosen].0);
        let boundary = self.sequence.place(first);
        let changed = shown.lines.iter().filter(is_changed);
        let mut is_second = vec![None; self.sequence.len()];
        changed.for_each(|&(token, _)| is_second[token as usize] = Some(self.sequence.place(token) >= boundary));
        if !is_second.contains(&Some(false)) {
            return Ok(false);
        }
        let second = self.cut_out(&shown.ixs, is_second).unwrap_or_default();
        let touches = |ix: &ChangeIx| self.tokens_of(*ix).contains(&first);
        let Some(start) = second.into_iter().find(touches).filter(|&ix| self.can_start_hunk(ix, ids)) else {
            return Ok(false);
        };
        self.changes[start as usize].starts_hunk = true;
        self.record(by, at_ms, Action::Split { change: self.id_of(start) }, Vec::new());
        Ok(true)
    }

    /// Returns the removed line that begins the second part, if the changed line `line` is one of as many removed as added
    /// lines that follow each other: its own, or the one at its place. `None` for the first of them.
    ///
    /// Lines that were replaced together are in the order of the hunk, removed ones first. The added lines before the
    /// boundary are moved before it, so that both parts have their own lines. No text shows removed and added lines, so
    /// that changes none.
    fn pair_at(&mut self, lines: &[(TokenIx, LineKind)], line: usize) -> Option<TokenIx> {
        let before = |end: usize, kind| lines[..end].iter().rev().take_while(|(_, other)| *other == kind).count();
        let from = |start: usize, kind| lines[start..].iter().take_while(|(_, other)| *other == kind).count();
        let (_, kind) = lines[line];
        let at = before(line, kind);
        let start_of_added = if kind == LineKind::Added { line - at } else { line + from(line, kind) };
        let n = before(start_of_added, LineKind::Removed);
        if at == 0 || n != from(start_of_added, LineKind::Added) {
            return None;
        }
        let tokens = lines[start_of_added - n..start_of_added + n].iter().map(|(token, _)| *token);
        let tokens: Vec<TokenIx> = tokens.collect();
        let (removed, added) = tokens.split_at(n);
        if self.sequence.place(added[at - 1]) > self.sequence.place(removed[at]) {
            let next = self.sequence.iter_after(Some(tokens[0])).take(2 * n - 1);
            if !next.eq(tokens[1..].iter().copied()) {
                return None;
            }
            self.sequence.move_before(&added[..at], removed[at]);
        }
        Some(removed[at])
    }

    /// Returns whether no change has lines both before and after the first line of `start`, and lines are shown on both
    /// sides.
    fn can_start_hunk(&self, start: ChangeIx, ids: &[ChangeId]) -> bool {
        // The changes are in several places now.
        let Ok((layout, span, _)) = self.one_hunk(ids) else { return true };
        let units = self.units(&layout, &span);
        let at = units.iter().position(|unit| unit.ixs.contains(&start)).unwrap_or_default();
        let shows = |units: &[Span]| units.iter().any(|unit| self.changes_anything(&layout, unit));
        shows(&units[..at]) && shows(&units[at..])
    }

    /// Splits the changes of a hunk so that its lines `lines`, as indexes like those of [`LineLog::split_hunk`], have
    /// changes of their own. Returns these changes, to decide on them. Unchanged lines among `lines` are ignored.
    ///
    /// This is not an entry of the history: the hunk looks as before. `None` if no changed line is among `lines`, if an
    /// index is too large, or if only some lines of a deleted file are.
    ///
    /// # Errors
    ///
    /// As [`LineLog::split_hunk`].
    pub fn split_lines(
        &mut self,
        ids: &[ChangeId],
        lines: &[usize],
        context: usize,
    ) -> Result<Option<Vec<ChangeId>>, DecisionError> {
        let shown = self.shown_lines(ids, context)?;
        if lines.iter().any(|&line| line >= shown.lines.len()) {
            return Ok(None);
        }
        let changed = shown.lines.iter().enumerate().filter(|(_, (_, kind))| *kind != LineKind::Context);
        let mut is_chosen = vec![None; self.sequence.len()];
        changed.for_each(|(index, &(token, _))| is_chosen[token as usize] = Some(lines.contains(&index)));
        let chosen = self.cut_out(&shown.ixs, is_chosen).unwrap_or_default();
        Ok((!chosen.is_empty()).then(|| chosen.into_iter().map(|ix| self.id_of(ix)).collect()))
    }

    /// Splits changes so that the chosen ones of their lines have changes of their own, and returns these. `is_chosen` has
    /// an entry for each token, which is none for those that are not changed lines of the hunk. `None` if
    /// that would split the deletion of a file; nothing changes then.
    fn cut_out(&mut self, ixs: &BTreeSet<ChangeIx>, mut is_chosen: Vec<Option<bool>>) -> Option<BTreeSet<ChangeIx>> {
        let mut marked = Vec::with_capacity(ixs.len());
        // From the latest change, so that a line that was added and replaced within the hunk goes with its replacement.
        for &ix in ixs.iter().rev() {
            let marks = self.mark_hidden(ix, &mut is_chosen);
            let is_mixed = marks.windows(2).any(|pair| pair[0] != pair[1]);
            if is_mixed && self.changes[ix as usize].op == ChangeOp::Delete {
                return None;
            }
            marked.push((ix, marks));
        }
        let mut chosen = Vec::new();
        for (ix, marks) in marked {
            // From the end, so that the places of earlier cuts do not move.
            for at in (1..marks.len()).rev().filter(|&at| marks[at - 1] != marks[at]) {
                chosen.extend(self.cut_change(ix, at).filter(|_| marks[at]));
            }
            chosen.extend(Some(self.first_part(ix)).filter(|_| marks.first() == Some(&true)));
        }
        Some(set_of(chosen))
    }

    /// Returns for each token of a change whether it goes with the chosen lines, and notes that in `is_chosen`.
    ///
    /// A token that the hunk does not show goes with the next one that it shows, or else with the one before.
    fn mark_hidden(&self, ix: ChangeIx, is_chosen: &mut [Option<bool>]) -> Vec<bool> {
        let tokens = self.tokens_of(ix);
        let known: Vec<Option<bool>> = tokens.iter().map(|&token| is_chosen[token as usize]).collect();
        let mut marks = Vec::with_capacity(tokens.len());
        for (at, &token) in tokens.iter().enumerate() {
            let after = || known[at..].iter().flatten().next();
            let before = || known[..at].iter().flatten().next_back();
            let mark = after().or_else(before).copied().unwrap_or(false);
            is_chosen[token as usize].get_or_insert(mark);
            marks.push(mark);
        }
        marks
    }

    /// Splits the first part of a change before its line `at`. Returns the second part.
    fn cut_change(&mut self, ix: ChangeIx, at: usize) -> Option<ChangeIx> {
        let first = self.id_of(self.first_part(ix));
        let [_, second] = self.split(first, at).ok().flatten()?;
        self.index_of(second)
    }

    /// Returns the change itself, or the first of the parts into which it was split.
    pub(super) fn first_part(&self, ix: ChangeIx) -> ChangeIx {
        let mut first = ix;
        while let Some(&part) = self.changes[first as usize].parts.first() {
            first = part;
        }
        first
    }

    /// Returns the lines that a change removes and then those that it adds.
    fn tokens_of(&self, ix: ChangeIx) -> Vec<TokenIx> {
        let change = &self.changes[ix as usize];
        change.deleted.iter().chain(&change.inserted).copied().collect()
    }

    /// Returns the lines of the hunk of some changes.
    fn shown_lines(&self, ids: &[ChangeId], context: usize) -> Result<Shown, DecisionError> {
        let (layout, span, status) = self.one_hunk(ids)?;
        let (_, builder) = self.lines_of(&layout, &span, status, context);
        let lines = builder.lines.into_iter().map(|(token, line)| {
            // A line that only gets or loses its line ending is not a line of the hunk's changes.
            let inserted_by = self.sequence.token(token).inserted_by;
            let is_ours = self.sequence.deleted_by(token).iter().chain([&inserted_by]).any(|ix| span.ixs.contains(ix));
            (token, if is_ours { line.kind } else { LineKind::Context })
        });
        Ok(Shown { lines: lines.collect(), ixs: span.ixs })
    }

    /// Returns the range of tokens of the one hunk that has exactly these changes.
    pub(super) fn one_hunk(&self, ids: &[ChangeId]) -> Result<(Layout, Span, Status), DecisionError> {
        let ixs = self.resolve_all(ids)?;
        let unknown = || DecisionError::UnknownChange { id: ids.first().copied().unwrap_or(ChangeId(0)) };
        let status_of = |ix: ChangeIx| self.changes[ix as usize].status;
        let status = ixs.first().map(|&ix| status_of(ix)).ok_or_else(unknown)?;
        let layout = self.layout();
        let chosen: Vec<bool> = (0..self.changes.len() as ChangeIx).map(|ix| ixs.contains(&ix)).collect();
        let mut spans = self.spans(&layout, &chosen);
        match spans.pop() {
            Some(span) if spans.is_empty() && ixs.iter().all(|&ix| status_of(ix) == status) => {
                Ok((layout, Span { ixs, ..span }, status))
            }
            _ => Err(unknown()),
        }
    }
}
