//! Applies a patch in memory: to all of its files or to none.
//!
//! The result states for each file its text before and after. Reading and writing files is left to the caller: see
//! [`Patch::paths`] for the files to read. Two edits of one file are applied in order and give one result.

use std::collections::BTreeMap;

use serde::Serialize;

use crate::patch::change::{Change, FileEdit, Patch};
use crate::patch::edit_error::EditError;
use crate::patch::edit_text::{changed, unified_edit};
use crate::patch::model::{AppliedHunk, Diagnostic, EditedText};
use crate::patch::replace::ReplaceError;
use crate::patch::unified::{DiffMode, FileKind, UnifiedEdit};

/// The effect of a planned patch on a file.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum Operation {
    /// The file is created.
    Create,
    /// The file gets another text, or already has the text that the patch creates.
    Update,
    /// The file is deleted.
    Delete,
    /// The file is moved, with or without a change of its text.
    Rename {
        /// Its old path.
        from: String,
    },
}

/// One file of a patch that was applied in memory.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct PlannedFile {
    /// Path of the file; for a move, its new path.
    pub path: String,
    /// The effect on the file.
    pub operation: Operation,
    /// The text before, for a move that at the old path. `None` if there was no file.
    pub before: Option<String>,
    /// The text after. `None` if the file is deleted.
    pub after: Option<String>,
    /// The text of a file at this path that a create or a move overwrites.
    pub overwritten: Option<String>,
    /// Whether the file is executable afterwards; `None` if the patch does not state it.
    pub executable: Option<bool>,
    /// The place of each hunk, in the order of the patch.
    pub hunks: Vec<AppliedHunk>,
    /// Notes about edits that were accepted.
    pub diagnostics: Vec<Diagnostic>,
}

/// Applies `patch` to `files`, which hold the text of each of [`Patch::paths`]. `None` or absent means that there is
/// no file.
///
/// # Errors
/// Fails if any edit cannot be applied; then none is.
///
/// ```
/// use std::collections::BTreeMap;
///
/// use emend_edit::patch::{Operation, plan, v4a};
///
/// let text = "*** Begin Patch\n*** Update File: a.txt\n@@\n one\n-two\n+2\n*** End Patch\n";
/// let (patch, _) = v4a::parse(text)?;
/// let files = BTreeMap::from([("a.txt".to_owned(), Some("one\ntwo\nthree\n".to_owned()))]);
/// let planned = plan(&patch, &files)?;
/// assert_eq!(planned[0].operation, Operation::Update);
/// assert_eq!(planned[0].after.as_deref(), Some("one\n2\nthree\n"));
/// # Ok::<(), Box<dyn std::error::Error>>(())
/// ```
pub fn plan(patch: &Patch, files: &BTreeMap<String, Option<String>>) -> Result<Vec<PlannedFile>, EditError> {
    plan_patch(patch, &mut |path| Ok(files.get(path).cloned().flatten()))
}

/// Applies `patch` to the files that `read` returns; `None` means that there is no file. Each path is read at most
/// once.
///
/// # Errors
/// Fails if `read` fails or if any edit cannot be applied; then none is.
pub fn plan_patch<E: From<EditError>>(
    patch: &Patch,
    read: &mut dyn FnMut(&str) -> Result<Option<String>, E>,
) -> Result<Vec<PlannedFile>, E> {
    let mut builder = PlanBuilder { files: Vec::new(), positions: BTreeMap::new(), overwrite: patch.overwrite };
    if patch.edits.is_empty() {
        return Err(EditError::Empty.into());
    }
    for edit in &patch.edits {
        for path in [Some(edit.path.as_str()), edit.moved_to()].into_iter().flatten() {
            if builder.position(path).is_none() {
                let text = read(path)?;
                builder.positions.insert(normalized(path), builder.files.len());
                builder.files.push(PathState::new(path, text));
            }
        }
        builder.edit(edit)?;
    }
    Ok(builder.finish())
}

