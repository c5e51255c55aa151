//! Proposals: the changes of some runs as the agent made them, whatever was decided about them since.
//!
//! The base of a proposal is the visible text before the first write of these runs. A rollback to it reverts all changes
//! and decisions since, those of the user too.

use std::collections::{BTreeMap, BTreeSet};

use crate::line_log::history::Action;
use crate::line_log::log::{Incarnation, LineLog};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{BASE, ChangeId, ChangeIx, ChangeMeta, DecisionOutcome, Origin, Status};

/// The changes of some runs.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Proposal {
    /// The visible text before the runs; `None` if there was no file.
    pub base: Option<String>,
    /// The base with all changes of the runs, rejected ones too, and no other change; `None` if there is no file.
    pub proposed: Option<String>,
    /// The difference between the two, in order.
    pub edits: Vec<ProposedLines>,
    /// The changes of the runs.
    pub changes: Vec<ChangeId>,
}

/// A replacement of lines of the base by one change. Edits at the same place follow each other in the new text.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ProposedLines {
    /// The change. A change in several places has several edits.
    pub change: ChangeId,
    /// The run, call and time of the change.
    pub meta: ChangeMeta,
    /// Index of the first replaced line of the base, from 0; for an insertion, the line before which it inserts.
    pub line: usize,
    /// Number of replaced lines.
    pub n_removed: usize,
    /// The replaced lines.
    pub removed: String,
    /// The new lines.
    pub inserted: String,
}

impl LineLog {
    /// Returns the changes of the agent in `runs`. `None` if it has made none.
    ///
    /// ```
    /// use emend_edit::line_log::{ChangeMeta, DependentsPolicy, LineLog, Origin, Status};
    /// let mut log = LineLog::new(Some("one\ntwo\n"));
    /// let run = ChangeMeta { run: "1".to_owned(), ..ChangeMeta::default() };
    /// let ids = log.write(Origin::Agent, run, "ONE\ntwo\n", Status::Pending);
    /// log.reject(&ids, DependentsPolicy::Refuse, Origin::User, 0)?;
    /// let proposal = log.proposal(&["1".to_owned()]).unwrap();
    /// assert_eq!(proposal.proposed.as_deref(), Some("ONE\ntwo\n"));
    /// assert_eq!((proposal.edits[0].line, proposal.edits[0].n_removed), (0, 1));
    /// # Ok::<(), emend_edit::line_log::DecisionError>(())
    /// ```
    #[must_use]
    pub fn proposal(&self, runs: &[String]) -> Option<Proposal> {
        let (first, written) = self.written_in(runs)?;
        let before = self.statuses_before(first);
        let in_base = |ix: ChangeIx| before.get(&ix).copied().unwrap_or(self.changes[ix as usize].status).is_on();
        let in_proposed = |ix: ChangeIx| in_base(ix) || written.contains(&ix);
        Some(Proposal {
            base: self.text_with(&in_base),
            proposed: self.text_with(&in_proposed),
            edits: self.edits_between(&in_base, &in_proposed, &written),
            changes: written.iter().map(|&ix| self.id_of(ix)).collect(),
        })
    }

    /// Restores the visible text before `runs`, as one entry, even if others changed it since: see [`Proposal::base`].
    /// `None` if the agent has made no change in them.
    pub fn rollback_before(&mut self, runs: &[String], by: Origin, at_ms: u64) -> Option<DecisionOutcome> {
        let (first, _) = self.written_in(runs)?;
        let set: Vec<(ChangeIx, Status)> = self.statuses_before(first).into_iter().collect();
        Some(self.set_statuses(&set, by, at_ms, Action::Rollback { checkpoint: None }))
    }

