//! The record of one run, taken from the events of a session.
//!
//! Events come as JSON, as hosts in Rust and JavaScript both have them.

use std::collections::BTreeMap;

use emend_llm::Usage;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// Names of the tools that change files, under all profiles.
const EDIT_TOOLS: [&str; 10] = [
    "Edit",
    "Move",
    "Write",
    "apply_patch",
    "edit_file",
    "edit_lines",
    "move_file",
    "replace",
    "safe_patch",
    "write_file",
];

/// Names of the tool that asks the user, under all profiles.
const QUESTION_TOOLS: [&str; 4] = ["AskUserQuestion", "ask_user", "clarify_user", "request_user_input"];

/// Codes of calls that the tool could not read: unknown tools, and arguments or patches with another form.
const MALFORMED: [&str; 2] = ["invalid_argument", "unknown_tool"];

/// Codes of edits whose place was not found: the file is missing, or the text is missing (`conflict`) or there twice.
const UNLOCATED: [&str; 4] = ["not_found", "conflict", "ambiguous", "already_exists"];

/// Codes of edits that were refused because the file had changed since the model read it.
const CONFLICTS: [&str; 2] = ["stale", "resync_required"];

/// One tool call.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct CallLog {
    /// Name of the tool, as the model knows it.
    pub tool: String,
    /// Whether it succeeded.
    pub ok: bool,
    /// The code of its failure.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub code: Option<String>,
}

impl CallLog {
    /// Returns whether the tool changes files.
    #[must_use]
    pub fn is_edit(&self) -> bool {
        EDIT_TOOLS.contains(&self.tool.as_str())
    }

    /// Returns whether the tool could read the call.
    #[must_use]
    pub fn is_well_formed(&self) -> bool {
        !self.has_code(&MALFORMED)
    }

    /// Returns whether an edit found its place.
    #[must_use]
    pub fn is_located(&self) -> bool {
        self.is_well_formed() && !self.has_code(&UNLOCATED)
    }

    /// Returns whether the call was refused because the file had changed.
    #[must_use]
    pub fn is_conflict(&self) -> bool {
        self.has_code(&CONFLICTS)
    }

    fn has_code(&self, codes: &[&str]) -> bool {
        self.code.as_deref().is_some_and(|code| codes.contains(&code))
    }
}

/// The record of one run: one message of the user and everything up to the end of the work on it.
#[derive(Clone, Debug, Default, PartialEq)]
pub struct RunLog {
    /// The calls, in the order in which they ended.
    pub calls: Vec<CallLog>,
    /// The last text of the model.
    pub text: String,
    /// The question to the user, if the model asked with its tool.
    pub question: Option<String>,
    /// The reason of the end, as events name it; empty while the run lasts.
    pub reason: String,
    /// The message of the error that ended the run.
    pub error: Option<String>,
    /// Token counts of the run.
    pub usage: Usage,
    /// The arguments of the calls that have not ended, by id.
    pub(crate) open: BTreeMap<String, Value>,
    /// Whether a text came after the last call.
    pub(crate) has_final_text: bool,
}

/// The part of an event that matters to the caller of [`RunLog::take`].
#[derive(Debug, PartialEq)]
pub enum Taken {
    /// A call ended. The texts of its arguments name the files that it used.
    Call {
        /// All texts in the arguments.
        arguments: Value,
    },
    /// The run ended.
    End,
    /// Any other event.
    Other,
}

impl RunLog {
    /// Takes an event: an object with `kind` and `data`.
    pub fn take(&mut self, event: &Value) -> Taken {
        let data = &event["data"];
        let text = |name: &str| data[name].as_str().unwrap_or_default().to_owned();
        match event["kind"].as_str().unwrap_or_default() {
            "ASSISTANT_TEXT_END" => {
                self.text = text("text");
                self.has_final_text = true;
            }
            "TOOL_CALL_START" => {
                self.has_final_text = false;
                if QUESTION_TOOLS.contains(&data["tool_name"].as_str().unwrap_or_default()) {
                    self.question = data["arguments"]["question"].as_str().map(str::to_owned);
                }
                self.open.insert(text("call_id"), data["arguments"].clone());
            }
            "TOOL_CALL_END" => {
                let code = data["error_info"]["code"].as_str().map(str::to_owned);
                let ok = data["ok"].as_bool().unwrap_or(false);
                self.calls.push(CallLog { tool: text("tool_name"), ok, code });
                let arguments = self.open.remove(&text("call_id")).unwrap_or_default();
                return Taken::Call { arguments };
            }
            "ERROR" => self.error = Some(text("message")),
            "PROCESSING_END" => {
                self.reason = text("reason");
                self.usage = serde_json::from_value(data["usage"].clone()).unwrap_or_default();
                if !self.has_final_text {
                    self.text.clear();
                }
                return Taken::End;
            }
            _ => {}
        }
        Taken::Other
    }

