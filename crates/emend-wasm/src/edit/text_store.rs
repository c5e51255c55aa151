//! Patches on single texts, and texts that stay in the module so that only patches cross the boundary.

use std::cell::RefCell;

use emend_edit::ContentHash;
use emend_edit::patch::{ChangedRange, Diagnostic, EditedText, Patch, changed_ranges, edit_text};
use emend_edit::text;
use js_sys::Uint8Array;
use wasm_bindgen::prelude::*;

use super::patch::{PatchHandle, parse_text};
use super::report::store_report;
use super::{count, input_slots};
use crate::failure::Failure;

/// The texts that JavaScript refers to by id.
///
/// Ids are plain numbers: an object of the generated glue for each text costs half a microsecond and garbage, a twentieth
/// of the time that patching a thousand lines takes.
#[derive(Default)]
struct TextStore {
    /// Each text at its id.
    texts: Vec<String>,
    /// Ids that can be used again.
    free: Vec<u32>,
}

thread_local! {
    static TEXTS: RefCell<TextStore> = RefCell::default();
}

/// Stores a text and returns its id. A stored text never changes; a patch makes a new one.
fn insert(text: String) -> u32 {
    TEXTS.with_borrow_mut(|TextStore { texts, free }| {
        if let Some(id) = free.pop() {
            texts[id as usize] = text;
            return id;
        }
        texts.push(text);
        texts.len() as u32 - 1
    })
}

/// Calls `work` with the text of an id, or with an empty text if [`text_free`] has released the id.
fn with_text<T>(id: u32, work: impl FnOnce(&str) -> T) -> T {
    TEXTS.with_borrow(|TextStore { texts, .. }| work(texts.get(id as usize).map_or("", String::as_str)))
}

/// Applies a patch. The diagnostics of its parser come before those of the edit.
fn apply(before: &str, patch: &Patch, parsed: Vec<Diagnostic>) -> Result<EditedText, JsValue> {
    let mut edited = edit_text(before, patch).map_err(|error| Failure::of_edit(&error).into_js())?;
    edited.diagnostics.splice(0..0, parsed);
    Ok(edited)
}

/// Texts of fewer bytes are returned whole: making a string of one takes less time than joining the new parts.
const JOINED_BYTES_MIN: usize = 1 << 16;

/// Stores the report and returns the new text.
///
/// For a large ASCII text (as many UTF-16 code units as bytes, so that offsets are the same in both), returns only the
/// concatenated replacements of its changed ranges. The report says which ranges of the old text they replace.
fn new_text(before: &str, units: u32, edited: EditedText) -> JsValue {
    let is_large = before.len() >= JOINED_BYTES_MIN && before.len() == units as usize;
    let Some(ranges) = is_large.then(|| changed_ranges(before, &edited)).flatten() else {
        return store_report(edited, None).into();
    };
    let mut fresh = String::new();
    let numbers_of = |ChangedRange { old, new }| {
        let new = &edited.text[new];
        fresh.push_str(new);
        let units = if new.is_ascii() { new.len() } else { new.encode_utf16().count() };
        [old.start, old.end, units].map(|number| number as u32)
    };
    let ranges: Vec<[u32; 3]> = ranges.into_iter().map(numbers_of).collect();
    store_report(edited, Some(&ranges));
    fresh.into()
}

/// Applies a patch to the text in slot 0, which has `bytes` bytes and `units` UTF-16 code units. Returns as [`new_text`].
#[wasm_bindgen(js_name = editText)]
pub fn edit_text_of(bytes: u32, units: u32, patch: &PatchHandle) -> Result<JsValue, JsValue> {
    let before = input_slots::take(0, bytes)?;
    Ok(new_text(&before, units, apply(&before, &patch.patch, patch.diagnostics.clone())?))
}

/// As [`edit_text_of`], for a patch in slot 1 whose format has the number `format`.
#[wasm_bindgen(js_name = editTextWritten)]
pub fn edit_text_written(
    bytes: u32,
    units: u32,
    format: u32,
    patch_bytes: u32,
    path: Option<String>,
) -> Result<JsValue, JsValue> {
    let before = input_slots::take(0, bytes)?;
    let (patch, diagnostics) = parse_text(format, 1, patch_bytes, path.as_deref())?;
    Ok(new_text(&before, units, apply(&before, &patch, diagnostics)?))
}

