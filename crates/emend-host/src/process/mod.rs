//! Commands on this machine: started, read, and ended with all their descendants.
//!
//! Each command has a thread that supervises it until all its processes are gone, whether or not a caller still waits. A
//! command has no terminal and gets an empty standard input. It ends when its shell exits: processes that the shell left
//! running may finish their output briefly and are then ended. On Unix a command leads a session and a process group of
//! its own; on Windows it is a job object.
//!
//! - `run` runs commands for callers; `channel` passes output and results to them, `options` are the settings.
//! - `unix` starts commands on Unix, `windows` starts and supervises them on Windows.
//! - `supervisor` is the thread of one command on Unix.
//! - `process_tree` finds the processes of a command and signals them.
//! - `watcher` ends a command if this process is killed.
//! - `env_policy` selects the environment variables that a command inherits.
//! - `sandbox` confines where commands write.

mod channel;
mod env_policy;
mod options;
#[cfg(unix)]
mod process_tree;
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
mod unix;
#[cfg(unix)]
mod watcher;
#[cfg(windows)]
mod windows;

/// Returns whether the shell that runs commands reads a line as bash does.
#[cfg(all(feature = "shell", windows))]
pub(crate) fn reads_as_bash(line: &str) -> bool {
    !emend_shell::differs_in_cmd(line)
}

/// Returns whether the shell that runs commands reads a line as bash does.
#[cfg(all(feature = "shell", unix))]
pub(crate) fn reads_as_bash(line: &str) -> bool {
    unix::is_bash() || !emend_shell::differs_in_sh(line)
}

#[cfg(unix)]
pub(crate) use channel::Channel;
pub use env_policy::{EnvPolicy, Inherit};
pub(crate) use options::SpawnOptions;
#[cfg(unix)]
pub(crate) use run::supervise;
pub(crate) use run::{Processes, exec};
pub use sandbox::Sandbox;
