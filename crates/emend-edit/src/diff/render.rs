//! Diffs for readers and tools: hunks with context, and unified diffs as git writes them.
//!
//! Unified diffs split lines at LF only, as git and patch do: a lone CR is an ordinary character there.

use std::fmt::Write as _;

use crate::diff::hunk_line::{HunkLine, LineKind};
use crate::diff::line_diff::{Op, diff_slices};
use crate::text::split_lines;

/// One hunk of the diff between two texts.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TextHunk {
    /// Number of the first old line, from 1. For a hunk without old lines, the number of the line before it, 0 at the
    /// top.
    pub old_start: usize,
    /// Number of old lines the hunk covers, context included.
    pub old_lines: usize,
    /// Number of the first new line, by the same rule.
    pub new_start: usize,
    /// Number of new lines the hunk covers, context included.
    pub new_lines: usize,
    /// The lines. In each run of changes, removed lines come before added ones.
    pub lines: Vec<HunkLine>,
}

/// The two file names in the header of a unified diff, such as `a/notes.md` and `b/notes.md`, or `/dev/null`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Names<'a> {
    /// The name after `---`.
    pub old: &'a str,
    /// The name after `+++`.
    pub new: &'a str,
}

/// Returns the hunks between two texts, with up to `context` unchanged lines around each change.
///
/// Changes whose contexts touch share a hunk. Lines are split as [`split_lines`] does, so a lone CR ends a line.
///
/// ```
/// use emend_edit::diff::hunks;
/// let hunks = hunks("a\nb\nc\n", "a\nB\nc\n", 1);
/// assert_eq!((hunks[0].old_start, hunks[0].old_lines, hunks[0].lines.len()), (1, 3, 4));
/// ```
#[must_use]
pub fn hunks(a: &str, b: &str, context: usize) -> Vec<TextHunk> {
    hunks_of(&split_lines(a), &split_lines(b), context)
}

/// Returns a unified diff of two texts that git and patch can apply. It is empty if the texts are equal.
///
/// ```
/// use emend_edit::diff::{Names, unified};
/// let names = Names { old: "a/notes.md", new: "b/notes.md" };
/// assert_eq!(
///     unified("a\nb\n", "a\nB\n", 3, names),
///     "--- a/notes.md\n+++ b/notes.md\n@@ -1,2 +1,2 @@\n a\n-b\n+B\n",
/// );
/// ```
#[must_use]
pub fn unified(a: &str, b: &str, context: usize, names: Names<'_>) -> String {
    let old: Vec<&str> = a.split_inclusive('\n').collect();
    let new: Vec<&str> = b.split_inclusive('\n').collect();
    let hunks = hunks_of(&old, &new, context);
    if hunks.is_empty() {
        return String::new();
    }
    let mut out = format!("--- {}\n+++ {}\n", header_name(names.old), header_name(names.new));
    for hunk in &hunks {
        push_hunk(&mut out, hunk);
    }
    out
}

/// Returns the hunks between two texts that are already split into lines: see [`hunks`].
#[must_use]
pub fn hunks_of(old: &[&str], new: &[&str], context: usize) -> Vec<TextHunk> {
    let ops = diff_slices(old, new);
    let mut hunks = Vec::new();
    let mut rest = ops.as_slice();
    while !rest.is_empty() {
        let joined = rest.windows(2).take_while(|pair| pair[1].old.start - pair[0].old.end <= 2 * context).count() + 1;
        let (group, tail) = rest.split_at(joined);
        hunks.push(hunk_of(group, old, new, context));
        rest = tail;
    }
    hunks
}

fn hunk_of(group: &[Op], old: &[&str], new: &[&str], context: usize) -> TextHunk {
    let (first, last) = (&group[0], &group[group.len() - 1]);
    let before = context.min(first.old.start);
    let after = context.min(old.len() - last.old.end);
    let (mut old_at, mut new_at) = (first.old.start - before, first.new.start - before);
    let (old_from, new_from) = (old_at, new_at);
    let mut lines = Vec::new();
    let keep_until = |old_at: &mut usize, new_at: &mut usize, old_end: usize, lines: &mut Vec<HunkLine>| {
        while *old_at < old_end {
            lines.push(HunkLine::new(LineKind::Context, old[*old_at], Some(*old_at + 1), Some(*new_at + 1)));
            *old_at += 1;
            *new_at += 1;
        }
    };
    for op in group {
        keep_until(&mut old_at, &mut new_at, op.old.start, &mut lines);
        lines.extend(op.old.clone().map(|i| HunkLine::new(LineKind::Removed, old[i], Some(i + 1), None)));
        lines.extend(op.new.clone().map(|i| HunkLine::new(LineKind::Added, new[i], None, Some(i + 1))));
        (old_at, new_at) = (op.old.end, op.new.end);
    }
    keep_until(&mut old_at, &mut new_at, last.old.end + after, &mut lines);
    let (old_lines, new_lines) = (old_at - old_from, new_at - new_from);
    TextHunk {
        old_start: old_from + usize::from(old_lines > 0),
        old_lines,
        new_start: new_from + usize::from(new_lines > 0),
        new_lines,
        lines,
    }
}

/// Appends one hunk in unified form.
fn push_hunk(out: &mut String, hunk: &TextHunk) {
    let range = |start: usize, lines: usize| match lines {
        1 => start.to_string(),
        _ => format!("{start},{lines}"),
    };
    let (old, new) = (range(hunk.old_start, hunk.old_lines), range(hunk.new_start, hunk.new_lines));
    // Writing to a `String` cannot fail.
    let _ = writeln!(out, "@@ -{old} +{new} @@");
    for line in &hunk.lines {
        out.push(line.kind.marker());
        out.push_str(&line.text);
        if !line.text.ends_with('\n') {
            out.push_str("\n\\ No newline at end of file\n");
        }
    }
}

/// Returns a file name as git writes it in a header line.
///
/// A name with control characters, quotes or backslashes is quoted. A name with spaces is followed by a tab.
fn header_name(name: &str) -> String {
    if !name.chars().any(|c| c.is_control() || c == '"' || c == '\\') {
        return if name.contains(' ') { format!("{name}\t") } else { name.to_owned() };
    }
    let mut quoted = String::from("\"");
    for c in name.chars() {
        match c {
            '"' | '\\' => quoted.extend(['\\', c]),
            '\n' => quoted.push_str("\\n"),
            '\t' => quoted.push_str("\\t"),
            '\r' => quoted.push_str("\\r"),
            c if c.is_ascii_control() => {
                let _ = write!(quoted, "\\{:03o}", u32::from(c));
            }
            c => quoted.push(c),
        }
    }
    quoted.push('"');
    quoted
}
