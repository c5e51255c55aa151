//! `--trace FILE`: every event of a session as a JSON line, without the secrets of the environment.

use std::fs::File;
use std::io::{self, Write as _};
use std::path::{Path, PathBuf};

use emend_agent::code::Code;
use emend_agent::event::Event;
use emend_llm::cassette::secrets_of_environment;

use crate::failure::Failure;

/// What stands where a secret was.
const REDACTED: &str = "[redacted]";

/// The file that events are written to, if one was asked for.
pub(crate) struct Trace {
    file: Option<(File, PathBuf)>,
    /// As they are written inside JSON.
    secrets: Vec<String>,
}

impl Trace {
    /// Creates the file, in place of one that is there.
    pub(crate) fn open(path: Option<&Path>) -> Result<Self, Failure> {
        let Some(path) = path else { return Ok(Self { file: None, secrets: Vec::new() }) };
        let file = File::create(path).map_err(|error| failure(path, &error))?;
        let variables = std::env::vars_os();
        let variables =
            variables.filter_map(|(name, value)| Some((name.into_string().ok()?, value.into_string().ok()?)));
        let escaped = |secret: String| serde_json::Value::from(secret).to_string().trim_matches('"').to_owned();
        let mut secrets: Vec<String> = secrets_of_environment(variables).into_iter().map(escaped).collect();
        // One may begin with another.
        secrets.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
        Ok(Self { file: Some((file, path.to_owned())), secrets })
    }

    /// Writes one event.
    pub(crate) fn write(&mut self, event: &Event) -> Result<(), Failure> {
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

fn failure(path: &Path, error: &io::Error) -> Failure {
    Failure::new(Code::IoError, format!("cannot write the trace to {}: {error}", path.display()))
}
