//! The proposal of runs as data for a review service: hunks as patches, and edits by line number.
//!
//! Both are derived from the line logs, so every change of the agent is in them, whatever tool made it.

use std::collections::BTreeMap;

use emend_edit::ContentHash;
use emend_edit::diff::LineKind;
use emend_edit::line_log::{ChangeId, Hunk, HunkQuery, Origin, Proposal, ProposedLines, Status};
use serde::Serialize;

use super::decisions::with_needed;
use super::entry::Entry;
use super::review::{pending, run_names};
use super::state::Workspace;
use crate::environment::FilePath;

/// The hunks of runs, decided ones included.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize)]
pub struct DiffBundle {
    /// The files that the runs changed, by path.
    pub files: Vec<BundleFile>,
}

/// The hunks of one file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BundleFile {
    /// Path relative to the root.
    pub file_path: FilePath,
    /// Hash of the file as the workspace last saw it on the disk; that of the empty content if there was no file. Unless
    /// the user has edited inside a pending hunk, this is the text without pending hunks, which the patches change.
    pub base_file_hash: ContentHash,
    /// The agent's hunks in file order, and then those of the user, by status.
    pub hunks: Vec<BundleHunk>,
}

/// One hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct BundleHunk {
    /// Id for decisions.
    pub hunk_id: String,
    /// The hunk in unified format, with its `@@` line and three lines of context.
    pub patch: String,
    /// The decision: `None` while it is pending.
    pub accepted: Option<bool>,
    /// Ids of the [`ProposedEdit`]s that made it. Empty for the user's own hunks.
    pub edit_ids: Vec<String>,
    /// Whether it exceeds the size of a hunk and cannot be cut automatically: split it, or accept it as one.
    pub oversized_hunk: bool,
    /// `agent`, or `user` for the user's own edits during these runs. Those are accepted already, and only a rejection
    /// that names them takes them back.
    pub origin: Origin,
    /// Whether the user or another program has changed the same lines since.
    pub contested: bool,
    /// Whether it deletes a line that the user wrote.
    pub removes_user_lines: bool,
    /// Whether the disk holds it although it is pending, because the user edited inside it.
    pub kept_by_user: bool,
    /// Hunks of the review of all runs that are accepted with this one, at least in part: it is inside of edits of another
    /// run, or replaces them. Its patch does not show those. Empty if the patch is all that its acceptance writes.
    #[serde(skip_serializing_if = "Vec::is_empty")]
    pub needs: Vec<String>,
}

/// One edit of a proposal. Line numbers count the lines of the file before the runs: see
/// [`Diff3::checkpoint_base`](super::Diff3).
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct ProposedEdit {
    /// Its id: the id of the tool call, or `CALL/NAME` for a [named edit](super::EditStep), followed by `#2`, `#3` and so
    /// on for further edits of the same call.
    pub edit_id: String,
    /// Path relative to the root; for `rename`, the old path.
    pub file_path: FilePath,
    /// `replace`, `insert`, `delete`, `create`, `delete_file` or `rename`.
    pub operation: &'static str,
    /// First line, from 1. An `insert` goes before this line; one past the last line appends.
    pub start_line: Option<usize>,
    /// Last line, inclusive.
    pub end_line: Option<usize>,
    /// The new lines; for `create` and `rename`, the whole new text.
    pub new_text: String,
    /// The new path of a `rename`.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub new_path: Option<FilePath>,
    /// Hash of the replaced or deleted lines; for `delete_file` and `rename`, of the file; otherwise that of the empty
    /// content.
    pub expected_hash: ContentHash,
    /// The reason of the edit, if the model gave one. The workspace does not know it: the arguments of the call do.
    pub rationale: Option<String>,
    /// Number of the run.
    pub run_id: u64,
}

