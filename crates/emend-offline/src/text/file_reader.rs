//! Puts a file together from the outputs of `read_file`: pages, and truncated outputs.

use std::collections::BTreeMap;

use serde_json::json;

use crate::step::{CompletedCall, PlannedCall};

/// The number of lines that `read_file` returns without a limit.
const LINES_PER_READ: usize = 2_000;
/// Limit of pages requested in one response.
const READS_MAX: usize = 20;
/// Number of reads without new lines after which the file counts as unreadable.
const STALLS_MAX: usize = 3;

/// The known lines of one file.
#[derive(Debug)]
pub(crate) struct FileReader {
    lines: BTreeMap<usize, String>,
    /// Number of lines of the file, once known.
    total: Option<usize>,
    /// Number of lines to request at once.
    page: usize,
    stalls: usize,
    failure: Option<String>,
}

impl Default for FileReader {
    fn default() -> Self {
        Self { lines: BTreeMap::new(), total: None, page: LINES_PER_READ, stalls: 0, failure: None }
    }
}

impl FileReader {
    /// Adds the result of a `read_file` call.
    pub(crate) fn take(&mut self, done: &CompletedCall) {
        let number = |name: &str| done.input[name].as_u64().and_then(|value| usize::try_from(value).ok());
        let offset = number("offset").unwrap_or(1).max(1);
        let limit = number("limit").unwrap_or(LINES_PER_READ);
        if done.result.is_error {
            // Some tools reject reads after the end of the file, which happens if the last page was full.
            if offset > 1 && self.lines.contains_key(&(offset - 1)) {
                self.total.get_or_insert(offset - 1);
            } else {
                self.failure = Some(reason(&done.result.text));
            }
            return;
        }
        let before = (self.lines.len(), self.total, self.page);
        let page = parse_page(&done.result.text, offset);
        let shown = page.lines.len();
        self.lines.extend(page.lines);
        if page.cut {
            if limit == 1 {
                self.failure = Some(format!("line {offset} is too long to be read in one piece"));
            }
            // The shown lines fit, so slightly fewer fit again.
            let fits = if shown == 0 { limit.min(self.page) / 8 } else { shown * 9 / 10 };
            self.page = self.page.min(fits).max(1);
        } else if shown < limit {
            self.total = Some(offset + shown - 1);
        }
        self.total = page.total.or(self.total);
        if before == (self.lines.len(), self.total, self.page) && !self.is_complete() {
            self.stalls += 1;
            if self.stalls >= STALLS_MAX {
                self.failure = Some("it could not be read completely".to_owned());
            }
        }
    }

    fn is_complete(&self) -> bool {
        // The lines are counted only when there are enough: a file of 10 MB has 300 pages.
        self.total.is_some_and(|total| self.lines.len() >= total && self.lines.range(1..=total).count() == total)
    }

    /// Returns the reason why the file cannot be read, if any.
    pub(crate) fn failure(&self) -> Option<&str> {
        self.failure.as_deref()
    }

    /// Returns the text, lines joined by LF, once all lines are known.
    pub(crate) fn text(&self) -> Option<String> {
        let total = self.total.filter(|_| self.is_complete())?;
        Some(self.lines.values().take(total).map(String::as_str).collect::<Vec<_>>().join("\n"))
    }

    /// Returns calls that read the missing lines, limited in number.
    pub(crate) fn missing(&self, path: &str) -> Vec<PlannedCall> {
        if self.lines.is_empty() && self.total.is_none() && self.page == LINES_PER_READ {
            return vec![PlannedCall::new("read_file", [("file_path", json!(path))])];
        }
        let mut calls = Vec::new();
        let mut ask = |offset: usize, limit: usize| {
            if calls.len() < READS_MAX {
                calls.push(PlannedCall::new(
                    "read_file",
                    [("file_path", json!(path)), ("offset", json!(offset)), ("limit", json!(limit))],
                ));
            }
        };
        let mut next = 1;
        let end = self.total.map_or(usize::MAX, |total| total + 1);
        for known in self.lines.keys().copied().chain([end]) {
            // After the last known line of a file of unknown length, one page is requested at a time.
            let gap_end = if known == usize::MAX { next + self.page } else { known };
            while next < gap_end {
                let limit = self.page.min(gap_end - next);
                ask(next, limit);
                next += limit;
            }
            next = known.saturating_add(1);
        }
        calls
    }
}

/// Returns the part of a tool's error text for the user: its first line without the tool's name and code, and the
/// tool's suggestion.
pub(crate) fn reason(text: &str) -> String {
    let mut lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    let mut line = lines.next().unwrap_or("the tool gave no reason");
    for (start, end) in [("Tool error (", "): "), ("Error: ", ""), ("[", "] ")] {
        if let Some((_, rest)) = line.strip_prefix(start).and_then(|rest| rest.split_once(end)) {
            line = rest;
        }
    }
    // The tool's words speak to a model.
    if line.contains("the user took the canvas back") {
        line = "you took the file back";
    }
    let reason: String = line.chars().take(200).collect();
    let reason = reason.trim_end_matches('.');
    match lines.find(|line| line.starts_with("Did you mean ")) {
        Some(suggestion) => format!("{reason} (d{})", &suggestion[1..]),
        None => reason.to_owned(),
    }
}

