//! Edits that name lines by number: replace, insert and delete, checked against the hash of the text that was read.
//!
//! All numbers of an edit list refer to the text before any of the edits. An edit without a hash is applied unchecked;
//! the workspace decides whether that is allowed, or fills in the hash of the text it last showed.

use serde::{Deserialize, Serialize};

use crate::error_code::ErrorCode;
use crate::locate::leniency::Leniency;
use crate::locate::line_table::LineTable;
use crate::locate::text_builder::{NewEol, TextBuilder};
use crate::patch::model::{AppliedHunk, Diagnostic, EditedText};
use crate::size::compact_sort::sort_by_key;
use crate::text::{self, ContentHash};

/// Line edits of one file.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct LineEdits {
    /// The edits, in any order.
    pub edits: Vec<LineEdit>,
    /// Hash of the text for which they were made.
    pub expected_hash: Option<ContentHash>,
}

/// The effect of an edit on its range of lines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum LineOperation {
    /// Replaces the lines from `start_line` to `end_line`, inclusive.
    Replace,
    /// Inserts before `start_line`. One past the last line appends.
    Insert,
    /// Deletes the lines from `start_line` to `end_line`, inclusive.
    Delete,
}

/// One line edit.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct LineEdit {
    /// The operation.
    pub operation: LineOperation,
    /// The first line, from 1.
    pub start_line: usize,
    /// The last line; `start_line` if absent. Ignored for an insertion.
    #[serde(default)]
    pub end_line: Option<usize>,
    /// The new lines. The line ending after the last is optional. Empty for a deletion.
    #[serde(default)]
    pub new_text: String,
    /// Hash of the text that was read, or of the named lines in it.
    #[serde(default)]
    pub expected_hash: Option<ContentHash>,
}

/// Why line edits were rejected. Edits and lines count from 1.
#[derive(Clone, Debug, thiserror::Error, PartialEq, Eq, Serialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum LinesError {
    /// The list is empty.
    #[error("the list of line edits is empty; give at least one edit")]
    NoEdits,
    /// A named line does not exist.
    #[error("edit {edit} names line {line}, but the file has {n_lines} lines{}", insert_hint(*n_lines, *insert))]
    OutOfRange {
        /// Number of the edit.
        edit: usize,
        /// The line it names.
        line: usize,
        /// Number of lines of the text.
        n_lines: usize,
        /// Whether the edit inserts. An insertion may name one past the last line.
        insert: bool,
    },
    /// A range ends before it starts.
    #[error("edit {edit} names lines {start} to {end}, but the end is before the start")]
    Backwards {
        /// Number of the edit.
        edit: usize,
        /// Its first line.
        start: usize,
        /// Its last line.
        end: usize,
    },
    /// Two edits touch the same line.
    #[error("edits {first} and {second} overlap at line {line}; merge them into one")]
    Overlap {
        /// The edit that starts first.
        first: usize,
        /// The other edit.
        second: usize,
        /// A line that both touch.
        line: usize,
    },
    /// A deletion has new text, or an insertion has none.
    #[error("edit {edit} {}", if *deletes { "deletes, so `new_text` must be empty" } else { "inserts nothing; give the new lines in `new_text`" })]
    TextMismatch {
        /// Number of the edit.
        edit: usize,
        /// Whether it is a deletion.
        deletes: bool,
    },
    /// The text changed since it was read.
    #[error("edit {edit} was made for {expected}, but the file is now {actual}; read it again")]
    Stale {
        /// The edit, or 0 if the hash of the whole list does not match.
        edit: usize,
        /// The hash that the edit names.
        expected: ContentHash,
        /// The hash of the text.
        actual: ContentHash,
    },
}

fn insert_hint(n_lines: usize, insert: bool) -> String {
    if insert { format!("; insert before line {} to append", n_lines + 1) } else { String::new() }
}

impl LinesError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> ErrorCode {
        match self {
            Self::Stale { .. } => ErrorCode::Stale,
            _ => ErrorCode::InvalidArgument,
        }
    }
}

/// An edit with a checked range: lines from 0, end excluded.
struct Checked<'e> {
    number: usize,
    start: usize,
    end: usize,
    edit: &'e LineEdit,
}

