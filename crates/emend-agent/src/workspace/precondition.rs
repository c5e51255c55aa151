//! Writes with a precondition: they require a known state of their file, and are rejected with the present state
//! otherwise.
//!
//! Edits that locate themselves in the text need no precondition; they use [`Workspace::write`].

use std::ops::Range;

use emend_edit::ContentHash;
use emend_edit::text::split_lines;

use super::context::WriteContext;
use super::error::{Rejection, WorkspaceError};
use super::file_view::FileView;
use super::read_tracker::ReadTracker;
use super::state::Workspace;
use super::write::{FileWrite, WrittenFile};
use crate::environment::{Access, FilePath};
use crate::error_code::{Code, HasCode};
use crate::fixed_texts::STATE_MISMATCH;

/// The required state of a file.
#[derive(Clone, Debug)]
pub enum Precondition<'a> {
    /// The session has read every line of the present text. A hash of the caller must match too.
    Whole(Option<ContentHash>),
    /// The session has read these lines (from 0) of the present text, or the hash matches.
    Lines(Option<ContentHash>, Vec<Range<usize>>),
    /// The hashes inside the edit, which the engine checks.
    Hashed,
    /// The text has this SHA-256, whether or not the session has read it. The hash of no bytes also stands for a
    /// missing file. Every rejection shows the file as it is.
    Exact(&'a str),
}

impl Workspace {
    /// Writes one file for the agent if its precondition holds.
    ///
    /// # Errors
    ///
    /// As [`write`](Workspace::write), and `stale` if the precondition fails. A `stale` error, and every error of a
    /// write with an [exact](Precondition::Exact) precondition, carries `latest_file_state`; it counts as a read.
    pub async fn write_verified<R, E: From<WorkspaceError> + HasCode>(
        &self,
        context: &WriteContext<'_>,
        path: &str,
        base: Precondition<'_>,
        plan: impl FnOnce(Option<&str>) -> Result<(Vec<FileWrite>, R), E>,
    ) -> Result<(Vec<WrittenFile>, R), Rejection<E>> {
        let _writing = self.lock_writes(context.cancel).await.map_err(E::from)?;
        let (texts, resolved) = self.read_all(&[path.to_owned()]).await.map_err(E::from)?;
        let text = texts.get(path).and_then(Option::as_deref);
        let Some(file) = resolved.get(path) else {
            let reason = format!("{path} was not resolved before it was written");
            return Err(E::from(WorkspaceError::Internal { reason }).into());
        };
        let planned = check(context.reads, file, text, &base).map_err(E::from).and_then(|()| plan(text));
        let text_now;
        let (error, text) = match planned {
            Ok((writes, result)) => match self.commit_writes(context, &texts, &resolved, writes).await {
                Ok(written) => return Ok((written, result)),
                Err(error) => {
                    // The file may have changed since it was read above.
                    text_now = self.visible(file).await.map_err(E::from)?;
                    (E::from(error), text_now.as_deref())
                }
            },
            Err(error) => (error, text),
        };
        if !matches!(base, Precondition::Exact(_)) && error.code() != Code::Stale {
            return Err(error.into());
        }
        let latest = Some(FileView::of(context.reads, file, text));
        let suggestions = match text {
            Some(_) => None,
            None => self.environment().resolve(path, Access::Read).await.err(),
        };
        let suggestions = suggestions.map(|missing| missing.suggestions()).unwrap_or_default();
        Err(Rejection { error, latest, suggestions })
    }
}

impl Workspace {
    /// Returns whether the precondition holds now. Does not count as a read.
    pub async fn is_verified(&self, reads: &ReadTracker, path: &str, base: &Precondition<'_>) -> bool {
        let Ok((texts, resolved)) = self.read_all(&[path.to_owned()]).await else { return false };
        let text = texts.get(path).and_then(Option::as_deref);
        resolved.get(path).is_some_and(|file| check(reads, file, text, base).is_ok())
    }
}

/// Returns a `stale` error if the precondition does not hold for this text of a file.
pub(crate) fn check(
    reads: &ReadTracker,
    file: &FilePath,
    text: Option<&str>,
    base: &Precondition<'_>,
) -> Result<(), WorkspaceError> {
    let hash = reads.hash(text.unwrap_or_default());
    let (named, ranges) = match base {
        Precondition::Exact(named) => {
            return match named.parse() {
                Ok(named) if hash == named => Ok(()),
                Ok(_) if text.is_none() => {
                    let why = format!("{STATE_MISMATCH}\nThere is no {file}: its state is that of an empty file.");
                    Err(WorkspaceError::Stale { message: why })
                }
                Ok(_) => Err(WorkspaceError::Stale { message: STATE_MISMATCH.to_owned() }),
                Err(error) => {
                    let error: emend_edit::text::ParseHashError = error;
                    Err(WorkspaceError::Stale { message: format!("{STATE_MISMATCH}\n{error}.") })
                }
            };
        }
        Precondition::Hashed => return Ok(()),
        Precondition::Whole(named) => {
            let n_lines = text.map_or(0, |text| split_lines(text).len());
            (named, Vec::from([Range { start: 0, end: n_lines }]))
        }
        Precondition::Lines(named, ranges) => (named, ranges.clone()),
    };
    let shown = reads.hash_of(file);
    let reason = match (named.or(shown), text) {
        // A missing file needs no read.
        (None, None) => return Ok(()),
        (None, Some(_)) => "exists and was not read",
        (Some(known), None) if known != hash => "no longer exists",
        (Some(known), _) if known != hash => "has changed since it was read",
        (Some(_), None) => return Ok(()),
        (Some(_), Some(_)) if ranges.iter().any(|range| !reads.has_range(file, hash, range.start, range.end)) => {
            "has lines here that were never read"
        }
        (Some(_), Some(_))
            if matches!(base, Precondition::Lines(None, _)) && reads.is_written_in_this_message(file) =>
        {
            "was changed by an earlier call of the same message, so its lines may have other numbers now"
        }
        (Some(_), Some(_)) => return Ok(()),
    };
    let message =
        format!("{file} {reason}; nothing was written. Its current state is below: call again if you still want to.");
    Err(WorkspaceError::Stale { message })
}
