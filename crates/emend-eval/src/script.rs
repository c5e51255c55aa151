//! Two agents whose scores are known in advance: `do-nothing` must solve no task, `reference` all.
//!
//! Both are transports that answer in Anthropic's wire format, so that adapter, loop, tools and workspace run as with a
//! model. A set or a judge that gives them other scores is wrong.

use std::collections::VecDeque;

use emend_edit::diff::diff_lines;
use emend_llm::{BoxFuture, CancelToken, Headers, HttpRequest, HttpResponse, Transport, TransportError};
use serde_json::{Value, json};

use crate::task::{Goal, Task};
use crate::tree::Tree;

/// An agent with a known score.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Control {
    /// Says that the task is done, and does nothing.
    DoNothing,
    /// Carries out the reference solution with the edit tools.
    Reference,
}

impl Control {
    /// Both agents.
    pub const ALL: [Self; 2] = [Self::DoNothing, Self::Reference];

    /// Returns the name, which stands for the model.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::DoNothing => "do-nothing",
            Self::Reference => "reference",
        }
    }

    /// Returns the agent with this name.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|control| control.name() == name)
    }

    /// Returns the transport of the agent for one task.
    #[must_use]
    pub fn transport(self, task: &Task) -> Script {
        let steps = match self {
            Self::DoNothing => vec![Step::Text("Done.".to_owned())],
            Self::Reference => reference_steps(task),
        };
        Script { name: self.name(), steps }
    }
}

