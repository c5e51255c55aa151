//! Command lines as the shell reads them that will run them.
//!
//! The environment of a session reads a line, because it knows its shell. `emend-shell` has the grammar of bash.

/// The commands of a line. A line without such a reading is opaque: no rule with a pattern allows it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// All commands that the line may run, those in substitutions and functions included.
    pub commands: Vec<SimpleCommand>,
}

/// One command of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The command as written, with its assignments and redirections.
    pub text: String,
    /// Its words without quotes, assignments and redirections. Then those of each command in text that it hands to a
    /// shell, as `sh -c` does. A part of a word that only the shell knows is [`OPEN`].
    pub runs: Vec<Vec<String>>,
    /// Whether the command only runs its program: it redirects to no file and evaluates no text as code.
    pub is_plain: bool,
    /// Whether the command may run others that are not in `runs`.
    pub hides: bool,
}

/// Stands for a part of a word that only the shell knows: the value of a variable, or names that match a pattern.
pub const OPEN: char = '\u{1a}';

impl CommandLine {
    /// Decodes a line: commands are separated by U+001E, and their fields by U+001F. The first field has a `p` if the
    /// command is plain and an `h` if it hides others, the second one is the text, and the others are the words. U+001D
    /// stands before the words of each further command.
    ///
    /// Returns `None` for other texts.
    #[must_use]
    pub fn decode(text: &str) -> Option<Self> {
        let command = |text: &str| {
            let (flags, rest) = text.split_once('\u{1f}')?;
            let (text, words) = rest.split_once('\u{1f}')?;
            let words = words.split('\u{1d}').map(|words| words.split('\u{1f}').map(str::to_owned).collect());
            Some(SimpleCommand {
                text: text.to_owned(),
                runs: words.collect(),
                is_plain: flags.contains('p'),
                hides: flags.contains('h'),
            })
        };
        let commands = text.split('\u{1e}').filter(|text| !text.is_empty()).map(command);
        Some(Self { commands: commands.collect::<Option<_>>()? })
    }
}
