//! Applies hunks wherever their old lines are.

use crate::diff::LineKind;
use crate::locate::hunk_error::{HunkError, HunkReason};
use crate::locate::leniency::Leniency;
use crate::locate::line_table::LineTable;
use crate::locate::placement::{HunkPattern, Placement, PlacementRules, place_all};
use crate::patch::model::HunkLines;
use crate::patch::unified::model::{UnifiedHunk, UnifiedResult};
use crate::patch::unified::strict::apply_strict;
use crate::text::{split_bom, split_eol};

/// Applies all `hunks` wherever their old lines are, or none.
///
/// A hunk whose lines are where it states is applied there. Any other hunk must match in exactly one place that keeps
/// the hunks in order. Lines are compared exactly and, only if that finds nothing, without the whitespace around them.
///
/// # Errors
/// Fails if the old lines of a hunk are not in the text, or in several places that are equally good.
pub fn apply_located(before: &str, hunks: &[UnifiedHunk]) -> Result<UnifiedResult, HunkError> {
    // A line number alone is not enough: a hunk that only inserts must not depend on it, unless there is only one
    // place.
    let is_placed = |hunk: &UnifiedHunk| hunk.n_old() > 0 || before.is_empty();
    if hunks.iter().all(is_placed)
        && let Ok(applied) = apply_strict(before, hunks)
    {
        return Ok(applied);
    }
    // A byte-order mark stays where it is, whether or not the diff shows it.
    let (bom, before) = split_bom(before);
    let table = LineTable::of_lf_lines(before);
    let patterns: Vec<HunkPattern<'_>> = hunks.iter().map(pattern_of).collect();
    let rules = PlacementRules { max_leniency: Leniency::Whitespace, append_unanchored: false };
    let places = place_all(&table, &patterns, rules).map_err(|(index, why)| {
        let new: Vec<&str> = hunks[index].lines.new_lines().map(content).collect();
        HunkError {
            hunk: index + 1,
            n_hunks: hunks.len(),
            patch_line: hunks[index].patch_line,
            reason: HunkReason::of(&table, &patterns[index], &new, why),
        }
    })?;
    let corrected: Vec<UnifiedHunk> =
        hunks.iter().zip(&places).map(|(hunk, place)| correct(&table, hunk, *place)).collect();
    let mut applied = apply_strict(before, &corrected)?;
    applied.text.insert_str(0, bom);
    for (hunk, place) in applied.hunks.iter_mut().zip(&places) {
        hunk.matched = place.matched;
    }
    Ok(applied)
}

fn pattern_of(hunk: &UnifiedHunk) -> HunkPattern<'_> {
    let is_blank_context = |&(kind, line): &(LineKind, &str)| kind == LineKind::Context && split_eol(line).0.is_empty();
    HunkPattern {
        anchors: Vec::new(),
        old: hunk.lines.old().map(content).collect(),
        n_droppable: hunk.lines.iter().rev().take_while(is_blank_context).count(),
        end_of_file: false,
        changes: hunk.lines.changes(),
        stated_line: hunk.stated(),
    }
}

/// Returns a line without its line ending, and without the byte-order mark of a first line.
fn content(line: &str) -> &str {
    split_bom(split_eol(line).0).1
}

/// Returns `hunk` with the number of its place, the old lines of the text, and line endings that fit.
fn correct(table: &LineTable<'_>, hunk: &UnifiedHunk, place: Placement) -> UnifiedHunk {
    let mut lines = HunkLines::default();
    let mut at = place.start;
    let n_lines = table.len();
    let eol_near = |line: usize| {
        let near = [line.checked_sub(1), Some(line), Some(0)];
        let eol = near.into_iter().flatten().filter(|&line| line < n_lines).map(|line| table.eol(line));
        eol.into_iter().find(|eol| !eol.is_empty()).unwrap_or("\n")
    };
    // Whether the diff states a missing newline at the end of the file. Only then its line endings there are intended.
    let says_end = hunk.lines.iter().any(|(_, line)| !line.ends_with('\n'));
    let ends_open = n_lines > 0 && table.eol(n_lines - 1).is_empty();
    let covers_end = place.start + place.len == n_lines;
    let n_kept = hunk.lines.len() - place.dropped;
    let last_new =
        hunk.lines.iter().take(n_kept).enumerate().filter(|(_, (kind, _))| *kind != LineKind::Removed).last();
    let last_new = last_new.map(|(index, _)| index);
    for (index, (kind, line)) in hunk.lines.iter().take(n_kept).enumerate() {
        if kind == LineKind::Added {
            let open = if says_end { !line.ends_with('\n') } else { ends_open };
            let is_end = covers_end && Some(index) == last_new;
            lines.push(kind, &[content(line), if is_end && open { "" } else { eol_near(at) }].concat());
        } else {
            lines.push(kind, table.text(at..at + 1));
            at += 1;
        }
    }
    UnifiedHunk { old_start: Some(place.start + usize::from(place.len > 0)), lines, patch_line: hunk.patch_line }
}
