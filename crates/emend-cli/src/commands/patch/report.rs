//! Prints the outcome of a patch as text or as one JSON object.

use std::io::{self, Write};
use std::process::ExitCode;

use emend_edit::ContentHash;
use emend_edit::patch::{Diagnostic, Operation, PlannedFile};
use serde_json::{Value, json};

use super::{Done, Refusal, input};
use crate::text_diff::place;
use crate::visible;

/// The state of a file, as the format `safe` prescribes it.
pub(super) struct FileState {
    path: String,
    version: u64,
    text: String,
}

impl FileState {
    /// Returns the state of the file at `path`. A file that does not exist has an empty text.
    pub(super) fn new(path: &str, version: u64, text: Option<String>) -> Self {
        Self { path: path.to_owned(), version, text: text.unwrap_or_default() }
    }

    fn json(&self) -> Value {
        let sha256 = ContentHash::of(self.text.as_bytes()).hex();
        json!({ "file_path": self.path, "version": self.version, "sha256": sha256, "content": self.text })
    }
}

/// Prints the outcome and returns the exit status, which does not depend on whether the output could be written.
pub(super) fn print(outcome: &Result<Done, Refusal>, as_json: bool, check: bool) -> ExitCode {
    let _ = write(outcome, as_json, check);
    outcome.as_ref().map_or_else(|refusal| ExitCode::from(refusal.status), |_| ExitCode::SUCCESS)
}

fn write(outcome: &Result<Done, Refusal>, as_json: bool, check: bool) -> io::Result<()> {
    let mut stdout = visible::listing();
    match outcome {
        Ok(done) if as_json => stdout.write_json(&done_json(done, check).to_string())?,
        Ok(done) => done_text(&mut stdout, done, check)?,
        Err(refusal) if as_json => stdout.write_json(&refusal_json(refusal).to_string())?,
        Err(refusal) => {
            refusal.failure.report();
        }
    }
    stdout.flush()
}

fn done_json(done: &Done, check: bool) -> Value {
    let files: Vec<Value> = done.planned.iter().map(file_json).collect();
    let diagnostics: Vec<Value> = diagnostics(done)
        .map(|(path, diagnostic)| {
            json!({
                "path": path, "code": diagnostic.code, "message": diagnostic.message, "line": diagnostic.line,
            })
        })
        .collect();
    let mut object = json!({ "ok": true, "files": files, "diagnostics": diagnostics });
    if let Some(state) = &done.state {
        if !check {
            object["message"] = json!(input::APPLIED);
        }
        object["latest_file_state"] = state.json();
    }
    object
}

fn file_json(file: &PlannedFile) -> Value {
    let (operation, from) = match &file.operation {
        Operation::Create => ("create", None),
        Operation::Update => ("update", None),
        Operation::Delete => ("delete", None),
        Operation::Rename { from } => ("rename", Some(from)),
    };
    let mut object = json!({ "path": file.path, "operation": operation, "hunks": file.hunks });
    if let Some(from) = from {
        object["from"] = json!(from);
    }
    if let Some(executable) = file.executable {
        object["executable"] = json!(executable);
    }
    object
}

fn refusal_json(refusal: &Refusal) -> Value {
    let failure = &refusal.failure;
    let error = json!({ "code": failure.code, "message": failure.message, "suggestions": failure.suggestions });
    let mut object = json!({ "ok": false, "error": error });
    if let Some(state) = &refusal.state {
        object["latest_file_state"] = state.json();
    }
    object
}

/// Returns the diagnostics of the patch, then those of each file.
fn diagnostics(done: &Done) -> impl Iterator<Item = (Option<&str>, &Diagnostic)> {
    let of_files = done
        .planned
        .iter()
        .flat_map(|file| file.diagnostics.iter().map(|diagnostic| (Some(file.path.as_str()), diagnostic)));
    done.diagnostics.iter().map(|diagnostic| (None, diagnostic)).chain(of_files)
}

fn done_text(out: &mut impl Write, done: &Done, check: bool) -> io::Result<()> {
    for file in &done.planned {
        let path = &file.path;
        let line = match &file.operation {
            Operation::Update if file.before == file.after && file.executable.is_none() => format!("unchanged {path}"),
            Operation::Create if check => format!("would create {path}"),
            Operation::Update if check => format!("would update {path}"),
            Operation::Delete if check => format!("would delete {path}"),
            Operation::Rename { from } if check => format!("would move {from} to {path}"),
            Operation::Create => format!("created {path}"),
            Operation::Update => format!("updated {path}"),
            Operation::Delete => format!("deleted {path}"),
            Operation::Rename { from } => format!("moved {from} to {path}"),
        };
        writeln!(out, "{line}")?;
        if let Some(executable) = file.executable {
            writeln!(out, "  mode: {}", if executable { "executable" } else { "not executable" })?;
        }
        for hunk in &file.hunks {
            let place = place((hunk.old_start, hunk.old_lines), (hunk.new_start, hunk.new_lines));
            writeln!(out, "  hunk {}: {place}", hunk.number)?;
        }
    }
    for (path, diagnostic) in diagnostics(done) {
        let place = path.map(|path| format!("{path}: ")).unwrap_or_default();
        writeln!(out, "note: {place}{}", diagnostic.message)?;
    }
    if check {
        writeln!(out, "nothing was written")?;
    }
    Ok(())
}