/// Returns `path` without `.` and empty parts, and with `..` resolved, so that two spellings of one path are equal.
fn normalized(path: &str) -> String {
    let mut parts: Vec<&str> = Vec::new();
    for part in path.split('/') {
        match part {
            "" | "." => {}
            ".." if parts.last().is_some_and(|last| *last != "..") => {
                parts.pop();
            }
            part => parts.push(part),
        }
    }
    let root = if path.starts_with('/') { "/" } else { "" };
    format!("{root}{}", parts.join("/"))
}

/// The state of one path: its file before, and after the edits applied so far.
struct PathState {
    path: String,
    before: Option<String>,
    /// The text after the edits. It counts once the path is `touched`.
    after: Option<String>,
    /// The index of the path from which its file was moved here.
    moved_from: Option<usize>,
    /// Whether its file was moved elsewhere.
    moved_away: bool,
    touched: bool,
    executable: Option<bool>,
    hunks: Vec<AppliedHunk>,
    diagnostics: Vec<Diagnostic>,
}

impl PathState {
    fn new(path: &str, text: Option<String>) -> Self {
        Self {
            path: path.to_owned(),
            after: None,
            before: text,
            moved_from: None,
            moved_away: false,
            touched: false,
            executable: None,
            hunks: Vec::new(),
            diagnostics: Vec::new(),
        }
    }

    fn now(&self) -> Option<&str> {
        if self.touched { self.after.as_deref() } else { self.before.as_deref() }
    }
}

struct PlanBuilder {
    files: Vec<PathState>,
    /// The index of each path in `files`, by its normalized form.
    positions: BTreeMap<String, usize>,
    overwrite: bool,
}

impl PlanBuilder {
    fn position(&self, path: &str) -> Option<usize> {
        self.positions.get(&normalized(path)).copied()
    }

    fn edit(&mut self, edit: &FileEdit) -> Result<(), EditError> {
        let Some(at) = self.position(&edit.path) else { return Ok(()) };
        let path = || edit.path.clone();
        match &edit.change {
            Change::Create { text } => self.create(at, path(), text.clone()),
            Change::Delete => self.delete(at, path()),
            Change::Update { .. } => {
                let edited = changed(self.text(at, path(), "update")?, edit)?;
                self.set(at, edited);
                self.rename(at, edit)
            }
            Change::Unified(unified) => self.unified(at, edit, unified),
            Change::Replace { old, new, .. } if old.is_empty() && self.is_vacant(at) => {
                let is_change = self.files[at].now() != Some(new);
                self.set(at, EditedText::plain(new.clone()));
                let error = ReplaceError::NoChange;
                if is_change { Ok(()) } else { Err(EditError::Replace { path: path(), error }) }
            }
            Change::Replace { .. } | Change::Lines(_) => {
                let edited = changed(self.text(at, path(), "edit")?, edit)?;
                self.set(at, edited);
                Ok(())
            }
        }
    }

    fn unified(&mut self, at: usize, edit: &FileEdit, unified: &UnifiedEdit) -> Result<(), EditError> {
        let path = || edit.path.clone();
        let creates = unified.kind == FileKind::Create;
        if creates && !self.is_vacant(at) && !self.overwrite {
            return Err(EditError::AlreadyExists { path: path(), moved: false });
        }
        // A diff that only inserts needs no existing text. The headers of a single-file diff are often made up, so the
        // file may be missing.
        let needs_text = unified.hunks.is_empty() || unified.hunks.iter().any(|hunk| hunk.lines.old().next().is_some());
        let makes_file =
            creates || (self.files[at].now().is_none() && !needs_text && unified.mode == DiffMode::Located);
        let before = if makes_file { "" } else { self.text(at, path(), "update")? };
        let edited = unified_edit(before, edit, unified)?;
        match unified.kind {
            FileKind::Delete if !edited.text.is_empty() => {
                Err(EditError::NotWhole { path: path(), n_lines: edited.text.lines().count() })
            }
            FileKind::Delete => self.delete(at, path()),
            FileKind::Create | FileKind::Update => {
                self.set(at, edited);
                self.files[at].executable = unified.executable.or(self.files[at].executable);
                self.rename(at, edit)
            }
        }
    }

