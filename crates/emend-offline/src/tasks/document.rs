//! Changes of one Markdown file: search the place, read the file, make one edit.

use serde_json::json;

use crate::current_run::CurrentRun;
use crate::instruction::{Document, Task};
use crate::markdown::{self, Change, add_section, contents, sort_list};
use crate::step::{PlannedCall, Step};
use crate::text::file_reader::{FileReader, reason};
use crate::text::needle::Needle;
use crate::text::unique_edit::line_edit;

/// Number of attempts to edit a file.
const ATTEMPTS_MAX: usize = 2;

impl Task {
    /// Returns the change of a file with these lines, or the reason against it.
    fn change(&self, lines: &[&str]) -> Result<Change, String> {
        match self {
            Self::Contents => contents(lines),
            Self::SortList(heading) => sort_list(lines, heading),
            Self::AddSection(section) => add_section(lines, section),
        }
    }

    /// Returns the pattern of the first search.
    fn pattern(&self) -> String {
        let heading = match self {
            Self::Contents => return r"^ {0,3}#{1,6} |<!-- *toc".to_owned(),
            Self::SortList(heading) => heading,
            Self::AddSection(section) => section.after.as_ref().unwrap_or(&section.title),
        };
        // Markup may stand between the words, so the search uses the longest word.
        let plain = markdown::plain(heading);
        let word = plain.split_whitespace().max_by_key(|word| word.len()).unwrap_or_default();
        Needle { text: word.to_owned(), whole: false }.pattern()
    }

    fn opening(&self, file: &str) -> String {
        match self {
            Self::Contents => format!("looking at the headings of {file}."),
            Self::SortList(heading) => format!("looking for the list under \"{heading}\" in {file}."),
            Self::AddSection(section) => format!("looking where \"{}\" goes in {file}.", section.title),
        }
    }
}

/// Returns the next step of the task.
pub(crate) fn next(run: &CurrentRun, document: &Document) -> Step {
    let Some(file) = document.file.as_ref().or(run.open_file.as_ref()) else {
        return Step::say("No file is open, so I need its name: say it at the end, like `… in README.md`.");
    };
    if let Some(refusal) = run.missing_tools(&["grep", "read_file", "edit_file"]) {
        return refusal;
    }
    let mut searched = false;
    let mut reading = FileReader::default();
    let mut failures = 0;
    for done in &run.done {
        match (done.name.as_str(), done.result.is_error) {
            ("grep", false) => searched = true,
            ("grep", true) => return failed(file, &reason(&done.result.text)),
            ("read_file", _) => reading.take(done),
            ("edit_file" | "write_file", true) => {
                failures += 1;
                if failures >= ATTEMPTS_MAX {
                    return failed(file, &reason(&done.result.text));
                }
                reading = FileReader::default();
            }
            ("edit_file" | "write_file", false) => return finished(document, file, &reading),
            _ => {}
        }
    }
    if !searched {
        let grep = [
            ("pattern", json!(document.task.pattern())),
            ("path", json!(file)),
            ("case_insensitive", json!(true)),
            ("output_mode", json!("content")),
        ];
        return Step::call(document.task.opening(file), vec![PlannedCall::new("grep", grep)]);
    }
    if let Some(reason) = reading.failure() {
        return failed(file, reason);
    }
    match reading.text() {
        Some(text) => edit(document, file, &text),
        None => Step::call(format!("Reading {file}."), reading.missing(file)),
    }
}

fn edit(document: &Document, file: &str, text: &str) -> Step {
    let lines = lines_of(text);
    match document.task.change(&lines) {
        Err(reason) => Step::say(reason.replace("FILE", file)),
        Ok(Change { edit: None, summary }) => Step::say(summary.replace("FILE", file)),
        Ok(Change { edit: Some(edit), .. }) => {
            let call = if lines.is_empty() {
                let content = edit.lines.join("\n") + "\n";
                PlannedCall::new("write_file", [("file_path", json!(file)), ("content", json!(content))])
            } else {
                line_edit(&lines, &edit).call(file)
            };
            Step::call(format!("Changing {file}."), vec![call])
        }
    }
}

fn finished(document: &Document, file: &str, reading: &FileReader) -> Step {
    // The text is known as it was before the edit, so the change is computed again for its description.
    let text = reading.text().unwrap_or_default();
    match document.task.change(&lines_of(&text)) {
        Ok(change) => Step::say(change.summary.replace("FILE", file)),
        Err(_) => Step::say(format!("Changed {file}.")),
    }
}

fn failed(file: &str, reason: &str) -> Step {
    Step::say(format!("{file} was not changed: {reason}."))
}

fn lines_of(text: &str) -> Vec<&str> {
    if text.is_empty() { Vec::new() } else { text.split('\n').collect() }
}
