//! Entries of a directory: their kind, size and time, and the purpose for which a path is resolved.

use emend_edit::size::compact_sort::sort_by;
use serde::Serialize;

use super::path::FilePath;

/// The purpose for which a path is resolved. A path to write need not exist.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Access {
    /// Read a file.
    Read,
    /// Write or create a file.
    Write,
    /// List a directory.
    List,
}

/// The kind of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "snake_case")]
pub enum EntryKind {
    /// A regular file.
    File,
    /// A directory.
    Directory,
}

/// Metadata of an entry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Metadata {
    /// File or directory.
    pub kind: EntryKind,
    /// Size in bytes; 0 for a directory.
    pub size: u64,
    /// Modification time in milliseconds since 1970, 0 if unknown. Only for ordering, never for verification.
    pub modified_ms: u64,
}

/// One entry of a listing or a walk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct DirEntry {
    /// Path relative to the root.
    pub path: FilePath,
    /// Kind, size and time.
    #[serde(flatten)]
    pub metadata: Metadata,
}

/// Sorts entries by path and removes duplicates.
#[must_use]
pub fn in_order(mut entries: Vec<DirEntry>) -> Vec<DirEntry> {
    sort_by(&mut entries, |a, b| a.path.cmp(&b.path));
    entries.dedup_by(|a, b| a.path == b.path);
    entries
}
