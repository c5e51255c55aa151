//! The patch format of `apply_patch`, version 4a: files by name, hunks that find their own place by their lines.
//!
//! The grammar is the agent-loop specification's appendix A. What is accepted beyond it is listed in
//! `docs/patch-cases.md`, and every slip that is accepted comes back as a [`Diagnostic`] that teaches the form.
//! [`parse`] reads a whole patch, [`Parser`] one that is still arriving; [`apply`] puts one file's hunks into its text.
//! Files are created, moved and deleted in [`crate::plan`].

mod parser;
mod verbatim;
mod wrapping;

pub use crate::edit::Patch;
pub use parser::{ParseError, Parser};

use crate::edit::{AppliedHunk, Diagnostic, Hunk, LineKind, Pass};
use crate::mismatch::{HunkError, HunkReason};
use crate::order::sort_by_key;
use crate::place::{Place, Rules, Wanted, place_all};
use crate::splice::{NewEol, Splice};
use crate::table::Table;

/// Reads a whole patch.
///
/// # Errors
/// Fails if the text is no v4a patch or is cut short; nothing of such a patch may be applied.
///
/// ```
/// use emend_edit::v4a;
/// let text = "*** Begin Patch\n*** Update File: a.txt\n@@\n-old\n+new\n*** End Patch\n";
/// let (patch, diagnostics) = v4a::parse(text).unwrap();
/// assert_eq!(patch.paths(), ["a.txt"]);
/// assert!(diagnostics.is_empty());
/// ```
pub fn parse(text: &str) -> Result<(Patch, Vec<Diagnostic>), ParseError> {
    let mut parser = Parser::new();
    parser.push(text)?;
    parser.finish()
}

/// A text with hunks applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The new text.
    pub text: String,
    /// Where each hunk went, in the order of the patch.
    pub hunks: Vec<AppliedHunk>,
}

/// Applies all `hunks` to `before`, or none.
///
/// Bytes of `before` that no hunk deletes stay as they are, also where context matched only loosely. A new line takes
/// the ending of the file's first line. Text that does not end in a line ending keeps lacking
/// it unless its last line is replaced or followed by a new one.
///
/// # Errors
/// Fails if a hunk has no place, or more than one place that is equally good.
pub fn apply(before: &str, hunks: &[Hunk]) -> Result<Applied, HunkError> {
    match verbatim::apply(before, hunks) {
        Some(applied) => Ok(applied),
        None => apply_by_lines(before, hunks),
    }
}

fn apply_by_lines(before: &str, hunks: &[Hunk]) -> Result<Applied, HunkError> {
    let table = Table::new(before);
    let wanted: Vec<Wanted<'_>> = hunks.iter().map(wanted).collect();
    let rules = Rules { most: Pass::LookAlikes, append: true };
    let places = place_all(&table, &wanted, rules).map_err(|(index, why)| {
        let new: Vec<&str> = hunks[index].lines.new_lines().collect();
        HunkError {
            hunk: index + 1,
            n_hunks: hunks.len(),
            patch_line: hunks[index].patch_line,
            reason: HunkReason::of(&table, &wanted[index], &new, why),
        }
    })?;
    // Hunks that append come last, whatever their position in the patch.
    let mut order: Vec<usize> = (0..hunks.len()).collect();
    sort_by_key(&mut order, |&index| places[index].start);
    let mut splice = Splice::new(&table, NewEol::First);
    let mut applied = vec![None; hunks.len()];
    for index in order {
        applied[index] = Some(put(&mut splice, &hunks[index], places[index], index + 1));
    }
    Ok(Applied { text: splice.finish(), hunks: applied.into_iter().flatten().collect() })
}

fn wanted(hunk: &Hunk) -> Wanted<'_> {
    let old: Vec<&str> = hunk.lines.old().collect();
    let ends_in_context =
        hunk.lines.iter().rev().take_while(|&(kind, line)| kind == LineKind::Context && line.is_empty());
    Wanted {
        n_droppable: ends_in_context.count(),
        anchors: hunk.anchors.iter().map(String::as_str).collect(),
        old,
        end_of_file: hunk.end_of_file,
        changes: hunk.lines.changes(),
        stated: None,
    }
}

fn put<'a>(splice: &mut Splice<'a, '_>, hunk: &'a Hunk, place: Place, number: usize) -> AppliedHunk {
    splice.keep_to(place.start);
    let new_start = splice.n_lines();
    let n_lines = hunk.lines.len() - place.dropped;
    for (kind, line) in hunk.lines.iter().take(n_lines) {
        match kind {
            LineKind::Context => splice.keep(),
            LineKind::Removed => splice.delete(),
            LineKind::Added => splice.insert(line),
        }
    }
    splice.settle();
    AppliedHunk {
        number,
        old_start: place.start + 1,
        old_lines: place.len,
        new_start: new_start + 1,
        new_lines: splice.n_lines() - new_start,
        matched: place.matched,
    }
}

#[cfg(test)]
mod properties;
#[cfg(test)]
mod tests;
