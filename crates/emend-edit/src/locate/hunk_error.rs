//! Explains why a hunk was rejected: which hunk, which line differs, what the file has instead, and what to do.
//!
//! The reasons come from [`crate::locate::placement`] and from the strict check of unified diffs.

use std::collections::HashSet;
use std::fmt;

use serde::Serialize;

use crate::error_code::ErrorCode;
use crate::locate::leniency::LENIENCIES;
use crate::locate::line_table::LineTable;
use crate::locate::nearest::{Nearest, nearest};
use crate::locate::placeholder::is_placeholder;
use crate::locate::placement::{HunkPattern, PlacementError};

/// A hunk was rejected. No hunk of its file edit was applied.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct HunkError {
    /// Number of the hunk in its file edit, from 1.
    pub hunk: usize,
    /// Number of hunks of the file edit.
    pub n_hunks: usize,
    /// Line of the patch at which the hunk starts, from 1.
    pub patch_line: usize,
    /// Why it was rejected.
    pub reason: HunkReason,
}

/// Why a hunk was rejected. Line numbers are those of the file, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum HunkReason {
    /// The line named after `@@` is not in the part of the file that was searched.
    AnchorNotFound {
        /// The line as the patch writes it.
        anchor: String,
        /// Lines of the file that resemble it.
        nearest: Vec<Nearest>,
    },
    /// The context and deleted lines are not in the file.
    NotFound {
        /// The regions that resemble them most.
        nearest: Vec<Nearest>,
    },
    /// The context and deleted lines are not in the file, but the lines that should replace them are.
    AlreadyApplied {
        /// First of these lines.
        line: usize,
    },
    /// The lines contain a placeholder such as `...` for omitted text.
    Elided {
        /// The line with the placeholder, trimmed.
        placeholder: String,
    },
    /// The lines are only found before the end of an earlier hunk, or above the `@@` line.
    OutOfOrder {
        /// First of these lines.
        line: usize,
    },
    /// The hunk is marked as the end of the file, but its lines are found further up.
    NotAtEnd {
        /// First of these lines.
        line: usize,
    },
    /// The lines are found in several places.
    Ambiguous {
        /// First line of each place, at most 20.
        lines: Vec<usize>,
        /// Number of places.
        n_places: usize,
    },
    /// The hunk only inserts lines and has no context.
    NoContext,
    /// The lines of the file at the stated line differ.
    NotInPlace {
        /// The line that the hunk states.
        line: usize,
        /// The first line that differs.
        differs_at: usize,
        /// That line according to the hunk.
        asked: String,
        /// That line in the file, or `None` past the end of the file.
        found: Option<String>,
    },
    /// The hunk states a line past the end of the file.
    PastEnd {
        /// The line that the hunk states.
        line: usize,
        /// Number of lines of the file.
        n_lines: usize,
    },
    /// The hunk adds a line after a line that has no line ending, in the file or in the hunk.
    OpenEnd {
        /// The line without line ending.
        line: usize,
    },
    /// The hunk overlaps the one before it.
    Overlap {
        /// The line that the hunk states.
        line: usize,
    },
}

impl HunkError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self.reason {
            HunkReason::Ambiguous { .. } => ErrorCode::Ambiguous,
            HunkReason::NoContext | HunkReason::Elided { .. } | HunkReason::Overlap { .. } => {
                ErrorCode::InvalidArgument
            }
            _ => ErrorCode::Conflict,
        }
    }

    /// Returns up to three places that the author may have meant, each with its line number.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match &self.reason {
            HunkReason::NotFound { nearest } | HunkReason::AnchorNotFound { nearest, .. } => suggest(nearest),
            HunkReason::Ambiguous { lines, .. } => lines.iter().take(3).map(|line| format!("line {line}")).collect(),
            _ => Vec::new(),
        }
    }
}

impl HunkReason {
    /// Adds to a failed placement what the author needs to know.
    pub(crate) fn of(table: &LineTable<'_>, hunk: &HunkPattern<'_>, new: &[&str], why: PlacementError) -> Self {
        match why {
            PlacementError::AnchorNotFound { anchor } => {
                let file: Vec<&str> = table.contents().collect();
                HunkReason::AnchorNotFound { nearest: nearest(&file, &[anchor.as_str()], 3), anchor }
            }
            PlacementError::NotFound => not_found(table, hunk, new),
            PlacementError::OutOfOrder { start } => HunkReason::OutOfOrder { line: start + 1 },
            PlacementError::NotAtEnd { start } => HunkReason::NotAtEnd { line: start + 1 },
            PlacementError::Ambiguous { starts } => HunkReason::Ambiguous {
                n_places: starts.len(),
                lines: starts.into_iter().take(20).map(|start| start + 1).collect(),
            },
            PlacementError::NoContext => HunkReason::NoContext,
        }
    }
}

