//! The instructions that the model understands.
//!
//! [`EXAMPLES`] is the only list of them: the help text is made from it, and a test compares the documentation page
//! with it.

use crate::markdown::NewSection;
use crate::text::needle::Needle;

/// One kind of instruction, shown by example.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Example {
    /// Text that a user may write.
    pub text: &'static str,
    /// Effect of the instruction.
    pub effect: &'static str,
}

/// Every kind of instruction that the model understands.
pub const EXAMPLES: &[Example] = &[
    Example {
        text: "rename Alpha to Beta",
        effect: "replaces the whole name in every text file that is neither ignored nor hidden; `in PATH` limits it",
    },
    Example {
        text: "replace \"old text\" with \"new text\"",
        effect: "replaces the exact text in every text file that is neither ignored nor hidden; `in PATH` limits it",
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

/// An instruction of the user.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Instruction {
    /// Rename or replace.
    Substitute(Substitution),
    /// Change one Markdown file.
    Document(Document),
    /// Run a command.
    Run(String),
}

/// The reason why a text is not an instruction.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Misunderstood {
    /// The text matches none of [`EXAMPLES`].
    Unknown,
    /// The text is an instruction that cannot be carried out; the value says why.
    Invalid(String),
}

impl Misunderstood {
    /// Returns the response to the user. The list contains commands only if there is a `shell`.
    pub(crate) fn answer(&self, shell: bool) -> String {
        match self {
            Self::Unknown => {
                let mut answer =
                    "I only carry out a few fixed instructions, and this is none of them. I understand:".to_owned();
                for example in EXAMPLES.iter().filter(|example| shell || !example.text.starts_with("run ")) {
                    answer.push_str(&format!("\n- `{}`: {}", example.text, example.effect));
                }
                answer
            }
            Self::Invalid(reason) => reason.clone(),
        }
    }
}

/// A replacement of every occurrence of one text by another.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Substitution {
    /// The text to find.
    pub(crate) needle: Needle,
    /// The new text.
    pub(crate) to: String,
    /// Path of the search; everywhere if absent.
    pub(crate) path: Option<String>,
}

impl Substitution {
    /// Returns whether the new text contains the old one. Then a changed occurrence looks like an unchanged one.
    pub(crate) fn repeats(&self) -> bool {
        self.needle.count(&self.to) > 0
    }
}

/// A task for one Markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Document {
    /// Path of the file; the open file if absent.
    pub(crate) file: Option<String>,
    /// The change to make.
    pub(crate) task: Task,
}

/// The kinds of changes of a Markdown file.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum Task {
    /// Add or refresh the table of contents.
    Contents,
    /// Sort the first list under this heading.
    SortList(String),
    /// Add a heading with a text.
    AddSection(NewSection),
}
