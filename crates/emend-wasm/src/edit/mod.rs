//! The bindings of `emend-edit`: texts in, texts and numbers out, nothing kept but the logs, patches and texts handed out.
//!
//! Texts cross as strings. What there is much of, the lines of a diff, crosses as numbers that point into the texts the
//! caller has; the rest as JSON text.

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

/// No count that is passed in may be larger: sums of a few must not overflow.
const COUNT_MAX: u32 = 1 << 28;

/// Returns a count as an index, cut to what can be calculated with.
fn count(given: u32) -> usize {
    given.min(COUNT_MAX) as usize
}

fn json(value: &impl Serialize) -> Result<String, JsValue> {
    serde_json::to_string(value).map_err(|error| Failure::internal(error.to_string()).into_js())
}

/// Reads an argument that came as JSON text.
fn read<T: DeserializeOwned>(what: &str, json: &str) -> Result<T, JsValue> {
    serde_json::from_str(json).map_err(|error| Failure::argument(what, &error).into_js())
}
