//! An emulated shell: bash as `bashkit` understands it, with grep, sed, awk and some hundred other commands, over any
//! tree of files that implements [`Files`].
//!
//! It starts no process and opens no file or socket. What it weighs is why it is a crate, and in a browser a module, of
//! its own: it knows nothing of agents, and a host joins it to whatever holds the files.

mod files;
mod run;

pub use bashkit::async_trait;
pub use files::{Entry, Files, FilesError, Kind};
pub use run::{Cancel, End, STEPS_MAX, Script, Shell, Stream};

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod tests;
