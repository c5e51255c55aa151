//! Texts that take changes back: lines restored by hand, and edits that never reached the disk.
//!
//! Such a text is recorded by switching the changes off. As new lines beside the removed ones, it would show each
//! restored line twice as soon as the change is rejected.

use std::collections::BTreeSet;

use crate::diff::Op;
use crate::line_log::dependencies::Seen;
use crate::line_log::history::{Action, LogEntry, StatusChange};
use crate::line_log::log::{LineLog, View};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{BASE, ChangeIx, ChangeOp, Origin, Status};

/// Number of entries, from the last one back, in which a text on the disk can take back those of other programs.
const ENTRIES_MAX: usize = 32;

impl LineLog {
    /// Returns the agent's changes that `op` takes back, the last ones at its place: it puts the lines that they deleted, if
    /// any, in the place of theirs.
    ///
    /// Empty if `op` does something else as well, or if the changes have lines elsewhere or dependents.
    pub(super) fn taken_back_by(&self, op: &Op, seen: &Seen, lines: &[&str]) -> BTreeSet<ChangeIx> {
        let before = op.old.start.checked_sub(1).and_then(|index| seen.tokens.get(index)).copied();
        let after = seen.tokens.get(op.old.end).copied();
        let place: Vec<TokenIx> = self.sequence.iter_after(before).take_while(|&token| Some(token) != after).collect();
        let mut found = BTreeSet::new();
        for &token in &place {
            let changes = self.sequence.deleted_by(token).iter().chain([&self.sequence.token(token).inserted_by]);
            let is_agents =
                |&&ix: &&ChangeIx| ix != BASE && self.is_on(ix, seen.view) && self.write_of(ix).origin == Origin::Agent;
            found.extend(changes.filter(is_agents));
        }
        let mut taken = BTreeSet::new();
        for &ix in found.iter().rev() {
            let change = &self.changes[ix as usize];
            if change.inserted.iter().chain(&change.deleted).any(|token| !place.contains(token)) {
                break;
            }
            taken.insert(ix);
            if let Some(taken) = self.taken_back_to(&place, taken.clone(), seen.view, &lines[op.new.clone()]) {
                return taken;
            }
        }
        BTreeSet::new()
    }

    /// Returns `taken`, and what goes with these changes, if `place` has exactly these lines without them.
    fn taken_back_to(
        &self,
        place: &[TokenIx],
        mut taken: BTreeSet<ChangeIx>,
        view: View,
        lines: &[&str],
    ) -> Option<BTreeSet<ChangeIx>> {
        // With the deletion of a file, its new creation without lines goes back, too. The code is left out of the shipped wasm
        // module for its size.
        if !cfg!(all(target_family = "wasm", not(test))) {
            let is_empty_creation = |&ix: &ChangeIx| {
                let change = &self.changes[ix as usize];
                let is_agents = self.write_of(ix).origin == Origin::Agent;
                is_agents && change.op == ChangeOp::Create && change.inserted.is_empty()
            };
            let dependents = self.dependents_of(&taken);
            if dependents.iter().all(is_empty_creation) {
                taken.extend(dependents);
            }
        }
        // On the disk, a pending change is on only as long as another one there depends on it.
        let is_kept = |&dep: &ChangeIx| self.changes[dep as usize].status == Status::Pending;
        if view == View::Disk && taken.iter().any(|&ix| self.changes[ix as usize].deps.iter().any(is_kept)) {
            return None;
        }
        let is_on = |ix| !taken.contains(&ix) && self.is_on(ix, view);
        let left = place.iter().filter(|&&token| self.shows(token, is_on));
        let is_same = left.map(|&token| self.sequence.text(token)).eq(lines.iter().copied());
        (is_same && self.dependents_of(&taken).is_empty()).then_some(taken)
    }

    /// Returns whether `text` is on the disk because the last entry of the history never reached it, as after a crash,
    /// and takes that entry back.
    ///
    /// In a shipped wasm module no process finds the log of another one, and the code for it is left out.
    pub(super) fn is_lost_entry(&mut self, text: Option<&str>, at_ms: u64) -> bool {
        if cfg!(all(target_family = "wasm", not(test))) {
            return false;
        }
        let Some(before) = self.without_last_entry(at_ms).filter(|before| before.is_disk_text(text)) else {
            return false;
        };
        *self = before;
        true
    }

