//! Merges and comparisons of three texts, which are in the slots of [`super::input_slots`]: base, ours, theirs.

use emend_edit::diff::{self, RegionKind};
use js_sys::Array;
use wasm_bindgen::prelude::*;

use super::input_slots::take;

/// Merges two versions of a base. Returns the merged text and its number of conflicts.
#[wasm_bindgen]
pub fn merge3(base_bytes: u32, our_bytes: u32, their_bytes: u32) -> Result<Array, JsValue> {
    let merged = diff::merge3(&take(0, base_bytes)?, &take(1, our_bytes)?, &take(2, their_bytes)?);
    Ok(Array::of2(&merged.text.into(), &(merged.conflicts as u32).into()))
}

/// Returns the regions of three texts: for each region its kind, then its range of lines (counted from 0) in each text.
///
/// The kinds are 0 unchanged, 1 ours, 2 theirs, 3 same, 4 conflict.
#[wasm_bindgen]
pub fn compare3(base_bytes: u32, our_bytes: u32, their_bytes: u32) -> Result<Vec<u32>, JsValue> {
    let regions = diff::compare3(&take(0, base_bytes)?, &take(1, our_bytes)?, &take(2, their_bytes)?);
    let numbers = regions.into_iter().flat_map(|region| {
        let kind = match region.kind {
            RegionKind::Unchanged => 0,
            RegionKind::Ours => 1,
            RegionKind::Theirs => 2,
            RegionKind::Same => 3,
            RegionKind::Conflict => 4,
        };
        let bounds = [region.base, region.ours, region.theirs].map(|range| [range.start as u32, range.end as u32]);
        [kind].into_iter().chain(bounds.into_iter().flatten())
    });
    Ok(numbers.collect())
}
