//! The export of the emulated shell's module: scripts over files that JavaScript passes in.
//!
//! A script that waits (`sleep`) uses the interpreter's own timer, which only wakes the task. The script continues when
//! the JavaScript layer polls it.

use std::collections::BTreeMap;

use emend_agent::error_code::Code;
use emend_llm::CancelToken;
use emend_shell::{
    Cancel, End, Entry, Files, FilesError, Kind, STEPS_MAX, Script, Shell, Stream, async_trait, differs_in_cmd,
};
use futures::future::{Either, select};
use js_sys::{Function, Reflect, Uint8Array};
use send_wrapper::SendWrapper;
use serde::Deserialize;
use serde_json::json;
use wasm_bindgen::prelude::*;

use crate::failure::Failure;
use crate::host::task::Task;

#[wasm_bindgen]
extern "C" {
    /// The files, which are in another module. Every method returns at once. Exceptions have a `code` and a `message`.
    pub type JsFiles;

    #[wasm_bindgen(method, catch)]
    fn entry(this: &JsFiles, path: &str) -> Result<Option<Vec<f64>>, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn entries(this: &JsFiles, path: &str) -> Result<String, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn read(this: &JsFiles, path: &str) -> Result<Vec<u8>, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn write(this: &JsFiles, path: &str, content: &[u8]) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    fn make(this: &JsFiles, path: &str, target: Option<&str>) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch, js_name = readLink)]
    fn read_link(this: &JsFiles, path: &str) -> Result<Option<String>, JsValue>;

    #[wasm_bindgen(method, catch)]
    fn remove(this: &JsFiles, path: &str, recursive: bool) -> Result<(), JsValue>;

    #[wasm_bindgen(method, catch)]
    fn rename(this: &JsFiles, from: &str, to: &str) -> Result<(), JsValue>;
}

/// Connects the shell to the files. `SendWrapper` is sound here because there is only one thread.
struct Bridge(SendWrapper<JsFiles>);

fn refused(thrown: JsValue) -> FilesError {
    let field = |name: &str| Reflect::get(&thrown, &name.into()).ok().and_then(|value| value.as_string());
    let message = field("message").unwrap_or_default();
    match field("code").as_deref() {
        Some("not_found") => FilesError::NotFound,
        Some("invalid_argument") => FilesError::InTheWay(message),
        Some("limit_reached") => FilesError::Full(message),
        _ => FilesError::Failed(message),
    }
}

fn entry([kind, size, modified_ms]: [f64; 3]) -> Entry {
    let kind = match kind as u8 {
        0 => Kind::File,
        1 => Kind::Directory,
        _ => Kind::Link,
    };
    Entry { kind, size: size as u64, modified_ms: modified_ms as u64 }
}

#[async_trait]
impl Files for Bridge {
    async fn entry(&self, path: &str) -> Result<Option<Entry>, FilesError> {
        let found = self.0.entry(path).map_err(refused)?;
        Ok(found.and_then(|found| found.try_into().ok()).map(entry))
    }

    async fn entries(&self, path: &str) -> Result<Vec<(String, Entry)>, FilesError> {
        let entries = self.0.entries(path).map_err(refused)?;
        let entries: Vec<(String, [f64; 3])> = serde_json::from_str(&entries).unwrap_or_default();
        Ok(entries.into_iter().map(|(name, found)| (name, entry(found))).collect())
    }

    async fn read(&self, path: &str) -> Result<Vec<u8>, FilesError> {
        self.0.read(path).map_err(refused)
    }

    async fn write(&self, path: &str, content: &[u8]) -> Result<(), FilesError> {
        self.0.write(path, content).map_err(refused)
    }

    async fn make_directory(&self, path: &str) -> Result<(), FilesError> {
        self.0.make(path, None).map_err(refused)
    }

    async fn make_link(&self, path: &str, target: &str) -> Result<(), FilesError> {
        self.0.make(path, Some(target)).map_err(refused)
    }

    async fn read_link(&self, path: &str) -> Result<String, FilesError> {
        self.0.read_link(path).map_err(refused)?.ok_or_else(|| FilesError::Failed("Invalid argument".to_owned()))
    }

    async fn remove(&self, path: &str, recursive: bool) -> Result<(), FilesError> {
        self.0.remove(path, recursive).map_err(refused)
    }

    async fn rename(&self, from: &str, to: &str) -> Result<(), FilesError> {
        self.0.rename(from, to).map_err(refused)
    }
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Settings {
    text: String,
    root: String,
    working_dir: String,
    env_vars: BTreeMap<String, String>,
    timeout_ms: u64,
}

/// Returns the commands of a line as bash reads it, encoded for the core; `undefined` if the line has no reading, or if
/// `cmd.exe` runs it (`is_windows`) and would find others.
#[wasm_bindgen(js_name = readCommandLine)]
pub fn read_command_line(line: &str, is_windows: bool) -> Option<String> {
    let differs = is_windows && differs_in_cmd(line);
    Some(emend_shell::read_command_line(line).filter(|_| !differs)?.encoded())
}

/// One script.
#[wasm_bindgen]
#[derive(Default)]
pub struct ScriptHandle {
    /// Ends the script where it waits.
    gone: CancelToken,
    /// Ends the script before its next command.
    stop: Cancel,
}

#[wasm_bindgen]
impl ScriptHandle {
    /// Creates a script that has not started.
    #[wasm_bindgen(constructor)]
    pub fn new() -> ScriptHandle {
        Self::default()
    }

    /// Runs the script. `settings` is JSON text. `output` is called with 1 (stdout) or 2 (stderr) and bytes; it must not call
    /// back into the module.
    pub fn run(&self, settings: &str, files: JsFiles, output: Function) -> Result<Task, JsValue> {
        let settings: Settings = serde_json::from_str(settings)
            .map_err(|error| Failure::new(Code::InvalidArgument, error.to_string()).into_js())?;
        let (gone, stop) = (self.gone.clone(), self.stop.clone());
        let output = SendWrapper::new(output);
        Ok(Task::new(async move {
            let shell = Shell::new(Bridge(SendWrapper::new(files)), &settings.root);
            let script = Script {
                text: &settings.text,
                working_dir: &settings.working_dir,
                env_vars: settings.env_vars,
                timeout_ms: settings.timeout_ms,
                steps_max: STEPS_MAX,
            };
            let running = shell.run(script, &stop, |stream, bytes: &[u8]| {
                let number = if stream == Stream::Stdout { 1 } else { 2 };
                // The function that takes the output does not throw.
                let _ = output.call2(&JsValue::UNDEFINED, &number.into(), &Uint8Array::from(bytes));
            });
            let end = match select(Box::pin(running), gone.cancelled()).await {
                Either::Left((end, _)) => end,
                Either::Right(_) => End::Cancelled,
            };
            // The status of a command that a signal ended (128 + SIGTERM).
            let exit_code = if let End::Exit(status) = end { status } else { 128 + 15 };
            let (timed_out, cancelled) = (end == End::TimedOut, end == End::Cancelled);
            Ok(json!({ "exitCode": exit_code, "timedOut": timed_out, "cancelled": cancelled }).to_string())
        }))
    }

    /// Cancels the script.
    pub fn cancel(&self) {
        self.stop.cancel();
        self.gone.cancel();
    }
}
