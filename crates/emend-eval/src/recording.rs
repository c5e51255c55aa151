//! Recorded runs of one agent on one set, for replay without a provider.
//!
//! A recording has one cassette for each task, and the messages that the agent got. Cassettes of a set repeat the same
//! instructions and tool definitions, and responses repeat the same events, so a recording keeps each of them once.

use std::collections::BTreeMap;

use emend_llm::cassette::Cassette;
use serde::{Deserialize, Serialize};
use serde_json::{Map, Value, json};

use crate::score::Contestant;
use crate::task::digest_of;

/// The version of the format that this crate reads and writes.
const VERSION: u32 = 1;

/// Key of an object that stands for a shared value.
const SHARED: &str = "$shared";

/// Values of at least this many bytes are shared.
const SHARED_BYTES_MIN: usize = 400;

/// Recorded runs of one agent on one set.
#[derive(Clone, Debug, PartialEq)]
pub struct Recording {
    /// Version of the harness that recorded.
    pub harness: String,
    /// Name and digest of the set.
    pub set: (String, String),
    /// The model, as `--model` names it.
    pub model: String,
    /// The edit tools, if not those of the model's family.
    pub edits: Option<String>,
    /// The form of tool calls, if the comparison named it.
    pub tool_calls: Option<String>,
    /// The tasks by id.
    pub tasks: BTreeMap<String, RecordedTask>,
}

/// The recorded runs of one task.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedTask {
    /// The messages to the agent, one for each attempt.
    pub messages: Vec<String>,
    /// Duration of each attempt in milliseconds. A replay reports these times instead of its own.
    pub wall_ms: Vec<u64>,
    /// The error that ended the run, if one did. A replay must end with the same one.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub error: Option<String>,
    /// The exchanges with the provider.
    pub cassette: Cassette,
}

/// The reason why a text is not a recording.
#[derive(Debug, thiserror::Error)]
pub enum RecordingError {
    /// The text is not JSON of this form.
    #[error("it is not a recording of `emend eval`: {0}; record it again")]
    Malformed(String),
    /// Another version of the format.
    #[error("the recording has format {0}, and only format {VERSION} can be read; record it again")]
    Version(u64),
}

/// The text form.
#[derive(Serialize, Deserialize)]
struct Packed {
    emend_eval: u32,
    harness: String,
    set: String,
    set_digest: String,
    model: String,
    edits: Option<String>,
    #[serde(default)]
    tool_calls: Option<String>,
    /// Large values by their digest.
    shared: BTreeMap<String, Value>,
    /// The texts of responses. `chunks` in a cassette has their indexes.
    chunks: Vec<String>,
    tasks: BTreeMap<String, Value>,
}

impl Recording {
    /// Returns the recorded agent.
    #[must_use]
    pub fn contestant(&self) -> Contestant {
        Contestant { model: self.model.clone(), edits: self.edits.clone(), tool_calls: self.tool_calls.clone() }
    }

    /// Returns the name of the file for an agent.
    #[must_use]
    pub fn file_name(contestant: &Contestant) -> String {
        let plain = |c: char| if c.is_ascii_alphanumeric() || matches!(c, '.' | '-' | '_') { c } else { '_' };
        let mut name: String = contestant.model.chars().map(plain).collect();
        for part in [&contestant.edits, &contestant.tool_calls].into_iter().flatten() {
            name.push('+');
            name.push_str(part);
        }
        name + ".json"
    }

