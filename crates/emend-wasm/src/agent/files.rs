//! The files as JavaScript shows them: the workspace's answers, put together and given their JSON names.

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

/// Lists every file, those that a pending edit deletes among them.
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

/// Reads what the user sees of a file; `None` if it does not exist.
pub(crate) async fn read(workspace: &Workspace, path: &str) -> Result<Option<FileState>, Failure> {
    let Some(text) = workspace.text(path).await? else { return Ok(None) };
    let path = workspace.environment().resolve(path, Access::Write).await?;
    let revision = workspace.revision_of(&path);
    Ok(Some(FileState { path, text, revision }))
}

/// The unchanged lines around each change of a diff, as git's default.
const CONTEXT_LINES: usize = 3;

/// Returns a unified diff from what is saved to what the user sees, over all files with pending hunks.
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

/// Returns what is on the disk, as [`AgentHandle::export_files`](crate::agent::AgentHandle::export_files) says. One file
/// at a time is copied: there is never a second copy of all of them here.
pub(crate) fn export(files: &MemFs) -> Array {
    let found = Array::new();
    files.visit(&mut |path, content| {
        let slash = if content.is_some() { "" } else { "/" };
        found.push(&(path.to_string() + slash).into());
        found.push(&Uint8Array::from(content.unwrap_or_default()).into());
    });
    found
}