    /// Returns whether there is no file, or an empty one.
    fn is_vacant(&self, at: usize) -> bool {
        self.files[at].now().is_none_or(str::is_empty)
    }

    fn text(&self, at: usize, path: String, verb: &'static str) -> Result<&str, EditError> {
        self.files[at].now().ok_or(EditError::NotFound { path, verb })
    }

    fn set(&mut self, at: usize, mut edited: EditedText) {
        let file = &mut self.files[at];
        (file.after, file.touched) = (Some(edited.text), true);
        file.hunks.append(&mut edited.hunks);
        file.diagnostics.append(&mut edited.diagnostics);
    }

    fn create(&mut self, at: usize, path: String, text: String) -> Result<(), EditError> {
        if self.files[at].now().is_some() && !self.overwrite && !(self.is_vacant(at) && text.is_empty()) {
            return Err(EditError::AlreadyExists { path, moved: false });
        }
        self.set(at, EditedText::plain(text));
        Ok(())
    }

    fn delete(&mut self, at: usize, path: String) -> Result<(), EditError> {
        self.text(at, path, "delete")?;
        let file = &mut self.files[at];
        (file.after, file.executable, file.touched) = (None, None, true);
        file.hunks.clear();
        // Deleting a file that was moved here also removes it from its old path.
        if let Some(origin) = file.moved_from.take() {
            self.files[origin].moved_away = false;
        }
        Ok(())
    }

    fn rename(&mut self, from: usize, edit: &FileEdit) -> Result<(), EditError> {
        let Some(to) = edit.moved_to().and_then(|path| self.position(path)).filter(|&to| to != from) else {
            return Ok(());
        };
        if self.files[to].now().is_some() && !self.overwrite {
            return Err(EditError::AlreadyExists { path: self.files[to].path.clone(), moved: true });
        }
        let (hunks, diagnostics, text, executable) = {
            let file = &mut self.files[from];
            let text = if file.touched { file.after.take() } else { file.before.clone() };
            (file.moved_away, file.touched) = (true, true);
            let executable = file.executable.take();
            (std::mem::take(&mut file.hunks), std::mem::take(&mut file.diagnostics), text, executable)
        };
        // A file that was moved here before keeps its first origin.
        let origin = self.files[from].moved_from.take().unwrap_or(from);
        let file = &mut self.files[to];
        (file.after, file.touched, file.hunks, file.diagnostics) = (text, true, hunks, diagnostics);
        file.executable = executable;
        // A file that returns to its old path has not moved.
        (file.moved_from, file.moved_away) = (Some(origin).filter(|&origin| origin != to), false);
        Ok(())
    }

    fn finish(self) -> Vec<PlannedFile> {
        let origin_of = |file: &PathState| {
            let origin = &self.files[file.moved_from?];
            Some((origin.path.clone(), origin.before.clone()?))
        };
        let origins: Vec<Option<(String, String)>> = self.files.iter().map(origin_of).collect();
        let mut planned = Vec::new();
        for (file, origin) in self.files.into_iter().zip(origins).filter(|(file, _)| file.touched) {
            let (operation, before, overwritten) = match (&file.before, &file.after, origin) {
                (_, None, _) if file.moved_away => continue,
                (None, None, _) => continue,
                (Some(_), None, _) => (Operation::Delete, file.before, None),
                (_, Some(_), Some((from, text))) => (Operation::Rename { from }, Some(text), file.before),
                (None, Some(_), None) => (Operation::Create, None, None),
                (Some(_), Some(_), None) => (Operation::Update, file.before, None),
            };
            planned.push(PlannedFile {
                path: file.path,
                operation,
                before,
                after: file.after,
                overwritten,
                executable: file.executable,
                hunks: file.hunks,
                diagnostics: file.diagnostics,
            });
        }
        planned
    }
}

#[cfg(test)]
mod tests;
