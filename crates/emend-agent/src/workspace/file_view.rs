//! A file as a session has read it, and its state as data and as text for the model.

use emend_edit::ContentHash;
use emend_edit::text::split_lines;
use serde_json::{Value, json};

use super::read_tracker::ReadTracker;
use crate::environment::FilePath;

/// A file as it was read.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct FileView {
    /// The file.
    pub path: FilePath,
    /// The whole visible text.
    pub text: String,
    /// Its hash.
    pub hash: ContentHash,
    /// The session's version after this read.
    pub version: u64,
}

impl FileView {
    /// Notes that the session sees the whole of a file, and returns it. A file that is not there is seen as an empty
    /// one.
    pub(crate) fn of(reads: &ReadTracker, path: &FilePath, text: Option<&str>) -> Self {
        let text = text.unwrap_or_default();
        let hash = ContentHash::of(text.as_bytes());
        let version = reads.note(path, hash, 0, split_lines(text).len());
        Self { path: path.clone(), text: text.to_owned(), hash, version }
    }

    /// Returns the file as data, under the names of S3 §4.1.
    #[must_use]
    pub fn state(&self) -> Value {
        json!({ "file_path": self.path, "version": self.version, "sha256": self.hash.hex(), "content": self.text })
    }
}

/// Where refusals and answers hold the state of their file (S3 §4.2).
pub(crate) const LATEST: &str = "latest_file_state";

/// Returns the state of a file that a refusal holds, as the model reads it.
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
