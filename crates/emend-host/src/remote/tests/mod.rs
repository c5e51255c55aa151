//! The suites of every environment on a real SSH server, in a real container of Podman, and in containers whose program a
//! script replaces.

mod commands;
mod containers;
mod files;
mod podman;
mod sshd;
mod storm;
