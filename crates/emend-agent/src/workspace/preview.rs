//! The effect of a decision on many hunks, before it is made.

use std::collections::{BTreeMap, BTreeSet};

use emend_edit::line_log::{LineLog, Origin};
use serde::Serialize;

use super::decisions::{ChangesOf, HunkDecision, Pick, Selection, apply, whole_hunks, with_needed};
use super::review::ReviewError;
use super::state::Workspace;
use crate::environment::FilePath;

/// The files that a decision would touch.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Touched {
    /// The files, by path.
    pub files: Vec<TouchedFile>,
}

/// The effect that a decision would have on one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct TouchedFile {
    /// Path relative to the root.
    pub path: FilePath,
    /// Number of selected hunks.
    pub hunks: usize,
    /// Number of these that are contested: [`HunkDecision::Accept`] does not take them.
    pub contested: usize,
    /// Number of these that exceed the size of a hunk and are decided on as one.
    pub oversized: usize,
    /// Number of further pending changes of the agent that are accepted, because the selected ones need them.
    pub also_accepted: usize,
    /// Number of live changes of the user or another program that depend on the selected ones.
    pub dependents_from_user: usize,
    /// Number of lines of the user that are on the disk now and would no longer be.
    pub removes_user_lines: usize,
    /// Whether the decision would be refused because of this file: a hunk that it names is contested, or later changes depend
    /// on a rejected one. A decision that is refused for one file changes none.
    pub refused: bool,
}

impl Workspace {
    /// Returns the effect that [`decide`](Self::decide) would have, and changes nothing.
    ///
    /// # Errors
    ///
    /// [`ReviewError::UnknownHunk`], or a file that cannot be read. A decision that would be refused because of contested
    /// hunks or of dependents is not an error here: [`TouchedFile::refused`] says so.
    pub async fn preview(&self, selection: Selection, decision: HunkDecision) -> Result<Touched, ReviewError> {
        let _writing = self.enter().await?;
        let leaves_contested = !matches!(selection, Selection::Hunks(_));
        self.find_contested(&selection, decision).await?;
        // Contested hunks are left out of a bulk acceptance, but counted.
        let picks = self.picks(selection, HunkDecision::AcceptOver)?;
        self.preview_picks(picks, decision, leaves_contested, |_, _, picks| Ok(whole_hunks(picks))).await
    }

    /// Returns the effect of a decision on picked hunks. `leaves_contested` says whether an acceptance leaves contested hunks
    /// out instead of being refused. The caller holds the lock of writes.
    pub(super) async fn preview_picks(
        &self,
        picks: BTreeMap<FilePath, Vec<Pick>>,
        decision: HunkDecision,
        leaves_contested: bool,
        changes: ChangesOf,
    ) -> Result<Touched, ReviewError> {
        let mut touched = Touched::default();
        let hunks = self.review().files.into_iter().flat_map(|file| file.hunks);
        let oversized: BTreeSet<String> = hunks.filter(|hunk| hunk.oversized).map(|hunk| hunk.id).collect();
        for (path, mut picks) in picks {
            let mut log = self.log_of(&path).await?;
            let is_contested = |pick: &Pick| !log.contested(&pick.changes).is_empty();
            let contested = picks.iter().filter(|pick| is_contested(pick)).count();
            let oversized = picks.iter().filter(|pick| oversized.contains(&pick.id)).count();
            let hunks = picks.len();
            if decision == HunkDecision::Accept && leaves_contested {
                picks.retain(|pick| !is_contested(pick));
            }
            let ids = changes(&path, &mut log, picks)?;
            let by_user = |log: &LineLog, id| log.change(id).is_some_and(|change| change.origin != Origin::Agent);
            let dependents_from_user = log.dependents(&ids).into_iter().filter(|&id| by_user(&log, id)).count();
            let accepts = !matches!(decision, HunkDecision::Reject(_));
            let also_accepted = if accepts { with_needed(&log, ids.clone()).len() - ids.len() } else { 0 };
            let mut after = log.clone();
            // A refused decision removes nothing.
            let (removes_user_lines, refused) = match apply(&path, &mut after, &ids, decision, 0) {
                Ok(()) => (log.user_lines_lost(&after), false),
                Err(ReviewError::HasDependents { .. } | ReviewError::Contested { .. }) => (0, true),
                Err(error) => return Err(error),
            };
            touched.files.push(TouchedFile {
                path,
                hunks,
                contested,
                oversized,
                also_accepted,
                dependents_from_user,
                removes_user_lines,
                refused,
            });
        }
        Ok(touched)
    }
}
