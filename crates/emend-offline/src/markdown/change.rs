//! Changes of a Markdown file, as ranges of lines.

use std::ops::Range;

/// A change of a text: these lines are replaced by those.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct LineEdit {
    pub(crate) range: Range<usize>,
    pub(crate) lines: Vec<String>,
}

/// What a change of a file comes to.
#[derive(Debug, PartialEq, Eq)]
pub(crate) struct Change {
    /// The edit; absent if the text already is as it should be.
    pub(crate) edit: Option<LineEdit>,
    /// What to tell the user once it is done; `FILE` stands for the file's name.
    pub(crate) summary: String,
}
