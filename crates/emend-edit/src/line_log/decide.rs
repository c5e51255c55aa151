//! Decisions: switching changes on and off, and the effect on the visible text and the disk.
//!
//! The cost grows with the number of lines that a decision touches, and with the square root of the file.

use std::collections::BTreeSet;

use crate::line_log::history::{Action, StatusChange};
use crate::line_log::log::{LineLog, View};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{
    ChangeId, ChangeIx, DecisionError, DecisionOutcome, DependentsPolicy, HunkId, Origin, Status, VisibleEdit,
};
use crate::size::compact_sort::set_of;

impl LineLog {
    /// Returns every change that is on and directly or indirectly depends on one of `ids`, in order, without `ids`.
    ///
    /// Unknown ids are ignored.
    #[must_use]
    pub fn dependents(&self, ids: &[ChangeId]) -> Vec<ChangeId> {
        let from = set_of(ids.iter().flat_map(|&id| self.resolve(id).unwrap_or_default()));
        self.dependents_of(&from).into_iter().map(|ix| self.id_of(ix)).collect()
    }

    /// Accepts changes: they are on, and on the disk. Accepting a rejected change switches it on again.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`].
    ///
    /// ```
    /// use emend_edit::line_log::{ChangeMeta, LineLog, Origin, Status};
    /// let mut log = LineLog::new(Some("one\n"));
    /// let ids = log.write(Origin::Agent, ChangeMeta::default(), "one\ntwo\n", Status::Pending);
    /// assert_eq!(log.disk_text().as_deref(), Some("one\n"));
    /// log.accept(&ids, Origin::User, 0)?;
    /// assert_eq!(log.disk_text().as_deref(), Some("one\ntwo\n"));
    /// # Ok::<(), emend_edit::line_log::DecisionError>(())
    /// ```
    pub fn accept(&mut self, ids: &[ChangeId], by: Origin, at_ms: u64) -> Result<DecisionOutcome, DecisionError> {
        let ixs = self.resolve_all(ids)?;
        Ok(self.decide(&ixs, Status::Accepted, by, at_ms, Action::Accept))
    }

    /// Rejects changes: they are off. `policy` decides about the changes that depend on them.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`]; [`DecisionError::HasDependents`] with [`DependentsPolicy::Refuse`].
    pub fn reject(
        &mut self,
        ids: &[ChangeId],
        policy: DependentsPolicy,
        by: Origin,
        at_ms: u64,
    ) -> Result<DecisionOutcome, DecisionError> {
        let ixs = self.with_policy(ids, policy)?;
        Ok(self.decide(&ixs, Status::Rejected, by, at_ms, Action::Reject))
    }

    /// Accepts some changes and rejects others, as one entry of the history. Changes that depend on rejected ones stay.
    /// A change in both lists is accepted.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`].
    pub fn settle(
        &mut self,
        accepted: &[ChangeId],
        rejected: &[ChangeId],
        by: Origin,
        at_ms: u64,
    ) -> Result<DecisionOutcome, DecisionError> {
        let accepted = self.resolve_all(accepted)?;
        let mut set: Vec<(ChangeIx, Status)> = accepted.iter().map(|&ix| (ix, Status::Accepted)).collect();
        let rejected = self.resolve_all(rejected)?.into_iter().filter(|ix| !accepted.contains(ix));
        set.extend(rejected.map(|ix| (ix, Status::Rejected)));
        Ok(self.set_statuses(&set, by, at_ms, Action::Apply))
    }

    /// Makes changes pending again, whatever was decided about them. Changes of users and other programs stay as they
    /// are.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`].
    pub fn reopen(&mut self, ids: &[ChangeId], by: Origin, at_ms: u64) -> Result<DecisionOutcome, DecisionError> {
        let mut ixs = self.resolve_all(ids)?;
        ixs.retain(|&ix| self.write_of(ix).origin == Origin::Agent);
        Ok(self.decide(&ixs, Status::Pending, by, at_ms, Action::Reopen))
    }

    /// Rolls chosen changes back: like [`LineLog::reject`], with another status.
    ///
    /// # Errors
    ///
    /// As [`LineLog::reject`].
    pub fn rollback(
        &mut self,
        ids: &[ChangeId],
        policy: DependentsPolicy,
        by: Origin,
        at_ms: u64,
    ) -> Result<DecisionOutcome, DecisionError> {
        let ixs = self.with_policy(ids, policy)?;
        Ok(self.decide(&ixs, Status::RolledBack, by, at_ms, Action::Rollback { checkpoint: None }))
    }

    /// Returns the changes of a hunk id. A change that was split since is replaced by its parts.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`] if the id is malformed or names a change that the log no longer has.
    pub fn changes_of(&self, hunk: &HunkId) -> Result<Vec<ChangeId>, DecisionError> {
        let ids = hunk.changes().ok_or(DecisionError::UnknownChange { id: ChangeId(0) })?;
        Ok(self.resolve_all(&ids)?.into_iter().map(|ix| self.id_of(ix)).collect())
    }

    /// Returns the change with this id, or the parts into which it was split.
    fn resolve(&self, id: ChangeId) -> Option<Vec<ChangeIx>> {
        let mut found = Vec::new();
        let mut open = vec![self.index_of(id)?];
        while let Some(ix) = open.pop() {
            match self.changes[ix as usize].parts.as_slice() {
                [] => found.push(ix),
                parts => open.extend(parts),
            }
        }
        Some(found)
    }

