//! Changes of a Markdown file as ranges of lines.

use std::ops::Range;

/// A replacement of a range of lines.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineEdit {
    pub(crate) range: Range<usize>,
    pub(crate) lines: Vec<String>,
}

/// The change of a file, with its description.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The edit; absent if the text needs no change.
    pub(crate) edit: Option<LineEdit>,
    /// Description for the user after the change; `FILE` stands for the name of the file.
    pub(crate) summary: String,
}