fn not_found(table: &LineTable<'_>, hunk: &HunkPattern<'_>, new: &[&str]) -> HunkReason {
    if hunk.changes
        && new.iter().any(|line| !line.trim().is_empty())
        && let Some(start) = LENIENCIES.into_iter().take(2).find_map(|pass| table.find(new, pass, 0..table.len()))
        && inserts_anything(hunk, new)
    {
        return HunkReason::AlreadyApplied { line: start + 1 };
    }
    if let Some(placeholder) = hunk.old.iter().find(|line| is_placeholder(line)) {
        return HunkReason::Elided { placeholder: placeholder.trim().to_owned() };
    }
    let file: Vec<&str> = table.contents().collect();
    HunkReason::NotFound { nearest: nearest(&file, &hunk.old, 3) }
}

/// Returns whether `new` has a line that `old` lacks. Finding only the others proves nothing: they were there before.
fn inserts_anything(hunk: &HunkPattern<'_>, new: &[&str]) -> bool {
    let old: HashSet<&str> = hunk.old.iter().copied().collect();
    new.iter().any(|line| !line.trim().is_empty() && !old.contains(line))
}

/// Returns one text per region, with its diff from the given lines.
pub(crate) fn suggest(regions: &[Nearest]) -> Vec<String> {
    regions
        .iter()
        .map(|region| match region.n_lines {
            0 | 1 => format!("line {}:\n{}", region.line, region.diff),
            n_lines => format!("lines {}-{}:\n{}", region.line, region.line + n_lines - 1, region.diff),
        })
        .collect()
}

/// Writes where the most similar region is and how it differs.
pub(crate) fn write_nearest(f: &mut fmt::Formatter<'_>, regions: &[Nearest]) -> fmt::Result {
    let Some(region) = regions.first() else {
        return write!(f, "; nothing in the file resembles it");
    };
    write!(f, "; the nearest place starts at line {}", region.line)?;
    let Some(difference) = &region.difference else { return Ok(()) };
    let (line, asked_line) = (difference.line, difference.asked_line);
    match (&difference.asked, &difference.found) {
        (Some(asked), Some(found)) => {
            write!(f, " and first differs at line {line}:\n  given:   {asked:?}\n  in file: {found:?}")
        }
        (Some(asked), None) => write!(f, " and lacks the given line {asked_line}: {asked:?}"),
        (None, Some(found)) => write!(f, " and has one more line, line {line}: {found:?}"),
        (None, None) => Ok(()),
    }
}

/// Writes `lines` as a list, and how many more there are.
pub(crate) fn write_lines(f: &mut fmt::Formatter<'_>, lines: &[usize], n_places: usize) -> fmt::Result {
    for (index, line) in lines.iter().enumerate() {
        write!(f, "{}{line}", if index == 0 { "" } else { ", " })?;
    }
    if n_places > lines.len() {
        write!(f, " and {} more", n_places - lines.len())?;
    }
    Ok(())
}

impl fmt::Display for HunkError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "hunk {} of {} (patch line {}) ", self.hunk, self.n_hunks, self.patch_line)?;
        match &self.reason {
            HunkReason::AnchorNotFound { anchor, nearest } => {
                write!(f, "names a line that is not in the file: `@@ {anchor}`")?;
                write_nearest(f, nearest)
            }
            HunkReason::NotFound { nearest } => {
                write!(f, "does not match: its context and deleted lines are not in the file")?;
                write_nearest(f, nearest)
            }
            HunkReason::AlreadyApplied { line } => {
                write!(f, "is already applied at line {line}: its new lines are there and its old lines are not")
            }
            HunkReason::Elided { placeholder } => {
                write!(f, "omits text (`{placeholder}`); write every line of the context as it is in the file")
            }
            HunkReason::OutOfOrder { line } => write!(
                f,
                "is out of order: its lines are at line {line}, above the end of the previous hunk or above its `@@` \
                 line; write the hunks in file order and each line only once"
            ),
            HunkReason::NotAtEnd { line } => {
                write!(
                    f,
                    "is marked `*** End of File`, but its lines are at line {line}, further up; remove the marker or add the last lines"
                )
            }
            HunkReason::Ambiguous { lines, n_places } => {
                write!(f, "matches in {n_places} places, lines ")?;
                write_lines(f, lines, *n_places)?;
                write!(f, "; add context lines or an `@@` line that only one of them has")
            }
            HunkReason::NoContext => {
                write!(f, "only inserts lines and has no context; add context lines that show where")
            }
            HunkReason::NotInPlace { line, differs_at, asked, found } => match found {
                Some(found) => write!(
                    f,
                    "does not match at line {line}; line {differs_at} differs:\n  given:   {asked:?}\n  in file: {found:?}"
                ),
                None => write!(f, "does not match at line {line}; the file ends before line {differs_at}, {asked:?}"),
            },
            HunkReason::PastEnd { line, n_lines } => {
                write!(f, "states line {line}, but the file has {n_lines} lines")
            }
            HunkReason::OpenEnd { line } => {
                write!(f, "adds a line after line {line}, which has no line ending (`\\ No newline at end of file`)")
            }
            HunkReason::Overlap { line } => write!(f, "overlaps or precedes the hunk above it at line {line}"),
        }
    }
}

impl std::error::Error for HunkError {}
