//! Explains why a replacement was rejected, and where the intended text may be.

use std::fmt;

use serde::Serialize;

use crate::error_code::ErrorCode;
use crate::locate::hunk_error::{suggest, write_lines, write_nearest};
use crate::locate::nearest::{Nearest, enclosing, nearest};
use crate::locate::placeholder::is_placeholder;
use crate::patch::replace::find::{self, Found, Strategy};
use crate::text::{self, LineIndex};

/// Why nothing was replaced. Line numbers are those of the file, from 1.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum ReplaceError {
    /// Old and new text are equal, or would leave this file unchanged.
    NoChange,
    /// The old text is empty, which only creates files.
    EmptyOld,
    /// A text contains a placeholder for omitted text.
    LeavesOut {
        /// The line with the placeholder.
        placeholder: String,
        /// Whether it is in the new text.
        in_new: bool,
    },
    /// The old text is not in the file.
    NotFound {
        /// The regions that resemble it most.
        nearest: Vec<Nearest>,
    },
    /// The old text is not in the file, but the new text is.
    AlreadyApplied {
        /// Line at which it starts.
        line: usize,
    },
    /// The old text is in the file only after its backslash escapes are decoded.
    OverEscaped {
        /// Line at which it starts.
        line: usize,
    },
    /// The old text occurs more than once.
    Ambiguous {
        /// First line of each occurrence; overlapping ones are not listed.
        lines: Vec<usize>,
        /// The line that starts the block of each occurrence, if it is in one.
        blocks: Vec<Option<String>>,
        /// Number of occurrences.
        n_places: usize,
        /// How they were found.
        strategy: Strategy,
    },
}

impl ReplaceError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::NoChange | Self::EmptyOld | Self::LeavesOut { .. } => ErrorCode::InvalidArgument,
            Self::Ambiguous { .. } => ErrorCode::Ambiguous,
            Self::NotFound { .. } | Self::AlreadyApplied { .. } | Self::OverEscaped { .. } => ErrorCode::Conflict,
        }
    }

    /// Returns up to three places that the author may have meant, each with its line number.
    #[must_use]
    pub fn suggestions(&self) -> Vec<String> {
        match self {
            Self::NotFound { nearest } => suggest(nearest),
            Self::Ambiguous { lines, blocks, .. } => lines
                .iter()
                .zip(blocks)
                .take(3)
                .map(|(line, block)| match block {
                    Some(block) => format!("line {line}, in `{}`", block.trim()),
                    None => format!("line {line}"),
                })
                .collect(),
            _ => Vec::new(),
        }
    }
}

impl fmt::Display for ReplaceError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoChange => write!(f, "the old and the new text give the same file, so there is nothing to change"),
            Self::EmptyOld => write!(
                f,
                "the old text is empty, which only creates new files, but this file has text; give the text to replace, \
                 or insert by line number"
            ),
            Self::LeavesOut { placeholder, in_new } => write!(
                f,
                "the {} text omits text (`{placeholder}`); write every line literally",
                if *in_new { "new" } else { "old" }
            ),
            Self::NotFound { nearest } => {
                write!(f, "the old text is not in the file")?;
                write_nearest(f, nearest)
            }
            Self::AlreadyApplied { line } => {
                write!(f, "already applied at line {line}: the new text is there and the old text is not")
            }
            Self::OverEscaped { line } => write!(
                f,
                "the old text is not in the file, but would match at line {line} without its backslash escapes; \
                 send quotes, line breaks and tabs unescaped"
            ),
            Self::Ambiguous { lines, n_places, .. } => {
                write!(f, "the old text is in the file {n_places} times, at lines ")?;
                write_lines(f, &lines[..lines.len().min(20)], *n_places)?;
                write!(f, "; add lines around it until it occurs once, or replace all occurrences")
            }
        }
    }
}

impl std::error::Error for ReplaceError {}

pub(super) fn ambiguous(body: &str, found: &Found) -> ReplaceError {
    let index = LineIndex::new(body);
    let file = contents(body);
    let lines: Vec<usize> = found.ranges.iter().map(|range| index.line_at(range.start)).collect();
    ReplaceError::Ambiguous {
        blocks: lines.iter().take(20).map(|&line| enclosing(&file, line).map(str::to_owned)).collect(),
        lines: lines.into_iter().map(|line| line + 1).collect(),
        n_places: found.n_places,
        strategy: found.strategy,
    }
}

pub(super) fn why_not_found(body: &str, old: &str, new: &str) -> ReplaceError {
    let line_of = |found: Found| LineIndex::new(body).line_at(found.ranges[0].start) + 1;
    let is_telling = |text: &str| text.lines().any(|line| line.trim().len() >= 8);
    if is_telling(new)
        && let Some(found) = find::find(body, new, new).filter(|found| found.strategy < Strategy::Indentation)
    {
        return ReplaceError::AlreadyApplied { line: line_of(found) };
    }
    if let Some(found) = unescape(old).and_then(|old| find::find(body, &old, new)) {
        return ReplaceError::OverEscaped { line: line_of(found) };
    }
    if let Some(placeholder) = old.lines().find(|line| is_placeholder(line)) {
        return ReplaceError::LeavesOut { placeholder: placeholder.trim().to_owned(), in_new: false };
    }
    ReplaceError::NotFound { nearest: nearest(&contents(body), &contents(old), 3) }
}

/// Decodes one level of backslash escapes, or returns `None` if there are none.
fn unescape(text: &str) -> Option<String> {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    let mut changed = false;
    while let Some(c) = chars.next() {
        let escaped = match (c, chars.peek()) {
            ('\\', Some('n')) => '\n',
            ('\\', Some('t')) => '\t',
            ('\\', Some('r')) => '\r',
            ('\\', Some(&other @ ('"' | '\'' | '`' | '\\' | '/' | '$'))) => other,
            _ => {
                out.push(c);
                continue;
            }
        };
        chars.next();
        out.push(escaped);
        changed = true;
    }
    changed.then_some(out)
}

fn contents(text: &str) -> Vec<&str> {
    text::lines(text).map(|line| text::split_eol(line).0).collect()
}
