//! The report on the last patch: numbers that JavaScript reads where they are.

use std::cell::RefCell;

use emend_edit::patch::{AppliedHunk, Diagnostic, EditedText, Leniency};
use wasm_bindgen::prelude::*;

use super::json;

thread_local! {
    static REPORT: RefCell<Report> = RefCell::default();
}

/// What the last patch did, for JavaScript to read where it is: arrays made of it would cost more than the numbers.
#[derive(Default)]
struct Report {
    /// How many hunks there are, how many stretches ([`WHOLE`] if the text came whole) and 1 if there are diagnostics;
    /// then the hunks as [`hunk_numbers`] gives them, and for each stretch where it begins and ends in the old text and how
    /// many UTF-16 code units come for it.
    numbers: Vec<u32>,
    diagnostics: Vec<Diagnostic>,
}

/// Instead of a number of stretches: there are none since the text came whole.
const WHOLE: u32 = u32::MAX;

/// Makes the report, and returns the text.
pub(super) fn reported(edited: EditedText, cuts: Option<&[[u32; 3]]>) -> String {
    let EditedText { text, hunks, diagnostics } = edited;
    REPORT.with_borrow_mut(|report| {
        let numbers = &mut report.numbers;
        numbers.clear();
        let n_cuts = cuts.map_or(WHOLE, |cuts| cuts.len() as u32);
        numbers.extend([hunks.len() as u32, n_cuts, u32::from(!diagnostics.is_empty())]);
        hunks.iter().for_each(|hunk| numbers.extend(hunk_numbers(hunk)));
        cuts.unwrap_or_default().iter().for_each(|cut| numbers.extend(cut));
        report.diagnostics = diagnostics;
    });
    text
}

/// Returns where the numbers of the last report are in [`super::input_slots::room_memory`].
#[wasm_bindgen(js_name = reportAt)]
#[must_use]
pub fn report_at() -> u32 {
    REPORT.with_borrow(|report| report.numbers.as_ptr() as u32)
}

/// Returns the diagnostics of the last report, once, as JSON text.
#[wasm_bindgen(js_name = reportedDiagnostics)]
pub fn reported_diagnostics() -> Result<String, JsValue> {
    json(&REPORT.with_borrow_mut(|report| std::mem::take(&mut report.diagnostics)))
}

/// Where a hunk went: its number, old start and lines, new start and lines, and how it was found, the strictest way 0.
pub(super) fn hunk_numbers(hunk: &AppliedHunk) -> [u32; 6] {
    let matched = match hunk.matched {
        Leniency::Exact => 0,
        Leniency::TrailingWhitespace => 1,
        Leniency::Whitespace => 2,
        Leniency::UnicodeConfusables => 3,
    };
    [hunk.number, hunk.old_start, hunk.old_lines, hunk.new_start, hunk.new_lines, matched].map(|number| number as u32)
}
