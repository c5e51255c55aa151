//! An emulated shell: bash as `bashkit` implements it, with grep, sed, awk and about a hundred other commands, over any tree
//! of files that implements [`Files`].
//!
//! [`read_command_line`] finds the commands of a line as bash does, for rules about commands.
//!
//! It starts no process and opens no file or socket. Because of its size it is a crate of its own, and in a browser a module
//! of its own. It does not depend on the agent; a host connects it to the files.

mod files;
mod read;
mod run;

pub use bashkit::async_trait;
pub use files::{Entry, Files, FilesError, Kind};
pub use read::{CommandLine, OPEN, SimpleCommand, differs_in_cmd, differs_in_sh, read_command_line};
pub use run::{Cancel, End, STEPS_MAX, Script, Shell, Stream};

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;
