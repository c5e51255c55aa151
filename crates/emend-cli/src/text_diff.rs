//! Styled unified diffs of file changes.

use std::collections::BTreeMap;

use emend_agent::environment::{FilePath, KeptState, KeptStateKind};
use emend_edit::diff::{Names, unified};

use crate::style::{self, Painter};
use crate::visible::visible;

/// Unchanged lines around each change.
const CONTEXT: usize = 3;

/// The line after a line without a line feed.
pub(crate) const NO_FINAL_LINE_FEED: &str = "\\ No newline at end of file";

/// Returns the first line of a hunk as diff and git print it, from its first lines and its numbers of lines.
pub(crate) fn place(old: (usize, usize), new: (usize, usize)) -> String {
    let range = |(start, n_lines): (usize, usize)| match n_lines {
        0 => format!("{},0", start.saturating_sub(1)),
        1 => start.to_string(),
        n => format!("{start},{n}"),
    };
    format!("@@ -{} +{} @@", range(old), range(new))
}

/// Returns the diff of a file as text.
pub(crate) fn coloured(painter: Painter, path: &str, before: Option<&str>, after: Option<&str>) -> String {
    lines(painter, path, before, after).iter().map(|line| format!("{line}\n")).collect()
}

/// Returns the diff of a file as styled lines without control characters.
pub(crate) fn lines(painter: Painter, path: &str, before: Option<&str>, after: Option<&str>) -> Vec<String> {
    let old = before.map_or_else(|| "/dev/null".to_owned(), |_| format!("a/{path}"));
    let new = after.map_or_else(|| "/dev/null".to_owned(), |_| format!("b/{path}"));
    let names = Names { old: &old, new: &new };
    let diff = unified(before.unwrap_or_default(), after.unwrap_or_default(), CONTEXT, names);
    if diff.is_empty() {
        // An empty file was created or deleted.
        return [format!("--- {old}"), format!("+++ {new}")].iter().map(|line| painted(painter, line, true)).collect();
    }
    diff.lines().enumerate().map(|(index, line)| painted(painter, line, index < 2)).collect()
}

/// Returns a line for each ignored directory with changes. The paths in it are not named one by one.
pub(crate) fn ignored(changes: &BTreeMap<FilePath, usize>) -> Vec<String> {
    let line = |(path, n_changes): (&FilePath, &usize)| match n_changes {
        1 => format!("{path}: 1 change in this ignored directory"),
        n => format!("{path}: {n} changes in this ignored directory"),
    };
    changes.iter().map(line).collect()
}

/// Returns a line about a change of a path that a diff of texts does not show.
pub(crate) fn other(path: &FilePath, before: Option<&KeptState>, after: Option<&KeptState>) -> String {
    let both = before.zip(after).filter(|(before, after)| before.kind == after.kind);
    if path.name() == ".git" && both.is_some() {
        return visible(&format!("{path}: repository, changed"));
    }
    let changes_mode = both.is_some_and(|(before, after)| before.mode != after.mode);
    // The size may be the same, and the content another.
    let end = if both.is_some() && !changes_mode { ", changed" } else { "" };
    let what = |state: Option<&KeptState>| match state {
        None => "nothing".to_owned(),
        Some(state) if changes_mode => format!("mode {:o}", state.mode & 0o7777),
        Some(KeptState { kind: KeptStateKind::File { size: 0, .. }, .. }) => "empty file".to_owned(),
        Some(KeptState { kind: KeptStateKind::File { size, is_text }, .. }) => {
            format!("{} of {size} bytes", if *is_text { "text file" } else { "binary file" })
        }
        Some(KeptState { kind: KeptStateKind::Link(target), .. }) => format!("link to {target}"),
        Some(KeptState { kind: KeptStateKind::Directory, .. }) => "directory".to_owned(),
        Some(KeptState { kind: KeptStateKind::Special, .. }) => "pipe".to_owned(),
    };
    visible(&format!("{path}: {} → {}{end}", what(before), what(after)))
}

/// Styles one line of a diff. `is_head` is true for the two lines with the file names.
pub(crate) fn painted(painter: Painter, line: &str, is_head: bool) -> String {
    let line = visible(line);
    let style = match line.as_bytes().first() {
        _ if is_head => style::BOLD,
        Some(b'+') => style::GREEN,
        Some(b'-') => style::RED,
        Some(b'@') => style::CYAN,
        _ => return line,
    };
    painter.paint(style, &line)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_are_those_of_git() {
        for (old, new, expected) in [
            ((1, 0), (1, 1), "@@ -0,0 +1 @@"),
            ((1, 1), (1, 0), "@@ -1 +0,0 @@"),
            ((5, 0), (5, 2), "@@ -4,0 +5,2 @@"),
            ((2, 7), (2, 8), "@@ -2,7 +2,8 @@"),
        ] {
            assert_eq!(place(old, new), expected);
        }
    }

    #[test]
    fn added_and_removed_lines_have_their_colours_and_nothing_moves_the_cursor() {
        let text = coloured(Painter::new(true), "a.txt", Some("one\n"), Some("\x1b[2Jtwo\n"));
        assert_eq!(
            text,
            "\x1b[1m--- a/a.txt\x1b[0m\n\x1b[1m+++ b/a.txt\x1b[0m\n\x1b[36m@@ -1 +1 @@\x1b[0m\n\
             \x1b[31m-one\x1b[0m\n\x1b[32m+\\u{1b}[2Jtwo\x1b[0m\n"
        );
        assert_eq!(coloured(Painter::new(false), "a", None, Some("")), "--- /dev/null\n+++ b/a\n");
    }

    #[test]
    fn changes_of_other_paths_name_both_states() {
        let binary = |size, mode| KeptState { kind: KeptStateKind::File { size, is_text: false }, mode };
        let check = |before: Option<KeptState>, after: Option<KeptState>, expected: &str| {
            assert_eq!(other(&FilePath::clean("b").unwrap(), before.as_ref(), after.as_ref()), expected);
        };
        check(Some(binary(2, 0o644)), Some(binary(2, 0o755)), "b: mode 644 → mode 755");
        check(
            Some(binary(2, 0o644)),
            Some(binary(2, 0o644)),
            "b: binary file of 2 bytes → binary file of 2 bytes, changed",
        );
        check(Some(binary(2, 0o644)), Some(binary(3, 0o644)), "b: binary file of 2 bytes → binary file of 3 bytes");
        check(None, Some(binary(3, 0o644)), "b: nothing → binary file of 3 bytes");
        check(None, Some(binary(0, 0o644)), "b: nothing → empty file");
    }
}
