//! Recording changes: every write is reduced to a minimal line diff and cut into small changes.
//!
//! Unchanged lines keep their tokens, so a write of a whole file only touches the lines that it changes. The place of
//! inserted lines and the dependencies of a change are decided once, here. Later only statuses change.

use std::borrow::Cow;
#[cfg(any(not(target_family = "wasm"), test))]
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use crate::diff::{Op, diff_slices};
use crate::line_log::dependencies::Seen;
use crate::line_log::history::{Action, StatusChange};
use crate::line_log::hunk_size;
use crate::line_log::log::{ChangeState, Incarnation, LineLog, Saved, View, Write};
use crate::line_log::new_lines::NewLines;
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{ChangeId, ChangeIx, ChangeMeta, ChangeOp, Origin, Status};
use crate::size::compact_sort::set_of;
use crate::text::{first_eol, split_eol, split_lines};

/// Returns the number of lines that only one of two texts has, wherever they are. A file and no file differ by as much as a
/// changed line: an edited file is more like the file before a deletion than like no file.
#[cfg(any(not(target_family = "wasm"), test))]
fn n_other_lines(left: Option<&str>, right: Option<&str>) -> usize {
    let mut counts: BTreeMap<&str, isize> = BTreeMap::new();
    for (text, sign) in [(left, 1), (right, -1)] {
        text.into_iter().flat_map(str::lines).for_each(|line| *counts.entry(line).or_default() += sign);
    }
    let n_lines: usize = counts.values().map(|count| count.unsigned_abs()).sum();
    n_lines + if left.is_some() == right.is_some() { 0 } else { 2 }
}

impl LineLog {
    /// Records that `origin` changed the visible text to `text`, creating the file if it does not exist.
    ///
    /// Returns the resulting changes in text order; none if the text is the same. Only an agent's change can be
    /// pending: changes of a user or another program are accepted, whatever `status` is. A `status` that is off counts
    /// as pending.
    pub fn write(&mut self, origin: Origin, meta: ChangeMeta, text: &str, status: Status) -> Vec<ChangeId> {
        let seen = self.seen_in(View::Visible);
        let exists = self.exists_in(View::Visible);
        self.ingest(origin, meta, status, &seen, exists, text)
    }

    /// Records that `origin` deleted the file. Returns the change, or `None` if there was no file.
    pub fn delete(&mut self, origin: Origin, meta: ChangeMeta, status: Status) -> Option<ChangeId> {
        let seen = self.seen_in(View::Visible);
        self.exists_in(View::Visible).then(|| self.ingest_delete(origin, meta, status, &seen))
    }

    /// Records that `origin` moved the file to another path. Returns the change, or `None` if the file has that path
    /// already.
    pub fn rename(&mut self, origin: Origin, meta: ChangeMeta, to: &str, status: Status) -> Option<ChangeId> {
        if self.visible_path() == Some(to) {
            return None;
        }
        let write = self.begin_write(origin, meta);
        let ix = self.add_change(write, ChangeOp::Rename { to: to.to_owned() }, status_for(origin, status));
        Some(self.finish_write(write, vec![ix], Vec::new())[0])
    }

    /// Records the text that another program left on the disk; `None` if it deleted the file.
    ///
    /// The difference from the text last known to be on the disk ([`LineLog::mark_saved`]) becomes accepted changes of
    /// [`Origin::External`]. Pending changes stay. Afterwards `text` is the text known to be on the disk.
    ///
    /// Lines of accepted changes of the agent that are as before again count as rejected by the user, who restored them. A
    /// text that a save would have written is not a change of another program but an unrecorded save, such as one before a
    /// crash. If the disk shows the visible text, the pending changes are on it, so they are accepted. In a native build, the
    /// text before the last changes of other programs takes these back: the file was moved away and came back, for example.
    pub fn external(&mut self, text: Option<&str>, meta: ChangeMeta) -> Vec<ChangeId> {
        self.found_on_disk(Origin::External, text, meta)
    }

