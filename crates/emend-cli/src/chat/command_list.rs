//! The names of the commands in a conversation, and how they are recognized.

/// All commands: name, arguments, help.
pub(super) const NAMES: [(&str, &str, &str); 14] = [
    ("/help", "", "show this help"),
    ("/model", "[MODEL]", "show or change the model"),
    ("/effort", "[LEVEL]", "show or change the model's reasoning effort"),
    ("/diff", "", "show all changes of this conversation"),
    ("/review", "", "accept or reject changes that wait for review"),
    ("/undo", "", "undo the changes of the last run; your own edits are kept"),
    ("/redo", "", "restore the changes that /undo undid"),
    ("/rewind", "", "go back to before a message: the conversation, the files, or both"),
    ("/compact", "", "free context: drop the output of old tool calls"),
    ("/resume", "[ID]", "continue a saved conversation"),
    ("/serve", "", "let browsers and other terminals join this conversation, until you leave"),
    ("/clear", "", "start a new conversation; this one stays saved"),
    ("/exit", "", "quit; Ctrl-D does the same"),
    ("/quit", "", "quit; emend --resume continues later"),
];

/// Returns whether a line is a command: a slash and one word. A message can begin with a path.
pub(super) fn is_command(line: &str) -> bool {
    let word = line.trim_start().strip_prefix('/').and_then(|rest| rest.split_whitespace().next());
    word.is_some_and(|word| !word.contains('/'))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_slash_and_a_word_are_a_command_and_a_path_is_not() {
        for (line, expected) in [
            ("/help", true),
            (" /model x/y", true),
            ("/modle", true),
            ("/src/lib.rs is wrong", false),
            ("/", false),
            ("a/b", false),
        ] {
            assert_eq!(is_command(line), expected, "{line:?}");
        }
    }
}
