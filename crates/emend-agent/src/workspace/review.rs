//! Review: the pending edits as hunks.
//!
//! Lines of the user are never part of a hunk, so no decision on one hides them.

use emend_edit::diff::{LineKind, word_spans};
use emend_edit::line_log::{Hunk, HunkQuery, LineLog, Status};
use serde::Serialize;

use super::entry::Entry;
use super::error::WorkspaceError;
use super::state::Workspace;
use crate::environment::FilePath;
use crate::error_code::Code;

/// All pending edits.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct Review {
    /// Workspace revision of this review.
    pub revision: u64,
    /// Files with pending hunks, by path.
    pub files: Vec<ReviewFile>,
}

/// The pending hunks of one file.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewFile {
    /// Path relative to the root.
    pub path: FilePath,
    /// `create`, `update` or `delete`.
    pub operation: &'static str,
    /// Pending hunks in file order.
    pub hunks: Vec<ReviewHunk>,
    /// Number of lines that the hunks add.
    pub added: usize,
    /// Number of lines that the hunks remove.
    pub removed: usize,
}

/// A pending hunk.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewHunk {
    /// Id for decisions; valid until the review ends.
    pub id: String,
    /// Decision so far.
    pub status: Status,
    /// First line in the text without the hunk, from 1.
    pub old_start: usize,
    /// Number of lines in the text without the hunk.
    pub old_lines: usize,
    /// First line in the visible text, from 1.
    pub new_start: usize,
    /// Number of lines in the visible text.
    pub new_lines: usize,
    /// Lines of the hunk and its context.
    pub lines: Vec<ReviewLine>,
    /// Whether the disk holds the hunk although it is pending, because the user edited inside it.
    pub kept_by_user: bool,
    /// Number of live changes, the user's included, that depend on it.
    pub dependents: usize,
    /// Whether the user or another program has changed the same lines since: accepting needs
    /// [`Workspace::accept_over`].
    pub contested: bool,
    /// Lines that the user or another program put in its place, if it is contested.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub yours: Vec<String>,
    /// Whether it deletes a line that the user wrote.
    pub removes_user_lines: bool,
    /// Whether it exceeds the size of a hunk and cannot be cut automatically.
    pub oversized: bool,
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct ReviewLine {
    /// `context`, `added` or `removed`.
    pub kind: LineKind,
    /// Text with its line ending.
    pub text: String,
    /// Line number without the hunk, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub old_number: Option<usize>,
    /// Line number in the visible text, from 1.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_number: Option<usize>,
    /// Changed words, as ranges of UTF-16 code units, if exactly one line replaces another.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub spans: Vec<(usize, usize)>,
}

/// A file whose visible text or hunks changed.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ChangedFile {
    /// Path relative to the root.
    pub path: FilePath,
    /// Workspace revision after its last change.
    pub revision: u64,
    /// Number of pending hunks.
    pub pending_hunks: usize,
}

/// Why a decision was rejected. Nothing changes then.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
pub enum ReviewError {
    /// No hunk or file has this name.
    #[error("there is no hunk {id}; the review may have moved on, so look at it again")]
    UnknownHunk {
        /// The name.
        id: String,
    },
    /// Live changes depend on the changes to reject.
    #[error(
        "{path}: later changes depend on it: {n_dependents}, not the agent's: {from_user}. Reject it alone (`only`: they \
         stay) or with them (`with`: the user's go too)"
    )]
    HasDependents {
        /// Path relative to the root.
        path: FilePath,
        /// Number of dependent changes.
        n_dependents: usize,
        /// Number of those by the user or another program.
        from_user: usize,
    },
    /// The user or another program has changed the same lines since.
    #[error(
        "{path} was changed at {n_places} of these places since; nothing was done. Look at both texts: keep the lines as \
         they are by rejecting the change, or accept it over them"
    )]
    Contested {
        /// Path relative to the root.
        path: FilePath,
        /// Number of contested changes.
        n_places: usize,
    },
    /// A hunk has no changed line there, or on one side of a split.
    #[error(
        "hunk {id} cannot be divided at these lines; nothing was done. Count the lines of the hunk from 0, name changed \
         ones, and leave a changed line on each side of a split"
    )]
    Indivisible {
        /// The hunk.
        id: String,
    },
    /// Files on the disk are not those for which the hunks were made, or hunks overlap with changes since.
    #[error("changed since: {}; nothing was applied. Look at the review again, or apply with `rebase`", names(files))]
    Conflict {
        /// The files.
        files: Vec<FilePath>,
    },
    /// Live changes of other runs depend on the changes that an application would reject: both lines would stay.
    #[error("{path}: later hunks depend on hunks to reject; nothing was applied. Decide on the later hunks first")]
    NeededLater {
        /// Path relative to the root.
        path: FilePath,
        /// The later hunks.
        hunks: Vec<String>,
        /// Their runs.
        runs: Vec<u64>,
    },
    /// The agent has changed no file, or not this one, in a run.
    #[error("run {run} has no changes there")]
    UnknownRun {
        /// Number of the run.
        run: u64,
    },
    /// There is nothing to undo or redo.
    #[error("there is nothing to {action}")]
    Nothing {
        /// Name of the operation: `undo` or `redo`.
        action: &'static str,
    },
    /// The disk failed.
    #[error(transparent)]
    Workspace(#[from] WorkspaceError),
}

fn names(files: &[FilePath]) -> String {
    files.iter().map(FilePath::as_str).collect::<Vec<_>>().join(", ")
}

