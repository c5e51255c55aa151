//! A file as a session has read it, and its state as data and as text for the model.

use emend_edit::ContentHash;
use emend_edit::text::split_lines;
use serde_json::{Value, json};

use super::read_tracker::ReadTracker;
use crate::environment::FilePath;

/// A file as a session has read it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// Path relative to the root.
    pub path: FilePath,
    /// The whole visible text.
    pub text: String,
    /// Hash of the text.
    pub hash: ContentHash,
    /// Version counter of the session after this read.
    pub version: u64,
}

impl FileView {
    /// Records that the session has read the whole file, and returns it. A missing file counts as empty.
    pub(crate) fn of(reads: &ReadTracker, path: &FilePath, text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        let hash = reads.hash(text);
        let version = reads.note(path, hash, 0, split_lines(text).len());
        Self { path: path.clone(), text: text.to_owned(), hash, version }
    }

    /// Returns the file as data: `file_path`, `version`, `sha256` and `content`.
    #[must_use]
    pub fn state(&self) -> Value {
        json!({ "file_path": self.path, "version": self.version, "sha256": self.hash.hex(), "content": self.text })
    }
}

/// Key under which errors and results hold the state of their file.
pub(crate) const LATEST: &str = "latest_file_state";

/// Returns the state of a file inside an error, as text for the model.
pub(crate) fn latest_state_text(data: &Value) -> Option<String> {
    let state = data.get(LATEST)?;
    let text = |key: &str| state[key].as_str().unwrap_or_default();
    Some(format!(
        "[{} | version {} | sha256:{}]\n{}",
        text("file_path"),
        state["version"],
        text("sha256"),
        text("content")
    ))
}
