//! The emulated shell as the core sees it: a module of its own, which the JavaScript layer loads on the first command and
//! joins to the files here.

use std::future::ready;

use emend_agent::environment::command::{Command, ExecResult, OutputSink};
use emend_agent::environment::memory::{MemFs, RawEntry, Shell};
use emend_agent::environment::resolve::Node;
use emend_agent::environment::{EnvError, ExecutionEnvironment as _, FilePath};
use emend_agent::error_code::Code;
use emend_llm::{BoxFuture, CancelToken};
use futures::FutureExt as _;
use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::command::{command_fields, failed, run_to_end};
use crate::failure::Failure;

/// A shell behind a function of a command's JSON text and the files, which returns a [`JsCommand`].
pub struct JsShell {
    start: Function,
}

impl JsShell {
    pub(crate) fn new(start: Function) -> Self {
        Self { start }
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
        let fields = command_fields(command, &files.working_directory());
        match self.start.call2(&JsValue::UNDEFINED, &fields.into(), &FilesHandle { files }.into()) {
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
