//! Facts about the terminal that the program runs on, and about the lines that are typed there.

use std::io::{IsTerminal as _, stderr, stdin, stdout};

/// Makes a terminal mark the begin and end of pasted text: bracketed paste.
pub(crate) const PASTE_MARKS_ON: &str = "\x1b[?2004h";

/// Ends bracketed paste.
pub(crate) const PASTE_MARKS_OFF: &str = "\x1b[?2004l";

/// Width and height that are assumed if the terminal does not report them.
const SIZE: (usize, usize) = (80, 24);

/// Returns the number of columns and rows.
pub(crate) fn size() -> (usize, usize) {
    match crossterm::terminal::size() {
        Ok((columns @ 1.., rows @ 1..)) => (usize::from(columns), usize::from(rows)),
        _ => SIZE,
    }
}

/// Returns whether the terminal can move its cursor.
pub(crate) fn can_redraw() -> bool {
    // Also makes older Windows consoles understand escape sequences.
    #[cfg(windows)]
    return crossterm::ansi_support::supports_ansi();
    #[cfg(not(windows))]
    std::env::var("TERM").is_ok_and(|term| term != "dumb")
}

/// Discards what was typed and not read: it was not meant as an answer to a question that appears later.
pub(crate) fn discard_typed() {
    #[cfg(unix)]
    {
        use rustix::termios::{QueueSelector, tcflush};
        // Standard input may be something else than a terminal.
        let _ = tcflush(rustix::stdio::stdin(), QueueSelector::IFlush);
    }
}

/// Returns whether the user can type on the terminal and read from it.
pub(crate) fn is_interactive() -> bool {
    stdin().is_terminal() && stdout().is_terminal() && stderr().is_terminal() && is_in_foreground()
}

/// Returns whether the program is in the foreground of its terminal. A background program that sets the terminal's mode
/// is stopped.
#[cfg(unix)]
fn is_in_foreground() -> bool {
    // Without an answer, the terminal does not control jobs.
    rustix::termios::tcgetpgrp(stdin()).map_or(true, |foreground| foreground == rustix::process::getpgrp())
}

#[cfg(not(unix))]
fn is_in_foreground() -> bool {
    true
}

/// Returns whether a line is a command: a slash and one word. A message can begin with a path.
pub(crate) fn is_command(line: &str) -> bool {
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
