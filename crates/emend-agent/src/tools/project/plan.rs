//! Plans the edits of a `propose_edits` call over the texts of their files: all of them or none.

use std::ops::Range;

use emend_edit::patch::line_edits::{LineEdit, LineEdits, LineOperation, LinesError, apply};
use emend_edit::patch::{Change, EditError, FileEdit, Patch, PlannedFile, plan};
use emend_edit::size::compact_sort::sort_by;
use serde_json::{Value, json};

use super::proposal::{EditKind, ProposedEdit};
use crate::environment::FilePath;
use crate::error_code::Code;
use crate::tool::ToolError;
use crate::tools::patching::writes;
use crate::workspace::{
    EditStep, FileView, FileWrite, LATEST, Precondition, ReadTracker, Texts, check_precondition, latest_state_text,
};

/// The most edits of one file that a review shows apart. More are recorded as one edit.
const STEPS_MAX: usize = 64;

/// Why the edits of a call cannot be applied.
pub(super) struct Refusal {
    error: ToolError,
    /// The files that are not in the state for which the edits were made.
    stale: Vec<FilePath>,
}

/// Returns every path that the edits name, once.
pub(super) fn paths(edits: &[ProposedEdit]) -> Vec<String> {
    let mut paths: Vec<String> = Vec::new();
    for path in edits.iter().flat_map(|edit| [Some(&edit.path), edit.target.as_ref()]).flatten() {
        if !paths.iter().any(|known| known == path.as_str()) {
            paths.push(path.as_str().to_owned());
        }
    }
    paths
}

/// Returns the files with edits, in the order of their first edits.
fn files(edits: &[ProposedEdit]) -> Vec<&FilePath> {
    let mut files: Vec<&FilePath> = Vec::new();
    for edit in edits {
        if !files.contains(&&edit.path) {
            files.push(&edit.path);
        }
    }
    files
}

/// Returns the edits of lines of one file, in the order of the call.
fn of_lines<'a>(edits: &'a [ProposedEdit], path: &FilePath) -> Vec<&'a ProposedEdit> {
    edits.iter().filter(|edit| edit.kind.is_of_lines() && edit.path == *path).collect()
}

/// Plans the edits over the visible texts. Nothing counts as read.
pub(super) fn plan_edits(
    edits: &[ProposedEdit],
    texts: &Texts,
    reads: &ReadTracker,
) -> Result<Vec<PlannedFile>, Refusal> {
    let mut why = Vec::new();
    let mut stale = Vec::new();
    for path in files(edits) {
        let text = texts.get(path.as_str()).and_then(Option::as_deref);
        for base in preconditions(edits, path, reads) {
            if let Err(error) = check_precondition(reads, path, text, &base) {
                why.push(error.to_string());
                stale.push(path.clone());
                break;
            }
        }
    }
    if !stale.is_empty() {
        return Err(Refusal { error: ToolError::new(Code::Stale, why.join("\n")), stale });
    }
    let exists = |edit: &&ProposedEdit| matches!(texts.get(edit.path.as_str()), Some(Some(_)));
    if let Some(edit) = edits.iter().find(|edit| edit.kind == EditKind::Create && exists(edit)) {
        // An empty file, too: the engine would accept an empty text for it.
        let error = EditError::AlreadyExists { path: edit.path.to_string(), moved: false };
        return Err(refusal(&error, edits));
    }
    let patch = patch(edits);
    plan(&patch, texts).map_err(|error| refusal(&error, edits))
}

/// Returns the states that the edits of one file require.
fn preconditions(edits: &[ProposedEdit], path: &FilePath, reads: &ReadTracker) -> Vec<Precondition<'static>> {
    // A hash of the lines themselves identifies them, even if the rest of the file has changed; the engine checks it.
    let of_lines = of_lines(edits, path);
    let ranges: Vec<Range<usize>> =
        of_lines.iter().filter(|edit| edit.expected_hash.is_none()).map(|edit| range(edit)).collect();
    let mut bases = Vec::new();
    if !ranges.is_empty() {
        bases.push(Precondition::Lines(None, ranges));
    }
    for edit in edits.iter().filter(|edit| !edit.kind.is_of_lines() && edit.path == *path) {
        let hash = match edit.kind {
            EditKind::Create => edit.expected_hash,
            _ => edit.expected_hash.or_else(|| reads.hash_of(path)),
        };
        // A file that was never shown can be renamed, because its text stays, but not deleted.
        if hash.is_some() || edit.kind == EditKind::DeleteFile {
            bases.push(Precondition::Lines(hash, Vec::new()));
        }
    }
    bases
}

/// Returns the lines (from 0) that an edit requires: those that it replaces, or those around an insertion.
fn range(edit: &ProposedEdit) -> Range<usize> {
    let start = edit.start_line.unwrap_or_default().saturating_sub(1);
    match edit.kind {
        EditKind::Insert => start.saturating_sub(1)..start,
        _ => start..edit.end_line.or(edit.start_line).unwrap_or_default().max(start),
    }
}

