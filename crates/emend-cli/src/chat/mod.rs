//! The conversation: `emend` without a command.
//!
//! Between runs the user types at a prompt. During a run its events are shown, and lines that the user enters steer it.
//! Settings, approval and the session are those of `emend run`.

mod asker;
mod clarify;
mod command_list;
mod conversation;
mod describe;
mod follow;
mod line_edit;
mod markdown;
mod mention_completion;
mod output_tail;
mod prompt;
mod rewind;
mod run_view;
mod screen;
mod slash_commands;
mod state;
mod terminal_input;

pub(crate) use asker::Asker;
pub(crate) use conversation::{chat, task};
