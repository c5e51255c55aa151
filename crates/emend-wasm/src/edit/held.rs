//! Patches on single texts, and texts that stay in the module, so that only the patches cross.

use std::cell::RefCell;

use emend_edit::edit::{AppliedHunk, Diagnostic, Patch};
use emend_edit::hash::ContentHash;
use emend_edit::plan::{Edited, edit_text};
use emend_edit::stretches::{Stretch, stretches};
use emend_edit::text;
use js_sys::{Array, Uint8Array, Uint32Array};
use wasm_bindgen::prelude::*;

use super::patch::{PatchHandle, numbers_of, written};
use super::{count, input, json};
use crate::failure::Failure;

/// One text, which never changes: a patch makes another one of it.
#[wasm_bindgen]
pub struct TextHandle {
    text: String,
    /// What the patch that made it says, until that is asked for.
    hunks: RefCell<Vec<AppliedHunk>>,
    diagnostics: RefCell<Vec<Diagnostic>>,
}

impl TextHandle {
    fn new(text: String) -> Self {
        Self { text, hunks: RefCell::default(), diagnostics: RefCell::default() }
    }

    fn made(edited: Edited) -> Self {
        let Edited { text, hunks, diagnostics } = edited;
        Self { text, hunks: RefCell::new(hunks), diagnostics: RefCell::new(diagnostics) }
    }
}

/// Carries out a patch that was read with these diagnostics.
fn edited(before: &str, patch: &Patch, read: Vec<Diagnostic>) -> Result<Edited, JsValue> {
    let mut edited = edit_text(before, patch).map_err(|error| Failure::of_edit(&error).into_js())?;
    edited.diagnostics.splice(0..0, read);
    Ok(edited)
}

fn diagnostics_json(diagnostics: &[Diagnostic]) -> Result<Option<String>, JsValue> {
    if diagnostics.is_empty() { Ok(None) } else { json(&diagnostics).map(Some) }
}

/// Texts of fewer bytes come back whole: to make a string of them takes less than to say what is new in them.
const JOINED_BYTES_MIN: usize = 1 << 16;

/// Returns the new text, where the hunks went and the diagnostics, these as [`TextHandle`] does.
///
/// A large text that has as many UTF-16 code units as bytes, so that places in it are the same in both, comes back as
/// what is new in it: `undefined`, then after the diagnostics three numbers for each stretch, where it begins and ends
/// in the old text and how many code units come for it, and all that comes in one string.
fn report(before: &str, units: u32, edited: Edited) -> Result<Array, JsValue> {
    let numbers: Vec<u32> = edited.hunks.iter().flat_map(numbers_of).collect();
    let numbers = Uint32Array::from(numbers.as_slice());
    let diagnostics = diagnostics_json(&edited.diagnostics)?.into();
    let is_large = before.len() >= JOINED_BYTES_MIN && before.len() == units as usize;
    let Some(stretches) = is_large.then(|| stretches(before, &edited)).flatten() else {
        return Ok(Array::of3(&edited.text.into(), &numbers, &diagnostics));
    };
    let (mut cuts, mut fresh) = (Vec::new(), String::new());
    for Stretch { old, new } in stretches {
        let new = &edited.text[new];
        fresh.push_str(new);
        let units = if new.is_ascii() { new.len() } else { new.encode_utf16().count() };
        cuts.extend([old.start, old.end, units].map(|number| number as u32));
    }
    let cuts = Uint32Array::from(cuts.as_slice());
    Ok(Array::of5(&JsValue::UNDEFINED, &numbers, &diagnostics, &cuts, &fresh.into()))
}

/// Carries out a patch on the text in slot 0, of so many bytes and UTF-16 code units, and returns what [`report`] does.
#[wasm_bindgen(js_name = editText)]
pub fn edit_text_of(bytes: u32, units: u32, patch: &PatchHandle) -> Result<Array, JsValue> {
    let before = input::take(0, bytes)?;
    report(&before, units, edited(&before, &patch.patch, patch.diagnostics.clone())?)
}

/// As [`edit_text_of`], for a patch that is a text in slot 1.
#[wasm_bindgen(js_name = editTextWritten)]
pub fn edit_text_written(
    bytes: u32,
    units: u32,
    format: u32,
    patch_bytes: u32,
    path: Option<String>,
) -> Result<Array, JsValue> {
    let before = input::take(0, bytes)?;
    let (patch, diagnostics) = written(format, 1, patch_bytes, path.as_deref())?;
    report(&before, units, edited(&before, &patch, diagnostics)?)
}

#[wasm_bindgen]
impl TextHandle {
    /// Takes the text out of slot 0.
    pub fn of(bytes: u32) -> Result<TextHandle, JsValue> {
        input::take(0, bytes).map(Self::new)
    }

    /// Reads the bytes of a file.
    #[wasm_bindgen(js_name = fromBytes)]
    pub fn from_bytes(bytes: &[u8]) -> Result<TextHandle, JsValue> {
        let text = text::decode(bytes).map_err(|error| Failure::coded(error.code(), error.to_string()).into_js())?;
        Ok(Self::new(text.to_owned()))
    }

    /// Carries out a patch that edits one text, whatever path it names.
    pub fn apply(&self, patch: &PatchHandle) -> Result<TextHandle, JsValue> {
        edited(&self.text, &patch.patch, patch.diagnostics.clone()).map(Self::made)
    }

    /// As [`TextHandle::apply`], for a patch that is a text in slot 0.
    #[wasm_bindgen(js_name = applyWritten)]
    pub fn apply_written(&self, format: u32, bytes: u32, path: Option<String>) -> Result<TextHandle, JsValue> {
        let (patch, diagnostics) = written(format, 0, bytes, path.as_deref())?;
        edited(&self.text, &patch, diagnostics).map(Self::made)
    }

    /// Returns where the hunks of the patch that made it went, once: six numbers for each.
    pub fn hunks(&self) -> Vec<u32> {
        self.hunks.take().iter().flat_map(numbers_of).collect()
    }

    /// Returns what that patch was accepted with, once: JSON text, `undefined` for nothing.
    pub fn diagnostics(&self) -> Result<Option<String>, JsValue> {
        diagnostics_json(&self.diagnostics.take())
    }

    /// Returns all of it.
    pub fn text(&self) -> JsValue {
        JsValue::from_str(&self.text)
    }

    /// Returns its lines from `first` (counted from 0) until before `end`.
    pub fn lines(&self, first: u32, end: u32) -> JsValue {
        let (first, n_lines) = (count(first), count(end).saturating_sub(count(first)));
        let mut lines = text::lines(&self.text);
        let n_before: usize = lines.by_ref().take(first).map(str::len).sum();
        let n_bytes: usize = lines.take(n_lines).map(str::len).sum();
        JsValue::from_str(&self.text[n_before..n_before + n_bytes])
    }

    /// Returns its UTF-8.
    pub fn bytes(&self) -> Uint8Array {
        self.text.as_bytes().into()
    }

    /// How many bytes of UTF-8 it has.
    #[wasm_bindgen(getter, js_name = byteLength)]
    pub fn byte_length(&self) -> u32 {
        self.text.len() as u32
    }

    /// How many lines it has.
    #[wasm_bindgen(getter, js_name = lineCount)]
    pub fn line_count(&self) -> u32 {
        text::lines(&self.text).count() as u32
    }

    /// Returns its content hash.
    pub fn hash(&self) -> String {
        ContentHash::of(self.text.as_bytes()).to_string()
    }
}
