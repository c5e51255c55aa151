//! The interface through which the core calls an environment written in JavaScript.

use emend_agent::environment::EnvError;
use emend_agent::error_code::Code;
use emend_agent::tool::ToolError;
use wasm_bindgen::prelude::*;

use crate::js::call::{JsCall, thrown_error};
use crate::js::command::JsCommand;

/// The platforms that a host can report. JavaScript passes an index into this list.
pub(super) const PLATFORMS: [&str; 4] = ["wasm", "linux", "darwin", "windows"];

#[wasm_bindgen]
extern "C" {
    /// The JavaScript layer's wrapper round a host's environment. No method runs the host's code before it returns.
    pub type HostEnvironment;

    #[wasm_bindgen(method, getter)]
    pub(super) fn root(this: &HostEnvironment) -> String;

    /// Index into [`PLATFORMS`].
    #[wasm_bindgen(method, getter)]
    pub(super) fn platform(this: &HostEnvironment) -> usize;

    #[wasm_bindgen(method, getter, js_name = osVersion)]
    pub(super) fn os_version(this: &HostEnvironment) -> String;

    /// Whether the host has an optional method.
    #[wasm_bindgen(method)]
    pub(super) fn has(this: &HostEnvironment, method: &str) -> bool;

    /// Starts an operation on `path`. `docs/protocols.md` lists the operations, their arguments and their results.
    #[wasm_bindgen(method)]
    pub(super) fn call(this: &HostEnvironment, operation: &str, path: &str, argument: &JsValue) -> JsCall;

    /// Starts a command, or reads one. `fields` is the text that
    /// [`command_fields`](crate::js::command::command_fields) or
    /// [`reading_fields`](crate::js::command::reading_fields) returns.
    #[wasm_bindgen(method)]
    pub(super) fn exec(this: &HostEnvironment, fields: &str) -> JsCommand;
}

/// Converts a rejected operation on `path`. The JavaScript layer has already mapped the exception to an error code.
pub(super) fn environment_error(path: String, thrown: &JsValue) -> EnvError {
    let ToolError { code, message: reason, .. } = thrown_error(thrown);
    match code {
        Code::NotFound => EnvError::NotFound { path, suggestions: Vec::new() },
        Code::InvalidArgument => EnvError::InvalidPath { path, reason },
        // The root has no name, and not every operation has a path.
        _ if path.is_empty() => environment_error("the environment".to_owned(), thrown),
        Code::PermissionDenied => EnvError::PermissionDenied { path, reason },
        Code::LimitReached => EnvError::LimitReached { path, reason },
        _ => EnvError::Io { path, reason },
    }
}
