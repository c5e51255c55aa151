//! One line of a hunk, as diffs and reviews show it.

use serde::{Deserialize, Serialize};

/// Which of the two texts contain a line of a hunk.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineKind {
    /// Both texts contain the line.
    Context,
    /// Only the new text contains the line.
    Added,
    /// Only the old text contains the line.
    Removed,
}

impl LineKind {
    /// Returns the character that marks such a line in a unified diff: space, `+` or `-`.
    #[must_use]
    pub fn marker(self) -> char {
        match self {
            Self::Context => ' ',
            Self::Added => '+',
            Self::Removed => '-',
        }
    }
}

/// One line of a hunk, with its numbers in both texts.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct HunkLine {
    /// Which of the two texts contain it.
    pub kind: LineKind,
    /// Its content with its own line ending.
    pub text: String,
    /// Its number in the old text, from 1; `None` for an added line.
    pub old: Option<usize>,
    /// Its number in the new text, from 1; `None` for a removed line.
    pub new: Option<usize>,
}

impl HunkLine {
    pub(crate) fn new(kind: LineKind, text: &str, old: Option<usize>, new: Option<usize>) -> Self {
        Self { kind, text: text.to_owned(), old, new }
    }
}
