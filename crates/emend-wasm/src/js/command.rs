//! One command that JavaScript runs: its description as fields, its output and its end.
//!
//! `docs/protocols.md` describes both formats.

use emend_agent::approval::CommandLine;
use emend_agent::environment::EnvError;
use emend_agent::environment::command::{Capture, Command, ExecResult, OutputSink, OutputStream};
use emend_llm::{BoxFuture, CancelToken, Clock as _};
use futures::FutureExt as _;
use futures::future::{Either, select};
use wasm_bindgen::prelude::*;

use crate::host::{BrowserClock, promise};

#[wasm_bindgen]
extern "C" {
    /// A running command on the JavaScript side. Neither method runs the host's code before it returns.
    pub type JsCommand;

    /// A promise of the next item: `1` (stdout) or `2` (stderr) followed by output; or, at the end, `e` (exited), `t`
    /// (timed out) or `c` (cancelled) followed by the exit status. It rejects with the reason as text.
    #[wasm_bindgen(method)]
    fn next(this: &JsCommand) -> JsValue;

    /// Asks the command to end. Its end still arrives through `next`.
    #[wasm_bindgen(method)]
    fn cancel(this: &JsCommand);
}

/// Cancels the command when it is dropped.
struct RunningCommand(JsCommand);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Describes a command to the JavaScript side, as fields separated by NUL: root, working directory, timeout in
/// milliseconds, number of variables, each variable's name and value, command line.
pub(crate) fn command_fields(command: &Command, root: &str) -> String {
    let (timeout_ms, n_vars) = (command.timeout_ms.to_string(), command.env_vars.len().to_string());
    let mut fields = vec![root, command.working_dir.as_str(), &timeout_ms, &n_vars];
    for (name, value) in &command.env_vars {
        fields.extend([name.as_str(), value]);
    }
    fields.push(&command.command);
    fields.join("\0")
}

/// Describes a command line that is to be read and not run: an empty root, then the line.
pub(crate) fn reading_fields(line: &str) -> String {
    format!("\0{line}")
}

/// Returns the commands of a line. Its reading is the only item of the call. Without an answer the line is opaque.
pub(crate) async fn reading(call: JsCommand) -> Option<CommandLine> {
    let item = promise(&call.next()).await.ok()?.as_string()?;
    CommandLine::decode(&item)
}

/// Collects the output of a started command until its end.
///
/// # Errors
///
/// `Io` if the JavaScript side fails, or if an item cannot be read.
pub(crate) fn run_to_end<'a>(
    call: JsCommand,
    output: &'a dyn OutputSink,
    cancel: &'a CancelToken,
) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
    Box::pin(follow(RunningCommand(call), output, cancel))
}

async fn follow(call: RunningCommand, output: &dyn OutputSink, cancel: &CancelToken) -> Result<ExecResult, EnvError> {
    let begun = BrowserClock.now_ms();
    let (mut out, mut err) = (Capture::new(Capture::BYTES_MAX), Capture::new(Capture::BYTES_MAX));
    let mut stopped = cancel.cancelled().fuse();
    let (timed_out, cancelled, exit_code) = loop {
        let mut next = Box::pin(promise(&call.0.next()));
        let item = match select(&mut next, &mut stopped).await {
            Either::Left((item, _)) => item,
            Either::Right(_) => {
                call.0.cancel();
                next.await
            }
        };
        let item = item.map_err(failed)?.as_string().unwrap_or_default();
        let (kind, rest) = item.split_at_checked(1).ok_or_else(no_status)?;
        let (stream, capture) = match kind {
            "1" => (OutputStream::Stdout, &mut out),
            "2" => (OutputStream::Stderr, &mut err),
            // An item that cannot be read is an error: it must not count as a successful end.
            _ => break (kind == "t", kind == "c", rest.parse().map_err(|_| no_status())?),
        };
        capture.push(rest.as_bytes());
        output.output(stream, rest);
    };
    Ok(ExecResult {
        n_bytes_dropped: out.n_dropped() + err.n_dropped(),
        stdout: out.into_text(),
        stderr: err.into_text(),
        exit_code,
        timed_out,
        cancelled,
        n_left_behind: 0,
        duration_ms: BrowserClock.now_ms().saturating_sub(begun),
    })
}

fn no_status() -> EnvError {
    EnvError::Io { path: "shell".to_owned(), reason: "the command ended without a status".to_owned() }
}

/// Converts an exception of the JavaScript side.
pub(super) fn failed(thrown: JsValue) -> EnvError {
    match thrown.as_string() {
        Some(reason) => EnvError::Io { path: "shell".to_owned(), reason },
        None => no_status(),
    }
}

#[cfg(test)]
mod tests {
    use emend_agent::environment::FilePath;
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;

    /// Reads the fields as `commandSettings` in `pkg/src/host/command-feed.ts` does.
    fn read(fields: &str) -> (String, Command) {
        let mut rest = fields.split('\0');
        let mut next = || rest.next().unwrap().to_owned();
        let (root, working_dir) = (next(), FilePath::clean(&next()).unwrap());
        let (timeout_ms, n_vars) = (next().parse().unwrap(), next().parse::<usize>().unwrap());
        let env_vars = (0..n_vars).map(|_| (next(), next())).collect();
        // The command line is last: it may contain NUL itself.
        let command = rest.collect::<Vec<_>>().join("\0");
        (root, Command { command, working_dir, timeout_ms, env_vars })
    }

    #[test]
    fn a_command_survives_the_round_trip() {
        let variables = [("A", "1"), ("EMPTY", ""), ("Ä", "two\nlines")];
        let commands = [
            Command {
                command: "printf 'a\0b' | wc -c".to_owned(),
                working_dir: FilePath::clean("src/deep").unwrap(),
                timeout_ms: 10_000,
                env_vars: variables.map(|(name, value)| (name.to_owned(), value.to_owned())).into(),
            },
            Command {
                command: String::new(),
                working_dir: FilePath::root(),
                timeout_ms: 0,
                env_vars: std::collections::BTreeMap::new(),
            },
        ];
        for command in commands {
            assert_eq!(read(&command_fields(&command, "/workspace")), ("/workspace".to_owned(), command));
        }
    }
}