    /// Like [`LineLog::external`], for the first look at a file after a crash while it was written. The text before the
    /// last entry of the history takes that entry back: it did not reach the disk.
    pub fn after_crash(&mut self, text: Option<&str>, meta: ChangeMeta) -> Vec<ChangeId> {
        // Not asked whether the visible text is there: an acceptance whose undo was lost is on the disk, and shows it.
        if !self.is_saved_text(text) && !self.is_disk_text(text) && self.is_lost_entry(text, meta.at_ms) {
            self.mark_saved();
            return Vec::new();
        }
        #[cfg(any(not(target_family = "wasm"), test))]
        self.find_crash(text, meta.at_ms);
        self.external(text, meta)
    }

    /// Finds out whether the last write reached the disk before another program changed the file: the text is more like the
    /// one after the write, or like the one before it. A write that did not reach it is taken back.
    #[cfg(any(not(target_family = "wasm"), test))]
    fn find_crash(&mut self, text: Option<&str>, at_ms: u64) {
        if self.is_saved_text(text) || self.is_disk_text(text) {
            return;
        }
        let written = n_other_lines(text, self.disk_text().as_deref());
        if !self.is_disk_saved() {
            // Several entries may have waited for this write.
            if written < n_other_lines(text, self.saved_text().as_deref()) {
                self.mark_saved();
            }
            return;
        }
        if let Some(before) = self.without_last_entry(at_ms)
            && n_other_lines(text, before.disk_text().as_deref()) < written
        {
            *self = before;
        }
    }

    /// Takes the last entry of the history back if the text on the disk is the same without it. Returns whether it did.
    ///
    /// After a crash, this takes back the part of a step that changes no file, when the other part did not reach the disk.
    pub fn take_back_without_effect(&mut self, at_ms: u64) -> bool {
        let text = self.disk_text();
        let is_lost = self.is_lost_entry(text.as_deref(), at_ms);
        if is_lost {
            self.mark_saved();
        }
        is_lost
    }

    /// Like [`LineLog::external`], for a text on the disk that is known to come from `origin`, such as from a command
    /// that an agent ran.
    pub fn found_on_disk(&mut self, origin: Origin, text: Option<&str>, meta: ChangeMeta) -> Vec<ChangeId> {
        if !self.is_saved_text(text) && self.is_unrecorded_save(text, meta.at_ms) {
            self.mark_saved();
            return Vec::new();
        }
        if self.saved_text() == self.disk_text() {
            // The texts are equal but may consist of other lines than those once saved. The change is relative to the
            // current lines.
            self.mark_saved();
        }
        if origin == Origin::External && self.is_before_last_externals(text, meta.at_ms) {
            self.mark_saved();
            return Vec::new();
        }
        let (existed, seen) = self.seen_on_disk();
        let ids = match text {
            Some(text) => self.ingest(origin, meta, Status::Accepted, &seen, existed, text),
            None if existed => vec![self.ingest_delete(origin, meta, Status::Accepted, &seen)],
            None => Vec::new(),
        };
        self.saved = Some(self.saved_after(&seen, text.is_some(), &ids));
        if self.is_disk_text(text) {
            // Lines that were restored are on the disk again.
            self.mark_saved();
        }
        ids
    }

    /// Returns whether a save would write this text, after accepting the pending changes that it shows.
    fn is_unrecorded_save(&mut self, text: Option<&str>, at_ms: u64) -> bool {
        if self.is_visible_text(text) {
            let pending: Vec<_> = self.pending_indexes().map(|ix| (ix, Status::Accepted)).collect();
            self.set_statuses(&pending, Origin::External, at_ms, Action::Accept);
        }
        self.is_disk_text(text)
    }

    /// Returns whether the file was last known to exist on the disk, and its lines.
    fn seen_on_disk(&self) -> (bool, Seen) {
        let (exists, tokens) = match &self.saved {
            None => (self.exists_in(View::Base), self.tokens_in(View::Base)),
            Some(saved) => (saved.exists, saved.tokens.clone()),
        };
        let mut shown = vec![false; self.sequence.len()];
        tokens.iter().for_each(|&token| shown[token as usize] = true);
        (exists, Seen { tokens, view: View::Disk, shown: Some(shown) })
    }

    /// Records that the caller has just saved [`LineLog::disk_text`].
    pub fn mark_saved(&mut self) {
        self.saved = self.has_changes_on_disk().then(|| self.saved_in(View::Disk));
    }

