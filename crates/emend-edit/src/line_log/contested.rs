//! Conflicts: changes of the agent at places that the user or another program has changed since.
//!
//! A change is **contested** if the user or another program has deleted a line that it deletes too, or the whole file, or
//! has created the file that it creates, while the change was off the disk. Switching it on would put its lines beside the
//! rival ones. Each side of a contested place is correct alone, so the reviewer has to choose.

use std::collections::BTreeSet;

use crate::line_log::dependencies::Seen;
use crate::line_log::history::{Action, StatusChange};
use crate::line_log::log::{Incarnation, LineLog, View};
use crate::line_log::sequence::TokenIx;
use crate::line_log::types::{
    ChangeId, ChangeIx, ChangeMeta, ChangeOp, DecisionError, DecisionOutcome, Origin, Status,
};
use crate::size::compact_sort::set_of;
use crate::text::split_eol;

impl LineLog {
    /// Returns the changes among `ids` that are contested: a live change of the user or of another program, made since
    /// the change was last on the disk, deletes a line that it deletes, or the file. Unknown ids are ignored.
    ///
    /// ```
    /// use emend_edit::line_log::{ChangeMeta, LineLog, Origin, Status};
    /// let mut log = LineLog::new(Some("call(a)\n"));
    /// let ids = log.write(Origin::Agent, ChangeMeta::default(), "call(b)\n", Status::Pending);
    /// log.external(Some("call(a, 2)\n"), ChangeMeta::default());
    /// assert_eq!(log.contested(&ids), ids);
    /// assert_eq!(log.rival_lines(&ids), ["call(a, 2)\n"]);
    /// ```
    #[must_use]
    pub fn contested(&self, ids: &[ChangeId]) -> Vec<ChangeId> {
        let ixs = self.resolve_all(ids).unwrap_or_default();
        ixs.into_iter().filter(|&ix| !self.rivals_of(ix).is_empty()).map(|ix| self.id_of(ix)).collect()
    }

    /// Returns the changes among `ids` that are on and delete a line that a live change outside of `ids` deletes too. Both
    /// then show their lines side by side, which no edit does: only a change that was switched on again can.
    #[must_use]
    pub fn doubled(&self, ids: &[ChangeId]) -> Vec<ChangeId> {
        let ixs = set_of(self.resolve_all(ids).unwrap_or_default());
        let is_other = |&by: &ChangeIx| !ixs.contains(&by) && self.is_on(by, View::Visible);
        let is_doubled = |ix: &ChangeIx| {
            let deleted = &self.changes[*ix as usize].deleted;
            self.is_on(*ix, View::Visible)
                && deleted.iter().any(|&token| self.sequence.deleted_by(token).iter().any(is_other))
        };
        ixs.iter().copied().filter(is_doubled).map(|ix| self.id_of(ix)).collect()
    }

    /// Returns the visible lines that the user or another program has put in the places of contested changes, in text
    /// order. None if they only deleted lines there.
    #[must_use]
    pub fn rival_lines(&self, ids: &[ChangeId]) -> Vec<String> {
        let ixs = self.resolve_all(ids).unwrap_or_default();
        self.rival_tokens(&ixs).into_iter().map(|token| self.sequence.text(token).to_owned()).collect()
    }

    /// Accepts changes like [`LineLog::accept`]; contested ones replace their [`rival_lines`](LineLog::rival_lines), as
    /// one entry of the history.
    ///
    /// The lines of a change with rivals enter in the place of these, with their line ending, as a new accepted change
    /// of the same run. The change itself is rejected.
    ///
    /// # Errors
    ///
    /// [`DecisionError::UnknownChange`].
    pub fn accept_over(&mut self, ids: &[ChangeId], by: Origin, at_ms: u64) -> Result<DecisionOutcome, DecisionError> {
        let mut set = Vec::new();
        // From the end, so that changes with the same rivals keep their order.
        for ix in self.resolve_all(ids)?.into_iter().rev() {
            let rivals = self.rival_tokens(&set_of([ix]));
            let Some(&last) = rivals.last() else {
                set.push((ix, Status::Accepted));
                continue;
            };
            let replacement = self.in_place_of(ix, rivals, last, at_ms);
            set.extend([(ix, Status::Rejected), (replacement, Status::Accepted)]);
        }
        set.reverse();
        Ok(self.set_statuses(&set, by, at_ms, Action::Accept))
    }

