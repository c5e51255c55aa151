//! One command that JavaScript runs: its fields on the way out, its output and its end on the way back.

use emend_agent::environment::EnvError;
use emend_agent::environment::command::{Capture, Command, ExecResult, OutputSink, OutputStream};
use emend_llm::{BoxFuture, CancelToken, Clock as _};
use futures::FutureExt as _;
use futures::future::{Either, select};
use wasm_bindgen::prelude::*;

use crate::host::{BrowserClock, promise};

#[wasm_bindgen]
extern "C" {
    /// A command under way on the JavaScript side. Neither method runs anything of it before it returns.
    pub type JsCommand;

    /// A promise of what is told next: `1` or `2` and text that it printed there; or its end, `e`, `t` if its time was up or
    /// `c` if it was cancelled, and its status. It rejects with the reason as text.
    #[wasm_bindgen(method)]
    fn next(this: &JsCommand) -> JsValue;

    /// Asks it to end; that it did is still told.
    #[wasm_bindgen(method)]
    fn cancel(this: &JsCommand);
}

/// Ends the command when nobody waits for it any more.
struct RunningCommand(JsCommand);

impl Drop for RunningCommand {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// Returns what the JavaScript side is told of a command, a NUL between: the root, where it runs, its time, how many
/// variables there are, their names and values, and what the shell is given.
pub(crate) fn command_fields(command: &Command, root: &str) -> String {
    let (timeout_ms, n_vars) = (command.timeout_ms.to_string(), command.env_vars.len().to_string());
    let mut fields = vec![root, command.working_dir.as_str(), &timeout_ms, &n_vars];
    for (name, value) in &command.env_vars {
        fields.extend([name.as_str(), value]);
    }
    fields.push(&command.command);
    fields.join("\0")
}

/// Follows a command that was started to its end.
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
        let told = match select(&mut next, &mut stopped).await {
            Either::Left((told, _)) => told,
            Either::Right(_) => {
                call.0.cancel();
                next.await
            }
        };
        let told = told.map_err(failed)?.as_string().unwrap_or_default();
        let (kind, rest) = told.split_at_checked(1).ok_or_else(broke_off)?;
        let (stream, capture) = match kind {
            "1" => (OutputStream::Stdout, &mut out),
            "2" => (OutputStream::Stderr, &mut err),
            // What cannot be read must not pass for the end of a command that went well.
            _ => break (kind == "t", kind == "c", rest.parse().map_err(|_| broke_off())?),
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

fn broke_off() -> EnvError {
    EnvError::Io { path: "shell".to_owned(), reason: "it broke off".to_owned() }
}

pub(super) fn failed(thrown: JsValue) -> EnvError {
    match thrown.as_string() {
        Some(reason) => EnvError::Io { path: "shell".to_owned(), reason },
        None => broke_off(),
    }
}