/// Applies all `edits` to `before`, or none.
///
/// New lines get the line endings of the lines they replace, or else of their neighbours. A text without a trailing
/// newline keeps lacking it, unless the new text of its last line ends in a line ending.
///
/// # Errors
/// Fails if a hash does not match, a line does not exist or two edits overlap.
pub fn apply(before: &str, edits: &LineEdits) -> Result<EditedText, LinesError> {
    let table = LineTable::new(before);
    let hash = std::cell::OnceCell::new();
    let stale = |edit: usize, expected: Option<ContentHash>, lines: &str| {
        let actual = || *hash.get_or_init(|| ContentHash::of(before.as_bytes()));
        match expected {
            Some(expected) if expected != actual() && !is_hash_of_lines(expected, lines) => {
                Err(LinesError::Stale { edit, expected, actual: actual() })
            }
            _ => Ok(()),
        }
    };
    stale(0, edits.expected_hash, "")?;
    let mut checked = Vec::with_capacity(edits.edits.len());
    for (index, edit) in edits.edits.iter().enumerate() {
        let edit = check(&table, index + 1, edit)?;
        stale(edit.number, edit.edit.expected_hash, table.text(edit.start..edit.end))?;
        checked.push(edit);
    }
    if checked.is_empty() {
        return Err(LinesError::NoEdits);
    }
    sort_by_key(&mut checked, |edit| (edit.start, edit.end));
    for pair in checked.windows(2) {
        if pair[1].start < pair[0].end {
            return Err(LinesError::Overlap { first: pair[0].number, second: pair[1].number, line: pair[1].start + 1 });
        }
    }
    Ok(build(&table, &checked))
}

fn check<'e>(table: &LineTable<'_>, number: usize, edit: &'e LineEdit) -> Result<Checked<'e>, LinesError> {
    let n_lines = table.len();
    let start = edit.start_line;
    let (insert, deletes) = (edit.operation == LineOperation::Insert, edit.operation == LineOperation::Delete);
    let end = if insert { start } else { edit.end_line.unwrap_or(start) };
    let last = if insert { n_lines + 1 } else { n_lines };
    if let Some(line) = [start, end].into_iter().find(|&line| line == 0 || line > last) {
        return Err(LinesError::OutOfRange { edit: number, line, n_lines, insert });
    }
    if end < start {
        return Err(LinesError::Backwards { edit: number, start, end });
    }
    if deletes != edit.new_text.is_empty() && (deletes || insert) {
        return Err(LinesError::TextMismatch { edit: number, deletes });
    }
    Ok(Checked { number, start: start - 1, end: if insert { start - 1 } else { end }, edit })
}

fn is_hash_of_lines(hash: ContentHash, lines: &str) -> bool {
    let is_hash_of = |text: &str| hash == ContentHash::of(text.as_bytes());
    !lines.is_empty() && (is_hash_of(lines) || is_hash_of(text::split_eol(lines).0))
}

fn build(table: &LineTable<'_>, edits: &[Checked<'_>]) -> EditedText {
    let mut builder = TextBuilder::new(table, NewEol::Counterpart);
    let mut hunks: Vec<Option<AppliedHunk>> = vec![None; edits.len()];
    let mut diagnostics = Vec::new();
    for Checked { number, start, end, edit } in edits {
        builder.keep_to(*start);
        let new_start = builder.n_lines();
        let new_lines: Vec<&str> = text::lines(&edit.new_text).map(|line| text::split_eol(line).0).collect();
        (*start..*end).for_each(|_| builder.delete());
        new_lines.iter().for_each(|line| builder.insert(line));
        builder.end_change();
        diagnostics.extend(repeats_neighbour(table, *start, *end, &new_lines));
        hunks[number - 1] = Some(AppliedHunk {
            number: *number,
            old_start: start + 1,
            old_lines: end - start,
            new_start: new_start + 1,
            new_lines: builder.n_lines() - new_start,
            matched: Leniency::Exact,
        });
    }
    let mut text = builder.finish();
    let open_end = table.len() > 0 && table.eol(table.len() - 1).is_empty();
    if let Some(last) = edits.last().filter(|edit| open_end && edit.end == table.len())
        && !last.edit.new_text.is_empty()
        && !last.edit.new_text.ends_with(['\n', '\r'])
    {
        text.truncate(text.len() - text::split_eol(&text).1.len());
    }
    EditedText { text, hunks: hunks.into_iter().flatten().collect(), diagnostics }
}