/// Stores the text in slot 0 and returns its id.
#[wasm_bindgen(js_name = textOf)]
pub fn text_of(bytes: u32) -> Result<u32, JsValue> {
    input_slots::take(0, bytes).map(insert)
}

/// Stores the bytes of a file as a text and returns its id.
#[wasm_bindgen(js_name = textFrom)]
pub fn text_from(bytes: &[u8]) -> Result<u32, JsValue> {
    let text = text::decode(bytes).map_err(|error| Failure::new(error.code().into(), error.to_string()).into_js())?;
    Ok(insert(text.to_owned()))
}

/// Releases a text and its id.
#[wasm_bindgen(js_name = textFree)]
pub fn text_free(id: u32) {
    TEXTS.with_borrow_mut(|TextStore { texts, free }| {
        texts[id as usize] = String::new();
        free.push(id);
    });
}

/// Applies a patch to a stored text, ignoring the path in the patch. Stores the report and returns the new text's id.
#[wasm_bindgen(js_name = textApply)]
pub fn text_apply(id: u32, patch: &PatchHandle) -> Result<u32, JsValue> {
    let made = with_text(id, |before| apply(before, &patch.patch, patch.diagnostics.clone()))?;
    Ok(insert(store_report(made, None)))
}

/// As [`text_apply`], for a patch in slot 0 whose format has the number `format`.
#[wasm_bindgen(js_name = textApplyWritten)]
pub fn text_apply_written(id: u32, format: u32, bytes: u32, path: Option<String>) -> Result<u32, JsValue> {
    let (patch, diagnostics) = parse_text(format, 0, bytes, path.as_deref())?;
    let made = with_text(id, |before| apply(before, &patch, diagnostics))?;
    Ok(insert(store_report(made, None)))
}

/// Returns a whole text as a string.
#[wasm_bindgen(js_name = textString)]
#[must_use]
pub fn text_string(id: u32) -> JsValue {
    with_text(id, JsValue::from_str)
}

/// Returns the lines `first..end` of a text, counted from 0.
#[wasm_bindgen(js_name = textLines)]
#[must_use]
pub fn text_lines(id: u32, first: u32, end: u32) -> JsValue {
    let (first, n_lines) = (count(first), count(end).saturating_sub(count(first)));
    with_text(id, |text| {
        let mut lines = text::lines(text);
        let n_before: usize = lines.by_ref().take(first).map(str::len).sum();
        let n_bytes: usize = lines.take(n_lines).map(str::len).sum();
        JsValue::from_str(&text[n_before..n_before + n_bytes])
    })
}

/// Returns a text as UTF-8 bytes.
#[wasm_bindgen(js_name = textBytes)]
#[must_use]
pub fn text_bytes(id: u32) -> Uint8Array {
    with_text(id, |text| text.as_bytes().into())
}

/// Returns the length of a text in UTF-8 bytes.
#[wasm_bindgen(js_name = textByteLength)]
#[must_use]
pub fn text_byte_length(id: u32) -> u32 {
    with_text(id, |text| text.len() as u32)
}

/// Returns the number of lines of a text.
#[wasm_bindgen(js_name = textLineCount)]
#[must_use]
pub fn text_line_count(id: u32) -> u32 {
    with_text(id, |text| text::lines(text).count() as u32)
}

/// Returns the content hash of a text.
#[wasm_bindgen(js_name = textHash)]
#[must_use]
pub fn text_hash(id: u32) -> String {
    with_text(id, |text| ContentHash::of(text.as_bytes()).to_string())
}

#[cfg(test)]
mod tests {
    use js_sys::{Uint32Array, WebAssembly};
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::edit::report::{report_at, reported_diagnostics};

    // The formats as JavaScript numbers them.
    const V4A: u32 = 0;

    fn memory() -> JsValue {
        input_slots::room_memory().unchecked_into::<WebAssembly::Memory>().buffer()
    }

