//! Unified diffs: read, checked against a text, and applied.
//!
//! **Strict**: every hunk's old lines must stand, byte for byte, exactly at the line the hunk states. The usual tools
//! shift hunks silently; nothing here does. **Located**: models count lines badly, so wrong numbers and counts are
//! corrected by finding each hunk's old lines in the text, and the corrected diff is then applied strictly. Lines are
//! what LF ends, as in every tool that reads such diffs. Making diffs is left to the diff module.

mod parser;

pub use parser::{ParseError, parse, parse_for};

use crate::edit::{AppliedHunk, HunkLines, LineKind, Pass};
use crate::mismatch::{HunkError, HunkReason};
use crate::place::{Place, Rules, Wanted, place_all};
use crate::table::Table;
use crate::text::{split_bom, split_eol, starts_with};

/// How a diff is taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Mode {
    /// Numbers and counts must be right.
    Strict,
    /// Numbers are hints and counts are ignored: hunks are found by their lines.
    Located,
}

/// What a diff does to its file besides changing lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum FileKind {
    /// The file exists before and after.
    Update,
    /// The file is new.
    Create,
    /// The file goes; the hunks hold its whole text.
    Delete,
}

/// One file of a unified diff.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnifiedEdit {
    /// How the hunks are taken.
    pub mode: Mode,
    /// What happens to the file.
    pub kind: FileKind,
    /// Where the file is moved to, if anywhere.
    pub rename_to: Option<String>,
    /// Whether the file can be run afterwards, from git's mode lines; `None` if they say nothing about it.
    pub executable: Option<bool>,
    /// The hunks; none for a file that is only moved, or created empty.
    pub hunks: Vec<UnifiedHunk>,
}

/// One hunk of a unified diff.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct UnifiedHunk {
    /// The first old line it states, from 1; 0 if there is none before it. `None` if it states nothing.
    pub old_start: Option<usize>,
    /// Its lines with their endings. The last old and the last new one have none after `\ No newline at end of file`.
    pub lines: HunkLines,
    /// The line of the patch it starts on, from 1.
    pub patch_line: usize,
}

impl UnifiedHunk {
    fn n_old(&self) -> usize {
        self.lines.old().count()
    }

    /// Returns the line (from 0) before which, or at which, the hunk says it stands.
    fn stated(&self) -> Option<usize> {
        // A hunk without old lines states the line above it.
        let has_old = self.lines.old().next().is_some();
        self.old_start.map(|line| if has_old { line.saturating_sub(1) } else { line })
    }
}

/// A text with a diff applied.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Applied {
    /// The new text.
    pub text: String,
    /// Where each hunk went.
    pub hunks: Vec<AppliedHunk>,
    /// The hunks as they were applied: right numbers, and old lines as they are in the text (byte-order mark aside).
    pub corrected: Vec<UnifiedHunk>,
}

/// Writes hunks that state their lines as unified diff text, without file headers.
///
/// Given [`Applied::corrected`] it is the diff as it was applied, for display and for other tools.
#[must_use]
pub fn render(hunks: &[UnifiedHunk]) -> String {
    use std::fmt::Write;
    let mut text = String::new();
    let mut n_gained = 0;
    for hunk in hunks {
        let (n_old, n_new) = (hunk.n_old(), hunk.lines.new_lines().count());
        let start = hunk.stated().unwrap_or_default();
        // A side without lines states the line above it.
        let first = |start: usize, n_lines: usize| start + usize::from(n_lines > 0);
        let new_start = first(start.saturating_add_signed(n_gained), n_new);
        let _ = writeln!(text, "@@ -{},{n_old} +{new_start},{n_new} @@", first(start, n_old));
        for (kind, line) in hunk.lines.iter() {
            text.extend([kind.marker()]);
            text.push_str(line);
            if !line.ends_with('\n') {
                text.push_str("\n\\ No newline at end of file\n");
            }
        }
        n_gained += n_new.cast_signed() - n_old.cast_signed();
    }
    text
}

