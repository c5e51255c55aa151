//! The user's current instruction and what was done about it so far, found in the conversation.
//!
//! A turn begins with the last message of the user's that gives an instruction and holds every tool call since.

use crate::instruction::{Instruction, Misunderstood, parse};
use crate::request::{Conversation, Message};
use crate::step::{CompletedCall, Step, ToolResult};

/// The current run.
pub(crate) struct CurrentRun<'a> {
    pub(crate) conversation: &'a Conversation,
    pub(crate) instruction: Result<Instruction, Misunderstood>,
    /// The file that the context says is open.
    pub(crate) open_file: Option<String>,
    /// All calls of the turn, in order.
    pub(crate) done: Vec<CompletedCall>,
    /// How often the model answered in this run.
    pub(crate) rounds: usize,
}

impl<'a> CurrentRun<'a> {
    /// Finds the current run.
    pub(crate) fn of(conversation: &'a Conversation) -> Self {
        let mut run = Self {
            conversation,
            instruction: Err(Misunderstood::Unknown),
            open_file: open_file(&conversation.system),
            done: Vec::new(),
            rounds: 0,
        };
        let mut pending: Vec<(String, CompletedCall)> = Vec::new();
        let mut working = false;
        for message in &conversation.messages {
            match message {
                Message::User { text, results } => {
                    for (id, mut done) in pending.drain(..) {
                        if let Some(result) = results.get(&id) {
                            done.result = result.clone();
                        }
                        run.done.push(done);
                    }
                    run.hear(text, working);
                }
                Message::Assistant(calls) => {
                    run.rounds += 1;
                    working = !calls.is_empty();
                    pending = calls
                        .iter()
                        .map(|call| {
                            let missing = ToolResult { text: "no result came".to_owned(), is_error: true };
                            let done =
                                CompletedCall { name: call.name.clone(), input: call.input.clone(), result: missing };
                            (call.id.clone(), done)
                        })
                        .collect();
                }
            }
        }
        run
    }

    /// Takes a user's text. While tools run (`working`), a text that is no instruction is a remark in passing.
    fn hear(&mut self, text: &str, working: bool) {
        // Files that a message mentions come after its words.
        let text = text.split_once("\n<referenced_files>").map_or(text, |(words, _)| words);
        if let Some(path) = open_file(text) {
            self.open_file = Some(path);
        }
        if text.trim().is_empty() {
            return;
        }
        let instruction = parse(text);
        if instruction.is_err() && working {
            return;
        }
        self.instruction = instruction;
        self.done.clear();
        self.rounds = 0;
    }

    /// Refuses if the request does not offer one of the tools `needed`.
    pub(crate) fn missing_tools(&self, needed: &[&str]) -> Option<Step> {
        let offered = |name: &str| self.conversation.tools.iter().any(|tool| tool.name == name);
        let missing: Vec<&str> = needed.iter().copied().filter(|name| !offered(name)).collect();
        let text = format!("I need the tools {} for that, and they are not offered here.", missing.join(", "));
        (!missing.is_empty()).then(|| Step::say(text))
    }
}

/// Returns the path in the last line `Open file: PATH` of `text`.
fn open_file(text: &str) -> Option<String> {
    const KEY: &str = "open file:";
    let path = text.lines().rev().find_map(|line| {
        let line = line.trim();
        let head = line.get(..KEY.len())?;
        head.eq_ignore_ascii_case(KEY).then(|| line[KEY.len()..].trim().trim_matches(['"', '\'', '`']))
    })?;
    (!path.is_empty()).then(|| path.to_owned())
}