    /// Adds a change, switched off, that replaces `rivals` by the lines of change `ix`.
    fn in_place_of(&mut self, ix: ChangeIx, rivals: Vec<TokenIx>, last: TokenIx, at_ms: u64) -> ChangeIx {
        let eol = split_eol(self.sequence.text(last)).1.to_owned();
        let live =
            |&token: &TokenIx| !self.sequence.deleted_by(token).iter().any(|&other| self.is_on(other, View::Visible));
        let lines = self.changes[ix as usize].inserted.iter().filter(|token| live(token));
        let lines: Vec<String> = lines.map(|&token| with_eol(self.sequence.text(token), &eol)).collect();
        let meta = ChangeMeta { at_ms, ..self.write_of(ix).meta.clone() };
        let write = self.begin_write(Origin::Agent, meta);
        let added = self.add_change(write, ChangeOp::Edit, Status::RolledBack);
        let mut deps = BTreeSet::new();
        for &token in &rivals {
            self.sequence.deleted_by_mut(token).push(added);
            deps.insert(self.sequence.token(token).inserted_by);
        }
        if !lines.is_empty() {
            self.find_around(
                added,
                Some(last),
                &Seen { tokens: Vec::new(), view: View::Visible, shown: None },
                &mut deps,
            );
            let lines: Vec<&str> = lines.iter().map(String::as_str).collect();
            let tokens: Vec<TokenIx> = self.sequence.insert_after(Some(last), &lines, added).collect();
            tokens.iter().for_each(|&token| self.sequence.set_visible(token, false));
            self.changes[added as usize].inserted = tokens;
        }
        self.changes[added as usize].deleted = rivals;
        self.set_deps(added, &deps);
        added
    }

    /// Returns the live changes of others that contest a change of the agent.
    pub(super) fn rivals_of(&self, ix: ChangeIx) -> BTreeSet<ChangeIx> {
        let change = &self.changes[ix as usize];
        if self.write_of(ix).origin != Origin::Agent {
            return BTreeSet::new();
        }
        let deleting = change.deleted.iter().flat_map(|&token| self.sequence.deleted_by(token)).copied();
        let is_ended = |by: &ChangeIx| self.is_on(*by, View::Visible);
        let is_gone = self.incarnations.iter().all(|lifetime| lifetime.deleted_by.iter().any(is_ended));
        let ending = self.incarnations.iter().filter(|_| is_gone && change.op == ChangeOp::Edit);
        let ending = ending.flat_map(|lifetime| lifetime.deleted_by.iter().copied());
        let is_rival = |&by: &ChangeIx| self.write_of(by).origin != Origin::Agent && self.is_on(by, View::Visible);
        let lives = |lifetime: &&Incarnation| !lifetime.deleted_by.iter().any(is_ended);
        let creating = self.incarnations.iter().filter(|_| change.op == ChangeOp::Create).filter(lives);
        let creating = creating.flat_map(|lifetime| lifetime.created_by.iter().copied());
        let rivals = set_of(deleting.chain(ending).chain(creating).filter(is_rival));
        if rivals.is_empty() { rivals } else { self.newer_than(ix, rivals) }
    }

    /// Keeps the changes that were switched on after `ix` was written, or, if `ix` has been on the disk since, after it
    /// was last switched off.
    fn newer_than(&self, ix: ChangeIx, rivals: BTreeSet<ChangeIx>) -> BTreeSet<ChangeIx> {
        let mut newer = BTreeSet::new();
        let names = |change: &StatusChange, ix: ChangeIx| {
            self.resolve_all(&[change.change]).is_ok_and(|found| found.contains(&ix))
        };
        for entry in self.history.entries.iter().rev() {
            let switched_on = entry.set.iter().filter(|change| change.to.is_on());
            newer.extend(switched_on.flat_map(|change| rivals.iter().copied().filter(|&by| names(change, by))));
            let is_off = |change: &StatusChange| change.from == Status::Accepted && !change.to.is_on();
            let ends = |change: &StatusChange| entry.action == Action::Write || is_off(change);
            if entry.set.iter().any(|change| ends(change) && names(change, ix)) {
                break;
            }
        }
        newer
    }

    /// Returns the visible lines of the rivals of changes, in text order.
    ///
    /// A rival that replaced lines one by one counts with the lines that stand for the contested ones. Any other rival
    /// counts with all its lines.
    fn rival_tokens(&self, ixs: &BTreeSet<ChangeIx>) -> Vec<TokenIx> {
        let mut found = BTreeSet::new();
        for &ix in ixs {
            let contested = &self.changes[ix as usize].deleted;
            for by in self.rivals_of(ix) {
                let rival = &self.changes[by as usize];
                let in_pairs = rival.deleted.len() == rival.inserted.len();
                let pairs = rival.inserted.iter().enumerate();
                found.extend(
                    pairs
                        .filter(|(at, _)| !in_pairs || contested.contains(&rival.deleted[*at]))
                        .map(|(_, &token)| token)
                        .filter(|&token| self.sequence.is_visible(token)),
                );
            }
        }
        if found.is_empty() {
            return Vec::new();
        }
        self.sequence.iter().filter(|token| found.contains(token)).collect()
    }
}

/// Returns a line with another line ending, if both have one.
fn with_eol(line: &str, eol: &str) -> String {
    match split_eol(line) {
        (text, old) if !old.is_empty() && !eol.is_empty() => format!("{text}{eol}"),
        _ => line.to_owned(),
    }
}
