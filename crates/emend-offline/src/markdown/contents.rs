//! Adds or refreshes a table of contents between two comment markers.

use super::change::{Change, LineEdit};
use super::inline::{Anchors, link_text, plain};
use super::outline::Outline;

const BEGIN: &str = "<!-- toc -->";
const END: &str = "<!-- tocstop -->";

/// Returns the change that updates the table of contents: the headings of level 2 and 3 under the first heading of
/// level 1, or all of them without such a heading.
pub(crate) fn contents(lines: &[&str]) -> Result<Change, String> {
    let outline = Outline::of(lines);
    let markers = find_markers(lines, &outline)?;
    let (entries, first) = entries(&outline, markers.map(|(begin, _)| begin));
    let Some(first) = first else {
        return Err("FILE has no headings of level 2 or 3 to list.".to_owned());
    };
    let count = entries.len();
    let mut block = vec![String::new()];
    block.extend(entries);
    block.push(String::new());
    let (edit, done) = match markers {
        Some((begin, end)) => (LineEdit { range: begin + 1..end, lines: block }, "Refreshed the table of contents of"),
        None => {
            block.insert(0, BEGIN.to_owned());
            block.extend([END.to_owned(), String::new()]);
            if first > 0 && !lines[first - 1].trim().is_empty() {
                block.insert(0, String::new());
            }
            (LineEdit { range: first..first, lines: block }, "Added a table of contents to")
        }
    };
    if lines[edit.range.clone()] == edit.lines {
        return Ok(Change {
            edit: None,
            summary: "The table of contents of FILE is up to date; nothing was changed.".to_owned(),
        });
    }
    let entries = if count == 1 { "1 entry".to_owned() } else { format!("{count} entries") };
    Ok(Change { edit: Some(edit), summary: format!("{done} FILE: {entries}.") })
}

/// Returns the line numbers of the two markers.
fn find_markers(lines: &[&str], outline: &Outline) -> Result<Option<(usize, usize)>, String> {
    let is = |index: usize, marker: &str| {
        let bare = |text: &str| text.chars().filter(|c| !c.is_whitespace()).collect::<String>().to_lowercase();
        !outline.opaque[index] && bare(lines[index]) == bare(marker)
    };
    let Some(begin) = (0..lines.len()).find(|&index| is(index, BEGIN)) else { return Ok(None) };
    let end = (begin + 1..lines.len()).find(|&index| is(index, END));
    match end {
        Some(end) if outline.headings.iter().any(|heading| (begin..end).contains(&heading.lines.start)) => {
            Err(format!(
                "FILE has a heading between `{BEGIN}` in line {} and `{END}`; only the list may stand there, so nothing was \
             changed.",
                begin + 1
            ))
        }
        Some(end) => Ok(Some((begin, end))),
        None => Err(format!(
            "FILE has `{BEGIN}` in line {} but no `{END}` behind it; add that or remove the first.",
            begin + 1
        )),
    }
}

/// Returns the lines of the list, and the line of its first heading.
fn entries(outline: &Outline, begin: Option<usize>) -> (Vec<String>, Option<usize>) {
    let mut anchors = Anchors::default();
    // Every heading takes its anchor, whether it is listed or not.
    let headings: Vec<_> = outline.headings.iter().map(|heading| (heading, anchors.next(&heading.text))).collect();
    let from = headings.iter().position(|(heading, _)| heading.level == 1).map_or(0, |title| title + 1);
    let is_own_title =
        |text: &str| matches!(plain(text).to_lowercase().as_str(), "table of contents" | "contents" | "toc");
    let listed: Vec<_> = headings[from..]
        .iter()
        .take_while(|(heading, _)| heading.level > 1)
        .filter(|(heading, _)| (2..=3).contains(&heading.level))
        .filter(|(heading, _)| !(begin.is_some_and(|begin| heading.lines.end <= begin) && is_own_title(&heading.text)))
        .collect();
    let top = listed.iter().map(|(heading, _)| heading.level).min().unwrap_or_default();
    let lines = listed.iter().map(|(heading, anchor)| {
        format!("{}- [{}](#{anchor})", "  ".repeat(heading.level - top), link_text(&heading.text))
    });
    (lines.collect(), listed.first().map(|(heading, _)| heading.lines.start))
}

#[cfg(test)]
mod tests {
    use super::super::testing::made;
    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[track_caller]
    fn check(text: &str, expected: &str) {
        let first = made(text, contents);
        assert_eq!(first, expected);
        if !first.starts_with("error") && first != "unchanged" {
            assert_eq!(made(&first, contents), "unchanged", "a second time");
        }
    }

    #[test]
    fn a_table_goes_before_the_first_heading_it_lists() {
        check(
            "# T\nintro\n## A\n### B\n#### C\n## A\n# U\n## X",
            "# T\nintro\n\n<!-- toc -->\n\n- [A](#a)\n  - [B](#b)\n- [A](#a-1)\n\n<!-- tocstop -->\n\n## A\n### B\n#### C\n\
             ## A\n# U\n## X",
        );
        check("### A\n\nB\n---", "<!-- toc -->\n\n  - [A](#a)\n- [B](#b)\n\n<!-- tocstop -->\n\n### A\n\nB\n---");
        check(
            "# T\n\n```\n## A\n```\n\n## `b` [c](d)\n",
            "# T\n\n```\n## A\n```\n\n<!-- toc -->\n\n- [`b` c](#b-c)\n\n<!-- tocstop -->\n\n## `b` [c](d)\n",
        );
    }

    #[test]
    fn a_table_is_refreshed_in_its_place() {
        check(
            "# T\n\n## Contents\n\n<!--toc-->\nold\n<!-- tocstop -->\n\n## A\n",
            "# T\n\n## Contents\n\n<!--toc-->\n\n- [A](#a)\n\n<!-- tocstop -->\n\n## A\n",
        );
        check("<!-- toc -->\n\n- [A](#a)\n\n<!-- tocstop -->\n## A", "unchanged");
    }

    #[test]
    fn missing_headings_and_markers_are_reported() {
        check("# T\n", "error: FILE has no headings of level 2 or 3 to list.");
        check("", "error: FILE has no headings of level 2 or 3 to list.");
        check(
            "<!-- toc -->\n## A\n<!-- tocstop -->",
            "error: FILE has a heading between `<!-- toc -->` in line 1 and `<!-- tocstop -->`; only the list may stand \
             there, so nothing was changed.",
        );
        check(
            "<!-- toc -->\n## A",
            "error: FILE has `<!-- toc -->` in line 1 but no `<!-- tocstop -->` behind it; add that or remove the first.",
        );
    }
}
