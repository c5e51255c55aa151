//! Patches on single texts, and texts that stay in the module, so that only the patches cross.

use std::cell::RefCell;

use emend_edit::ContentHash;
use emend_edit::patch::{ChangedRange, Diagnostic, EditedText, Patch, changed_ranges, edit_text};
use emend_edit::text;
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

use super::patch::{PatchHandle, written};
use super::report::reported;
use super::{count, input_slots};
use crate::failure::Failure;

/// The texts that JavaScript holds, by number. A class of the glue's for each costs half a microsecond and garbage, which
/// is a twentieth of what patching a thousand lines takes.
#[derive(Default)]
struct TextStore {
    texts: Vec<String>,
    /// The numbers that are no text's.
    free: Vec<u32>,
}

thread_local! {
    static TEXTS: RefCell<TextStore> = RefCell::default();
}

/// Keeps a text, which never changes: a patch makes another one of it.
fn keep(text: String) -> u32 {
    TEXTS.with_borrow_mut(|TextStore { texts, free }| {
        if let Some(id) = free.pop() {
            texts[id as usize] = text;
            return id;
        }
        texts.push(text);
        texts.len() as u32 - 1
    })
}

/// Does something with the text of a number that [`keep`] gave and [`text_free`] has not taken.
fn with<T>(id: u32, work: impl FnOnce(&str) -> T) -> T {
    TEXTS.with_borrow(|TextStore { texts, .. }| work(texts.get(id as usize).map_or("", String::as_str)))
}

/// Carries out a patch that was read with these diagnostics.
fn edited(before: &str, patch: &Patch, read: Vec<Diagnostic>) -> Result<EditedText, JsValue> {
    let mut edited = edit_text(before, patch).map_err(|error| Failure::of_edit(&error).into_js())?;
    edited.diagnostics.splice(0..0, read);
    Ok(edited)
}

/// Texts of fewer bytes come back whole: to make a string of them takes less than to say what is new in them.
const JOINED_BYTES_MIN: usize = 1 << 16;

/// Reports, and returns the new text.
///
/// For a large text that has as many UTF-16 code units as bytes, so that places in it are the same in both, returns all
/// that is new in it instead; the report has the stretches it goes to.
fn new_text(before: &str, units: u32, edited: EditedText) -> JsValue {
    let is_large = before.len() >= JOINED_BYTES_MIN && before.len() == units as usize;
    let Some(ranges) = is_large.then(|| changed_ranges(before, &edited)).flatten() else {
        return reported(edited, None).into();
    };
    let mut fresh = String::new();
    let cut = |ChangedRange { old, new }| {
        let new = &edited.text[new];
        fresh.push_str(new);
        let units = if new.is_ascii() { new.len() } else { new.encode_utf16().count() };
        [old.start, old.end, units].map(|number| number as u32)
    };
    let cuts: Vec<[u32; 3]> = ranges.into_iter().map(cut).collect();
    reported(edited, Some(&cuts));
    fresh.into()
}

/// Carries out a patch on the text in slot 0, of so many bytes and UTF-16 code units, and returns what [`new_text`] does.
#[wasm_bindgen(js_name = editText)]
pub fn edit_text_of(bytes: u32, units: u32, patch: &PatchHandle) -> Result<JsValue, JsValue> {
    let before = input_slots::take(0, bytes)?;
    Ok(new_text(&before, units, edited(&before, &patch.patch, patch.diagnostics.clone())?))
}

/// As [`edit_text_of`], for a patch that is a text in slot 1.
#[wasm_bindgen(js_name = editTextWritten)]
pub fn edit_text_written(
    bytes: u32,
    units: u32,
    format: u32,
    patch_bytes: u32,
    path: Option<String>,
) -> Result<JsValue, JsValue> {
    let before = input_slots::take(0, bytes)?;
    let (patch, diagnostics) = written(format, 1, patch_bytes, path.as_deref())?;
    Ok(new_text(&before, units, edited(&before, &patch, diagnostics)?))
}

/// Keeps the text in slot 0 and returns its number.
#[wasm_bindgen(js_name = textOf)]
pub fn text_of(bytes: u32) -> Result<u32, JsValue> {
    input_slots::take(0, bytes).map(keep)
}

/// Keeps the bytes of a file as a text and returns its number.
#[wasm_bindgen(js_name = textFrom)]
pub fn text_from(bytes: &[u8]) -> Result<u32, JsValue> {
    let text = text::decode(bytes).map_err(|error| Failure::new(error.code().into(), error.to_string()).into_js())?;
    Ok(keep(text.to_owned()))
}

/// Forgets a text.
#[wasm_bindgen(js_name = textFree)]
pub fn text_free(id: u32) {
    TEXTS.with_borrow_mut(|TextStore { texts, free }| {
        texts[id as usize] = String::new();
        free.push(id);
    });
}

/// Carries out a patch that edits one text, whatever path it names: reports, and returns the number of the new text.
#[wasm_bindgen(js_name = textApply)]
pub fn text_apply(id: u32, patch: &PatchHandle) -> Result<u32, JsValue> {
    let made = with(id, |before| edited(before, &patch.patch, patch.diagnostics.clone()))?;
    Ok(keep(reported(made, None)))
}

/// As [`text_apply`], for a patch that is a text in slot 0.
#[wasm_bindgen(js_name = textApplyWritten)]
pub fn text_apply_written(id: u32, format: u32, bytes: u32, path: Option<String>) -> Result<u32, JsValue> {
    let (patch, diagnostics) = written(format, 0, bytes, path.as_deref())?;
    let made = with(id, |before| edited(before, &patch, diagnostics))?;
    Ok(keep(reported(made, None)))
}

/// Returns all of a text.
#[wasm_bindgen(js_name = textString)]
#[must_use]
pub fn text_string(id: u32) -> JsValue {
    with(id, JsValue::from_str)
}

/// Returns the lines of a text from `first` (counted from 0) until before `end`.
#[wasm_bindgen(js_name = textLines)]
#[must_use]
pub fn text_lines(id: u32, first: u32, end: u32) -> JsValue {
    let (first, n_lines) = (count(first), count(end).saturating_sub(count(first)));
    with(id, |text| {
        let mut lines = text::lines(text);
        let n_before: usize = lines.by_ref().take(first).map(str::len).sum();
        let n_bytes: usize = lines.take(n_lines).map(str::len).sum();
        JsValue::from_str(&text[n_before..n_before + n_bytes])
    })
}

/// Returns the UTF-8 of a text.
#[wasm_bindgen(js_name = textBytes)]
#[must_use]
pub fn text_bytes(id: u32) -> Uint8Array {
    with(id, |text| text.as_bytes().into())
}

/// How many bytes of UTF-8 a text has.
#[wasm_bindgen(js_name = textByteLength)]
#[must_use]
pub fn text_byte_length(id: u32) -> u32 {
    with(id, |text| text.len() as u32)
}

/// How many lines a text has.
#[wasm_bindgen(js_name = textLineCount)]
#[must_use]
pub fn text_line_count(id: u32) -> u32 {
    with(id, |text| text::lines(text).count() as u32)
}

/// Returns the content hash of a text.
#[wasm_bindgen(js_name = textHash)]
#[must_use]
pub fn text_hash(id: u32) -> String {
    with(id, |text| ContentHash::of(text.as_bytes()).to_string())
}
