//! The report on the last patch: numbers that JavaScript reads directly from the module's memory.
//!
//! `docs/protocols.md` describes the layout.

use std::cell::RefCell;

use emend_edit::patch::{AppliedHunk, Diagnostic, EditedText, Leniency};
use wasm_bindgen::prelude::*;

use super::json;

thread_local! {
    static REPORT: RefCell<Report> = RefCell::default();
}

/// The outcome of the last patch. Building JavaScript arrays would take longer than producing the numbers.
#[derive(Default)]
struct Report {
    /// The number of hunks, the number of changed ranges ([`WHOLE`] if the text is returned whole), and 1 if there are
    /// diagnostics. Then the hunks as [`hunk_numbers`] gives them. Then, for each changed range, its start and end in the
    /// old text and the length of its replacement, all in UTF-16 code units.
    numbers: Vec<u32>,
    diagnostics: Vec<Diagnostic>,
}

/// Stands for the number of changed ranges if the text is returned whole.
const WHOLE: u32 = u32::MAX;

/// Stores the report on `edited` and returns its text.
pub(super) fn store_report(edited: EditedText, ranges: Option<&[[u32; 3]]>) -> String {
    let EditedText { text, hunks, diagnostics } = edited;
    REPORT.with_borrow_mut(|report| {
        let numbers = &mut report.numbers;
        numbers.clear();
        let n_ranges = ranges.map_or(WHOLE, |ranges| ranges.len() as u32);
        numbers.extend([hunks.len() as u32, n_ranges, u32::from(!diagnostics.is_empty())]);
        hunks.iter().for_each(|hunk| numbers.extend(hunk_numbers(hunk)));
        ranges.unwrap_or_default().iter().for_each(|range| numbers.extend(range));
        report.diagnostics = diagnostics;
    });
    text
}

/// Returns the address of the last report's numbers in [`super::input_slots::room_memory`].
#[wasm_bindgen(js_name = reportAt)]
#[must_use]
pub fn report_at() -> u32 {
    REPORT.with_borrow(|report| report.numbers.as_ptr() as u32)
}

/// Takes the diagnostics out of the last report, as JSON text.
#[wasm_bindgen(js_name = reportedDiagnostics)]
pub fn reported_diagnostics() -> Result<String, JsValue> {
    json(&REPORT.with_borrow_mut(|report| std::mem::take(&mut report.diagnostics)))
}

/// Returns a hunk as six numbers: its number in the patch, old start, old lines, new start, new lines, and its leniency
/// (0 is exact).
pub(super) fn hunk_numbers(hunk: &AppliedHunk) -> [u32; 6] {
    let matched = match hunk.matched {
        Leniency::Exact => 0,
        Leniency::TrailingWhitespace => 1,
        Leniency::Whitespace => 2,
        Leniency::UnicodeConfusables => 3,
    };
    [hunk.number, hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, matched].map(|number| number as u32)
}