/// One output of `read_file`.
struct Page {
    lines: Vec<(usize, String)>,
    /// Number of lines of the file, if the header contains it.
    total: Option<usize>,
    /// Whether the output was truncated.
    cut: bool,
}

/// Returns whether this line of an output marks a truncation.
pub(crate) fn is_cut_mark(line: &str) -> bool {
    line.starts_with("[WARNING: Tool output was truncated.")
        || line.starts_with("[...") && line.ends_with("lines omitted ...]")
}

fn parse_page(text: &str, offset: usize) -> Page {
    let mut page = Page { lines: Vec::new(), total: None, cut: false };
    let mut expected = offset;
    // The line after a mark may lack its beginning, and the line before it its end.
    let mut behind_cut = false;
    let mut lost_begin = false;
    for line in text.lines() {
        if is_cut_mark(line) {
            page.cut = true;
            (behind_cut, lost_begin) = (true, true);
            page.lines.pop();
            continue;
        }
        if lost_begin && !line.is_empty() {
            lost_begin = false;
            continue;
        }
        let Some((number, content)) = numbered(line) else {
            if page.lines.is_empty() && !page.cut {
                page.total = page.total.or_else(|| total_of(line));
            }
            continue;
        };
        if number == expected || behind_cut && number > expected {
            page.lines.push((number, content.to_owned()));
            expected = number + 1;
            behind_cut = false;
        }
    }
    page
}

/// Splits `NNN | content`.
fn numbered(line: &str) -> Option<(usize, &str)> {
    let (number, rest) = line.trim_start_matches(' ').split_once(' ')?;
    let content = rest.strip_prefix('|')?;
    Some((number.parse().ok()?, content.strip_prefix(' ').unwrap_or(content)))
}

/// Returns the N of a header with `… lines 1-5 of N …`.
fn total_of(header: &str) -> Option<usize> {
    let behind = header.rsplit_once(" of ")?.1;
    let digits = behind.len() - behind.trim_start_matches(|c: char| c.is_ascii_digit()).len();
    behind[..digits].parse().ok()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::step::ToolResult;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn reasons_are_shortened_for_users() {
        assert_eq!(reason("Error: no.\nmore"), "no");
        assert_eq!(reason("  \n"), "the tool gave no reason");
        assert_eq!(
            reason("Tool error (grep): [not_found] a.md does not exist\nDid you mean b.md?"),
            "a.md does not exist (did you mean b.md?)"
        );
        let preempted = "the user took the canvas back; do not edit it again before the user's next message";
        assert_eq!(reason(&format!("Tool error (edit_file): [STALE_EPOCH] {preempted}")), "you took the file back");
    }

    fn read(reading: &mut FileReader, input: serde_json::Value, text: &str) {
        let result = ToolResult { text: text.to_owned(), is_error: false };
        reading.take(&CompletedCall { name: "read_file".to_owned(), input, result });
    }

    #[test]
    fn headers_and_footers_are_not_lines() {
        let mut reading = FileReader::default();
        read(
            &mut reading,
            json!({}),
            "[a | version 1 | sha256:x | lines 1-2 of 3 | CRLF line endings]\n1 | a\n2 | 9 | b\n[1 line more]",
        );
        assert_eq!(reading.text(), None);
        assert_eq!(
            reading.missing("a"),
            [PlannedCall::new("read_file", [("file_path", json!("a")), ("offset", json!(3)), ("limit", json!(1))])]
        );
        read(&mut reading, json!({"offset": 3, "limit": 1}), "3 |");
        assert_eq!(reading.text().as_deref(), Some("a\n9 | b\n"));
    }

    #[test]
    fn lines_beside_a_truncation_are_read_again() {
        let mut reading = FileReader::default();
        let mark = "[WARNING: Tool output was truncated. 99 characters were removed.]";
        read(&mut reading, json!({}), &format!("1 | a\n2 | b\n3 | c\n\n{mark}\n\n6 | x\n7 | f\n8 | g"));
        let ask = |offset: u64, limit: u64| {
            PlannedCall::new(
                "read_file",
                [("file_path", json!("a")), ("offset", json!(offset)), ("limit", json!(limit))],
            )
        };
        // Four whole lines were shown, so slightly fewer are requested at once.
        assert_eq!(reading.missing("a"), [ask(3, 3), ask(6, 1), ask(9, 3)]);
        read(&mut reading, json!({"offset": 3, "limit": 3}), "3 | c\n4 | d\n5 | e");
        read(&mut reading, json!({"offset": 6, "limit": 1}), "6 | x");
        read(&mut reading, json!({"offset": 9, "limit": 3}), "");
        assert_eq!(reading.text().as_deref(), Some("a\nb\nc\nd\ne\nx\nf\ng"));
    }
}