    pub(super) fn resolve_all(&self, ids: &[ChangeId]) -> Result<BTreeSet<ChangeIx>, DecisionError> {
        let mut ixs = BTreeSet::new();
        for &id in ids {
            ixs.extend(self.resolve(id).ok_or(DecisionError::UnknownChange { id })?);
        }
        Ok(ixs)
    }

    fn with_policy(&self, ids: &[ChangeId], policy: DependentsPolicy) -> Result<BTreeSet<ChangeIx>, DecisionError> {
        let mut ixs = self.resolve_all(ids)?;
        if policy == DependentsPolicy::OnlyThese {
            return Ok(ixs);
        }
        let dependents = self.dependents_of(&ixs);
        if policy == DependentsPolicy::Refuse && !dependents.is_empty() {
            let from_user = dependents.iter().filter(|&&ix| self.write_of(ix).origin != Origin::Agent).count();
            let dependents = dependents.into_iter().map(|ix| self.id_of(ix)).collect();
            return Err(DecisionError::HasDependents { dependents, from_user });
        }
        ixs.extend(dependents);
        Ok(ixs)
    }

    /// Follows `dependents` through changes that are on. Dependents of a change that is already off are skipped.
    pub(super) fn dependents_of(&self, from: &BTreeSet<ChangeIx>) -> BTreeSet<ChangeIx> {
        let is_on = |ix: &ChangeIx| self.is_on(*ix, View::Visible);
        let mut found = BTreeSet::new();
        let mut open: Vec<ChangeIx> = from.iter().copied().filter(is_on).collect();
        while let Some(ix) = open.pop() {
            for &next in self.changes[ix as usize].dependents.iter().filter(|next| is_on(next)) {
                if !from.contains(&next) && found.insert(next) {
                    open.push(next);
                }
            }
        }
        found
    }

    fn decide(
        &mut self,
        ixs: &BTreeSet<ChangeIx>,
        status: Status,
        by: Origin,
        at_ms: u64,
        action: Action,
    ) -> DecisionOutcome {
        let set: Vec<(ChangeIx, Status)> = ixs.iter().map(|&ix| (ix, status)).collect();
        self.set_statuses(&set, by, at_ms, action)
    }

    /// Sets statuses, and records one entry of the history if any of them changes.
    pub(super) fn set_statuses(
        &mut self,
        set: &[(ChangeIx, Status)],
        by: Origin,
        at_ms: u64,
        action: Action,
    ) -> DecisionOutcome {
        let mut news: Vec<StatusChange> = Vec::new();
        let mut switched = Vec::new();
        for &(ix, to) in set {
            let from = self.changes[ix as usize].status;
            if from == to {
                continue;
            }
            news.push(StatusChange { change: self.id_of(ix), from, to });
            self.changes[ix as usize].status = to;
            if from.is_on() != to.is_on() {
                switched.push(ix);
            }
            self.settle_on_disk(ix);
        }
        let edits = self.show_and_hide(&switched);
        let changed = news.iter().map(|change| change.change).collect();
        if !news.is_empty() {
            self.record(by, at_ms, action, news);
        }
        DecisionOutcome { revision: self.revision, changed, edits }
    }

    /// Updates `on_disk` of a change, and of all changes on which it depends, to match the statuses.
    pub(super) fn settle_on_disk(&mut self, ix: ChangeIx) {
        let mut open = vec![ix];
        while let Some(ix) = open.pop() {
            let change = &mut self.changes[ix as usize];
            let on_disk = match change.status {
                Status::Accepted => true,
                Status::Pending => change.n_disk_dependents > 0,
                Status::Rejected | Status::RolledBack => false,
            };
            if on_disk == change.on_disk {
                continue;
            }
            change.on_disk = on_disk;
            for dep in change.deps.clone() {
                let count = &mut self.changes[dep as usize].n_disk_dependents;
                *count = if on_disk { *count + 1 } else { *count - 1 };
                open.push(dep);
            }
        }
    }

    /// Counts a new change on the disk in the changes on which it depends.
    pub(super) fn count_on_disk(&mut self, ix: ChangeIx) {
        self.changes[ix as usize].on_disk = false;
        self.settle_on_disk(ix);
    }

    /// Shows or hides the tokens of changes that were switched on or off. Returns the resulting edits of the text.
    pub(super) fn show_and_hide(&mut self, switched: &[ChangeIx]) -> Vec<VisibleEdit> {
        let mut tokens: Vec<TokenIx> = Vec::new();
        for &ix in switched {
            let change = &self.changes[ix as usize];
            tokens.extend(change.inserted.iter().chain(&change.deleted));
        }
        tokens.sort_unstable();
        tokens.dedup();
        let is_on = |ix| self.is_on(ix, View::Visible);
        tokens.retain(|&token| self.shows(token, is_on) != self.sequence.is_visible(token));
        let flips = self.sequence.flip(&tokens);
        let last = self.sequence.last_visible();
        let mut edits: Vec<VisibleEdit> = Vec::new();
        for flip in flips {
            match edits.last() {
                Some(edit) if edit.line + edit.removed == flip.line_before => {}
                _ => edits.push(VisibleEdit { line: flip.line_before, removed: 0, inserted: Vec::new() }),
            }
            let Some(edit) = edits.last_mut() else { continue };
            edit.removed += usize::from(flip.was_visible);
            if self.sequence.is_visible(flip.token) {
                let line = self.sequence.text(flip.token);
                let is_bare = !line.ends_with(['\n', '\r']) && last != Some(flip.token);
                edit.inserted.push(if is_bare { format!("{line}{}", self.eol()) } else { line.to_owned() });
            }
        }
        edits
    }
}