impl Workspace {
    /// Returns the hunks of `runs`, decided ones included, and the user's own hunks in the same files.
    ///
    /// The patches of pending hunks of a file, one after the other, change its text without pending hunks to the visible
    /// text, if `runs` are all runs with pending hunks.
    #[must_use]
    pub fn bundle(&self, runs: &[u64]) -> DiffBundle {
        let names = run_names(runs);
        let edits = self.derived(&names);
        let state = self.state();
        let mut files = Vec::new();
        for (path, entry) in &state.files {
            let Some(ids) = edits.ids.get(path) else { continue };
            let statuses = [Status::Pending, Status::Accepted, Status::Rejected, Status::RolledBack];
            let of = |origin, statuses: &[Status]| {
                entry.log.hunks(HunkQuery { statuses, origin, runs: Some(&names), ..HunkQuery::default() })
            };
            let mut hunks = of(Origin::Agent, &statuses);
            hunks.sort_by_key(|hunk| (hunk.new_start, hunk.old_start));
            let agents = hunks.into_iter().map(|hunk| bundled(entry, hunk, Origin::Agent, ids));
            let users = of(Origin::User, &statuses[1..]).into_iter();
            let users = users.map(|hunk| bundled(entry, hunk, Origin::User, &BTreeMap::new()));
            files.push(BundleFile {
                file_path: path.clone(),
                base_file_hash: hash_of(entry.log.saved_text().as_deref()),
                hunks: agents.chain(users).collect(),
            });
        }
        DiffBundle { files }
    }

    /// Returns the edits that the agent proposed in `runs`, whatever was decided about them since, in file order.
    ///
    /// Applied to the files before the runs, they give the files as the agent proposed them. Edits of one file do not
    /// overlap; edits at the same place follow each other in the new text.
    #[must_use]
    pub fn proposed_edits(&self, runs: &[u64]) -> Vec<ProposedEdit> {
        self.derived(&run_names(runs)).edits
    }

    /// Derives the edits of runs, and the ids of those that each change is in.
    fn derived(&self, runs: &[String]) -> Derived {
        let state = self.state();
        let proposals: Vec<(&FilePath, &Entry, Proposal)> =
            state.files.iter().filter_map(|(path, entry)| Some((path, entry, entry.log.proposal(runs)?))).collect();
        let gone: BTreeMap<&FilePath, &Proposal> = proposals
            .iter()
            .filter(|(_, _, proposal)| proposal.base.is_some() && proposal.proposed.is_none())
            .map(|(path, _, proposal)| (*path, proposal))
            .collect();
        let moved_to = |path: &FilePath| {
            proposals.iter().find(|(_, entry, proposal)| {
                entry.moved_from.as_ref() == Some(path) && proposal.base.is_none() && proposal.proposed.is_some()
            })
        };
        let mut derived = Derived::default();
        for (path, entry, proposal) in &proposals {
            let ids = derived.ids.entry((*path).clone()).or_default();
            let Some(first) = proposal.changes.first().and_then(|&id| entry.log.change(id)) else { continue };
            let call = (first.meta.run.as_str(), first.meta.edit.as_str());
            let whole = match (&proposal.base, &proposal.proposed) {
                (None, None) => continue,
                // The old path of a move stands for both files.
                (None, Some(_)) if entry.moved_from.as_ref().is_some_and(|from| gone.contains_key(from)) => continue,
                (None, Some(text)) => edit(path, "create", text.clone(), None),
                (Some(base), None) => match moved_to(path) {
                    Some((new, _, moved)) => {
                        let text = moved.proposed.clone().unwrap_or_default();
                        ProposedEdit { new_path: Some((*new).clone()), ..edit(path, "rename", text, Some(base)) }
                    }
                    None => edit(path, "delete_file", String::new(), Some(base)),
                },
                (Some(_), Some(_)) => {
                    for lines in &proposal.edits {
                        let id = derived.counts.next_id(&lines.meta.edit);
                        ids.entry(lines.change).or_default().push(id.clone());
                        derived.edits.push(line_edit(path, id, lines));
                    }
                    continue;
                }
            };
            let edit_id = derived.counts.next_id(call.1);
            let moved = (whole.operation == "rename").then(|| moved_to(path)).flatten();
            for &change in &proposal.changes {
                ids.entry(change).or_default().push(edit_id.clone());
            }
            if let Some((new, _, proposal)) = moved {
                let ids = derived.ids.entry((*new).clone()).or_default();
                proposal.changes.iter().for_each(|&change| ids.entry(change).or_default().push(edit_id.clone()));
            }
            derived.edits.push(ProposedEdit { edit_id, run_id: call.0.parse().unwrap_or_default(), ..whole });
        }
        derived
    }
}

/// The edits of runs.
#[derive(Default)]
struct Derived {
    edits: Vec<ProposedEdit>,
    /// For each file, the ids of the edits that a change is in.
    ids: BTreeMap<FilePath, BTreeMap<ChangeId, Vec<String>>>,
    counts: Counts,
}

/// Number of edits of each call so far.
#[derive(Default)]
struct Counts(BTreeMap<String, usize>);