    /// Records that the caller has just removed the file from the disk. The texts stay as they are: the removal is part of
    /// a change that the caller records, such as an undo.
    #[cfg(any(not(target_family = "wasm"), test))]
    pub fn mark_removed(&mut self) {
        self.saved = Some(Saved { exists: false, tokens: Vec::new() });
    }

    fn seen_in(&self, view: View) -> Seen {
        Seen { tokens: self.tokens_in(view), view, shown: None }
    }

    /// Returns the text on the disk after an external change: the tokens that were there and not deleted by it, and
    /// its own.
    fn saved_after(&self, seen: &Seen, exists: bool, ids: &[ChangeId]) -> Saved {
        let new = set_of(ids.iter().filter_map(|&id| self.index_of(id)));
        let was_shown = |token: TokenIx| {
            seen.shown.as_ref().is_some_and(|shown| shown.get(token as usize).copied().unwrap_or(false))
        };
        let stays = |&token: &TokenIx| {
            let state = self.sequence.token(token);
            new.contains(&state.inserted_by)
                || was_shown(token) && !self.sequence.deleted_by(token).iter().any(|by| new.contains(by))
        };
        Saved { exists, tokens: self.sequence.iter().filter(stays).collect() }
    }

    fn ingest(
        &mut self,
        origin: Origin,
        meta: ChangeMeta,
        status: Status,
        seen: &Seen,
        exists: bool,
        text: &str,
    ) -> Vec<ChangeId> {
        let eol = self.eol.take().unwrap_or_else(|| first_eol(text).unwrap_or("\n").to_owned());
        let NewLines { lines, ops } = self.changed_lines(&seen.tokens, text).unwrap_or_else(|| {
            let lines = split_lines(text);
            let ops = self.minimal_diff(&seen.tokens, &lines, &eol);
            NewLines { lines, ops }
        });
        if exists && ops.is_empty() {
            // Nothing was written, so the line ending stays undecided until the first real write.
            self.eol = self.sequence_has_eol().then_some(eol);
            return Vec::new();
        }
        self.eol = Some(eol);
        let mut taken = BTreeSet::new();
        let mut ops = ops;
        // An empty file may be one that the agent created: without its lines it would not exist.
        let may_be_restored = origin == Origin::External && !text.is_empty() && self.is_disk_saved();
        if origin == Origin::User || may_be_restored {
            // Deleting new lines in the editor is an edit as any other: the file can only be as before if it was restored.
            ops.retain(|op| {
                if origin == Origin::User && op.new.is_empty() {
                    return true;
                }
                let found = self.taken_back_by(op, seen, &lines);
                taken.extend(&found);
                found.is_empty()
            });
        }
        if exists && ops.is_empty() {
            let at_ms = meta.at_ms;
            let set = self.take_back(&taken);
            self.record(origin, at_ms, Action::Reject, set);
            return Vec::new();
        }
        if origin != Origin::Agent {
            ops = self.cut_at_hidden(ops, seen);
        }
        let pieces = self.pieces(&ops, seen, &lines);
        let write = self.begin_write(origin, meta);
        let op = if exists { ChangeOp::Edit } else { ChangeOp::Create };
        let n_changes = pieces.len().max(usize::from(!exists));
        let status = status_for(origin, status);
        let ixs: Vec<ChangeIx> = (0..n_changes).map(|_| self.add_change(write, op.clone(), status)).collect();
        // From the end, so that the positions of earlier pieces do not move.
        for (piece, &ix) in pieces.iter().zip(&ixs).rev() {
            self.apply_piece(ix, piece, seen, &lines);
        }
        // A file that existed only because it had lines, and has just lost the last of them, becomes an empty file.
        if !exists || !self.exists_in(seen.view) {
            self.add_incarnation(&ixs, seen.view);
        }
        let set = self.take_back(&taken);
        self.finish_write(write, ixs, set)
    }

    fn sequence_has_eol(&self) -> bool {
        self.sequence.iter().any(|token| !split_eol(self.sequence.text(token)).1.is_empty())
    }

