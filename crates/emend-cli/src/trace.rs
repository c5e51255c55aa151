//! `--trace FILE`: writes every event as JSON, one object per line, without the secrets of the environment.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use emend_agent::error_code::Code;
use emend_agent::event::{Event, EventKind};
use emend_llm::cassette::secrets_of_environment;

use crate::failure::Failure;

/// The replacement for secrets.
const REDACTED: &str = "[redacted]";

/// The trace file, if there is one.
///
/// Successive deltas of one text are written as one event, since a secret may span several.
pub(crate) struct Trace {
    file: Option<(File, PathBuf)>,
    /// Values of secret environment variables, escaped as in JSON.
    secrets: Vec<String>,
    held: Option<Event>,
}

impl Trace {
    /// Creates the file. An existing one is overwritten.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { file: None, secrets: Vec::new(), held: None }) };
        let file = File::create(path).map_err(|error| failure(path, &error))?;
        let variables =
            std::env::vars_os().filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let mut secrets: Vec<String> = secrets_of_environment(variables).into_iter().map(escaped).collect();
        // Longest first, since one secret may begin with another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Ok(Self { file: Some((file, path.to_owned())), secrets, held: None })
    }

    /// Adds an event.
    pub(crate) fn write(&mut self, event: &Event) -> Result<(), Failure> {
        if self.file.is_none() || self.held.as_mut().is_some_and(|held| joined(&mut held.kind, &event.kind)) {
            return Ok(());
        }
        self.flush()?;
        match event.kind.delta() {
            Some(_) => self.held = Some(event.clone()),
            None => self.write_line(event)?,
        }
        Ok(())
    }

    /// Writes the deltas that are held back.
    pub(crate) fn flush(&mut self) -> Result<(), Failure> {
        self.held.take().map_or(Ok(()), |event| self.write_line(&event))
    }

    fn write_line(&mut self, event: &Event) -> Result<(), Failure> {
        let Some((file, path)) = &mut self.file else { return Ok(()) };
        let mut line = serde_json::to_string(event).map_err(io::Error::from)?;
        for secret in &self.secrets {
            if line.contains(secret) {
                line = line.replace(secret, REDACTED);
            }
        }
        line.push('\n');
        file.write_all(line.as_bytes()).map_err(|error| failure(path, &error))
    }
}

/// Returns a text as it is escaped in JSON, without the quotes.
fn escaped(text: String) -> String {
    let quoted = serde_json::Value::from(text).to_string();
    quoted[1..quoted.len() - 1].to_owned()
}

/// Appends a delta to the delta before it. Returns false if it belongs to another text.
fn joined(before: &mut EventKind, next: &EventKind) -> bool {
    match (before, next) {
        (EventKind::AssistantTextDelta { delta }, EventKind::AssistantTextDelta { delta: more })
        | (EventKind::ReasoningDelta { delta }, EventKind::ReasoningDelta { delta: more }) => delta.push_str(more),
        (
            EventKind::ToolCallOutputDelta { call_id, delta },
            EventKind::ToolCallOutputDelta { call_id: next_id, delta: more },
        ) if call_id == next_id => delta.push_str(more),
        _ => return false,
    }
    true
}

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::IoError, format!("cannot write the trace to {}: {error}", path.display()))
}