    /// Returns whether the model looked at the files: a call that neither edits nor asks.
    #[must_use]
    pub fn has_looked(&self) -> bool {
        self.calls.iter().any(|call| !call.is_edit() && !QUESTION_TOOLS.contains(&call.tool.as_str()))
    }

    /// Returns whether the model asked the user.
    #[must_use]
    pub fn asks(&self) -> bool {
        self.question.is_some() || self.reason == "awaiting_input" || self.text.trim_end().ends_with('?')
    }

    /// Returns everything that the model told the user at the end.
    #[must_use]
    pub fn answer(&self) -> String {
        [Some(self.text.as_str()), self.question.as_deref()].into_iter().flatten().collect::<Vec<_>>().join("\n")
    }
}

/// Returns whether a text in `arguments` names `path`.
#[must_use]
pub fn names_path(arguments: &Value, path: &str) -> bool {
    match arguments {
        Value::String(text) => text.contains(path),
        Value::Array(items) => items.iter().any(|item| names_path(item, path)),
        Value::Object(fields) => fields.values().any(|value| names_path(value, path)),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use emend_agent::profile::{Edits, Profile};
    use emend_agent::tool::ToolEffect;
    use serde_json::json;

    use super::*;

    fn log(events: &[Value]) -> RunLog {
        let mut log = RunLog::default();
        events.iter().for_each(|event| drop(log.take(event)));
        log
    }

    #[test]
    fn events_become_a_record() {
        let start = json!({"kind": "TOOL_CALL_START", "data": {"call_id": "c", "tool_name": "edit_file", "arguments": {"file_path": "src/a.rs"}}});
        let end = json!({"kind": "TOOL_CALL_END", "data": {"call_id": "c", "tool_name": "edit_file", "ok": false, "error_info": {"code": "stale"}}});
        let mut taken = RunLog::default();
        assert_eq!(taken.take(&start), Taken::Other);
        assert_eq!(taken.take(&end), Taken::Call { arguments: json!({"file_path": "src/a.rs"}) });
        let call = &taken.calls[0];
        assert!(call.is_edit() && call.is_conflict() && call.is_located() && call.is_well_formed());
        let over = json!({"kind": "PROCESSING_END", "data": {"reason": "natural", "usage": {"input_tokens": 7, "output_tokens": 2}}});
        assert_eq!(taken.take(&over), Taken::End);
        assert_eq!((taken.usage.total_tokens(), taken.has_looked(), taken.asks()), (9, false, false));
    }

    #[test]
    fn a_text_before_the_last_call_is_not_the_answer() {
        let text = |text: &str| json!({"kind": "ASSISTANT_TEXT_END", "data": {"text": text}});
        let start = json!({"kind": "TOOL_CALL_START", "data": {"call_id": "c", "tool_name": "grep", "arguments": {}}});
        let end = json!({"kind": "PROCESSING_END", "data": {"reason": "turn_limit"}});
        assert_eq!(log(&[text("I look."), start.clone(), end.clone()]).text, "");
        assert_eq!(log(&[text("I look."), start, text("Which one?"), end]).answer(), "Which one?");
    }

    #[test]
    fn paths_are_found_anywhere_in_arguments() {
        assert!(names_path(&json!({"paths": ["b", "src/a.rs"]}), "src/a.rs"));
        assert!(!names_path(&json!({"path": "src", "n": 3}), "src/a.rs"));
    }

    #[test]
    fn every_tool_that_changes_files_is_known() {
        let mut missing = Vec::new();
        for profile in [Profile::openai("gpt-5"), Profile::anthropic("claude"), Profile::gemini("gemini")] {
            for edits in [Edits::Own, Edits::SafePatch, Edits::EditLines] {
                let tools = profile.clone().with_edits(edits).tools;
                for definition in tools.definitions() {
                    let is_edit =
                        tools.get(&definition.name).is_some_and(|(_, tool)| tool.effect() == ToolEffect::Writes);
                    if is_edit != EDIT_TOOLS.contains(&definition.name.as_str()) {
                        missing.push(definition.name.clone());
                    }
                }
            }
        }
        assert_eq!(missing, Vec::<String>::new());
    }
}
