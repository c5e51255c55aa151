//! The emulated shell as the core sees it: a module of its own, which the JavaScript layer loads on the first command and
//! joins to the files here.

use emend_agent::code::Code;
use emend_agent::env::{EnvError, ExecutionEnvironment as _, FilePath};
use emend_agent::exec::{Capture, Command, ExecResult, OutputSink, OutputStream};
use emend_agent::memfs::{MemFs, RawEntry, Shell};
use emend_agent::resolve::Node;
use emend_llm::{BoxFuture, CancelToken, Clock as _};
use futures::FutureExt as _;
use futures::future::{Either, select};
use js_sys::Function;
use serde_json::{Value, json};
use wasm_bindgen::prelude::*;

use crate::clock::BrowserClock;
use crate::failure::Failure;
use crate::host::promise;

#[wasm_bindgen]
extern "C" {
    /// A command under way on the JavaScript side. Neither method runs anything of it before it returns.
    pub type JsCommand;

    /// A promise of what is told next, as JSON text: a piece of what it prints (`stdout` or `stderr`), and then its end
    /// (`exitCode`, `timedOut`, `cancelled`). It rejects with the reason as text.
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

    async fn run_to_end(
        &self,
        files: MemFs,
        command: &Command,
        output: &dyn OutputSink,
        cancel: &CancelToken,
    ) -> Result<ExecResult, EnvError> {
        let begun = BrowserClock.now_ms();
        let broke_off = || EnvError::Io { path: "shell".to_owned(), reason: "it broke off".to_owned() };
        let failed = |thrown: JsValue| match thrown.as_string() {
            Some(reason) => EnvError::Io { path: "shell".to_owned(), reason },
            None => broke_off(),
        };
        let settings = json!({
            "text": command.command,
            "root": files.working_directory(),
            "workingDir": command.working_dir,
            "envVars": command.env_vars,
            "timeoutMs": command.timeout_ms,
        });
        let call = self.start.call2(&JsValue::UNDEFINED, &settings.to_string().into(), &FilesHandle { files }.into());
        let call = Open(call.map_err(failed)?.unchecked_into());
        let (mut out, mut err) = (Capture::new(Capture::BYTES_MAX), Capture::new(Capture::BYTES_MAX));
        let mut stopped = cancel.cancelled().fuse();
        let (exit_code, timed_out, cancelled) = loop {
            let mut next = Box::pin(promise(&call.0.next()));
            let told = match select(&mut next, &mut stopped).await {
                Either::Left((told, _)) => told,
                Either::Right(_) => {
                    call.0.cancel();
                    next.await
                }
            };
            let told = told.map_err(failed)?.as_string().ok_or_else(broke_off)?;
            // What cannot be read must not pass for the end of a command that went well.
            let told: Value = serde_json::from_str(&told).map_err(|_| broke_off())?;
            let exit_code = told["exitCode"].as_i64().and_then(|status| i32::try_from(status).ok());
            let (stream, capture, text) = match (told["stdout"].as_str(), told["stderr"].as_str(), exit_code) {
                (Some(text), _, _) => (OutputStream::Stdout, &mut out, text),
                (_, Some(text), _) => (OutputStream::Stderr, &mut err, text),
                (_, _, Some(exit_code)) => break (exit_code, told["timedOut"] == true, told["cancelled"] == true),
                _ => return Err(broke_off()),
            };
            capture.push(text.as_bytes());
            output.output(stream, text);
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
}

impl Shell for JsShell {
    fn run<'a>(
        &'a self,
        files: MemFs,
        command: &'a Command,
        output: &'a dyn OutputSink,
        cancel: &'a CancelToken,
    ) -> BoxFuture<'a, Result<ExecResult, EnvError>> {
        Box::pin(self.run_to_end(files, command, output, cancel))
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
