//! The interface through which the core calls an environment written in JavaScript.

use emend_agent::environment::EnvError;
use emend_agent::error_code::Code;
use emend_agent::tool::ToolError;
use wasm_bindgen::prelude::*;

use crate::js::call::{JsCall, thrown_error};
use crate::js::command::JsCommand;

/// What a host may say it is.
pub(super) const PLATFORMS: [&str; 4] = ["wasm", "linux", "darwin", "windows"];

#[wasm_bindgen]
extern "C" {
    /// What the JavaScript layer makes of a host's environment. Nothing of the host's runs before a method returns.
    pub type HostEnvironment;

    #[wasm_bindgen(method, getter)]
    pub(super) fn root(this: &HostEnvironment) -> String;

    /// Its place in [`PLATFORMS`].
    #[wasm_bindgen(method, getter)]
    pub(super) fn platform(this: &HostEnvironment) -> usize;

    #[wasm_bindgen(method, getter, js_name = osVersion)]
    pub(super) fn os_version(this: &HostEnvironment) -> String;

    /// Whether the host has a method that it may leave out.
    #[wasm_bindgen(method)]
    pub(super) fn has(this: &HostEnvironment, method: &str) -> bool;

    /// Starts an operation; its result is
    ///
    /// | operation | beside the path | result |
    /// | --- | --- | --- |
    /// | `stat` | | the fields of an entry, `undefined` if nothing is there |
    /// | `list` | paths of directories | of each: nothing, the number of entries, their names and fields |
    /// | `walk` | paths of directories | of each: its `.gitignore`, the number of entries, their names and fields |
    /// | `rules` | | the directory's `.gitignore` |
    /// | `read` | | bytes |
    /// | `contents` | paths of files | an array of bytes, `undefined` for a file that cannot be read |
    /// | `write` | bytes | |
    /// | `remove` | | |
    /// | `glob` | the pattern | the names (paths from the root) and fields of entries |
    /// | `grep` | the pattern, `i` or nothing, the glob | the same |
    /// | `initialize` | | |
    ///
    /// Wherever there are several texts, a NUL is between them. The fields of an entry are its kind (`f`, `d`, `o` for
    /// anything else, `l` and what the link says), bytes, and milliseconds since 1970 or 0.
    #[wasm_bindgen(method)]
    pub(super) fn call(this: &HostEnvironment, operation: &str, path: &str, given: &JsValue) -> JsCall;

    /// Starts a command.
    #[wasm_bindgen(method)]
    pub(super) fn exec(this: &HostEnvironment, settings: &str) -> JsCommand;
}

/// What it threw, which the JavaScript layer has given one of our codes.
pub(super) fn environment_error(path: String, thrown: &JsValue) -> EnvError {
    let ToolError { code, message: reason, .. } = thrown_error(thrown);
    match code {
        Code::NotFound => EnvError::NotFound { path, suggestions: Vec::new() },
        Code::InvalidArgument => EnvError::InvalidPath { path, reason },
        Code::PermissionDenied => EnvError::PermissionDenied { path, reason },
        Code::LimitReached => EnvError::NoSpace { path, reason },
        _ => EnvError::Io { path, reason },
    }
}
