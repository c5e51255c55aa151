//! `shell`: runs a command and shows its output, its exit code and the files that it changed.
//!
//! Some models send patches to the shell, as they were trained to. Such a call is an edit: it runs as a call of
//! `apply_patch`, with the same checks.

use emend_edit::patch::v4a;
use emend_edit::truncate::{Mode as Truncation, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::apply_patch::ApplyPatch;
use super::arguments::{counted, number_argument, schema, text_argument};
use super::patching;
use crate::approval::Target;
use crate::environment::FilePath;
use crate::environment::command::{Command, OutputStream, timeout_text};
use crate::error_code::Code;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::{CommandOutcome, Mode};

/// The result's words for changes in a copy that end with it.
const DISCARDED: &str = "cannot wait for review, so discarded";

/// The most changed files that are named in a result.
const NAMED_MAX: usize = 20;

/// Runs a command in the environment's shell.
pub struct Shell;

impl Shell {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits =
        OutputLimits { chars_max: 30_000, mode: Truncation::HeadTail, lines_max: Some(256) };
}

impl Tool for Shell {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "shell".to_owned(),
            description: if cfg!(windows) {
                "Runs a command of one line with `cmd.exe /c` in the project and returns its output, its exit code and the files it \
                 changed. The command cannot read input. Processes that it leaves running end with it. To read, search and edit \
                 files, use the other tools."
            } else {
                "Runs a command in the project's shell (bash if available) and returns its output, its exit code and the files \
                 it changed. The command cannot read input. Processes that it leaves running end with it. To read, search and edit \
                 files, use the other tools."
            }
            .to_owned(),
            parameters: schema(r#"{
                "type": "object",
                "required": ["command"],
                "properties": {
                    "command": {"type": "string", "minLength": 1, "description": "The command, e.g. `cargo test parser`."},
                    "timeout_ms": {"type": "integer", "minimum": 1, "description": "Timeout in milliseconds. Set it for builds and test suites."},
                    "working_dir": {"type": "string", "description": "Directory under the working directory. Default `.`."},
                    "description": {"type": "string", "description": "Purpose of the command in a few words, for the user."}
                }
            }"#),
        }
    }

    fn needs_shell(&self) -> bool {
        true
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Runs
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn canonical_name(&self) -> Option<&str> {
        Some(Self::NAME)
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        patch_of(text_argument(arguments, "command"))
            .map(|patch| ApplyPatch.paths(&as_arguments(patch)))
            .unwrap_or_default()
    }

    fn target(&self, arguments: &Map<String, Value>) -> Target {
        let command = text_argument(arguments, "command");
        match patch_of(command) {
            Some(_) => Target {
                tool: Some(("apply_patch", ToolEffect::Writes)),
                paths: self.paths(arguments),
                ..Target::default()
            },
            None => Target { command: Some(command.to_owned()), ..Target::default() },
        }
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        let command = text_argument(arguments, "command");
        if let Some(patch) = patch_of(command) {
            return Box::pin(async move { ApplyPatch.preview(&as_arguments(patch), context).await });
        }
        let detail = json!({
            "command": command,
            "workingDir": working_dir(arguments),
            "timeoutMs": timeout_ms(arguments, context),
            "description": text_argument(arguments, "description"),
        });
        Box::pin(std::future::ready(Preview::Detail(detail)))
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let text = text_argument(arguments, "command");
            if let Some(patch) = patch_of(text) {
                return apply(patch, context).await;
            }
            let timeout_ms = timeout_ms(arguments, context);
            let command = Command { command: text.to_owned(), timeout_ms, ..Command::default() };
            let show = |_: OutputStream, text: &str| context.progress.show(text);
            let outcome =
                context.workspace.run_command(&context.write(), working_dir(arguments), command, &show).await?;
            let parameter = context.names.param(Self::NAME, "timeout_ms");
            finish(&outcome, timeout_ms, parameter, context.workspace.mode())
        })
    }
}

impl Shell {
    /// The tool's canonical name.
    pub const NAME: &str = "shell";
}