impl Counts {
    fn next_id(&mut self, call: &str) -> String {
        let count = self.0.entry(call.to_owned()).or_default();
        *count += 1;
        if *count == 1 { call.to_owned() } else { format!("{call}#{count}") }
    }
}

pub(super) fn hash_of(text: Option<&str>) -> ContentHash {
    ContentHash::of(text.unwrap_or_default().as_bytes())
}

/// Returns an edit of a whole file.
fn edit(path: &FilePath, operation: &'static str, new_text: String, base: Option<&String>) -> ProposedEdit {
    ProposedEdit {
        edit_id: String::new(),
        file_path: path.clone(),
        operation,
        start_line: None,
        end_line: None,
        new_text,
        new_path: None,
        expected_hash: hash_of(base.map(String::as_str)),
        rationale: None,
        run_id: 0,
    }
}

fn line_edit(path: &FilePath, edit_id: String, lines: &ProposedLines) -> ProposedEdit {
    let operation = match (lines.n_removed, lines.inserted.is_empty()) {
        (0, _) => "insert",
        (_, true) => "delete",
        _ => "replace",
    };
    ProposedEdit {
        edit_id,
        start_line: Some(lines.line + 1),
        end_line: (lines.n_removed > 0).then(|| lines.line + lines.n_removed),
        run_id: lines.meta.run.parse().unwrap_or_default(),
        ..edit(path, operation, lines.inserted.clone(), Some(&lines.removed))
    }
}

fn bundled(entry: &Entry, hunk: Hunk, origin: Origin, ids: &BTreeMap<ChangeId, Vec<String>>) -> BundleHunk {
    let mut edit_ids: Vec<String> = Vec::new();
    for id in hunk.change_ids.iter().flat_map(|change| ids.get(change)).flatten() {
        if !edit_ids.contains(id) {
            edit_ids.push(id.clone());
        }
    }
    let needs = if origin == Origin::Agent { needed_with(entry, &hunk) } else { Vec::new() };
    BundleHunk {
        needs,
        hunk_id: hunk_name(entry, &hunk),
        patch: patch_of(&hunk, false),
        accepted: match hunk.status {
            Status::Pending => None,
            status => Some(status == Status::Accepted),
        },
        edit_ids,
        oversized_hunk: hunk.oversized,
        origin,
        contested: hunk.contested,
        removes_user_lines: hunk.removes_user_lines,
        kept_by_user: hunk.kept_by_user,
    }
}

/// Returns the hunks of all runs whose changes are accepted with those of a pending hunk.
fn needed_with(entry: &Entry, hunk: &Hunk) -> Vec<String> {
    if hunk.status != Status::Pending {
        return Vec::new();
    }
    let needed = with_needed(&entry.log, hunk.change_ids.clone());
    let others: Vec<&ChangeId> = needed.iter().filter(|id| !hunk.change_ids.contains(id)).collect();
    if others.is_empty() {
        return Vec::new();
    }
    let hunks = pending(&entry.log, None).filter(|hunk| hunk.change_ids.iter().any(|id| others.contains(&id)));
    hunks.map(|hunk| hunk_name(entry, &hunk)).collect()
}

/// Returns the id of a hunk in the whole workspace.
pub(super) fn hunk_name(entry: &Entry, hunk: &Hunk) -> String {
    format!("f{}:{}", entry.number, hunk.id)
}

/// Returns a hunk in unified format, or the patch that takes it back.
pub(super) fn patch_of(hunk: &Hunk, reverse: bool) -> String {
    let (mut old, mut new) = ((hunk.old_start, hunk.old_lines), (hunk.new_start, hunk.new_lines));
    if reverse {
        std::mem::swap(&mut old, &mut new);
    }
    let mut patch = format!("@@ -{},{} +{},{} @@\n", old.0, old.1, new.0, new.1);
    let mut added = String::new();
    for line in &hunk.lines {
        let mark = match (line.kind, reverse) {
            (LineKind::Context, _) => ' ',
            (LineKind::Added, false) | (LineKind::Removed, true) => '+',
            _ => '-',
        };
        if mark == ' ' {
            patch += &std::mem::take(&mut added);
        }
        let shown = if mark == '+' { &mut added } else { &mut patch };
        shown.push(mark);
        *shown += &line.text;
        if !line.text.ends_with('\n') {
            *shown += "\n\\ No newline at end of file\n";
        }
    }
    patch + &added
}
