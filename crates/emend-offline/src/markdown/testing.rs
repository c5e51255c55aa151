//! A helper for tests: makes a change of a text.

use super::change::Change;

/// Makes `change` and returns the text, or the reason against the change.
pub(crate) fn made(text: &str, change: impl Fn(&[&str]) -> Result<Change, String>) -> String {
    let lines: Vec<&str> = if text.is_empty() { Vec::new() } else { text.split('\n').collect() };
    match change(&lines) {
        Err(reason) => format!("error: {reason}"),
        Ok(Change { edit: None, .. }) => "unchanged".to_owned(),
        Ok(Change { edit: Some(edit), .. }) => {
            let new: Vec<&str> = edit.lines.iter().map(String::as_str).collect();
            [&lines[..edit.range.start], &new, &lines[edit.range.end..]].concat().join("\n")
        }
    }
}