/// Applies `hunks` where they say they stand, or not at all.
///
/// # Errors
/// Fails if the old lines of a hunk are not, byte for byte, at the line it states, or if hunks overlap.
pub fn apply_strict(before: &str, hunks: &[UnifiedHunk]) -> Result<Applied, HunkError> {
    let (text, applied) = put(before, hunks)?;
    Ok(Applied { text, hunks: applied, corrected: hunks.to_vec() })
}

/// Applies the hunks of `edit` as its mode says, and returns the new text and where each hunk went.
pub(crate) fn apply(before: &str, edit: &UnifiedEdit) -> Result<(String, Vec<AppliedHunk>), HunkError> {
    match edit.mode {
        Mode::Strict => put(before, &edit.hunks),
        Mode::Located => apply_located(before, &edit.hunks).map(|applied| (applied.text, applied.hunks)),
    }
}

/// Puts each hunk where it says it stands. Lines are passed over by counting their ends, not one by one, and what stays
/// is copied in one piece from one change to the next.
fn put(before: &str, hunks: &[UnifiedHunk]) -> Result<(String, Vec<AppliedHunk>), HunkError> {
    let n_added: usize = hunks.iter().map(|hunk| hunk.lines.n_bytes_max()).sum();
    let mut text = String::with_capacity(before.len() + n_added);
    let mut applied = Vec::with_capacity(hunks.len());
    // The first line that no hunk has covered yet and where it starts, how many lines are written, and up to where
    // `before` is.
    let (mut next, mut next_byte, mut n_new, mut written) = (0, 0, 0, 0);
    for (index, hunk) in hunks.iter().enumerate() {
        let error = |reason| HunkError { hunk: index + 1, n_hunks: hunks.len(), patch_line: hunk.patch_line, reason };
        let Some(start) = hunk.stated() else { return Err(error(HunkReason::NoContext)) };
        if start < next {
            return Err(error(HunkReason::Overlap { line: start + 1 }));
        }
        let start_byte = match start_of_line(&before[next_byte..], start - next) {
            Ok(offset) => next_byte + offset,
            Err(n_lines) => {
                let n_lines = next + n_lines;
                let differs = |asked: &str| not_in_place(start, start, asked, None);
                let past_end = HunkReason::PastEnd { line: start, n_lines };
                return Err(error(hunk.lines.old().next().map_or(past_end, differs)));
            }
        };
        n_new += start - next;
        let new_start = n_new;
        let (mut at, mut at_byte) = (start, start_byte);
        let mut leaves_open = false;
        for (kind, line) in hunk.lines.iter() {
            let is_open = !line.ends_with('\n');
            if kind != LineKind::Added {
                let rest = &before[at_byte..];
                if !starts_with(rest, line) || (is_open && rest.len() != line.len()) {
                    return Err(error(not_in_place(start, at, line, rest.split_inclusive('\n').next())));
                }
                at += 1;
            }
            if kind != LineKind::Removed {
                leaves_open |= is_open;
                n_new += 1;
            }
            match kind {
                LineKind::Context => at_byte += line.len(),
                LineKind::Removed => {
                    text.push_str(&before[written..at_byte]);
                    at_byte += line.len();
                    written = at_byte;
                }
                LineKind::Added => {
                    text.push_str(&before[written..at_byte]);
                    text.push_str(line);
                    written = at_byte;
                }
            }
        }
        // Only the last line of either text may lack its ending.
        let before_is_open = start_byte > 0 && !before[..start_byte].ends_with('\n');
        if (at == start && n_new > new_start && before_is_open) || (leaves_open && at_byte < before.len()) {
            return Err(error(HunkReason::OpenEnd { line: start.max(1) }));
        }
        applied.push(AppliedHunk {
            number: index + 1,
            old_start: start + 1,
            old_lines: at - start,
            new_start: new_start + 1,
            new_lines: n_new - new_start,
            matched: Pass::Exact,
        });
        (next, next_byte) = (at, at_byte);
    }
    text.push_str(&before[written..]);
    Ok((text, applied))
}

fn not_in_place(start: usize, at: usize, asked: &str, found: Option<&str>) -> HunkReason {
    let (asked, found) = (asked.to_owned(), found.map(str::to_owned));
    HunkReason::NotInPlace { line: start + 1, differs_at: at + 1, asked, found }
}

