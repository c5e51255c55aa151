//! Pending edits by run.

use std::collections::BTreeSet;

use emend_edit::line_log::{LineLog, LoggedChange, Origin, Status};

use super::review::pending;
use super::state::Workspace;
use crate::environment::FilePath;

impl Workspace {
    /// Returns the runs with pending edits of the agent.
    #[must_use]
    pub fn runs_with_pending(&self) -> BTreeSet<u64> {
        let state = self.state();
        let pending = state.files.values().flat_map(|entry| runs_in_review(&entry.log));
        pending.filter_map(|run| run.parse().ok()).collect()
    }

    /// Returns the runs with edits of the agent in the files that have changed since a workspace revision.
    #[must_use]
    pub fn runs_changed_since(&self, revision: u64) -> BTreeSet<u64> {
        let state = self.state();
        let changed = state.files.values().filter(|entry| entry.changed_at > revision);
        let changes = changed.flat_map(|entry| entry.log.changes());
        changes
            .filter(|change| change.origin == Origin::Agent)
            .filter_map(|change| change.meta.run.parse().ok())
            .collect()
    }

    /// Returns the files with pending edits of the agent in `runs`, by path.
    #[must_use]
    pub fn pending_files(&self, runs: &[u64]) -> Vec<FilePath> {
        let runs: Vec<String> = runs.iter().map(u64::to_string).collect();
        let is_pending = |log| runs_in_review(log).iter().any(|run| runs.contains(run));
        let state = self.state();
        let files = state.files.iter().filter(|(_, entry)| is_pending(&entry.log));
        files.map(|(path, _)| path.clone()).collect()
    }

    /// Returns whether another program changed a file at `since_ms` or later, as far as the workspace has noticed.
    #[must_use]
    pub fn has_external_change(&self, path: &FilePath, since_ms: u64) -> bool {
        let state = self.state();
        let is_external = |change: LoggedChange| change.origin == Origin::External && change.meta.at_ms >= since_ms;
        state.files.get(path).is_some_and(|entry| entry.log.changes().any(is_external))
    }
}

/// Returns the runs with pending changes that the user can decide on: they are in a hunk of the file, and in one of the run
/// alone. A run whose lines another run has replaced has none until that is rejected.
fn runs_in_review(log: &LineLog) -> BTreeSet<String> {
    let mut runs: BTreeSet<String> = in_review(log).map(|change| change.meta.run).collect();
    runs.retain(|run| pending(log, Some(std::slice::from_ref(run))).next().is_some());
    runs
}

/// Returns the pending changes of the agent that are in a hunk.
///
/// A line that the agent inserts and deletes again, or that the user deletes, leaves a change without a hunk: there is
/// nothing to decide about it.
fn in_review(log: &LineLog) -> impl Iterator<Item = LoggedChange> {
    let hunks = if log.pending().is_empty() { Vec::new() } else { pending(log, None).collect() };
    let changes = hunks.into_iter().flat_map(|hunk| hunk.change_ids).filter_map(|id| log.change(id));
    changes.filter(|change| change.origin == Origin::Agent && change.status == Status::Pending)
}