fn timeout_ms(arguments: &Map<String, Value>, context: &ToolContext) -> u64 {
    let asked = number_argument(arguments, "timeout_ms").map(|timeout_ms| timeout_ms as u64);
    asked.unwrap_or(context.limits.default_timeout_ms).min(context.limits.max_timeout_ms)
}

fn working_dir(arguments: &Map<String, Value>) -> &str {
    arguments.get("working_dir").and_then(Value::as_str).unwrap_or(".")
}

fn as_arguments(patch: &str) -> Map<String, Value> {
    Map::from_iter([("patch".to_owned(), Value::from(patch))])
}

/// Returns the patch if the command is one: a bare patch, a here-document, or the only argument of `apply_patch`.
fn patch_of(command: &str) -> Option<&str> {
    let command = command.trim();
    if command.starts_with("*** Begin Patch") {
        return Some(command);
    }
    let argument = command.strip_prefix("apply_patch").or_else(|| command.strip_prefix("applypatch"))?.trim_start();
    if argument.starts_with("<<") {
        return Some(argument);
    }
    let quote = argument.chars().next().filter(|quote| matches!(quote, '\'' | '"'))?;
    let patch = argument.strip_prefix(quote)?.strip_suffix(quote)?;
    patch.trim_start().starts_with("*** Begin Patch").then_some(patch)
}

async fn apply(patch: &str, context: &ToolContext) -> Result<ToolOutput, ToolError> {
    let (parsed, diagnostics) = v4a::parse(patch).map_err(|error| {
        // For example, a here-document with commands around it.
        let tool = context.names.tool("apply_patch");
        let message = format!("The command is a patch that cannot be read: {error}. Send the patch alone, to {tool}.");
        ToolError::new(Code::InvalidArgument, message)
    })?;
    patching::apply(context, parsed, diagnostics).await
}

/// Returns the result of a command.
fn finish(
    outcome: &CommandOutcome,
    timeout_ms: u64,
    timeout_parameter: &str,
    mode: Mode,
) -> Result<ToolOutput, ToolError> {
    let result = &outcome.result;
    let mut text = String::new();
    for printed in [&result.stdout, &result.stderr] {
        text.push_str(printed);
        if !printed.is_empty() && !printed.ends_with('\n') {
            text.push('\n');
        }
    }
    if text.is_empty() {
        text.push_str("(no output)\n");
    }
    if result.n_left_behind > 0 {
        let processes = counted(result.n_left_behind, "process");
        text.push_str(&format!("[{processes} left running ended with it]\n"));
    }
    note(&mut text, "changed", &outcome.changed);
    let (left_out, discarded, lost) = match mode {
        Mode::Direct => ("changed, cannot be undone", &[][..], outcome.left_out.as_slice()),
        Mode::Staged => (DISCARDED, outcome.left_out.as_slice(), outcome.lost.as_slice()),
    };
    note(&mut text, left_out, &outcome.left_out);
    note(&mut text, "ignored by git, so changed at once", &outcome.at_once);
    note(&mut text, "changed at once, cannot be undone", &outcome.lost);
    let data = json!({
        "stdout": result.stdout,
        "stderr": result.stderr,
        "exit_code": result.exit_code,
        "timed_out": result.timed_out,
        "duration_ms": result.duration_ms,
        "bytes_dropped": result.n_bytes_dropped,
        "changed": outcome.changed,
        "left_out": outcome.left_out,
        "discarded": discarded,
        "at_once": outcome.at_once,
        "not_undoable": lost,
    });
    let failed = |code, message: String| Err(ToolError { data: Some(data.clone()), ..ToolError::new(code, message) });
    if result.timed_out {
        return failed(Code::Timeout, text + &timeout_text(timeout_ms, timeout_parameter));
    }
    text.push_str(&end_line(i64::from(result.exit_code), result.duration_ms));
    if result.cancelled {
        return failed(Code::Aborted, text + "\nThe user cancelled while this command ran.");
    }
    Ok(ToolOutput::new(text, data))
}