/// Returns a note if the new lines repeat the line next to them. Mostly the range is then one line short.
fn repeats_neighbour(table: &LineTable<'_>, start: usize, end: usize, new: &[&str]) -> Option<Diagnostic> {
    let repeats = |neighbour: usize, new: Option<&&str>, replaced: usize| {
        let content = table.content(neighbour);
        let was_there = replaced < end && replaced >= start && table.content(replaced) == content;
        new.is_some_and(|line| *line == content) && !content.trim().is_empty() && !was_there
    };
    let line = match (start.checked_sub(1), end) {
        (Some(above), _) if repeats(above, new.first(), start) => above,
        (_, below) if below < table.len() && repeats(below, new.last(), end.wrapping_sub(1)) => below,
        _ => return None,
    };
    let message = format!("the new text repeats line {} next to it; check the range of the edit", line + 1);
    Some(Diagnostic { code: "repeats_neighbour", message, line: Some(line + 1) })
}

#[cfg(test)]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;

    use super::*;
    use crate::test_support::{cases, covers};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn edit(operation: LineOperation, start_line: usize, end_line: usize, new_text: &str) -> LineEdit {
        LineEdit { operation, start_line, end_line: Some(end_line), new_text: new_text.to_owned(), expected_hash: None }
    }

    fn replace(start: usize, end: usize, text: &str) -> LineEdit {
        edit(LineOperation::Replace, start, end, text)
    }

    fn insert(at: usize, text: &str) -> LineEdit {
        edit(LineOperation::Insert, at, at, text)
    }

    fn delete(start: usize, end: usize) -> LineEdit {
        edit(LineOperation::Delete, start, end, "")
    }

    #[track_caller]
    fn check(before: &str, edits: &[LineEdit], expected: &str) {
        let edits = LineEdits { edits: edits.to_vec(), expected_hash: Some(ContentHash::of(before.as_bytes())) };
        assert_eq!(apply(before, &edits).map(|applied| applied.text), Ok(expected.to_owned()));
    }

    #[track_caller]
    fn check_error(before: &str, edits: &[LineEdit], expected: &LinesError) {
        let error = apply(before, &LineEdits { edits: edits.to_vec(), expected_hash: None }).unwrap_err();
        assert_eq!(&error, expected);
        assert_eq!(error.code(), ErrorCode::InvalidArgument);
    }

    #[test]
    fn ranges_are_inclusive_and_count_the_old_text() {
        covers("edit.lines");
        check("a\nb\nc\n", &[replace(2, 2, "B")], "a\nB\nc\n");
        check("a\nb\nc\n", &[replace(1, 2, "x\ny\nz\n")], "x\ny\nz\nc\n");
        check("a\nb\nc\n", &[delete(1, 3)], "");
        check("a\nb\nc\n", &[delete(3, 3), replace(1, 1, "A"), insert(2, "n")], "A\nn\nb\n");
        check("a\nb\n", &[replace(1, 1, "")], "b\n");
        check("a\nb\n", &[replace(1, 1, "\n")], "\nb\n");
        check("a\nb\n", &[insert(2, "x"), insert(2, "y")], "a\nx\ny\nb\n");
    }

    #[test]
    fn one_past_the_last_line_appends() {
        check("a\n", &[insert(2, "b")], "a\nb\n");
        check("", &[insert(1, "b")], "b\n");
        check("\u{feff}", &[insert(1, "b")], "\u{feff}b\n");
        check("a", &[insert(2, "b")], "a\nb");
        check("a", &[insert(2, "b\n")], "a\nb\n");
    }

    #[test]
    fn line_endings_stay_as_they_were() {
        covers("edit.line_endings");
        check("a\r\nb\rc", &[replace(1, 3, "x\ny\nz")], "x\r\ny\rz");
        check("a\r\nb\r\n", &[replace(2, 2, "x\ny")], "a\r\nx\r\ny\r\n");
        check("a\nb", &[replace(2, 2, "B")], "a\nB");
        check("a\nb", &[replace(2, 2, "B\n")], "a\nB\n");
        check("a\nb", &[delete(2, 2)], "a\n");
        check("\u{feff}a\r\n", &[replace(1, 1, "b")], "\u{feff}b\r\n");
    }

    #[test]
    fn invalid_edits_are_rejected() {
        use LinesError::*;
        check_error("a\n", &[], &NoEdits);
        check_error("a\n", &[replace(1, 2, "x")], &OutOfRange { edit: 1, line: 2, n_lines: 1, insert: false });
        check_error("a\n", &[delete(0, 1)], &OutOfRange { edit: 1, line: 0, n_lines: 1, insert: false });
        check_error("a\n", &[insert(3, "x")], &OutOfRange { edit: 1, line: 3, n_lines: 1, insert: true });
        check_error("a\nb\n", &[delete(2, 1)], &Backwards { edit: 1, start: 2, end: 1 });
        check_error("a\nb\n", &[delete(1, 2), insert(2, "x")], &Overlap { first: 1, second: 2, line: 2 });
        check_error("a\n", &[edit(LineOperation::Delete, 1, 1, "x")], &TextMismatch { edit: 1, deletes: true });
        check_error("a\n", &[insert(1, "")], &TextMismatch { edit: 1, deletes: false });
    }

    #[test]
    fn hashes_name_the_file_or_the_lines() {
        covers("edit.lines");
        let before = "a\nb\nc\n";
        let of = |text: &str| Some(ContentHash::of(text.as_bytes()));
        let apply = |expected_hash, file_hash| {
            let edits = vec![LineEdit { expected_hash, ..replace(2, 2, "B") }];
            apply(before, &LineEdits { edits, expected_hash: file_hash }).map(|applied| applied.text)
        };
        for hash in [None, of(before), of("b\n"), of("b")] {
            assert_eq!(apply(hash, None).as_deref(), Ok("a\nB\nc\n"));
        }
        assert_eq!(apply(of("x"), None).unwrap_err().code(), ErrorCode::Stale);
        assert_eq!(apply(None, of("x")).unwrap_err().code(), ErrorCode::Stale);
    }

    #[test]
    fn a_repeated_neighbour_is_noted() {
        let notes = |edit: LineEdit| {
            let edits = LineEdits { edits: vec![edit], expected_hash: None };
            apply("fn f() {\n  a\n}\n\nx\n}\n", &edits).unwrap().diagnostics.len()
        };
        assert_eq!(notes(replace(2, 2, "  b\n}")), 1);
        assert_eq!(notes(replace(2, 2, "fn f() {\n  b")), 1);
        assert_eq!(notes(replace(2, 3, "  b\n}")), 0);
        assert_eq!(notes(replace(2, 2, "  b")), 0);
    }

    /// A simple model of line edits: splits the text into lines, edits from the bottom up, and joins them.
    fn simple_model(before: &str, edits: &[LineEdit]) -> Option<String> {
        let mut lines: Vec<String> = text::split_lines(before).iter().map(|line| (*line).to_owned()).collect();
        let mut below = lines.len();
        let mut edits: Vec<&LineEdit> = edits.iter().collect();
        // An insertion before a line precedes the replacement of that line.
        edits.sort_by_key(|edit| (edit.start_line, edit.operation != LineOperation::Insert));
        for edit in edits.iter().rev() {
            let start = edit.start_line.checked_sub(1)?;
            let end = if edit.operation == LineOperation::Insert { start } else { edit.end_line? };
            if start > end || end > below {
                return None;
            }
            below = start;
            let new: Vec<String> = edit.new_text.split('\n').map(|line| format!("{line}\n")).collect();
            lines.splice(start..end, if edit.operation == LineOperation::Delete { Vec::new() } else { new });
        }
        Some(lines.concat())
    }

    proptest! {
        #![proptest_config(cases(20_000))]

        #[test]
        fn edits_agree_with_the_simple_model(
            before in "([ab]{0,2}\n){0,8}",
            edits in vec((0..3_usize, 0..10_usize, 0..3_usize, "[xy]{1,2}(\n[xy]{1,2}){0,2}"), 1..4),
        ) {
            let edit = |(kind, start, len, text): (usize, usize, usize, String)| match kind {
                0 => replace(start, start + len, &text),
                1 => insert(start, &text),
                _ => delete(start, start + len),
            };
            let edits: Vec<LineEdit> = edits.into_iter().map(edit).collect();
            match apply(&before, &LineEdits { edits: edits.clone(), expected_hash: None }) {
                Ok(applied) => prop_assert_eq!(Some(applied.text), simple_model(&before, &edits)),
                Err(LinesError::Overlap { first, second, line }) => {
                    let covers = |number: usize| {
                        let edit: &LineEdit = &edits[number - 1];
                        edit.start_line <= line && line <= edit.end_line.unwrap_or(line)
                    };
                    prop_assert!(covers(first) && covers(second));
                }
                Err(_) => prop_assert_eq!(simple_model(&before, &edits), None),
            }
        }
    }
}
