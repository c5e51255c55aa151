//! Commands on this machine: started, read, and ended with all their descendants.
//!
//! Each command has a thread that supervises it until all its processes are gone, whether or not a caller still waits. A
//! command leads a session and a process group of its own, has no terminal, and gets an empty standard input. It ends when
//! its shell exits: processes that the shell left running may finish their output briefly and are then ended.
//!
//! - `run` starts commands and passes output and results to callers.
//! - `supervisor` is the thread of one command.
//! - `process_tree` finds the processes of a command and signals them.
//! - `watcher` ends a command if this process is killed.
//! - `env_policy` selects the environment variables that a command inherits.
//! - `sandbox` confines where commands write.
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
#[cfg(unix)]
mod watcher;

pub use env_policy::{EnvPolicy, Inherit};
#[cfg(unix)]
pub(crate) use run::{Processes, SpawnOptions, exec};
pub use sandbox::Sandbox;
