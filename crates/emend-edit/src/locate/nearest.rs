//! Finds the regions of a file that most resemble lines which are not in it, to show the author what is there instead.
//!
//! Only rejected edits use this module. No edit is ever applied to a region because it is similar.

use std::collections::HashMap;
use std::ops::Range;

use serde::Serialize;

use crate::diff::{Op, diff_slices};
use crate::size::compact_sort::sort_by;

/// A region of a file that resembles the given lines.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Nearest {
    /// The first line of the region, from 1.
    pub line: usize,
    /// Number of lines of the region.
    pub n_lines: usize,
    /// The first difference from the given lines; `None` if there is none.
    pub difference: Option<Difference>,
    /// The given lines (`-`) against the lines of the file (`+`), cut to the part that differs.
    pub diff: String,
}

/// The first line that differs.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct Difference {
    /// Index of the given line, from 1.
    pub asked_line: usize,
    /// The given line, or `None` if the file has an additional line here.
    pub asked: Option<String>,
    /// The line of the file, from 1.
    pub line: usize,
    /// The content of that line, or `None` if the file lacks a line here.
    pub found: Option<String>,
}

// A line that occurs more often says little about where the others belong.
const FREQUENT: usize = 200;
// Number of words of a line that are compared.
const WORDS_MAX: usize = 100;
// Number of lines around a region that are included in the comparison.
const MARGIN_LINES: usize = 4;
// Number of diff lines that are shown.
const SHOWN_LINES: usize = 14;

/// Returns up to `n_max` regions of `file` that resemble `asked`, the most similar first. Lines come without line
/// endings.
pub(crate) fn nearest(file: &[&str], asked: &[&str], n_max: usize) -> Vec<Nearest> {
    let mut starts = by_equal_lines(file, asked);
    if starts.is_empty() {
        starts = by_similar_line(file, asked);
    }
    let mut regions: Vec<usize> = Vec::new();
    for start in starts {
        if regions.len() == n_max {
            break;
        }
        if regions.iter().all(|other| start.abs_diff(*other) >= asked.len().max(1)) {
            regions.push(start);
        }
    }
    regions.into_iter().map(|start| describe(file, asked, start)).collect()
}

/// Returns the lines (from 0) at which a region may start, best first, judged by equal lines.
fn by_equal_lines(file: &[&str], asked: &[&str]) -> Vec<usize> {
    let mut places: HashMap<&str, usize> = HashMap::new();
    let mut wanted: Vec<(&str, Vec<usize>, Vec<usize>)> = Vec::new();
    for (index, line) in asked.iter().enumerate().filter(|(_, line)| line.trim().len() > 1) {
        let place = *places.entry(line.trim()).or_insert(wanted.len());
        if place == wanted.len() {
            wanted.push((line.trim(), Vec::new(), Vec::new()));
        }
        wanted[place].1.push(index);
    }
    for (index, line) in file.iter().enumerate() {
        if let Some(&place) = places.get(line.trim())
            && wanted[place].2.len() <= FREQUENT
        {
            wanted[place].2.push(index);
        }
    }
    // Every pair of equal lines votes for the start it implies. Long and rare lines count for more.
    let mut votes = vec![0; file.len()];
    for (line, indices, lines) in &wanted {
        if lines.is_empty() || lines.len() > FREQUENT || indices.len() > FREQUENT {
            continue;
        }
        let weight = 1 + 100 * line.len().min(60) / lines.len();
        for &at in lines {
            for &index in indices {
                votes[at.saturating_sub(index)] += weight;
            }
        }
    }
    // An added or missing line shifts the lines after it, so the votes of nearby starts count too.
    let near = |start: usize| votes[start.saturating_sub(3)..votes.len().min(start + 4)].iter().sum();
    let voted = votes.iter().enumerate().filter(|(_, own)| **own > 0);
    let mut starts: Vec<((usize, usize), usize)> = voted.map(|(start, &own)| ((near(start), own), start)).collect();
    sort_by(&mut starts, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    starts.into_iter().map(|(_, start)| start).collect()
}

/// Returns the same if no line is equal: the lines that share most words with the longest given line.
fn by_similar_line(file: &[&str], asked: &[&str]) -> Vec<usize> {
    let Some((index, line)) = asked.iter().enumerate().max_by_key(|(_, line)| line.trim().len()) else {
        return Vec::new();
    };
    let asked_words: Vec<&str> = words(line).take(WORDS_MAX).collect();
    if asked_words.is_empty() {
        return Vec::new();
    }
    let mut scored: Vec<(usize, usize)> = Vec::new();
    for (at, line) in file.iter().enumerate() {
        let mut rest = asked_words.clone();
        let mut n_words = 0;
        for word in words(line).take(WORDS_MAX) {
            n_words += 1;
            if let Some(same) = rest.iter().position(|other| *other == word) {
                rest.swap_remove(same);
            }
        }
        let shared = asked_words.len() - rest.len();
        // At least half of the words of both lines together must be shared.
        let score = 200 * shared / (asked_words.len() + n_words);
        if score >= 50
            && let Some(start) = at.checked_sub(index)
        {
            scored.push((score, start));
        }
    }
    sort_by(&mut scored, |a, b| b.0.cmp(&a.0).then(a.1.cmp(&b.1)));
    scored.into_iter().map(|(_, start)| start).collect()
}

/// Returns the line that starts the block around line `index`: the last line above it that is indented less.
pub(crate) fn enclosing<'a>(file: &[&'a str], index: usize) -> Option<&'a str> {
    let indent = |line: &str| line.len() - line.trim_start().len();
    let own = indent(file.get(index)?);
    file[..index].iter().rev().find(|line| !line.trim().is_empty() && indent(line) < own).copied()
}

