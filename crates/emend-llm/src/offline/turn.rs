//! The user's current instruction and what was done about it so far, found in the conversation.
//!
//! A turn begins with the last message of the user's that gives an instruction and holds every tool call since.

use serde_json::{Map, Value};

use super::instruction::{Instruction, Misunderstood, parse};
use super::wire::{Conversation, Message, ToolResult};
use super::{document, run, search};

/// What the model does next: says something and calls tools. Without calls the turn ends.
pub(super) struct Step {
    pub(super) text: String,
    pub(super) calls: Vec<Call>,
}

impl Step {
    /// Returns the step that ends the turn.
    pub(super) fn say(text: impl Into<String>) -> Self {
        Self { text: text.into(), calls: Vec::new() }
    }

    /// Returns a step that calls tools.
    pub(super) fn call(text: impl Into<String>, calls: Vec<Call>) -> Self {
        Self { text: text.into(), calls }
    }
}

/// A call the model wants made.
#[derive(Clone, Debug, PartialEq)]
pub(super) struct Call {
    pub(super) name: &'static str,
    pub(super) input: Value,
}

impl Call {
    /// Returns a call of `name`; arguments that are null are left out.
    pub(super) fn new(name: &'static str, arguments: impl IntoIterator<Item = (&'static str, Value)>) -> Self {
        let arguments = arguments.into_iter().filter(|(_, value)| !value.is_null());
        Self { name, input: arguments.map(|(key, value)| (key.to_owned(), value)).collect::<Map<_, _>>().into() }
    }
}

/// A call that was made and what came back.
pub(super) struct Done {
    pub(super) name: String,
    pub(super) input: Value,
    pub(super) result: ToolResult,
}

impl Done {
    /// Returns a text argument, empty if there is none.
    pub(super) fn argument(&self, name: &str) -> &str {
        self.input[name].as_str().unwrap_or_default()
    }
}

/// The current turn.
pub(super) struct Turn<'a> {
    pub(super) conversation: &'a Conversation,
    pub(super) instruction: Result<Instruction, Misunderstood>,
    /// The file that the context says is open.
    pub(super) open_file: Option<String>,
    /// All calls of the turn, in order.
    pub(super) done: Vec<Done>,
    /// How often the model answered in this turn.
    pub(super) rounds: usize,
}

/// More answers in one turn than any instruction needs: then something is wrong and the turn ends.
const ROUNDS_MAX: usize = 1_000;

impl<'a> Turn<'a> {
    /// Finds the current turn.
    pub(super) fn of(conversation: &'a Conversation) -> Self {
        let mut turn = Self {
            conversation,
            instruction: Err(Misunderstood::Unknown),
            open_file: open_file(&conversation.system),
            done: Vec::new(),
            rounds: 0,
        };
        let mut pending: Vec<(String, Done)> = Vec::new();
        let mut working = false;
        for message in &conversation.messages {
            match message {
                Message::User { text, results } => {
                    for (id, mut done) in pending.drain(..) {
                        if let Some(result) = results.get(&id) {
                            done.result = result.clone();
                        }
                        turn.done.push(done);
                    }
                    turn.hear(text, working);
                }
                Message::Assistant(calls) => {
                    turn.rounds += 1;
                    working = !calls.is_empty();
                    pending = calls
                        .iter()
                        .map(|call| {
                            let missing = ToolResult { text: "no result came".to_owned(), is_error: true };
                            let done = Done { name: call.name.clone(), input: call.input.clone(), result: missing };
                            (call.id.clone(), done)
                        })
                        .collect();
                }
            }
        }
        turn
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

    /// Decides the next step of `instruction`.
    pub(super) fn next(&self, instruction: &Instruction) -> Step {
        if self.rounds >= ROUNDS_MAX {
            return Step::say(format!("I stopped after {ROUNDS_MAX} rounds; the work is not finished."));
        }
        match instruction {
            Instruction::Substitute(task) => search::next(self, task),
            Instruction::Document(task) => document::next(self, task),
            Instruction::Run(command) => run::next(self, command),
        }
    }

    /// Refuses if the request does not offer one of the tools `needed`.
    pub(super) fn missing_tools(&self, needed: &[&str]) -> Option<Step> {
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