/// Returns the edits as a patch: for each file first its lines, then the file itself.
fn patch(edits: &[ProposedEdit]) -> Patch {
    let mut patch = Patch::default();
    for path in files(edits) {
        let mut add = |change| patch.edits.push(FileEdit { path: path.as_str().to_owned(), change });
        let of_lines: Vec<LineEdit> = of_lines(edits, path).into_iter().map(line_edit).collect();
        if !of_lines.is_empty() {
            add(Change::Lines(LineEdits { edits: of_lines, expected_hash: None }));
        }
        for edit in edits.iter().filter(|edit| edit.path == *path) {
            match edit.kind {
                EditKind::Create => add(Change::Create { text: edit.new_text.clone() }),
                EditKind::DeleteFile => add(Change::Delete),
                EditKind::Rename => {
                    let move_to = edit.target.as_ref().map(|target| target.as_str().to_owned());
                    add(Change::Update { move_to, hunks: Vec::new() });
                }
                EditKind::Replace | EditKind::Insert | EditKind::Delete => {}
            }
        }
    }
    patch
}

fn line_edit(edit: &ProposedEdit) -> LineEdit {
    LineEdit {
        operation: match edit.kind {
            EditKind::Insert => LineOperation::Insert,
            EditKind::Delete => LineOperation::Delete,
            _ => LineOperation::Replace,
        },
        start_line: edit.start_line.unwrap_or_default(),
        end_line: edit.end_line,
        new_text: edit.new_text.clone(),
        expected_hash: edit.expected_hash,
    }
}

/// Returns the error for a patch that cannot be applied. It names the edits by their ids.
fn refusal(error: &EditError, edits: &[ProposedEdit]) -> Refusal {
    let mut refused = ToolError::new(error.code().into(), format!("{error}. Nothing was changed."));
    let mut stale = Vec::new();
    if let EditError::Lines { path, error } = error {
        let of_file: Vec<&ProposedEdit> =
            edits.iter().filter(|edit| edit.kind.is_of_lines() && edit.path.as_str() == path).collect();
        let numbers = match error {
            LinesError::Overlap { first, second, .. } => vec![*first, *second],
            LinesError::OutOfRange { edit, .. }
            | LinesError::Backwards { edit, .. }
            | LinesError::TextMismatch { edit, .. }
            | LinesError::Stale { edit, .. } => vec![*edit],
            LinesError::NoEdits => Vec::new(),
        };
        let named = numbers.into_iter().filter_map(|number| Some((number, &of_file.get(number.checked_sub(1)?)?.id)));
        let named: Vec<(usize, &String)> = named.collect();
        let words: Vec<String> = named.iter().map(|(number, id)| format!("edit {number} is {id}")).collect();
        if !words.is_empty() {
            refused.message.push_str(&format!(" In {path}, {}.", words.join(" and ")));
        }
        refused.data = Some(json!({ "edit_ids": named.iter().map(|(_, id)| *id).collect::<Vec<_>>() }));
        if error.code() == emend_edit::ErrorCode::Stale {
            stale.extend(of_file.first().map(|edit| edit.path.clone()));
        }
    }
    Refusal { error: refused, stale }
}

/// Returns the error with the current state of each stale file, which counts as a read of it.
pub(super) fn with_states(refusal: Refusal, texts: &Texts, reads: &ReadTracker) -> ToolError {
    let Refusal { mut error, stale } = refusal;
    let text_of = |path: &FilePath| texts.get(path.as_str()).and_then(Option::as_deref);
    let states: Vec<Value> = stale.iter().map(|path| FileView::of(reads, path, text_of(path)).state()).collect();
    let Some((first, others)) = states.split_first() else { return error };
    // The model reads the first state below the message.
    for other in others {
        error.message.extend(latest_state_text(&json!({ LATEST: other })).map(|text| format!("\n{text}")));
    }
    let mut data = match error.data.take() {
        Some(Value::Object(data)) => data,
        _ => serde_json::Map::new(),
    };
    data.insert(LATEST.to_owned(), first.clone());
    data.insert("stale_files".to_owned(), Value::Array(states));
    error.data = Some(Value::Object(data));
    error
}

/// Returns the writes of a plan, with a step for each edit, so that a review knows the edit of each hunk.
pub(super) fn writes_of(edits: &[ProposedEdit], planned: &[PlannedFile], texts: &Texts) -> Vec<FileWrite> {
    let mut all: Vec<FileWrite> = planned.iter().flat_map(|file| writes(file, file.after.clone(), planned)).collect();
    for write in &mut all {
        let path = write.path.as_str();
        let whole = edits.iter().find(|edit| {
            !edit.kind.is_of_lines()
                && (edit.path.as_str() == path || edit.target.as_ref().is_some_and(|target| target.as_str() == path))
        });
        write.steps = match (whole, texts.get(path).and_then(Option::as_deref)) {
            (Some(edit), _) => vec![EditStep { name: edit.id.clone(), text: write.text.clone() }],
            (None, Some(before)) => steps(edits, path, before),
            (None, None) => Vec::new(),
        };
    }
    all
}

/// Returns the texts between the edits of one file, from its beginning to its end. None if there are many edits.
fn steps(edits: &[ProposedEdit], path: &str, before: &str) -> Vec<EditStep> {
    let mut of_file: Vec<&ProposedEdit> = edits.iter().filter(|edit| edit.path.as_str() == path).collect();
    if of_file.len() > STEPS_MAX {
        return Vec::new();
    }
    sort_by(&mut of_file, |a, b| a.start_line.cmp(&b.start_line));
    let mut applied: Vec<LineEdit> = Vec::new();
    let mut steps = Vec::new();
    for edit in of_file {
        // All edits together apply, so each part of them does.
        applied.push(LineEdit { expected_hash: None, ..line_edit(edit) });
        let done = apply(before, &LineEdits { edits: applied.clone(), expected_hash: None });
        let Ok(done) = done else { return Vec::new() };
        steps.push(EditStep { name: edit.id.clone(), text: Some(done.text) });
    }
    steps
}
