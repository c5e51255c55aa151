//! The lines of a hunk, as diffs and reviews show them.

use serde::{Deserialize, Serialize};

/// What a line of a hunk is.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// In both texts.
    Context,
    /// Only in the new text.
    Added,
    /// Only in the old text.
    Removed,
}

impl LineKind {
    /// Returns the character that starts such a line in a unified diff.
    #[must_use]
    pub fn marker(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

/// One line of a hunk.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkLine {
    /// What the line is.
    pub kind: LineKind,
    /// The line with its own ending.
    pub text: String,
    /// Its number in the old text, from 1; none if it is not there.
    pub old: Option<usize>,
    /// Its number in the new text, from 1; none if it is not there.
    pub new: Option<usize>,
}

impl HunkLine {
    pub(crate) fn new(kind: LineKind, text: &str, old: Option<usize>, new: Option<usize>) -> Self {
        Self { kind, text: text.to_owned(), old, new }
    }
}
