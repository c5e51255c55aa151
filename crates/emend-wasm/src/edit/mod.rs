//! The bindings of `emend-edit`. The module keeps only the line logs, patches and texts that JavaScript holds a handle or
//! an id of.
//!
//! Texts cross the boundary as strings. The lines of a diff, of which there are many, cross as numbers that point into the
//! caller's texts. Everything else crosses as JSON text.

pub mod diff;
pub mod input_slots;
pub mod line_log;
pub mod merge;
pub mod parsed_patch;
pub mod patch;
pub mod report;
pub mod text_store;
pub mod text_tools;

use serde::Serialize;
use serde::de::DeserializeOwned;
use wasm_bindgen::prelude::*;

use crate::failure::Failure;

/// Upper limit of counts from JavaScript. A sum of a few of them does not overflow.
const COUNT_MAX: u32 = 1 << 28;

/// Converts a count, limited to [`COUNT_MAX`].
fn count(given: u32) -> usize {
    given.min(COUNT_MAX) as usize
}

fn json(value: &impl Serialize) -> Result<String, JsValue> {
    serde_json::to_string(value).map_err(|error| Failure::internal(error.to_string()).into_js())
}

/// Reads an argument from JSON text. `what` begins the error message, e.g. "the query is".
fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, JsValue> {
    serde_json::from_str(json).map_err(|error| Failure::argument(what, &error).into_js())
}
