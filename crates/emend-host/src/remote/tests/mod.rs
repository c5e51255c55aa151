//! The suites of every environment on a real SSH server, and in containers whose program a script replaces.

mod commands;
mod containers;
mod files;
mod sshd;
mod storm;
