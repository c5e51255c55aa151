//! The emulated shell as the core sees it: a module of its own, which the JavaScript layer loads on the first command and
//! joins to the files here.

use std::future::ready;

use emend_agent::environment::command::{Capture, Command, ExecResult, OutputSink, OutputStream};
use emend_agent::environment::memory::{MemFs, RawEntry, Shell};
use emend_agent::environment::resolve::Node;
use emend_agent::environment::{EnvError, ExecutionEnvironment as _, FilePath};
use emend_agent::error_code::Code;
use emend_llm::{BoxFuture, CancelToken, Clock as _};
use futures::FutureExt as _;
use futures::future::{Either, select};
use js_sys::Function;
use wasm_bindgen::prelude::*;

use crate::clock::BrowserClock;
use crate::failure::Failure;
use crate::host::promise;

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
struct Open(JsCommand);

impl Drop for Open {
    fn drop(&mut self) {
        self.0.cancel();
    }
}

/// A shell behind a function of a command's JSON text and the files, which returns a [`JsCommand`].
pub struct JsShell {
    start: Function,
}

impl JsShell {
    pub(crate) fn new(start: Function) -> Self {
        Self { start }
    }
}

/// Returns what the JavaScript side is told of a command, a NUL between: the root, where it runs, its time, how many
/// variables there are, their names and values, and what the shell is given.
pub(crate) fn settings(command: &Command, root: &str) -> String {
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
    Box::pin(follow(Open(call), output, cancel))
}

async fn follow(call: Open, output: &dyn OutputSink, cancel: &CancelToken) -> Result<ExecResult, EnvError> {
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

fn failed(thrown: JsValue) -> EnvError {
    match thrown.as_string() {
        Some(reason) => EnvError::Io { path: "shell".to_owned(), reason },
        None => broke_off(),
    }
}

impl Shell for JsShell {
    fn run<'a>(
        &'a self,
        files: MemFs,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        let settings = settings(command, &files.working_directory());
        match self.start.call2(&JsValue::UNDEFINED, &settings.into(), &FilesHandle { files }.into()) {
            Ok(call) => run_to_end(call.unchecked_into(), output, cancel),
            Err(thrown) => Box::pin(ready(Err(failed(thrown)))),
        }
    }
}

/// Files in memory as a shell wants them: links are not followed, and `.git` is there. Entries are lists of kind (0 a
/// file, 1 a directory, 2 a link), bytes, and milliseconds since 1970.
#[wasm_bindgen]
pub struct FilesHandle {
    files: MemFs,
}

fn clean(path: &str) -> Result<FilePath, JsValue> {
    FilePath::clean(path).ok_or_else(|| Failure::new(Code::NotFound, path).into_js())
}

fn thrown(error: EnvError) -> JsValue {
    Failure::from(error).into_js()
}

fn described(raw: &RawEntry) -> [f64; 3] {
    let kind = match raw.node {
        Node::Directory => 1.0,
        Node::Link(_) => 2.0,
        _ => 0.0,
    };
    [kind, raw.size as f64, raw.modified_ms as f64]
}

#[wasm_bindgen]
impl FilesHandle {
    /// Returns what stands at `path`, `undefined` if nothing.
    pub fn entry(&self, path: &str) -> Option<Vec<f64>> {
        self.files.raw_entry(&FilePath::clean(path)?).map(|raw| described(&raw).to_vec())
    }

    /// Returns the names in a directory and their entries, as JSON text.
    pub fn entries(&self, path: &str) -> Result<String, JsValue> {
        let entries = self.files.raw_entries(&clean(path)?).map_err(thrown)?;
        let entries: Vec<(String, [f64; 3])> = entries.into_iter().map(|(name, raw)| (name, described(&raw))).collect();
        Ok(serde_json::to_string(&entries).unwrap_or_default())
    }

    /// Reads a file.
    pub fn read(&self, path: &str) -> Result<Vec<u8>, JsValue> {
        at_once(self.files.read(&clean(path)?))
    }

    /// Writes a file.
    pub fn write(&self, path: &str, content: &[u8]) -> Result<(), JsValue> {
        at_once(self.files.write(&clean(path)?, content))
    }

    /// Makes a link that says `target`, or a directory.
    pub fn make(&self, path: &str, target: Option<String>) -> Result<(), JsValue> {
        self.files.raw_make(&clean(path)?, target.as_deref()).map_err(thrown)
    }

    /// Returns what a link says, `undefined` if it is none.
    #[wasm_bindgen(js_name = readLink)]
    pub fn read_link(&self, path: &str) -> Option<String> {
        match self.files.raw_entry(&FilePath::clean(path)?)?.node {
            Node::Link(target) => Some(target),
            _ => None,
        }
    }

    /// Takes away what stands at `path`.
    pub fn remove(&self, path: &str, recursive: bool) -> Result<(), JsValue> {
        self.files.raw_remove(&clean(path)?, recursive).map_err(thrown)
    }

    /// Moves what stands at `from`.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), JsValue> {
        self.files.raw_rename(&clean(from)?, &clean(to)?).map_err(thrown)
    }
}

/// Files in memory answer at once.
fn at_once<T>(answer: BoxFuture<'_, Result<T, EnvError>>) -> Result<T, JsValue> {
    let lost = || Err(EnvError::Io { path: String::new(), reason: "the files did not answer".to_owned() });
    answer.now_or_never().unwrap_or_else(lost).map_err(thrown)
}
