//! Applies hunks exactly at the lines they state.

use crate::diff::LineKind;
use crate::locate::hunk_error::{HunkError, HunkReason};
use crate::locate::leniency::Leniency;
use crate::patch::model::AppliedHunk;
use crate::patch::unified::model::{UnifiedHunk, UnifiedResult};
use crate::text::{start_of_line, starts_with};

/// Applies all `hunks` at the lines they state, or none.
///
/// # Errors
/// Fails if the old lines of a hunk are not, byte for byte, at the line it states, or if hunks overlap.
pub fn apply_strict(before: &str, hunks: &[UnifiedHunk]) -> Result<UnifiedResult, HunkError> {
    let (text, applied) = apply_hunks(before, hunks)?;
    Ok(UnifiedResult { text, hunks: applied, corrected: hunks.to_vec() })
}

/// Applies each hunk at the line it states, and returns the new text and where each hunk was applied.
///
/// Lines are skipped by counting their line endings instead of visiting them, and the text between two changes is
/// copied at once.
pub(super) fn apply_hunks(before: &str, hunks: &[UnifiedHunk]) -> Result<(String, Vec<AppliedHunk>), HunkError> {
    let n_added: usize = hunks.iter().map(|hunk| hunk.lines.n_bytes_max()).sum();
    let mut text = String::with_capacity(before.len() + n_added);
    let mut applied = Vec::with_capacity(hunks.len());
    // The first line after the previous hunk and its offset, the number of lines written, and the offset in `before`
    // up to which text was written.
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
        // Only the last line of either text may lack its line ending.
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
            matched: Leniency::Exact,
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
