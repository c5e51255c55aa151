//! The commands of a line, and their encoding for another module.

/// Stands for a part of a word that only the shell knows: the value of a variable, the output of a command, the names that
/// match a pattern. Lines with control characters have no reading, so no other text contains it.
pub const OPEN: char = '\u{1a}';

/// The commands of a line.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct CommandLine {
    /// All commands that the line may run, substitutions and bodies of functions included, in the order of their ends.
    pub commands: Vec<SimpleCommand>,
}

/// One command.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct SimpleCommand {
    /// The command as written, with its assignments and redirections.
    pub text: String,
    /// Its words without quotes, assignments and redirections. Then those of the commands in text that it hands to a shell,
    /// as `sh -c` does.
    pub runs: Vec<Vec<String>>,
    /// Whether the command only runs its program: it redirects to no file and evaluates no text as code.
    pub is_plain: bool,
    /// Whether the command may run others that are not in `runs`.
    pub hides: bool,
}

impl CommandLine {
    /// Returns the commands as text, for a reader in another module: commands are separated by U+001E, their fields by
    /// U+001F. The fields are `p`, `h`, both or nothing ([`is_plain`](SimpleCommand::is_plain),
    /// [`hides`](SimpleCommand::hides)), the text, and the words; U+001D stands before the words of each further command.
    #[must_use]
    pub fn encoded(&self) -> String {
        let command = |command: &SimpleCommand| {
            let flags = [(command.is_plain, "p"), (command.hides, "h")];
            let flags: String = flags.into_iter().filter_map(|(is_set, flag)| is_set.then_some(flag)).collect();
            let words: Vec<String> = command.runs.iter().map(|words| words.join("\u{1f}")).collect();
            format!("{flags}\u{1f}{}\u{1f}{}", command.text, words.join("\u{1d}"))
        };
        self.commands.iter().map(command).collect::<Vec<_>>().join("\u{1e}")
    }
}
