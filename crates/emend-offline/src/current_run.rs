//! The current run of the conversation: the user's instruction and the tool calls made for it so far.
//!
//! A run begins with the last message of the user. All later tool calls belong to it. Only `continue` goes on with the
//! run before: a request does not show whether that run was stopped, so any other text ends it.

use crate::instruction::{Instruction, Misunderstood, is_continue, parse};
use crate::request::{Conversation, Message};
use crate::step::{CompletedCall, Step, ToolResult};

/// Start of the text block with the contents of mentioned files.
const ATTACHED: &str = "<referenced_files>";

/// The current run, as found in the conversation.
pub(crate) struct CurrentRun<'a> {
    pub(crate) conversation: &'a Conversation,
    pub(crate) instruction: Result<Instruction, Misunderstood>,
    /// Path of the file that the context names as open.
    pub(crate) open_file: Option<String>,
    /// All tool calls of the run with their results, in order.
    pub(crate) done: Vec<CompletedCall>,
    /// Number of model responses in this run.
    pub(crate) rounds: usize,
}

impl<'a> CurrentRun<'a> {
    /// Finds the current run of `conversation`.
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
                Message::User { texts, results } => {
                    for (id, mut done) in pending.drain(..) {
                        if let Some(result) = results.get(&id) {
                            done.result = result.clone();
                        }
                        run.done.push(done);
                    }
                    for text in texts {
                        run.hear(text, working);
                    }
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

    /// Handles a text of the user. While tools run (`working`) or after an instruction, `continue` changes nothing: the
    /// instruction goes on after a text that was cut off, and a finished one has only its result to repeat.
    fn hear(&mut self, text: &str, working: bool) {
        // The contents of mentioned files follow the user's own words.
        let text = if text.starts_with(ATTACHED) { "" } else { text };
        let text = text.split_once("\n<referenced_files>").map_or(text, |(words, _)| words);
        if let Some(path) = open_file(text) {
            self.open_file = Some(path);
        }
        // The session's warning about repeated calls is not the user's.
        if text.trim().is_empty() || text.starts_with("Loop detected:") {
            return;
        }
        if is_continue(text) && (working || self.instruction.is_ok()) {
            return;
        }
        self.instruction = parse(text);
        self.done.clear();
        self.rounds = 0;
    }

    /// Returns the response to a text that is not an instruction.
    pub(crate) fn explain(&self, misunderstood: &Misunderstood) -> Step {
        Step::say(misunderstood.answer(self.offers("shell")))
    }

    fn offers(&self, name: &str) -> bool {
        self.conversation.tools.iter().any(|tool| tool.name == name)
    }

    /// Returns a refusal if the request does not offer all of the tools `needed`.
    pub(crate) fn missing_tools(&self, needed: &[&str]) -> Option<Step> {
        let missing: Vec<&str> = needed.iter().copied().filter(|name| !self.offers(name)).collect();
        let text = format!("I cannot do that without {}, which this session does not offer.", missing.join(", "));
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