    /// Parses a recording.
    ///
    /// # Errors
    ///
    /// [`RecordingError`].
    pub fn from_json(text: &str) -> Result<Self, RecordingError> {
        let malformed = |error: serde_json::Error| RecordingError::Malformed(error.to_string());
        let value: Value = serde_json::from_str(text).map_err(malformed)?;
        match value["emend_eval"].as_u64() {
            Some(version) if version == u64::from(VERSION) => {}
            Some(version) => return Err(RecordingError::Version(version)),
            None => return Err(RecordingError::Malformed("the field emend_eval is missing".to_owned())),
        }
        let packed: Packed = serde_json::from_value(value).map_err(malformed)?;
        let tables = Tables { shared: packed.shared, chunks: packed.chunks };
        let task = |(id, value): (String, Value)| {
            let value = tables.unpacked(value)?;
            Ok((id, serde_json::from_value(value).map_err(malformed)?))
        };
        let tasks = packed.tasks.into_iter().map(task).collect::<Result<_, RecordingError>>()?;
        let set = (packed.set, packed.set_digest);
        Ok(Self {
            harness: packed.harness,
            set,
            model: packed.model,
            edits: packed.edits,
            tool_calls: packed.tool_calls,
            tasks,
        })
    }

    /// Returns the recording as JSON, one line for each shared value, chunk and task.
    #[must_use]
    pub fn to_json(&self) -> String {
        let mut packer = Packer::default();
        let tasks: Vec<(&String, Value)> =
            self.tasks.iter().map(|(id, task)| (id, packer.packed(json!(task), ""))).collect();
        let lines = |items: Vec<(&String, &Value)>| {
            let line = |(name, value): (&String, &Value)| format!("    {}: {value}", json!(name));
            items.into_iter().map(line).collect::<Vec<_>>().join(",\n")
        };
        let mut head = json!({
            "emend_eval": VERSION, "harness": self.harness, "set": self.set.0, "set_digest": self.set.1,
            "model": self.model, "edits": self.edits,
        });
        // Recordings without it are older than the field.
        if let Some(tool_calls) = &self.tool_calls {
            head["tool_calls"] = json!(tool_calls);
        }
        let head = head.to_string();
        let head = head.trim_end_matches('}');
        let shared = lines(packer.shared.iter().collect());
        let chunks: Vec<String> = packer.chunks.iter().map(|chunk| format!("    {}", json!(chunk))).collect();
        let chunks = chunks.join(",\n");
        let tasks = lines(tasks.iter().map(|(id, value)| (*id, value)).collect());
        format!(
            "{head},\n  \"shared\": {{\n{shared}\n  }},\n  \"chunks\": [\n{chunks}\n  ],\n  \"tasks\": {{\n{tasks}\n  }}\n}}\n"
        )
    }
}

/// Names of the fields of a request that are equal in all tasks of a set.
const SHARED_FIELDS: [&str; 4] = ["system", "tools", "instructions", "systemInstruction"];

/// Name of the field with the texts of a response.
const CHUNKS: &str = "chunks";

/// The values that a recording keeps once, while it is written.
#[derive(Default)]
struct Packer {
    shared: BTreeMap<String, Value>,
    chunks: Vec<String>,
    /// Index of each chunk.
    known: BTreeMap<String, usize>,
}

impl Packer {
    /// Returns the value of the field `name` with its repeated parts moved to the tables.
    fn packed(&mut self, value: Value, name: &str) -> Value {
        match value {
            Value::Array(items) if name == CHUNKS => {
                items.into_iter().map(|item| Value::from(self.index(item.as_str().unwrap_or_default()))).collect()
            }
            value if SHARED_FIELDS.contains(&name) && value.to_string().len() >= SHARED_BYTES_MIN => {
                let digest = digest_of(&value.to_string());
                self.shared.insert(digest.clone(), value);
                json!({ (SHARED): digest })
            }
            Value::Object(fields) => {
                let field = |(name, value): (String, Value)| {
                    let value = self.packed(value, &name);
                    (name, value)
                };
                Value::Object(fields.into_iter().map(field).collect())
            }
            Value::Array(items) => items.into_iter().map(|item| self.packed(item, "")).collect(),
            other => other,
        }
    }

    fn index(&mut self, chunk: &str) -> usize {
        if let Some(index) = self.known.get(chunk) {
            return *index;
        }
        let index = self.chunks.len();
        self.known.insert(chunk.to_owned(), index);
        self.chunks.push(chunk.to_owned());
        index
    }
}

/// The values that a recording keeps once, while it is read.
struct Tables {
    shared: BTreeMap<String, Value>,
    chunks: Vec<String>,
}

