//! Texts that the service writes into a conversation: context rows and comments.

use super::records::{Comment, ContextRow};

/// Returns an instruction with its context in front of it.
pub(super) fn with_context(instruction: &str, rows: &[(ContextRow, String)], decisions: Option<&str>) -> String {
    let mut text = String::new();
    for (row, content) in rows {
        text.push_str("Context");
        if let Some(path) = &row.file_path {
            text.push_str(": ");
            text.push_str(path);
        }
        if let (Some(start), Some(end)) = (row.start_line, row.end_line) {
            text.push_str(&format!(" lines {start}-{end}"));
        }
        let fence = fence(content);
        text.push_str(&format!("\n{fence}\n{content}"));
        if !content.ends_with('\n') {
            text.push('\n');
        }
        text.push_str(&format!("{fence}\n\n"));
    }
    if let Some(decisions) = decisions {
        text.push_str(decisions);
        text.push_str("\n\n");
    }
    text.push_str(instruction);
    text
}

/// Returns the instruction that comments make together.
pub(super) fn of_comments(comments: &[Comment]) -> String {
    let mut text = String::from("Comments on the changes:\n");
    for comment in comments {
        let fence = fence(&comment.snippet);
        let stale = if comment.stale { " (the lines have changed since)" } else { "" };
        text.push_str(&format!(
            "\n{} lines {}-{}{stale}\n{fence}\n{}\n{fence}\n{}\n",
            comment.file_path,
            comment.start_line,
            comment.end_line,
            comment.snippet.trim_end_matches('\n'),
            comment.text
        ));
    }
    text
}

/// Returns the instruction of a re-run after files changed on disk.
pub(super) fn of_rerun(instruction: &str, paths: &[String]) -> String {
    format!(
        "These files changed on disk after you proposed edits, and your pending edits in them were withdrawn: {}. Read \
         them again and propose the edits anew. The instruction was:\n\n{instruction}",
        paths.join(", ")
    )
}

/// Returns the instruction for the second model of a router.
pub(super) fn of_escalation(instruction: &str) -> String {
    format!(
        "The tool calls were used up before any edit. Start over with a new budget of calls, read only what you need, and \
         make the edits. The instruction was:\n\n{instruction}"
    )
}

/// Returns a fence that is longer than any in the text.
fn fence(text: &str) -> String {
    let longest = text.lines().map(|line| line.trim_start().bytes().take_while(|byte| *byte == b'`').count()).max();
    "`".repeat(longest.unwrap_or_default().max(2) + 1)
}

/// Returns the lines `start` to `end` of a text, counted from 1; all lines without a range.
pub(super) fn lines_of(text: &str, start: Option<u64>, end: Option<u64>) -> String {
    let start = start.unwrap_or(1).max(1) as usize;
    let end = end.unwrap_or(u64::MAX) as usize;
    text.split_inclusive('\n').skip(start - 1).take(end.saturating_sub(start - 1)).collect()
}

/// Returns the first and last line, counted from 1, at which a text has the lines of `snippet`: the place next to line
/// `start`. `None` if it has them nowhere.
pub(super) fn place_of(text: &str, snippet: &str, start: u64) -> Option<(u64, u64)> {
    let (lines, wanted): (Vec<&str>, Vec<&str>) = (text.lines().collect(), snippet.lines().collect());
    let places = lines.windows(wanted.len().max(1)).enumerate().filter(|(_, found)| *found == wanted);
    let first = places.map(|(at, _)| at as u64 + 1).min_by_key(|first| first.abs_diff(start))?;
    Some((first, first + wanted.len() as u64 - 1))
}

/// Returns the texts of context rows, for searches. A row without a text has none of its own.
pub(super) fn of_rows(rows: &[ContextRow]) -> String {
    rows.iter().filter_map(|row| row.content.as_deref()).fold(String::new(), |text, row| text + row + "\n")
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::records::ContextKind;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn a_comment_follows_its_lines() {
        let check = |text, snippet, start, expected| assert_eq!(place_of(text, snippet, start), expected, "{text:?}");
        check("one\ntwo\nthree\n", "two\n", 2, Some((2, 2)));
        check("new\none\ntwo\nthree\n", "two\nthree\n", 2, Some((3, 4)));
        check("5five\nsix\n", "five\n", 1, None);
        check("x\n}\ny\n}\nz\n}\n", "}\n", 5, Some((4, 4)));
        check("one\r\ntwo", "two\n", 1, Some((2, 2)));
        check("", "two\n", 1, None);
        check("one\ntwo\n", "one\ntwo\nthree\n", 1, None);
    }

    #[test]
    fn context_is_fenced_by_more_backticks_than_it_has() {
        let row = ContextRow {
            id: "c".to_owned(),
            kind: ContextKind::Selection,
            file_path: Some("a.md".to_owned()),
            start_line: Some(1),
            end_line: Some(3),
            content: None,
        };
        let text = with_context("Do it.", &[(row, "````\nx\n````".to_owned())], Some("Accepted: 1 hunk."));
        assert_eq!(text, "Context: a.md lines 1-3\n`````\n````\nx\n````\n`````\n\nAccepted: 1 hunk.\n\nDo it.");
    }

    #[test]
    fn ranges_of_lines_are_inclusive() {
        let text = "a\nb\nc";
        for (start, end, expected) in [
            (None, None, text),
            (Some(2), Some(2), "b\n"),
            (Some(2), None, "b\nc"),
            (Some(4), None, ""),
            (Some(0), Some(1), "a\n"),
        ] {
            assert_eq!(lines_of(text, start, end), expected, "{start:?} {end:?}");
        }
    }
}
