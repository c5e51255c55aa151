//! The algorithm by which codex applies a v4a patch, restated in plain Rust: a `String` per line, up to four passes
//! over the rest of the file for each hunk, and lines removed and inserted one by one, from the last hunk to the
//! first.
//!
//! Only the part that the comparison needs is here: hunks with old lines and at most one line after `@@`. The facts
//! are those of openai/codex at commit bd19459.

use emend_edit::patch::v4a::V4aHunk;

/// Applies the hunks. Returns `None` if one of them matches nowhere.
pub(crate) fn apply(before: &str, hunks: &[V4aHunk]) -> Option<String> {
    let mut lines: Vec<String> = before.split('\n').map(str::to_owned).collect();
    if lines.last().is_some_and(String::is_empty) {
        lines.pop();
    }
    let mut replacements: Vec<(usize, usize, Vec<String>)> = Vec::new();
    let mut cursor = 0;
    for hunk in hunks {
        if let Some(anchor) = hunk.anchors.first() {
            cursor = seek(&lines, std::slice::from_ref(anchor), cursor)? + 1;
        }
        let old: Vec<String> = hunk.lines.old().map(str::to_owned).collect();
        let new: Vec<String> = hunk.lines.new_lines().map(str::to_owned).collect();
        let start = seek(&lines, &old, cursor)?;
        cursor = start + old.len();
        replacements.push((start, old.len(), new));
    }
    for (start, n_old, new) in replacements.into_iter().rev() {
        for _ in 0..n_old {
            lines.remove(start);
        }
        for (offset, line) in new.into_iter().enumerate() {
            lines.insert(start + offset, line);
        }
    }
    lines.push(String::new());
    Some(lines.join("\n"))
}

fn seek(lines: &[String], wanted: &[String], from: usize) -> Option<usize> {
    let last = lines.len().checked_sub(wanted.len())?;
    let passes: [fn(&str, &str) -> bool; 4] = [
        |one, other| one == other,
        |one, other| one.trim_end() == other.trim_end(),
        |one, other| one.trim() == other.trim(),
        |one, other| fold(one) == fold(other),
    ];
    passes.iter().find_map(|same| {
        (from..=last).find(|&start| wanted.iter().zip(&lines[start..]).all(|(one, other)| same(one, other)))
    })
}

fn fold(line: &str) -> String {
    let fold = |letter| match letter {
        '\u{2010}'..='\u{2015}' | '\u{2212}' => '-',
        '\u{2018}'..='\u{201B}' => '\'',
        '\u{201C}'..='\u{201F}' => '"',
        '\u{A0}' | '\u{2002}'..='\u{200A}' | '\u{202F}' | '\u{205F}' | '\u{3000}' => ' ',
        other => other,
    };
    line.trim().chars().map(fold).collect()
}
