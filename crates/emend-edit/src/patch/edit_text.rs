//! Applies a patch to one text.

use crate::locate::leniency::Leniency;
use crate::patch::change::{Change, FileEdit, Patch};
use crate::patch::edit_error::EditError;
use crate::patch::line_edits;
use crate::patch::model::{AppliedHunk, Diagnostic, EditedText};
use crate::patch::replace::{self, Replaced, Strategy};
use crate::patch::unified::{self, FileKind, UnifiedEdit, UnifiedHunk};
use crate::patch::v4a;

/// Applies `patch` to the one text `before`, whatever path the patch names.
///
/// # Errors
/// Fails if an edit cannot be applied, if the patch names a second file, and if it creates, deletes or moves a file.
pub fn edit_text(before: &str, patch: &Patch) -> Result<EditedText, EditError> {
    let mut edited: Option<EditedText> = None;
    for edit in &patch.edits {
        if edit.path != patch.edits[0].path || edit.moved_to().is_some() {
            return Err(EditError::NotAnEdit { path: edit.path.clone() });
        }
        let mut next = changed(edited.as_ref().map_or(before, |edited| &edited.text), edit)?;
        if let Some(EditedText { mut hunks, mut diagnostics, .. }) = edited {
            hunks.append(&mut next.hunks);
            diagnostics.append(&mut next.diagnostics);
            next = EditedText { text: next.text, hunks, diagnostics };
        }
        edited = Some(next);
    }
    edited.ok_or(EditError::Empty)
}

/// Applies an edit that changes the text of a file and nothing else.
pub(super) fn changed(before: &str, edit: &FileEdit) -> Result<EditedText, EditError> {
    let path = || edit.path.clone();
    match &edit.change {
        Change::Update { hunks, .. } => {
            let applied = v4a::apply(before, hunks).map_err(|error| EditError::Hunk { path: path(), error })?;
            let diagnostics = loose_hunks(&applied.hunks).collect();
            Ok(EditedText { text: applied.text, hunks: applied.hunks, diagnostics })
        }
        Change::Unified(unified) if unified.kind == FileKind::Update => unified_edit(before, edit, unified),
        Change::Replace { old, new, replace_all } => {
            let replaced = replace::replace(before, old, new, *replace_all)
                .map_err(|error| EditError::Replace { path: path(), error })?;
            let diagnostics = loose_replacement(&replaced).into_iter().collect();
            let hunks = replaced.applied_hunks();
            Ok(EditedText { text: replaced.text, hunks, diagnostics })
        }
        Change::Lines(edits) => {
            let applied = line_edits::apply(before, edits).map_err(|error| EditError::Lines { path: path(), error })?;
            Ok(EditedText { text: applied.text, hunks: applied.hunks, diagnostics: applied.diagnostics })
        }
        Change::Create { .. } | Change::Delete | Change::Unified(_) => Err(EditError::NotAnEdit { path: path() }),
    }
}

pub(super) fn unified_edit(before: &str, edit: &FileEdit, unified: &UnifiedEdit) -> Result<EditedText, EditError> {
    let (text, hunks) =
        unified::apply(before, unified).map_err(|error| EditError::Hunk { path: edit.path.clone(), error })?;
    let diagnostics = moved_hunks(unified, &hunks).chain(loose_hunks(&hunks)).collect();
    Ok(EditedText { text, hunks, diagnostics })
}

/// Returns a note for each hunk whose lines did not match exactly.
fn loose_hunks(hunks: &[AppliedHunk]) -> impl Iterator<Item = Diagnostic> {
    hunks.iter().filter_map(|hunk| {
        let difference = match hunk.matched {
            Leniency::Exact => return None,
            Leniency::TrailingWhitespace => "whitespace at line ends",
            Leniency::Whitespace => "indentation",
            Leniency::UnicodeConfusables => "whitespace or typographic characters",
        };
        let message = format!("hunk {} matches at line {} except for {difference}", hunk.number, hunk.old_start);
        Some(Diagnostic { code: "loose_match", message, line: Some(hunk.old_start) })
    })
}

/// Returns a note if the old text of a replacement did not match exactly.
fn loose_replacement(replaced: &Replaced) -> Option<Diagnostic> {
    let difference = match replaced.strategy {
        Strategy::Exact => return None,
        Strategy::LineEndings => "line endings",
        Strategy::UnicodeConfusables => "whitespace at line ends or typographic characters",
        Strategy::Indentation => "indentation; the new text was indented the same way",
    };
    let line = replaced.lines.first().map(|&(first, _)| first);
    let message = format!("the old text matches at line {} except for {difference}", line.unwrap_or_default());
    Some(Diagnostic { code: "loose_match", message, line })
}

/// Returns a note for each hunk that states a wrong line.
fn moved_hunks(unified: &UnifiedEdit, applied: &[AppliedHunk]) -> impl Iterator<Item = Diagnostic> {
    let note = |(stated, applied): (&UnifiedHunk, &AppliedHunk)| {
        let line = stated.old_start.filter(|&line| line != applied.old_start && applied.old_lines > 0)?;
        let message = format!("hunk {} states line {line} but was found at line {}", applied.number, applied.old_start);
        Some(Diagnostic { code: "wrong_line", message, line: Some(applied.old_start) })
    };
    unified.hunks.iter().zip(applied).filter_map(note)
}
