//! Keys that are pressed while the agent works.
//!
//! The two implementations have the same methods. On Unix the module reads standard input itself, since crossterm's
//! reader cannot hand the terminal over to `rustyline` after each run. It blocks inside an incomplete escape sequence or
//! paste, where nothing can stop it, and it never returns once the terminal is closed. The Unix reader also leaves
//! Ctrl-C and Ctrl-Z to the system as signals, which crossterm's raw mode does not.

use super::line_edit::Key;

#[cfg(unix)]
mod key_parser;
#[cfg(unix)]
mod unix;
#[cfg(windows)]
mod windows;

#[cfg(unix)]
pub(super) use unix::KeyReader;
#[cfg(windows)]
pub(super) use windows::KeyReader;

/// An input from the terminal.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) enum TerminalInput {
    Keys(Vec<Key>),
    /// The program was stopped, usually by Ctrl-Z, and runs again.
    #[cfg_attr(windows, expect(dead_code, reason = "Windows does not stop programs"))]
    Resumed,
}
