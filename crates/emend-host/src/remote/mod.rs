//! Projects on other machines and in containers: SSH, Docker, Podman and Kubernetes.
//!
//! A command-line program of the user carries everything: `ssh`, `docker`, `podman` or `kubectl`. So its settings, keys
//! and jump hosts are those that the user has. State and settings of Emend stay on this machine.
//!
//! - `place` names a place, `environment` is the environment of one, `probe` examines it first.
//! - `tree` applies the rules of the sandbox, `search` walks and searches, `stamps` finds what a command changed.
//! - `far` is the interface below: `sftp` over `ssh`, and `exec_files` by scripts in the container of `exec`.
//! - `script` carries scripts to a far side, `command` runs commands there.

mod command;
mod environment;
mod exec;
mod exec_files;
mod far;
mod place;
mod probe;
mod script;
mod search;
mod sftp;
mod ssh;
mod stamps;
#[cfg(test)]
mod tests;
mod tree;

pub use environment::RemoteEnvironment;
pub use place::{RemoteKind, RemotePlace};