    /// Returns this log with the last entry of the history taken back; `None` if there is no entry, or it cannot be taken
    /// back. In a shipped wasm module the code is left out.
    pub(super) fn without_last_entry(&self, at_ms: u64) -> Option<Self> {
        if cfg!(all(target_family = "wasm", not(test))) {
            return None;
        }
        let last = self.history.entries.last()?;
        let (back, action) = reverse(last);
        let mut before = self.clone();
        before.step(&back, last.by, at_ms, action)?;
        #[cfg(any(not(target_family = "wasm"), test))]
        if !matches!(last.action, Action::Undo { .. } | Action::Redo { .. }) {
            before.history.note_loss();
        }
        // The disk has the text from before the entry.
        before.mark_saved();
        Some(before)
    }

    /// Undoes the last `n_entries` edits or decisions of `by` and everything that others did after them, so that the log is
    /// as before the first of them. Returns false if there are fewer.
    #[cfg(not(target_family = "wasm"))]
    pub fn undo_with_later(&mut self, by: Origin, n_entries: usize, at_ms: u64) -> bool {
        for _ in 0..n_entries {
            let Some(&number) = self.history.stacks_of(by).and_then(|stacks| stacks.undo.last()) else { return false };
            let later = self.history.entries.iter().rev().take_while(|entry| entry.number > number);
            let later: Vec<LogEntry> = later.filter(|entry| entry.by != by).cloned().collect();
            for entry in later {
                let (back, action) = reverse(&entry);
                self.step(&back, entry.by, at_ms, action);
            }
            self.undo_one(by, at_ms);
        }
        true
    }

    /// Returns whether `text` is the one before the last entries of other programs, after which no change is in effect, and
    /// takes these entries back.
    ///
    /// In a shipped wasm module the user's changes are not those of other programs, and the code is left out.
    pub(super) fn is_before_last_externals(&mut self, text: Option<&str>, at_ms: u64) -> bool {
        if cfg!(all(target_family = "wasm", not(test))) || !self.is_disk_saved() {
            return false;
        }
        let by = Origin::External;
        let is_on =
            |set: &StatusChange| self.index_of(set.change).is_some_and(|ix| self.changes[ix as usize].status.is_on());
        // A text that another program restored takes the agent's changes back, and that is a rejection.
        let is_write = |entry: &&LogEntry| {
            matches!(entry.action, Action::Write) || entry.by == by && matches!(entry.action, Action::Reject)
        };
        let writes = self.history.entries.iter().rev().take(ENTRIES_MAX).filter(is_write);
        // Also before edits that were undone since.
        let last = writes.take_while(|entry| entry.by == by || !entry.set.iter().any(is_on));
        let last: BTreeSet<u64> = last.filter(|entry| entry.by == by).map(|entry| entry.number).collect();
        let mut before = self.clone();
        while before.history.stacks_of(by).and_then(|stacks| stacks.undo.last()).is_some_and(|next| last.contains(next))
        {
            before.undo_one(by, at_ms);
            if before.is_disk_text(text) {
                *self = before;
                return true;
            }
        }
        false
    }

    /// Switches changes off as a part of a write. Returns the statuses that this sets.
    pub(super) fn take_back(&mut self, taken: &BTreeSet<ChangeIx>) -> Vec<StatusChange> {
        let set = taken.iter().map(|&ix| {
            let from = self.changes[ix as usize].status;
            StatusChange { change: self.id_of(ix), from, to: Status::Rejected }
        });
        let set: Vec<StatusChange> = set.collect();
        for &ix in taken {
            self.changes[ix as usize].status = Status::Rejected;
            self.settle_on_disk(ix);
        }
        let taken: Vec<ChangeIx> = taken.iter().copied().collect();
        self.show_and_hide(&taken);
        set
    }
}

/// Returns the statuses before an entry, and the action that sets them.
fn reverse(entry: &LogEntry) -> (Vec<StatusChange>, Action) {
    let back = entry.set.iter().map(|set| StatusChange { change: set.change, from: set.to, to: set.from });
    let action = match entry.action {
        Action::Undo { entry } => Action::Redo { entry },
        Action::Redo { entry } => Action::Undo { entry },
        _ => Action::Undo { entry: entry.number },
    };
    (back.collect(), action)
}