impl Tables {
    fn unpacked(&self, value: Value) -> Result<Value, RecordingError> {
        let missing = |what: &str| RecordingError::Malformed(format!("the shared value {what} is missing"));
        match value {
            Value::Object(fields) => {
                if let Some(digest) = fields.get(SHARED).and_then(Value::as_str) {
                    return self.shared.get(digest).cloned().ok_or_else(|| missing(digest));
                }
                let mut unpacked = Map::new();
                for (name, value) in fields {
                    let value = match value {
                        Value::Array(items) if name == CHUNKS => {
                            let chunk = |item: &Value| self.chunks.get(usize::try_from(item.as_u64()?).ok()?);
                            let text = |item: Value| chunk(&item).ok_or_else(|| missing(&item.to_string())).cloned();
                            Value::from(items.into_iter().map(text).collect::<Result<Vec<_>, _>>()?)
                        }
                        value => self.unpacked(value)?,
                    };
                    unpacked.insert(name, value);
                }
                Ok(Value::Object(unpacked))
            }
            Value::Array(items) => items.into_iter().map(|item| self.unpacked(item)).collect(),
            other => Ok(other),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_recording_is_read_back_and_keeps_large_values_once() {
        let tools: Vec<Value> =
            (0..40).map(|n| json!({"name": format!("tool_{n}"), "description": "a tool"})).collect();
        let cassette = json!({
            "emend_cassette": 1, "clock_ms": 1, "seed": 2, "root": "{{root}}",
            "exchanges": [{
                "api": "anthropic-messages", "ordinal": 0,
                "request": {"url": "u", "digest": "d", "body": {"tools": tools, "system": "s".repeat(500), "model": "m"}},
                "answer": {"response": {"status": 200, "chunks": ["x".repeat(600)]}},
            }],
        });
        let task = json!({"messages": ["Do it"], "wall_ms": [5], "cassette": cassette});
        let task: RecordedTask = serde_json::from_value(task).unwrap();
        let tasks = ["a", "b"].map(|id| (id.to_owned(), task.clone())).into();
        let (harness, set) = ("1".to_owned(), ("core".to_owned(), "abc".to_owned()));
        let recording = Recording {
            harness,
            set,
            model: "offline".to_owned(),
            edits: None,
            tool_calls: Some("constrained".to_owned()),
            tasks,
        };
        let text = recording.to_json();
        assert_eq!(text.matches("tool_39").count(), 1);
        assert_eq!(text.matches("sssss").count(), 100, "the system prompt is kept once");
        assert_eq!(text.matches("xxxxx").count(), 120, "the response is kept once");
        assert_eq!(Recording::from_json(&text).unwrap(), recording);
        let damaged = text.replace("\"chunks\":[0]", "\"chunks\":[7]");
        let refused = Recording::from_json(&damaged).unwrap_err().to_string();
        assert!(refused.contains("the shared value 7 is missing"), "{refused}");
    }

    #[test]
    fn other_texts_are_rejected() {
        #[track_caller]
        fn check(text: &str, expected: &str) {
            assert_eq!(Recording::from_json(text).unwrap_err().to_string(), expected);
        }
        check("{}", "it is not a recording of `emend eval`: the field emend_eval is missing; record it again");
        check("{\"emend_eval\": 7}", "the recording has format 7, and only format 1 can be read; record it again");
    }

    #[test]
    fn file_names_are_plain() {
        let of = |model: &str, edits: Option<&str>, tool_calls: Option<&str>| {
            let [edits, tool_calls] = [edits, tool_calls].map(|name| name.map(str::to_owned));
            Recording::file_name(&Contestant { model: model.to_owned(), edits, tool_calls })
        };
        assert_eq!(of("openai:gpt-5", Some("edit_lines"), None), "openai_gpt-5+edit_lines.json");
        assert_eq!(of("a:b", Some("own"), Some("constrained")), "a_b+own+constrained.json");
        assert_eq!(of("offline", None, None), "offline.json");
    }
}
