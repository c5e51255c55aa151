//! Hashes of texts, and truncation of texts to a model's limits.

use emend_agent::tools::output_limits_of;
use emend_edit::ContentHash;
use emend_edit::truncate::{Mode, OutputLimits, truncate_chars, truncate_lines, truncate_output};
use wasm_bindgen::prelude::*;

use super::{count, input_slots};
use crate::failure::Failure;

/// Returns the content hash of bytes.
#[wasm_bindgen(js_name = hashBytes)]
pub fn hash_bytes(bytes: &[u8]) -> String {
    ContentHash::of(bytes).to_string()
}

/// Returns the content hash of the UTF-8 bytes of the text in slot 0.
#[wasm_bindgen(js_name = hashText)]
pub fn hash_text(bytes: u32) -> Result<String, JsValue> {
    Ok(ContentHash::of(input_slots::take(0, bytes)?.as_bytes()).to_string())
}

/// Truncates a tool's output by the tool's limits or by the given ones; `undefined` if it fits.
#[wasm_bindgen(js_name = truncateOf)]
pub fn truncate_of(tool: &str, output: &str, chars_max: Option<u32>, lines_max: Option<u32>) -> Option<String> {
    let own = output_limits_of(tool);
    let limits = OutputLimits {
        chars_max: chars_max.map_or(own.chars_max, count),
        mode: own.mode,
        lines_max: lines_max.map(count).or(own.lines_max),
    };
    let seen = truncate_output(output, limits);
    seen.truncated.then_some(seen.text)
}

/// Truncates a text by characters, then by lines; `undefined` if it fits.
#[wasm_bindgen(js_name = truncateTo)]
pub fn truncate_to(
    text: &str,
    keep: &str,
    chars_max: Option<u32>,
    lines_max: Option<u32>,
) -> Result<Option<String>, JsValue> {
    let mode = match keep {
        "head_tail" => Mode::HeadTail,
        "tail" => Mode::Tail,
        other => {
            return Err(Failure::invalid(format!("`keep` is {other:?}; use head_tail or tail")).into_js());
        }
    };
    let by_chars = chars_max.and_then(|max| truncate_chars(text, count(max), mode));
    let by_lines = lines_max.and_then(|max| truncate_lines(by_chars.as_deref().unwrap_or(text), count(max)));
    Ok(by_lines.or(by_chars))
}