/// One response of a scripted agent.
#[derive(Clone, Debug, PartialEq)]
pub enum Step {
    /// Tool calls: names and arguments.
    Calls(Vec<(&'static str, Value)>),
    /// A text, which ends the run.
    Text(String),
}

/// A transport that gives prepared responses: the first to a conversation without answers, and so on. The last one repeats.
pub struct Script {
    name: &'static str,
    steps: Vec<Step>,
}

impl Transport for Script {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        Box::pin(async move {
            if cancel.is_cancelled() {
                return Err(TransportError::Cancelled);
            }
            let body: Value = serde_json::from_slice(&request.body).unwrap_or_default();
            let messages = body["messages"].as_array().map(Vec::as_slice).unwrap_or_default();
            let n_answers = messages.iter().filter(|message| message["role"] == "assistant").count();
            let step = self.steps.get(n_answers).or(self.steps.last());
            let step = step.cloned().unwrap_or_else(|| Step::Text("Done.".to_owned()));
            let events = events(self.name, n_answers, request.body.len(), &step);
            let mut headers = Headers::default();
            headers.set("content-type", "text/event-stream");
            let chunks = events.into_iter().map(|event| Ok(event.into_bytes()));
            Ok(HttpResponse { status: 200, headers, body: Box::pin(futures::stream::iter(chunks)) })
        })
    }
}

/// Number of bytes that count as one token, as providers estimate it.
const BYTES_PER_TOKEN: usize = 4;

/// Returns the events of a streamed response.
fn events(model: &str, number: usize, request_bytes: usize, step: &Step) -> Vec<String> {
    let (blocks, reason): (Vec<(Value, Value)>, _) = match step {
        Step::Text(text) => {
            (vec![(json!({"type": "text", "text": ""}), json!({"type": "text_delta", "text": text}))], "end_turn")
        }
        Step::Calls(calls) => {
            let block = |(index, (name, input)): (usize, &(&str, Value))| {
                let id = format!("toolu_{number:03}_{index:02}");
                let delta = json!({"type": "input_json_delta", "partial_json": input.to_string()});
                (json!({"type": "tool_use", "id": id, "name": name, "input": {}}), delta)
            };
            (calls.iter().enumerate().map(block).collect(), "tool_use")
        }
    };
    let bytes: usize = blocks.iter().map(|(_, delta)| delta.to_string().len()).sum();
    let usage = json!({"input_tokens": request_bytes / BYTES_PER_TOKEN, "output_tokens": 1});
    let message = json!({
        "id": format!("msg_{number:03}"), "type": "message", "role": "assistant", "model": model, "content": [],
        "stop_reason": null, "stop_sequence": null, "usage": usage,
    });
    let mut events = VecDeque::from([json!({"type": "message_start", "message": message})]);
    for (index, (start, delta)) in blocks.into_iter().enumerate() {
        events.push_back(json!({"type": "content_block_start", "index": index, "content_block": start}));
        events.push_back(json!({"type": "content_block_delta", "index": index, "delta": delta}));
        events.push_back(json!({"type": "content_block_stop", "index": index}));
    }
    let stop = json!({"stop_reason": reason, "stop_sequence": null});
    let usage = json!({"output_tokens": bytes.div_ceil(BYTES_PER_TOKEN)});
    events.push_back(json!({"type": "message_delta", "delta": stop, "usage": usage}));
    events.push_back(json!({"type": "message_stop"}));
    let event = |data: Value| format!("event: {}\ndata: {data}\n\n", data["type"].as_str().unwrap_or_default());
    events.into_iter().map(event).collect()
}

/// Returns the responses that carry out a reference solution: look, edit, answer.
fn reference_steps(task: &Task) -> Vec<Step> {
    let base = task.base();
    let changed = base.differences(&task.solution);
    let is_answer = matches!(task.goal, Goal::Answer(_));
    let looked = if is_answer { base.0.keys().cloned().collect() } else { changed.clone() };
    let read = |path: &String| ("read_file", json!({"file_path": path}));
    let mut reads: Vec<_> = looked.iter().filter(|path| base.0.contains_key(*path)).map(read).collect();
    if reads.is_empty() {
        reads.push(("glob", json!({"pattern": "**"})));
    }
    let mut edits = Vec::new();
    for path in &changed {
        edits.extend(edits_of(path, &base, &task.solution));
    }
    let steps = [Step::Calls(reads), Step::Calls(edits), Step::Text(task.answer.clone())];
    steps.into_iter().filter(|step| !matches!(step, Step::Calls(calls) if calls.is_empty())).collect()
}

/// Returns the calls that give a file its new content.
fn edits_of(path: &str, before: &Tree, after: &Tree) -> Vec<(&'static str, Value)> {
    let content = |tree: &Tree| tree.0.get(path).map(|bytes| String::from_utf8_lossy(bytes).into_owned());
    match (content(before), content(after)) {
        (Some(old), Some(new)) => {
            let call = |(old, new): (String, String)| {
                ("edit_file", json!({"file_path": path, "old_string": old, "new_string": new}))
            };
            replacements(&old, &new).into_iter().map(call).collect()
        }
        (None, Some(new)) => vec![("write_file", json!({"file_path": path, "content": new}))],
        (Some(_), None) => {
            vec![(
                "apply_patch",
                json!({"patch": format!("*** Begin Patch\n*** Delete File: {path}\n*** End Patch\n")}),
            )]
        }
        (None, None) => Vec::new(),
    }
}

/// Returns replacements that turn `old` into `new` one after another. Each old text occurs once in the text that it meets.
fn replacements(old: &str, new: &str) -> Vec<(String, String)> {
    let (old_lines, new_lines): (Vec<&str>, Vec<&str>) =
        (old.split_inclusive('\n').collect(), new.split_inclusive('\n').collect());
    let mut current = old.to_owned();
    let mut found = Vec::new();
    // From the end, so that the lines before a place are still the old ones.
    for op in diff_lines(old, new).into_iter().rev() {
        let text = |lines: &[&str]| lines.concat();
        let mut context = 0;
        let replacement = loop {
            let begin = op.old.start.saturating_sub(context);
            let before = text(&old_lines[begin..op.old.start]);
            // Lines after the place may have changed already, so the context there comes from the new text.
            let end = (op.new.end + context).min(new_lines.len());
            let after = text(&new_lines[op.new.end..end]);
            let from = before.clone() + &text(&old_lines[op.old.clone()]) + &after;
            let is_whole = begin == 0 && end == new_lines.len();
            if is_whole || (!from.is_empty() && occurrences(&current, &from) == 1) {
                break (from, before + &text(&new_lines[op.new.clone()]) + &after);
            }
            context += 1;
        };
        current = current.replacen(&replacement.0, &replacement.1, 1);
        found.push(replacement);
    }
    found
}

/// Returns the number of places at which `part` begins in `text`. They may overlap.
fn occurrences(text: &str, part: &str) -> usize {
    text.char_indices().filter(|(at, _)| text[*at..].starts_with(part)).count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[track_caller]
    fn check(old: &str, new: &str) {
        let mut text = old.to_owned();
        for (from, to) in replacements(old, new) {
            assert_eq!(occurrences(&text, &from), 1, "{from:?} in {text:?}");
            text = text.replacen(&from, &to, 1);
        }
        assert_eq!(text, new);
    }

    #[test]
    fn replacements_lead_to_the_new_text() {
        check("a\nb\nc\n", "a\nB\nc\n");
        check("x\nx\nx\n", "x\ny\nx\n");
        check("a\nb\na\nb\na\nb\na\n", "a\nb\na\nb\nc\nb\na\n");
        check("a\n}\nb\n}\nc\n}\n", "a\n1\n}\nb\n2\n}\nc\n3\n}\n");
        check("a\nb", "a\nb\n");
        check("a\r\nb\r\n", "a\r\nB\r\n");
        check("a\nb\nc\nd\n", "b\nd\ne\n");
    }

    #[test]
    fn a_control_is_found_by_its_name() {
        assert_eq!(Control::from_name("reference"), Some(Control::Reference));
        assert_eq!(Control::from_name("offline"), None);
    }
}