    /// Writes a text into a slot through the module's memory, as `put` in `pkg/src/wasm/edit.ts` does.
    fn put(slot: u32, text: &str) -> u32 {
        let (n_bytes, half) = (text.len() as u32, text.len() as u32 / 2);
        // Room is asked for twice: the bytes that are there already have to stay.
        for (from, to) in [(0, half), (half, n_bytes)] {
            let start = input_slots::room_for(slot, to);
            let room = Uint8Array::new_with_byte_offset_and_length(&memory(), start + from, to - from);
            room.copy_from(&text.as_bytes()[from as usize..to as usize]);
        }
        n_bytes
    }

    /// The hunks of a report, its changed ranges if the text is not whole, and whether there are diagnostics.
    type Report = (Vec<[u32; 6]>, Option<Vec<[u32; 3]>>, bool);

    /// Reads the last report through the module's memory, as `report` in `pkg/src/edit/text.ts` does.
    fn report() -> Report {
        let numbers = |from: u32, n_numbers| {
            let start = report_at() + 4 * from;
            Uint32Array::new_with_byte_offset_and_length(&memory(), start, n_numbers).to_vec()
        };
        let head = numbers(0, 3);
        let hunks = numbers(3, 6 * head[0]);
        let ranges = (head[1] != u32::MAX).then(|| numbers(3 + 6 * head[0], 3 * head[1]));
        let hunks = hunks.chunks_exact(6).map(|hunk| hunk.try_into().unwrap()).collect();
        let ranges = ranges.map(|all| all.chunks_exact(3).map(|range| range.try_into().unwrap()).collect());
        (hunks, ranges, head[2] == 1)
    }

    fn patch(old: &str, new: &str) -> String {
        format!("*** Begin Patch\n*** Update File: a\n@@\n-{old}\n+{new}\n*** End Patch")
    }

    #[test]
    fn a_patched_text_keeps_its_id_until_it_is_freed() {
        let id = text_of(put(0, "one\ntwö\n")).unwrap();
        let made = text_apply_written(id, V4A, put(0, &patch("twö", "2")), None).unwrap();
        assert_eq!(report(), (vec![[1, 2, 1, 2, 1, 0]], None, false));
        let text = |id| text_string(id).as_string().unwrap();
        assert_eq!((text(id).as_str(), text(made).as_str()), ("one\ntwö\n", "one\n2\n"));
        text_free(id);
        assert_eq!(text_of(put(0, "three")).unwrap(), id, "a free id is used again");
        assert_eq!((text(id).as_str(), text(made).as_str()), ("three", "one\n2\n"));
        text_free(id);
        text_free(made);
    }

    #[test]
    fn a_large_text_is_joined_from_its_changed_ranges() {
        let before = format!("{}needle\n{}", "a\n".repeat(20_000), "b\n".repeat(20_000));
        let n_bytes = put(0, &before);
        let edit = edit_text_written(n_bytes, before.len() as u32, V4A, put(1, &patch("needle", "née")), None);
        let new_parts: Vec<u16> = edit.unwrap().as_string().unwrap().encode_utf16().collect();
        let (hunks, ranges, has_diagnostics) = report();
        assert_eq!((hunks, has_diagnostics), (vec![[1, 20_001, 1, 20_001, 1, 0]], false));
        let (mut joined, mut at, mut used) = (String::new(), 0, 0);
        for [start, end, units] in ranges.unwrap().into_iter().map(|range| range.map(|number| number as usize)) {
            joined += &before[at..start];
            joined += &String::from_utf16(&new_parts[used..used + units]).unwrap();
            (at, used) = (end, used + units);
        }
        joined += &before[at..];
        assert!(joined == before.replace("needle", "née"), "the joined text differs");
    }

    #[test]
    fn diagnostics_of_a_report_are_taken_once() {
        let id = text_of(put(0, "one  \n")).unwrap();
        let made = text_apply_written(id, V4A, put(0, &patch("one", "two")), None).unwrap();
        let (hunks, _, has_diagnostics) = report();
        assert_eq!((hunks[0][5], has_diagnostics), (1, true), "only trailing whitespace differs");
        assert_ne!(reported_diagnostics().unwrap(), "[]");
        assert_eq!(reported_diagnostics().unwrap(), "[]");
        text_free(id);
        text_free(made);
    }
}