/// Returns where line `number` (from 0, as LF ends lines) starts; the line after the last one starts at the end of the
/// text. If there are fewer, returns how many there are.
pub(crate) fn start_of_line(text: &str, number: usize) -> Result<usize, usize> {
    let bytes = text.as_bytes();
    let (mut n_left, mut start) = (number, 0);
    // Line ends are counted many times faster than they are found.
    for chunk in bytes.as_chunks().0 {
        let n_ends = count_line_ends(chunk);
        if n_ends >= n_left {
            break;
        }
        (n_left, start) = (n_left - n_ends, start + chunk.len());
    }
    if n_left == 0 {
        return Ok(start);
    }
    for at in memchr::memchr_iter(b'\n', &bytes[start..]) {
        n_left -= 1;
        if n_left == 0 {
            return Ok(start + at + 1);
        }
    }
    if !text.is_empty() && !text.ends_with('\n') {
        n_left -= 1;
    }
    if n_left == 0 { Ok(text.len()) } else { Err(number - n_left) }
}

/// How many bytes are counted at once: sums of so many still fit into a byte, and compilers make vectors of those.
const COUNTED_BYTES: usize = 240;

fn count_line_ends(bytes: &[u8; COUNTED_BYTES]) -> usize {
    usize::from(bytes.iter().map(|byte| u8::from(*byte == b'\n')).sum::<u8>())
}

/// Applies `hunks` wherever their old lines are, or not at all.
///
/// A hunk that stands where it says is taken there. Any other must fit in exactly one place that keeps the hunks in
/// order; lines are compared exactly and, only if that finds nothing, without the blanks around them.
///
/// # Errors
/// Fails if a hunk's old lines are nowhere, or in several places that are equally good.
pub fn apply_located(before: &str, hunks: &[UnifiedHunk]) -> Result<Applied, HunkError> {
    // A number alone is no place: what only inserts must not rest on it, unless there is only one place anyway.
    let is_placed = |hunk: &UnifiedHunk| hunk.n_old() > 0 || before.is_empty();
    if hunks.iter().all(is_placed)
        && let Ok(applied) = apply_strict(before, hunks)
    {
        return Ok(applied);
    }
    // A byte-order mark stays where it is, whether or not the diff shows it.
    let (bom, before) = split_bom(before);
    let table = Table::of_lf_lines(before);
    let wanted: Vec<Wanted<'_>> = hunks.iter().map(wanted).collect();
    let rules = Rules { most: Pass::Indentation, append: false };
    let places = place_all(&table, &wanted, rules).map_err(|(index, why)| {
        let new: Vec<&str> = hunks[index].lines.new_lines().map(content).collect();
        HunkError {
            hunk: index + 1,
            n_hunks: hunks.len(),
            patch_line: hunks[index].patch_line,
            reason: HunkReason::of(&table, &wanted[index], &new, why),
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

fn wanted(hunk: &UnifiedHunk) -> Wanted<'_> {
    let is_blank_context = |&(kind, line): &(LineKind, &str)| kind == LineKind::Context && split_eol(line).0.is_empty();
    Wanted {
        anchors: Vec::new(),
        old: hunk.lines.old().map(content).collect(),
        n_droppable: hunk.lines.iter().rev().take_while(is_blank_context).count(),
        end_of_file: false,
        changes: hunk.lines.changes(),
        stated: hunk.stated(),
    }
}

/// Returns a line without its ending, and without the byte-order mark of a first line.
fn content(line: &str) -> &str {
    split_bom(split_eol(line).0).1
}

/// Returns `hunk` with the number of its place, the text's own old lines, and endings that fit in.
fn correct(table: &Table<'_>, hunk: &UnifiedHunk, place: Place) -> UnifiedHunk {
    let mut lines = HunkLines::default();
    let mut at = place.start;
    let n_lines = table.len();
    let eol_near = |line: usize| {
        let near = [line.checked_sub(1), Some(line), Some(0)];
        let eol = near.into_iter().flatten().filter(|&line| line < n_lines).map(|line| table.eol(line));
        eol.into_iter().find(|eol| !eol.is_empty()).unwrap_or("\n")
    };
    // Whether the diff itself speaks about the end of the file, so that its endings there are meant.
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

#[cfg(test)]
mod tests;
