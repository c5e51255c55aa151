//! The commands, one file each. `emend run` and the conversation, which use some of them, are apart.

pub(crate) mod attach;
mod attach_client;
mod attach_commands;
mod attach_output;
mod attach_question;
mod attach_rewind;
mod blocked;
pub(crate) mod checkpoints;
pub(crate) mod config;
pub(crate) mod database;
pub(crate) mod debug;
pub(crate) mod diff;
pub(crate) mod eval;
pub(crate) mod manual;
pub(crate) mod models;
pub(crate) mod patch;
mod response_summary;
pub(crate) mod review;
pub(crate) mod rollback;
pub(crate) mod serve;
pub(crate) mod sessions;
pub(crate) mod tools;
pub(crate) mod truncate;
pub(crate) mod undo;
