//! The line logs of an undo around which the keeper of files restores paths.
//!
//! The keeper removes some texts before the logs are looked at, such as those below a file that became a directory. A log
//! would take that for a deletion by another program: its own changes would stay in effect, and a text that comes back in
//! an older undo would be removed by another undo of the later run. So these logs are read before the keeper's part, and
//! follow it.

#[cfg(not(target_family = "wasm"))]
use std::collections::BTreeMap;
use std::collections::BTreeSet;

use emend_edit::line_log::{ChangeId, ChangeOp, LineLog, LoggedChange, Origin};
#[cfg(not(target_family = "wasm"))]
use emend_edit::line_log::{LogEntry, Status};

#[cfg(not(target_family = "wasm"))]
use super::review::run_names;
#[cfg(not(target_family = "wasm"))]
use super::state::Workspace;
#[cfg(not(target_family = "wasm"))]
use crate::environment::{FilePath, KeptUndo};

/// The keeper's part of an undo. In a browser there is none.
#[derive(Default)]
pub(super) struct AroundLogs {
    /// Of these files, only edits after that run and time are undone.
    #[cfg(not(target_family = "wasm"))]
    pub(super) since: BTreeMap<FilePath, (u64, u64)>,
    /// Paths in the way of no text.
    #[cfg(not(target_family = "wasm"))]
    pub(super) giving_way: BTreeSet<FilePath>,
    /// The logs from before the keeper's part of texts that it has changed.
    #[cfg(not(target_family = "wasm"))]
    pub(super) before: BTreeMap<FilePath, LineLog>,
}

#[cfg(not(target_family = "wasm"))]
impl Workspace {
    /// Returns the logs of these files that know their content on disk. No other log is read here: it would take the text of a
    /// command that no log holds for one of another program.
    pub(super) async fn settled_logs(&self, paths: &BTreeSet<FilePath>) -> BTreeMap<FilePath, LineLog> {
        let mut logs = BTreeMap::new();
        let paths = if self.keeper().is_some() { paths.iter().collect() } else { Vec::new() };
        for path in paths {
            if self.is_as_left(path).await
                && let Some(entry) = self.state().files.get(path)
            {
                logs.insert(path.clone(), entry.log.clone());
            }
        }
        logs
    }

    /// Returns the log of a text that the keeper has removed, which the log then knows.
    pub(super) async fn log_of_removed(&self, path: &FilePath, around: &AroundLogs) -> Option<LineLog> {
        let mut log = around.before.get(path).filter(|_| !around.since.contains_key(path))?.clone();
        if self.content_here(path).await.ok()?.is_some() {
            return None;
        }
        log.mark_removed();
        Some(log)
    }

    /// Notes the first edit of each file in the runs of an undo, and the text before it if commands changed the file, too.
    pub(super) fn note_first_edits(&self, kept: &mut KeptUndo) {
        let names = run_names(&kept.runs);
        let unlogged = self.keeper().map(|keeper| keeper.first_unlogged(&kept.runs)).unwrap_or_default();
        let state = self.state();
        for (path, entry) in &state.files {
            let log = &entry.log;
            let Some(first) = first_edit(log, &names) else { continue };
            kept.first_edits.insert(path.clone(), first);
            // A pending line of another run is not for the disk.
            let is_pending = |change: LoggedChange| change.status == Status::Pending;
            if unlogged.contains_key(path)
                && !self.defers_saves
                && !log.changes().any(is_pending)
                && let Some(base) = log.proposal(&names).and_then(|proposal| proposal.base)
            {
                kept.bases.insert(path.clone(), base);
            }
        }
    }
}

/// Returns the agent's changes in `runs` that are in effect, first those that stay because the user has changed their lines
/// since. With `since`, only later changes count.
#[cfg_attr(target_family = "wasm", inline(always))]
pub(super) fn edits_to_take_back(
    log: &LineLog,
    runs: &[String],
    since: Option<(u64, u64)>,
) -> (Vec<ChangeId>, Vec<ChangeId>) {
    let overwritten = overwritten_by_user(log);
    let is_meant = |change: &LoggedChange| {
        #[cfg(not(target_family = "wasm"))]
        if let Some(since) = since
            && change.meta.run.parse().is_ok_and(|run: u64| (run, change.meta.at_ms) <= since)
        {
            return false;
        }
        change.origin == Origin::Agent && runs.contains(&change.meta.run) && change.status.is_on()
    };
    #[cfg(target_family = "wasm")]
    let _: Option<(u64, u64)> = since;
    log.changes().filter(is_meant).map(|change| change.id).partition(|id| overwritten.contains(id))
}

/// Returns the agent's changes with lines that a live change of the user or of another program deletes, and all of them
/// that are older than a file that they have created again.
fn overwritten_by_user(log: &LineLog) -> BTreeSet<ChangeId> {
    let of_others = |change: &LoggedChange| change.origin != Origin::Agent && change.status.is_on();
    let mut overwritten: BTreeSet<ChangeId> = log
        .changes()
        .filter(|change| of_others(change) && change.deleted_lines > 0)
        .flat_map(|change| change.deps)
        .collect();
    let created = log.changes().filter(|change| of_others(change) && change.op == ChangeOp::Create);
    // A file that came back with the text from before its deletion replaces nothing.
    #[cfg(not(target_family = "wasm"))]
    let created = created.filter(|created| {
        let made = |entry: &&LogEntry| entry.set.iter().any(|set| set.change == created.id);
        let switches_off = |entry: &LogEntry| entry.set.iter().any(|set| set.from.is_on() && !set.to.is_on());
        created.inserted_lines > 0 || !log.entries().iter().find(made).is_some_and(switches_off)
    });
    let created = created.last();
    if let Some(created) = created {
        overwritten.extend(log.changes().map(|change| change.id).filter(|id| *id < created.id));
    }
    overwritten
}

/// Returns the changes of the agent in runs.
#[cfg(not(target_family = "wasm"))]
pub(super) fn edits_of<'a>(log: &'a LineLog, runs: &'a [String]) -> impl Iterator<Item = LoggedChange> + use<'a> {
    log.changes().filter(|change| change.origin == Origin::Agent && runs.contains(&change.meta.run))
}

/// Returns the run and the time of the first change of the agent in runs.
#[cfg(not(target_family = "wasm"))]
pub(super) fn first_edit(log: &LineLog, runs: &[String]) -> Option<(u64, u64)> {
    edits_of(log, runs).filter_map(|change| Some((change.meta.run.parse().ok()?, change.meta.at_ms))).min()
}
