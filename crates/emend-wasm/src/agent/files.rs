//! The project's files in the form that JavaScript gets: lists, texts, diffs and exports of the workspace.

use emend_agent::environment::memory::MemFs;
use emend_agent::environment::{Access, EntryKind, FilePath};
use emend_agent::workspace::Workspace;
use emend_edit::diff::{Names, unified};
use emend_edit::size::compact_sort::sort_by;
use js_sys::{Array, Uint8Array};
use serde::Serialize;

use crate::failure::Failure;

/// One file of the project.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub(crate) struct FileInfo {
    path: FilePath,
    size: u64,
    status: &'static str,
    pending_hunks: usize,
}

/// A file as the user sees it.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub(crate) struct FileState {
    path: FilePath,
    text: String,
    revision: u64,
}

/// Lists every file, including files that a pending edit deletes.
pub(crate) async fn list(workspace: &Workspace) -> Result<Vec<FileInfo>, Failure> {
    let mut files = Vec::new();
    for entry in workspace.list(".", usize::MAX).await? {
        if entry.metadata.kind == EntryKind::File {
            let (path, size) = (entry.path, entry.metadata.size);
            files.push(FileInfo { path, size, status: "clean", pending_hunks: 0 });
        }
    }
    sort_by(&mut files, |a, b| a.path.cmp(&b.path));
    for file in workspace.review().files {
        let status = match file.operation {
            "create" => "created",
            "delete" => "deleted",
            _ => "modified",
        };
        let pending_hunks = file.hunks.len();
        match files.binary_search_by(|info| info.path.cmp(&file.path)) {
            Ok(at) => (files[at].status, files[at].pending_hunks) = (status, pending_hunks),
            Err(at) => files.insert(at, FileInfo { path: file.path, size: 0, status, pending_hunks }),
        }
    }
    Ok(files)
}

/// Reads a file as the user sees it; `None` if it does not exist.
pub(crate) async fn read(workspace: &Workspace, path: &str) -> Result<Option<FileState>, Failure> {
    let Some(text) = workspace.text(path).await? else { return Ok(None) };
    let path = workspace.environment().resolve(path, Access::Write).await?;
    let revision = workspace.revision_of(&path);
    Ok(Some(FileState { path, text, revision }))
}

/// Number of unchanged lines around each change of a diff. The default of git.
const CONTEXT_LINES: usize = 3;

/// Returns a unified diff from the saved files to the visible ones, over all files with pending hunks.
pub(crate) async fn diff(workspace: &Workspace) -> Result<String, Failure> {
    let mut diff = String::new();
    for file in workspace.review().files {
        let path = file.path.as_str();
        let (saved, visible) = (workspace.saved_text(path).await?, workspace.text(path).await?);
        let (old, new) = (format!("a/{path}"), format!("b/{path}"));
        let names = Names {
            old: if saved.is_some() { &old } else { "/dev/null" },
            new: if visible.is_some() { &new } else { "/dev/null" },
        };
        diff += &unified(&saved.unwrap_or_default(), &visible.unwrap_or_default(), CONTEXT_LINES, names);
    }
    Ok(diff)
}

/// Returns the saved files as [`AgentHandle::export_files`](crate::agent::AgentHandle::export_files) documents.
///
/// Files are copied to JavaScript one by one, so that the module never holds a second copy of all of them.
pub(crate) fn export(files: &MemFs) -> Array {
    let found = Array::new();
    files.visit(&mut |path, content| {
        let slash = if content.is_some() { "" } else { "/" };
        found.push(&(path.to_string() + slash).into());
        found.push(&Uint8Array::from(content.unwrap_or_default()).into());
    });
    found
}
