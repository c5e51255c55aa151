//! The instructions that the model understands.
//!
//! [`EXAMPLES`] is the only list of them: the help text is made from it, and the documentation page is tested against
//! it.

use crate::markdown::NewSection;
use crate::text::needle::Needle;

/// One kind of instruction, shown by example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// What a user may write.
    pub text: &'static str,
    /// What happens then.
    pub effect: &'static str,
}

/// Every kind of instruction the stand-in understands.
pub const EXAMPLES: &[Example] = &[
    Example {
        text: "rename Alpha to Beta",
        effect: "replaces the whole name in every text file that is not ignored; `in PATH` limits it",
    },
    Example {
        text: "replace \"old text\" with \"new text\"",
        effect: "replaces the exact text in every text file that is not ignored; `in PATH` limits it",
    },
    Example {
        text: "add a table of contents to README.md",
        effect: "lists the headings of level 2 and 3 with links between two markers; `refresh` brings it up to date",
    },
    Example {
        text: "sort the list under \"Features\" in README.md",
        effect: "sorts the first list under that heading by its items' texts; nested items move along",
    },
    Example {
        text: "add a heading \"Usage\" with \"Run it.\" to README.md after \"Install\"",
        effect: "adds the heading and its text behind that section, or at the end of the file; `##` sets the level",
    },
    Example {
        text: "run cargo test",
        effect: "runs the rest of the line as a command, where there is a shell and you allow it",
    },
];

/// What the user wants.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// Rename or replace.
    Substitute(Substitution),
    /// Change one Markdown file.
    Document(Document),
    /// Run a command.
    Run(String),
}

/// Why a text is no instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misunderstood {
    /// It is none of those in [`EXAMPLES`].
    Unknown,
    /// It is one, but cannot be carried out; the text says why.
    Invalid(String),
}

impl Misunderstood {
    /// Returns what to say to the user.
    pub(crate) fn answer(&self) -> String {
        match self {
            Self::Unknown => {
                let mut answer =
                    "I only carry out a few fixed instructions, and this is none of them. I understand:".to_owned();
                for example in EXAMPLES {
                    answer.push_str(&format!("\n- `{}`: {}", example.text, example.effect));
                }
                answer
            }
            Self::Invalid(reason) => reason.clone(),
        }
    }
}

/// Replace every occurrence of one text by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Substitution {
    /// What to replace.
    pub(crate) needle: Needle,
    /// What to put there.
    pub(crate) to: String,
    /// Where; everywhere if absent.
    pub(crate) path: Option<String>,
}

impl Substitution {
    /// Whether the new text holds the old one, so that a place that was changed looks like one that was not.
    pub(crate) fn repeats(&self) -> bool {
        self.needle.count(&self.to) > 0
    }
}

/// What to do to one file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// The file; the open one if absent.
    pub(crate) file: Option<String>,
    /// What to do.
    pub(crate) task: Task,
}

/// What can be done to a Markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Add or refresh the table of contents.
    Contents,
    /// Sort the first list under this heading.
    SortList(String),
    /// Add a heading with a text.
    AddSection(NewSection),
}
