//! Decisions on parts of a hunk: splitting it, or deciding on some of its lines.

use std::collections::BTreeMap;

use emend_edit::line_log::{ChangeId, LineLog, Origin};
use serde::{Deserialize, Serialize};

use super::decisions::{HunkDecision, Pick, refused};
use super::preview::Touched;
use super::review::{Review, ReviewError};
use super::state::Workspace;
use crate::environment::FilePath;

/// Number of unchanged lines around a hunk, which line indexes of hunks count.
const CONTEXT: usize = 3;

/// Some lines of a hunk.
///
/// A decision on them splits the hunk. The other lines stay as they were, in a hunk of their own.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkLines {
    /// The hunk.
    pub hunk_id: String,
    /// Indexes in [`ReviewHunk::lines`](super::ReviewHunk::lines), from 0. Unchanged lines are ignored.
    pub lines: Vec<usize>,
}

impl Workspace {
    /// Splits a hunk in two. The second one starts with `line`, an index in
    /// [`ReviewHunk::lines`](super::ReviewHunk::lines). Nothing else changes; [`undo`](Self::undo) joins the hunks.
    ///
    /// # Errors
    ///
    /// [`ReviewError::UnknownHunk`]; [`ReviewError::Indivisible`] if one side would have no changed line.
    pub async fn split(&self, hunk_id: &str, line: usize) -> Result<Review, ReviewError> {
        let _writing = self.enter().await?;
        let (path, ids) = self.changes_of(hunk_id)?;
        let mut log = self.log_of(&path).await?;
        let was_split = log.split_hunk(&ids, line, CONTEXT, Origin::User, self.clock.now_ms());
        if !was_split.map_err(|error| refused(&path, error))? {
            return Err(ReviewError::Indivisible { id: hunk_id.to_owned() });
        }
        self.commit_step(vec![(path, log)]).await
    }

    /// Decides on some lines of hunks, as one step.
    ///
    /// # Errors
    ///
    /// As [`decide`](Self::decide); [`ReviewError::Indivisible`] if no changed line of a hunk is named.
    pub async fn decide_lines(&self, lines: &[HunkLines], decision: HunkDecision) -> Result<Review, ReviewError> {
        let _writing = self.enter().await?;
        let picks = self.picks_of_lines(lines)?;
        self.decide_picks(picks, decision, lines_of_hunks).await
    }

    /// Returns the effect that [`decide_lines`](Self::decide_lines) would have, and changes nothing.
    ///
    /// # Errors
    ///
    /// As [`preview`](Self::preview).
    pub async fn preview_lines(&self, lines: &[HunkLines], decision: HunkDecision) -> Result<Touched, ReviewError> {
        let _writing = self.enter().await?;
        let picks = self.picks_of_lines(lines)?;
        self.preview_picks(picks, decision, false, lines_of_hunks).await
    }

    fn picks_of_lines(&self, lines: &[HunkLines]) -> Result<BTreeMap<FilePath, Vec<Pick>>, ReviewError> {
        let mut by_file: BTreeMap<FilePath, Vec<Pick>> = BTreeMap::new();
        for HunkLines { hunk_id, lines } in lines {
            let (path, changes) = self.changes_of(hunk_id)?;
            by_file.entry(path).or_default().push(Pick { id: hunk_id.clone(), changes, lines: lines.clone() });
        }
        Ok(by_file)
    }
}

/// Splits picked hunks, and returns the changes of their picked lines.
fn lines_of_hunks(path: &FilePath, log: &mut LineLog, picks: Vec<Pick>) -> Result<Vec<ChangeId>, ReviewError> {
    let mut ids = Vec::new();
    for Pick { id, changes, lines } in picks {
        let of_lines = log.split_lines(&changes, &lines, CONTEXT).map_err(|error| refused(path, error))?;
        ids.extend(of_lines.ok_or(ReviewError::Indivisible { id })?);
    }
    Ok(ids)
}
