//! Assembles the model's input from the user's message and the project: mentioned files and the system prompt.

pub(super) mod mentions;
pub(super) mod system_prompt;