    /// Returns the index of the first entry in which the agent wrote in `runs`, and all changes that it wrote in them.
    fn written_in(&self, runs: &[String]) -> Option<(usize, BTreeSet<ChangeIx>)> {
        let (mut first, mut written) = (None, BTreeSet::new());
        for (index, entry) in self.history.entries.iter().enumerate() {
            if entry.by != Origin::Agent || entry.action != Action::Write {
                continue;
            }
            let ids: Vec<ChangeId> = entry.set.iter().map(|change| change.change).collect();
            let ixs = self.resolve_all(&ids).unwrap_or_default();
            if ixs.first().is_some_and(|&ix| runs.contains(&self.write_of(ix).meta.run)) {
                first.get_or_insert(index);
                written.extend(ixs);
            }
        }
        first.map(|first| (first, written))
    }

    /// Returns the status, before the entry with this index, of every change whose status was set since.
    pub(super) fn statuses_before(&self, index: usize) -> BTreeMap<ChangeIx, Status> {
        let mut statuses = BTreeMap::new();
        for entry in self.history.entries.iter().skip(index).rev() {
            for change in &entry.set {
                for ix in self.resolve_all(&[change.change]).unwrap_or_default() {
                    statuses.insert(ix, change.from);
                }
            }
        }
        statuses
    }

    fn text_with(&self, is_on: &dyn Fn(ChangeIx) -> bool) -> Option<String> {
        let shown: Vec<TokenIx> = self.sequence.iter().filter(|&token| self.shows(token, is_on)).collect();
        let any = |ixs: &[ChangeIx]| ixs.iter().any(|&ix| is_on(ix));
        let lives = |inc: &Incarnation| (inc.created_by.is_empty() || any(&inc.created_by)) && !any(&inc.deleted_by);
        let exists = !shown.is_empty() || self.incarnations.iter().any(lives);
        exists.then(|| self.render(&shown))
    }

    /// Returns the edits that make one text of another. Each belongs to one of the changes `written`.
    fn edits_between(
        &self,
        in_old: &dyn Fn(ChangeIx) -> bool,
        in_new: &dyn Fn(ChangeIx) -> bool,
        written: &BTreeSet<ChangeIx>,
    ) -> Vec<ProposedLines> {
        let tokens: Vec<TokenIx> = self.sequence.iter().collect();
        let last =
            |is_on: &dyn Fn(ChangeIx) -> bool| tokens.iter().rev().copied().find(|&token| self.shows(token, is_on));
        let (last_old, last_new) = (last(in_old), last(in_new));
        let mut rows = Vec::with_capacity(tokens.len());
        // The next change, for a line that only gets or loses its line ending: a change behind it did that.
        let mut next = BASE;
        for &token in tokens.iter().rev() {
            let old = self.shows(token, in_old).then(|| self.text_at(token, last_old));
            let new = self.shows(token, in_new).then(|| self.text_at(token, last_new));
            if old == new {
                rows.push((BASE, old, None));
                continue;
            }
            let inserted_by = self.sequence.token(token).inserted_by;
            let touching = self.sequence.deleted_by(token).iter().chain([&inserted_by]).find(|ix| written.contains(ix));
            next = touching.copied().unwrap_or(next);
            rows.push((next, old, new));
        }
        let mut edits: Vec<ProposedLines> = Vec::new();
        let (mut line, mut is_open) = (0, false);
        for (ix, old, new) in rows.into_iter().rev() {
            if ix == BASE {
                is_open &= old.is_none();
                line += usize::from(old.is_some());
                continue;
            }
            let change = self.id_of(ix);
            let fits = |edit: &ProposedLines| edit.change == change && (old.is_none() || edit.inserted.is_empty());
            if !is_open || !edits.last().is_some_and(fits) {
                let meta = self.write_of(ix).meta.clone();
                let (removed, inserted) = (String::new(), String::new());
                edits.push(ProposedLines { change, meta, line, n_removed: 0, removed, inserted });
                is_open = true;
            }
            let Some(edit) = edits.last_mut() else { continue };
            edit.n_removed += usize::from(old.is_some());
            line += usize::from(old.is_some());
            edit.removed += old.as_deref().unwrap_or_default();
            edit.inserted += new.as_deref().unwrap_or_default();
        }
        edits
    }
}
