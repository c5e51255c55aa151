//! Commands on this machine: started, read and, whatever they do, ended.
//!
//! Each command has a thread that watches it until nothing of it is left, so that it is seen to whether or not anyone
//! still waits for it. A command leads a session and a process group of its own, has no terminal, and nothing on its
//! standard input. It is over when its shell has exited: what that left running may finish its last words and is then
//! ended too. Which processes belong to a command is `members`' business, which variables it sees `variables`',
//! and where it may write, if that is limited, `sandbox`'s.
//!
//! There are no commands on Windows yet.

#[cfg_attr(not(unix), expect(dead_code, reason = "there are no commands"))]
mod env_policy;
#[cfg(unix)]
mod process_tree;
#[cfg(unix)]
mod run;
mod sandbox;
#[cfg(test)]
#[cfg(target_os = "linux")]
mod sandbox_tests;
#[cfg(unix)]
mod supervisor;
#[cfg(test)]
#[cfg(unix)]
mod tests;

pub use env_policy::{EnvPolicy, Inherit};
#[cfg(unix)]
pub(crate) use run::{Processes, SpawnOptions, exec};
pub use sandbox::Sandbox;
