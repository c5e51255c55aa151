//! Assembles the model's input from the user's message and the project: mentioned files and the system prompt.

pub(super) mod mentions;
pub(in crate::session) mod steering;
pub(super) mod system_prompt;