    /// Returns the smallest set of lines to delete and insert so that the given tokens read as `lines`.
    ///
    /// A token without a line ending is shown with `eol`, except at the end. So it matches a line that ends in `eol`
    /// anywhere but at the end, and there it only matches a line without a line ending. Equality depends on the
    /// position, so the last line is matched separately.
    fn minimal_diff(&self, tokens: &[TokenIx], lines: &[&str], eol: &str) -> Vec<Op> {
        let old: Vec<&str> = tokens.iter().map(|&token| self.sequence.text(token)).collect();
        let is_bare = |line: &&str| !matches!(line.as_bytes().last(), Some(b'\n' | b'\r'));
        let Some((last, rest)) = lines.split_last().filter(|_| old.iter().any(is_bare)) else {
            return diff_slices(&old, lines);
        };
        let full = |line| if is_bare(&line) { Cow::Owned(format!("{line}{eol}")) } else { Cow::Borrowed(line) };
        let old_full: Vec<Cow<'_, str>> = old.iter().map(|&line| full(line)).collect();
        let rest_full: Vec<Cow<'_, str>> = rest.iter().map(|&line| full(line)).collect();
        let cost = |ops: &[Op]| -> usize { ops.iter().map(|op| op.old.len() + op.new.len()).sum() };
        let tail = |old_from: usize, new_from: usize| Op { old: old_from..old.len(), new: new_from..lines.len() };

        let matched = old.iter().rposition(|line| line == last).map(|at| {
            let mut ops = diff_slices(&old_full[..at], &rest_full);
            join(&mut ops, tail(at + 1, lines.len()));
            ops
        });
        // If the last token matches the last line, leaving that line unmatched cannot be better.
        if let Some(ops) = &matched
            && old.last() == Some(last)
        {
            return ops.clone();
        }
        let mut unmatched = diff_slices(&old_full, &rest_full);
        join(&mut unmatched, tail(old.len(), rest.len()));
        matched.filter(|ops| cost(ops) <= cost(&unmatched)).unwrap_or(unmatched)
    }

    /// Cuts replacements at the lines that only the other view shows. The new lines are distributed one by one, and the
    /// last part gets the rest.
    fn cut_at_hidden(&self, ops: Vec<Op>, seen: &Seen) -> Vec<Op> {
        let mut parts = Vec::with_capacity(ops.len());
        for mut op in ops {
            for cut in self.cuts_in(op.old.clone(), seen) {
                let new = op.new.end.min(op.new.start + (cut - op.old.start));
                parts.push(Op { old: op.old.start..cut, new: op.new.start..new });
                (op.old.start, op.new.start) = (cut, new);
            }
            parts.push(op);
        }
        parts
    }

    /// Cuts the ranges of a diff into the pieces that become changes.
    fn pieces(&self, ops: &[Op], seen: &Seen, lines: &[&str]) -> Vec<Op> {
        let mut pieces = Vec::new();
        for op in ops {
            let old: Vec<&str> = seen.tokens[op.old.clone()].iter().map(|&token| self.sequence.text(token)).collect();
            pieces.extend(hunk_size::cut(&old, &lines[op.new.clone()], self.hunk_limits).into_iter().map(|piece| Op {
                old: op.old.start + piece.old.start..op.old.start + piece.old.end,
                new: op.new.start + piece.new.start..op.new.start + piece.new.end,
            }));
        }
        pieces
    }

    /// Marks the old lines of a piece deleted, and inserts the new lines in their place.
    ///
    /// New lines come directly after the last line they replace. If they replace none, they come after the line before
    /// them, its hidden replacement, and the lines that were deleted there. So a replaced line stays before its
    /// replacement, a line typed next to a replacement depends on neither, a line typed after a replaced line stays after
    /// the replacement, and a line typed in the place of deleted lines stays after them.
    fn apply_piece(&mut self, ix: ChangeIx, piece: &Op, seen: &Seen, lines: &[&str]) {
        let deleted = &seen.tokens[piece.old.clone()];
        let mut deps = self.mark_deleted(ix, deleted);
        if !piece.new.is_empty() {
            let mut anchor = piece.old.end.checked_sub(1).map(|index| seen.tokens[index]);
            match deleted {
                [] => {
                    let deleted = self.find_deleted_at(ix, anchor, seen, &mut deps);
                    let replacement = anchor.map(|anchor| self.end_of_replacement(anchor, seen));
                    anchor = deleted.into_iter().chain(replacement).max_by_key(|&token| self.sequence.place(token));
                }
                [first, ..] => self.find_deleted_between(ix, *first, anchor, seen, &mut deps),
            }
            self.find_around(ix, anchor, seen, &mut deps);
            let new = self.sequence.insert_after(anchor, &lines[piece.new.clone()], ix);
            self.changes[ix as usize].inserted = new.collect();
        }
        self.set_deps(ix, &deps);
    }