fn words(line: &str) -> impl Iterator<Item = &str> {
    line.split(|c: char| !c.is_alphanumeric() && c != '_').filter(|word| !word.is_empty())
}

fn describe(file: &[&str], asked: &[&str], start: usize) -> Nearest {
    // A few more lines at both ends, so that an added or missing line does not make every line after it look changed.
    let window_start = start.saturating_sub(MARGIN_LINES);
    let window = &file[window_start..(start + asked.len() + MARGIN_LINES).min(file.len())];
    let ops = diff_slices(asked, window);
    let region = region(&ops, asked.len(), window.len(), start - window_start);
    let mut lines = Vec::new();
    let mut difference = None;
    let mut at = 0;
    for op in &ops {
        lines.extend(asked[at..op.old.start].iter().map(|line| (' ', *line)));
        at = op.old.end;
        let found = op.new.start.max(region.start)..op.new.end.min(region.end);
        let found = if found.is_empty() { &[] } else { &window[found] };
        let old = &asked[op.old.clone()];
        if difference.is_none() && !(old.is_empty() && found.is_empty()) {
            let line = op.new.start.clamp(region.start, region.end);
            let first = |lines: &[&str]| lines.first().map(|line| (*line).to_owned());
            let (asked_line, line) = (op.old.start + 1, window_start + line + 1);
            difference = Some((lines.len(), Difference { asked_line, asked: first(old), line, found: first(found) }));
        }
        lines.extend(old.iter().map(|line| ('-', *line)));
        lines.extend(found.iter().map(|line| ('+', *line)));
    }
    lines.extend(asked[at..].iter().map(|line| (' ', *line)));
    let from = difference.as_ref().map_or(0, |(at, _)| at.saturating_sub(2));
    let diff = lines[from..].iter().take(SHOWN_LINES).map(|(marker, line)| format!("{marker}{line}\n")).collect();
    Nearest {
        line: window_start + region.start + 1,
        n_lines: region.len(),
        difference: difference.map(|(_, difference)| difference),
        diff,
    }
}

/// Returns the lines of the window without the added ones at its ends.
///
/// Lines that only the file has, before the first and after the last common line, count only as far as given lines are
/// missing there.
fn region(ops: &[Op], n_asked: usize, n_window: usize, start: usize) -> Range<usize> {
    if ops.iter().map(|op| op.old.len()).sum::<usize>() == n_asked {
        return start..(start + n_asked).min(n_window);
    }
    let first = ops.first().filter(|op| op.old.start == 0 && op.new.start == 0);
    let last = ops.last().filter(|op| op.old.end == n_asked && op.new.end == n_window);
    let from = first.map_or(0, |op| op.new.len().saturating_sub(op.old.len()));
    let to = last.map_or(n_window, |op| op.new.start + op.new.len().min(op.old.len()));
    from..to.max(from)
}

#[cfg(test)]
mod tests {
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    const FILE: &str = "use std::fs;\n\nfn main() {\n    let a = 1;\n    let b = 2;\n    run(a, b);\n}\n\nfn other() {\n    let a = 1;\n}";

    fn find(asked: &str) -> Vec<Nearest> {
        let file: Vec<&str> = FILE.split('\n').collect();
        let asked: Vec<&str> = asked.split('\n').collect();
        nearest(&file, &asked, 3)
    }

    #[test]
    fn names_the_line_that_differs() {
        let found = find("fn main() {\n    let a = 1;\n    let b = 3;\n    run(a, b);");
        assert_eq!((found[0].line, found[0].n_lines), (3, 4));
        assert_eq!(found[0].diff, " fn main() {\n     let a = 1;\n-    let b = 3;\n+    let b = 2;\n     run(a, b);\n");
        assert_eq!(
            found[0].difference,
            Some(Difference {
                asked_line: 3,
                asked: Some("    let b = 3;".to_owned()),
                line: 5,
                found: Some("    let b = 2;".to_owned()),
            })
        );
    }

    #[test]
    fn a_missing_line_is_one_difference() {
        let found = find("    let a = 1;\n    run(a, b);\n}");
        assert_eq!(found[0].line, 4);
        assert_eq!(found[0].diff, "     let a = 1;\n+    let b = 2;\n     run(a, b);\n }\n");
        let difference = found[0].difference.clone().unwrap();
        assert_eq!((difference.asked, difference.line), (None, 5));
    }

    #[test]
    fn falls_back_to_similar_words() {
        let found = find("    run(a, c);");
        assert_eq!(found[0].line, 6);
        assert_eq!(found[0].diff, "-    run(a, c);\n+    run(a, b);\n");
        assert_eq!(find("nothing alike"), []);
        assert_eq!(find(""), []);
    }
}
