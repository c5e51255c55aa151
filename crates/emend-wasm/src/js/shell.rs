//! The emulated shell as the core sees it.
//!
//! The shell is a wasm module of its own. The JavaScript layer loads it on the first command and connects it to the
//! core's files through [`FilesHandle`].

use std::future::ready;

use emend_agent::approval::CommandLine;
use emend_agent::environment::command::{Command, ExecResult, OutputSink};
use emend_agent::environment::memory::{CommandRunner, MemFs, RawEntry};
use emend_agent::environment::resolve::Node;
use emend_agent::environment::{EnvError, ExecutionEnvironment as _, FilePath};
use emend_agent::error_code::Code;
use emend_llm::{BoxFuture, CancelToken};
use futures::FutureExt as _;
use js_sys::Function;
use wasm_bindgen::prelude::*;

use super::command::{command_fields, failed, reading, reading_fields, run_to_end};
use crate::failure::Failure;

/// A shell behind a function. It gets a command's fields and a [`FilesHandle`], or a line to read and no files, and returns
/// a [`JsCommand`](super::command::JsCommand).
pub struct JsShell {
    start: Function,
}

impl JsShell {
    pub(crate) fn new(start: Function) -> Self {
        Self { start }
    }
}

impl CommandRunner for JsShell {
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

    fn read<'a>(&'a self, line: &'a str) -> BoxFuture<'a, Option<CommandLine>> {
        match self.start.call1(&JsValue::UNDEFINED, &reading_fields(line).into()) {
            Ok(call) => Box::pin(reading(call.unchecked_into())),
            Err(_) => Box::pin(ready(None)),
        }
    }
}

/// Files in memory as a shell uses them: links are not followed, and `.git` is visible.
///
/// An entry is a list of its kind (0 file, 1 directory, 2 link), its size in bytes and its modification time in
/// milliseconds since 1970.
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
    /// Returns the entry at `path`, `undefined` if there is none.
    pub fn entry(&self, path: &str) -> Option<Vec<f64>> {
        self.files.raw_entry(&FilePath::clean(path)?).map(|raw| described(&raw).to_vec())
    }

    /// Returns the names and entries of a directory, as JSON text.
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

    /// Creates a link to `target`, or a directory if `target` is absent.
    pub fn make(&self, path: &str, target: Option<String>) -> Result<(), JsValue> {
        self.files.raw_make(&clean(path)?, target.as_deref()).map_err(thrown)
    }

    /// Returns the target of a link, `undefined` if `path` is not a link.
    #[wasm_bindgen(js_name = readLink)]
    pub fn read_link(&self, path: &str) -> Option<String> {
        match self.files.raw_entry(&FilePath::clean(path)?)?.node {
            Node::Link(target) => Some(target),
            _ => None,
        }
    }

    /// Removes the entry at `path`. Fails for a directory that is not empty, unless `recursive`.
    pub fn remove(&self, path: &str, recursive: bool) -> Result<(), JsValue> {
        self.files.raw_remove(&clean(path)?, recursive).map_err(thrown)
    }

    /// Moves the entry at `from` to `to`.
    pub fn rename(&self, from: &str, to: &str) -> Result<(), JsValue> {
        self.files.raw_rename(&clean(from)?, &clean(to)?).map_err(thrown)
    }
}

/// Returns the result of an operation on files in memory, which never waits.
fn at_once<T>(answer: BoxFuture<'_, Result<T, EnvError>>) -> Result<T, JsValue> {
    let lost = || Err(EnvError::Io { path: String::new(), reason: "the files in memory did not answer".to_owned() });
    answer.now_or_never().unwrap_or_else(lost).map_err(thrown)
}