    /// Marks tokens deleted by a change. Returns the changes that had inserted them.
    fn mark_deleted(&mut self, ix: ChangeIx, tokens: &[TokenIx]) -> BTreeSet<ChangeIx> {
        let mut deps = BTreeSet::new();
        for &token in tokens {
            self.sequence.deleted_by_mut(token).push(ix);
            deps.insert(self.sequence.token(token).inserted_by);
            self.sequence.set_visible(token, false);
        }
        self.changes[ix as usize].deleted = tokens.to_vec();
        deps
    }

    /// Starts a new lifetime of the file. It depends on the deletions that ended the earlier ones.
    fn add_incarnation(&mut self, created_by: &[ChangeIx], view: View) {
        let ended = set_of(self.incarnations.iter().flat_map(|inc| inc.deleted_by.iter().copied()));
        let ended = set_of(ended.into_iter().filter(|&by| self.is_on(by, view)));
        for &ix in created_by {
            let missing = set_of(ended.iter().copied().filter(|by| !self.changes[ix as usize].deps.contains(by)));
            self.set_deps(ix, &missing);
            self.changes[ix as usize].deps.sort_unstable();
        }
        self.incarnations.push(Incarnation { created_by: created_by.to_vec(), deleted_by: Vec::new() });
    }

    fn ingest_delete(&mut self, origin: Origin, meta: ChangeMeta, status: Status, seen: &Seen) -> ChangeId {
        let write = self.begin_write(origin, meta);
        let ix = self.add_change(write, ChangeOp::Delete, status_for(origin, status));
        let deps = self.mark_deleted(ix, &seen.tokens);
        self.set_deps(ix, &deps);
        self.incarnations.iter_mut().for_each(|inc| inc.deleted_by.push(ix));
        self.finish_write(write, vec![ix], Vec::new())[0]
    }

    pub(super) fn begin_write(&mut self, origin: Origin, meta: ChangeMeta) -> u32 {
        self.writes.push(Write { origin, meta, base_revision: self.revision });
        self.writes.len() as u32 - 1
    }

    pub(super) fn add_change(&mut self, write: u32, op: ChangeOp, status: Status) -> ChangeIx {
        self.changes.push(ChangeState::new(write, op, status));
        self.changes.len() as ChangeIx - 1
    }

    /// Puts new changes on the disk if the disk rule does, and records them in the history, after the statuses `set`.
    fn finish_write(&mut self, write: u32, ixs: Vec<ChangeIx>, mut set: Vec<StatusChange>) -> Vec<ChangeId> {
        let Write { origin, meta, .. } = &self.writes[write as usize];
        let (origin, at_ms) = (*origin, meta.at_ms);
        for &ix in &ixs {
            if self.changes[ix as usize].on_disk {
                self.count_on_disk(ix);
            }
        }
        let created = ixs.iter().map(|&ix| StatusChange {
            change: self.id_of(ix),
            from: Status::RolledBack,
            to: self.changes[ix as usize].status,
        });
        set.extend(created);
        self.record(origin, at_ms, Action::Write, set);
        ixs.into_iter().map(|ix| self.id_of(ix)).collect()
    }
}

/// Appends a range to the ranges of a diff. It is joined to the last one if they touch, and skipped if it is empty.
fn join(ops: &mut Vec<Op>, op: Op) {
    match ops.last_mut() {
        _ if op.old.is_empty() && op.new.is_empty() => {}
        Some(last) if last.old.end == op.old.start && last.new.end == op.new.start => {
            (last.old.end, last.new.end) = (op.old.end, op.new.end);
        }
        _ => ops.push(op),
    }
}

/// Returns the status of a new change.
fn status_for(origin: Origin, asked: Status) -> Status {
    match (origin, asked) {
        (Origin::User | Origin::External, _) | (_, Status::Accepted) => Status::Accepted,
        _ => Status::Pending,
    }
}