impl ReviewError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        match self {
            Self::UnknownHunk { .. } | Self::UnknownRun { .. } | Self::Nothing { .. } => Code::NotFound,
            Self::HasDependents { .. } | Self::Contested { .. } | Self::Conflict { .. } | Self::NeededLater { .. } => {
                Code::Conflict
            }
            Self::Indivisible { .. } => Code::InvalidArgument,
            Self::Workspace(error) => error.code(),
        }
    }
}

impl Workspace {
    /// Returns the files that changed after `revision`.
    #[must_use]
    pub fn changes_since(&self, revision: u64) -> Vec<ChangedFile> {
        let state = self.state();
        let changed = state.files.iter().filter(|(_, entry)| entry.changed_at > revision);
        changed
            .map(|(path, entry)| ChangedFile {
                path: path.clone(),
                revision: entry.changed_at,
                pending_hunks: n_pending(&entry.log),
            })
            .collect()
    }

    /// Returns the pending hunks of all files.
    #[must_use]
    pub fn review(&self) -> Review {
        self.review_of(None)
    }

    /// Returns the pending hunks of the agent's changes in `runs`, such as those of the last message alone; of all runs
    /// without `runs`.
    ///
    /// Changes of other runs are not part of these hunks, so a decision on them leaves the others as they are.
    #[must_use]
    pub fn review_of(&self, runs: Option<&[u64]>) -> Review {
        self.review_part(runs, 0)
    }

    /// Returns the pending hunks of the files that changed after `revision`, so that a reader of an earlier review reads what
    /// changed alone. A file without a pending hunk any more is listed without hunks, except after revision 0.
    #[must_use]
    pub fn review_since(&self, revision: u64) -> Review {
        self.review_part(None, revision)
    }

    fn review_part(&self, runs: Option<&[u64]>, since: u64) -> Review {
        let runs = runs.map(run_names);
        let state = self.state();
        let mut files = Vec::new();
        for (path, entry) in state.files.iter().filter(|(_, entry)| entry.changed_at > since || since == 0) {
            let hunks = pending(&entry.log, runs.as_deref());
            let hunks: Vec<ReviewHunk> = hunks.map(|hunk| shown(entry, hunk)).collect();
            if hunks.is_empty() && since == 0 {
                continue;
            }
            let count = |kind| hunks.iter().flat_map(|hunk| &hunk.lines).filter(|line| line.kind == kind).count();
            files.push(ReviewFile {
                path: path.clone(),
                operation: match (entry.log.was_on_disk(), entry.log.visible_text().is_some()) {
                    (false, _) => "create",
                    (true, false) => "delete",
                    (true, true) => "update",
                },
                added: count(LineKind::Added),
                removed: count(LineKind::Removed),
                hunks,
            });
        }
        Review { revision: state.revision, files }
    }
}

/// Returns the number of pending hunks.
pub(super) fn n_pending(log: &LineLog) -> usize {
    log.n_hunks(&HunkQuery::default())
}

/// Returns the names that line logs give runs.
pub(super) fn run_names(runs: &[u64]) -> Vec<String> {
    runs.iter().map(u64::to_string).collect()
}

pub(super) fn pending(log: &LineLog, runs: Option<&[String]>) -> impl Iterator<Item = Hunk> {
    log.hunks(HunkQuery { runs, ..HunkQuery::default() }).into_iter()
}

fn shown(entry: &Entry, hunk: Hunk) -> ReviewHunk {
    let mut lines: Vec<ReviewLine> = hunk
        .lines
        .into_iter()
        .map(|line| ReviewLine {
            kind: line.kind,
            text: line.text,
            old_number: line.old,
            new_number: line.new,
            spans: Vec::new(),
        })
        .collect();
    mark_words(&mut lines);
    ReviewHunk {
        id: format!("f{}:{}", entry.number, hunk.id),
        status: hunk.status,
        old_start: hunk.old_start,
        old_lines: hunk.old_lines,
        new_start: hunk.new_start,
        new_lines: hunk.new_lines,
        lines,
        kept_by_user: hunk.kept_by_user,
        dependents: hunk.dependents.len(),
        yours: if hunk.contested { entry.log.rival_lines(&hunk.change_ids) } else { Vec::new() },
        contested: hunk.contested,
        removes_user_lines: hunk.removes_user_lines,
        oversized: hunk.oversized,
    }
}

/// Marks changed words if as many added lines follow a sequence of removed lines; the lines are compared in pairs.
fn mark_words(lines: &mut [ReviewLine]) {
    let mut at = 0;
    while at < lines.len() {
        let n_removed = lines[at..].iter().take_while(|line| line.kind == LineKind::Removed).count();
        let n_added = lines[at + n_removed..].iter().take_while(|line| line.kind == LineKind::Added).count();
        if n_removed == n_added {
            for index in at..at + n_removed {
                let words = word_spans(&lines[index].text, &lines[index + n_removed].text);
                lines[index].spans = in_utf16(&lines[index].text, &words.old);
                lines[index + n_removed].spans = in_utf16(&lines[index + n_removed].text, &words.new);
            }
        }
        at += (n_removed + n_added).max(1);
    }
}

/// Converts byte ranges to ranges of UTF-16 code units, which JavaScript uses.
fn in_utf16(text: &str, ranges: &[std::ops::Range<usize>]) -> Vec<(usize, usize)> {
    let units = |end: usize| text[..end].encode_utf16().count();
    ranges.iter().map(|range| (units(range.start), units(range.end))).collect()
}