fn end_line(exit_code: i64, duration_ms: u64) -> String {
    format!("[exit code {exit_code} after {duration_ms} ms]")
}

/// Writes the duration and the exit code of a command before its output, in Codex's words.
pub(crate) fn exit_code_first(output: ToolOutput) -> ToolOutput {
    let number = |name: &str| output.data[name].as_i64();
    let (Some(exit_code), Some(duration_ms)) = (number("exit_code"), output.data["duration_ms"].as_u64()) else {
        // A patch that was sent as a command has no exit code.
        return output;
    };
    let printed = output.text.strip_suffix(&end_line(exit_code, duration_ms)).unwrap_or(&output.text);
    let (seconds, rest) = (duration_ms / 1_000, duration_ms % 1_000);
    let text =
        format!("Wall time: {seconds}.{rest:03} seconds\nProcess exited with code {exit_code}\nOutput:\n{printed}");
    ToolOutput { text, ..output }
}

fn note(text: &mut String, what: &str, paths: &[FilePath]) {
    if paths.is_empty() {
        return;
    }
    let named: Vec<&str> = paths.iter().take(NAMED_MAX).map(FilePath::as_str).collect();
    let more = match paths.len() - named.len() {
        0 => String::new(),
        n_more => format!(" and {n_more} more"),
    };
    text.push_str(&format!("[{what}: {}{more}]\n", named.join(", ")));
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::environment::command::ExecResult;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const PATCH: &str = "*** Begin Patch\n*** Delete File: a\n*** End Patch";

    #[test]
    fn a_patch_is_told_from_a_command() {
        for command in [
            PATCH.to_owned(),
            format!("\n{PATCH}\n"),
            format!("apply_patch <<'EOF'\n{PATCH}\nEOF"),
            format!("apply_patch << EOF\n{PATCH}\nEOF\n"),
            format!("applypatch '{PATCH}'"),
            format!("apply_patch \"{PATCH}\n\""),
        ] {
            let patch = patch_of(&command).unwrap_or_else(|| panic!("{command}"));
            assert_eq!(v4a::parse(patch).unwrap().0.paths(), ["a"], "{command}");
        }
        for command in ["ls", "cat <<EOF\n*** Begin Patch\nEOF", "apply_patch --help", "grep '*** Begin Patch' a", ""] {
            assert_eq!(patch_of(command), None, "{command}");
        }
    }

    #[track_caller]
    fn check(outcome: &CommandOutcome, expected: &str) {
        let text = match finish(outcome, 10_000, "timeout_ms", Mode::Direct) {
            Ok(output) => output.text,
            Err(error) => format!("{}: {}", error.code.as_str(), error.message),
        };
        assert_eq!(text, expected);
    }

    #[test]
    fn results_say_how_it_ended_and_what_changed() {
        let path = |path: &str| FilePath::clean(path).unwrap();
        let mut outcome = CommandOutcome::of(ExecResult::default());
        check(&outcome, "(no output)\n[exit code 0 after 0 ms]");
        outcome.result = ExecResult {
            stdout: "out".to_owned(),
            stderr: "err\n".to_owned(),
            exit_code: 3,
            duration_ms: 7,
            n_left_behind: 2,
            ..ExecResult::default()
        };
        outcome.changed = vec![path("a.txt"), path("b.txt")];
        outcome.left_out = vec![path("c.bin")];
        let notes = "[2 processes left running ended with it]\n[changed: a.txt, b.txt]\n[changed, cannot be undone: \
                     c.bin]\n";
        check(&outcome, &format!("out\nerr\n{notes}[exit code 3 after 7 ms]"));
        outcome.result.timed_out = true;
        check(&outcome, &format!("timeout: out\nerr\n{notes}{}", timeout_text(10_000, "timeout_ms")));
        let many: Vec<FilePath> = (0..25).map(|number| path(&format!("{number}"))).collect();
        let mut text = String::new();
        note(&mut text, "changed", &many);
        assert!(text.ends_with("19 and 5 more]\n"), "{text}");
    }
}
