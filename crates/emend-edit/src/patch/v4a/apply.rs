//! Applies v4a hunks to a text.

use crate::diff::LineKind;
use crate::locate::hunk_error::{HunkError, HunkReason};
use crate::locate::leniency::Leniency;
use crate::locate::line_table::LineTable;
use crate::locate::placement::{HunkPattern, Placement, PlacementRules, place_all};
use crate::locate::text_builder::{NewEol, TextBuilder};
use crate::patch::model::AppliedHunk;
use crate::patch::v4a::fast_path;
use crate::patch::v4a::model::{V4aHunk, V4aResult};
use crate::size::compact_sort::sort_by_key;

/// Applies all `hunks` to `before`, or none.
///
/// Bytes of `before` that no hunk deletes stay as they are, even where context matched only loosely. A new line gets
/// the line ending of the first line of the file. A text without a trailing newline keeps lacking it, unless its last
/// line is replaced or followed by a new one.
///
/// # Errors
/// Fails if a hunk matches nowhere, or in several places that are equally good.
pub fn apply(before: &str, hunks: &[V4aHunk]) -> Result<V4aResult, HunkError> {
    match fast_path::apply(before, hunks) {
        Some(applied) => Ok(applied),
        None => apply_by_lines(before, hunks),
    }
}

pub(super) fn apply_by_lines(before: &str, hunks: &[V4aHunk]) -> Result<V4aResult, HunkError> {
    let table = LineTable::new(before);
    let patterns: Vec<HunkPattern<'_>> = hunks.iter().map(pattern_of).collect();
    let rules = PlacementRules { max_leniency: Leniency::UnicodeConfusables, append_unanchored: true };
    let places = place_all(&table, &patterns, rules).map_err(|(index, why)| {
        let new: Vec<&str> = hunks[index].lines.new_lines().collect();
        HunkError {
            hunk: index + 1,
            n_hunks: hunks.len(),
            patch_line: hunks[index].patch_line,
            reason: HunkReason::of(&table, &patterns[index], &new, why),
        }
    })?;
    // Hunks that append come last, whatever their position in the patch is.
    let mut order: Vec<usize> = (0..hunks.len()).collect();
    sort_by_key(&mut order, |&index| places[index].start);
    let mut builder = TextBuilder::new(&table, NewEol::First);
    let mut applied = vec![None; hunks.len()];
    for index in order {
        applied[index] = Some(apply_hunk(&mut builder, &hunks[index], places[index], index + 1));
    }
    Ok(V4aResult { text: builder.finish(), hunks: applied.into_iter().flatten().collect() })
}

fn pattern_of(hunk: &V4aHunk) -> HunkPattern<'_> {
    let old: Vec<&str> = hunk.lines.old().collect();
    let ends_in_context =
        hunk.lines.iter().rev().take_while(|&(kind, line)| kind == LineKind::Context && line.is_empty());
    HunkPattern {
        n_droppable: ends_in_context.count(),
        anchors: hunk.anchors.iter().map(String::as_str).collect(),
        old,
        end_of_file: hunk.end_of_file,
        changes: hunk.lines.changes(),
        stated_line: None,
    }
}

fn apply_hunk<'a>(
    builder: &mut TextBuilder<'a, '_>,
    hunk: &'a V4aHunk,
    place: Placement,
    number: usize,
) -> AppliedHunk {
    builder.keep_to(place.start);
    let new_start = builder.n_lines();
    let n_lines = hunk.lines.len() - place.dropped;
    for (kind, line) in hunk.lines.iter().take(n_lines) {
        match kind {
            LineKind::Context => builder.keep(),
            LineKind::Removed => builder.delete(),
            LineKind::Added => builder.insert(line),
        }
    }
    builder.end_change();
    AppliedHunk {
        number,
        old_start: place.start + 1,
        old_lines: place.len,
        new_start: new_start + 1,
        new_lines: builder.n_lines() - new_start,
        matched: place.matched,
    }
}
