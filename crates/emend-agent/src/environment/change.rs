//! A change of one file, as one step of a change of several.

use emend_edit::ContentHash;

use super::path::FilePath;

/// What becomes of one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileChange {
    /// The file, as [`resolve`](crate::environment::ExecutionEnvironment::resolve) returned it.
    pub path: FilePath,
    /// The hash of what it holds now; `None` if there is no such file.
    pub before: Option<ContentHash>,
    /// What it is to hold; `None` to remove it.
    pub after: Option<Vec<u8>>,
    /// The file whose mode bits a new file takes, if it is one that moves.
    pub mode_of: Option<FilePath>,
    /// Whether it can be run as a program afterwards; `None` if that stays as it is. Where files have no such bit, it is
    /// ignored.
    pub executable: Option<bool>,
}
