//! Renames and replaces in many files: search, read the files found, edit them, search again.

use std::collections::BTreeMap;

use serde_json::json;

use crate::current_run::CurrentRun;
use crate::instruction::Substitution;
use crate::step::{CompletedCall, PlannedCall, Step};
use crate::text::file_reader::{FileReader, is_cut_mark, reason};
use crate::text::unique_edit::{Edit, next_substitution};

/// Number of files that are read, then edited, together at first.
const FILES_PER_BATCH: usize = 12;
/// Limit of that number. It grows with the number of finished files, because each response costs the whole conversation:
/// fewer responses make a change of many files faster.
const FILES_PER_BATCH_MAX: usize = 60;
/// Limit of edits in one response, unless there are more files in the batch.
const EDITS_MAX: usize = 40;
/// Limit of searches in one run.
const GREPS_MAX: usize = 100;
/// Number of results to ask for in one search.
const RESULTS_MAX: u64 = 10_000;
/// Number of files that a report names.
const NAMED_MAX: usize = 10;
/// Number of attempts to edit a file; each reads it again.
const ATTEMPTS_MAX: usize = 2;

/// Returns the next step of the task.
pub(crate) fn next(run: &CurrentRun, task: &Substitution) -> Step {
    if let Some(refusal) = run.missing_tools(&["grep", "read_file", "edit_file"]) {
        return refusal;
    }
    let state = SearchState::of(run, task);
    let Some(last) = &state.search else {
        return Step::call(opening(task), vec![grep(run, task)]);
    };
    if let Err(reason) = last {
        return Step::say(state.report(task, Some(&format!("The search failed: {reason}."))));
    }
    let n_done = state.files.len() - state.pending(task).count();
    let size = (n_done / 2).clamp(FILES_PER_BATCH, FILES_PER_BATCH_MAX);
    let batch: Vec<(&String, &FileState)> = state.pending(task).take(size).collect();
    let unread: Vec<_> = batch.iter().filter(|(_, file)| file.text.is_none()).collect();
    if !unread.is_empty() {
        let calls: Vec<PlannedCall> = unread.iter().flat_map(|(path, file)| file.reading.missing(path)).collect();
        return Step::call(format!("Reading {}.", plural(unread.len(), "file")), calls);
    }
    if !batch.is_empty() {
        let (calls, places, files) = edits(run, task, &batch);
        return Step::call(format!("Changing {} in {}.", plural(places, "place"), plural(files, "file")), calls);
    }
    if state.edits_since_search > 0 && state.searches < GREPS_MAX {
        return Step::call("Checking that nothing is left.", vec![grep(run, task)]);
    }
    let unseen = state.cut.then_some("The search showed only a part of its results, so there may be more.");
    Step::say(state.report(task, unseen))
}

fn opening(task: &Substitution) -> String {
    let place = task.path.as_deref().map_or_else(|| "every text file".to_owned(), |path| format!("`{path}`"));
    let whole = if task.needle.whole { " as a whole name" } else { "" };
    format!("looking for `{}`{whole} in {place}.", task.needle.text)
}

fn grep(run: &CurrentRun, task: &Substitution) -> PlannedCall {
    let tool = run.conversation.tools.iter().find(|tool| tool.name == "grep");
    let modes = tool.map(|tool| tool.choices("output_mode")).unwrap_or_default();
    let mode = modes.into_iter().find(|mode| mode.starts_with("files")).unwrap_or("files");
    let limit = tool.and_then(|tool| tool.maximum("max_results")).map_or(RESULTS_MAX, |limit| limit.min(RESULTS_MAX));
    PlannedCall::new(
        "grep",
        [
            ("pattern", json!(task.needle.pattern())),
            ("path", json!(task.path)),
            ("output_mode", json!(mode)),
            ("max_results", json!(limit)),
        ],
    )
}

/// Returns the next edit calls of `batch`, and the number of places and of files that they change.
fn edits(run: &CurrentRun, task: &Substitution, batch: &[(&String, &FileState)]) -> (Vec<PlannedCall>, usize, usize) {
    // The calls are part of the response, so its token limit applies to them; a quarter is left for the rest.
    let budget = run.conversation.max_tokens.map_or(u64::MAX, |tokens| tokens.saturating_mul(3));
    let (mut calls, mut places, mut files, mut chars) = (Vec::new(), 0, 0, 0);
    for (path, file) in batch {
        let Some(mut text) = file.text.clone() else { continue };
        let mut cursor = file.cursor;
        files += 1;
        while let Some(edit) = next_substitution(&text, cursor, &task.needle, &task.to) {
            chars += (edit.old.len() + edit.new.len() + path.len() + 80) as u64;
            if calls.len() == EDITS_MAX.max(batch.len()) || !calls.is_empty() && chars > budget {
                files -= usize::from(cursor == file.cursor);
                return (calls, places, files);
            }
            places += places_of(&text, cursor, &edit, task);
            calls.push(edit.call(path));
            cursor = edit.apply(&mut text);
        }
    }
    (calls, places, files)
}

/// Returns the number of places that `edit` changes in `text`. Places before `cursor` are done.
fn places_of(text: &str, cursor: usize, edit: &Edit, task: &Substitution) -> usize {
    let end = edit.start + edit.old.len();
    let mut count = 0;
    let mut from = cursor.max(edit.start);
    while let Some(range) = task.needle.find(text, from).filter(|range| range.start < end) {
        count += 1;
        from = range.end;
    }
    count
}

/// Returns a listed path. The search quotes a path that contains a line feed.
fn unquoted(path: &str) -> String {
    let quoted = path.starts_with('"').then(|| serde_json::from_str(path).ok()).flatten();
    quoted.unwrap_or_else(|| path.to_owned())
}

/// The results of the tool calls so far.
#[derive(Default)]
struct SearchState {
    /// The outcome of the last search.
    search: Option<Result<(), String>>,
    searches: usize,
    /// Whether the last search omitted results.
    cut: bool,
    edits_since_search: usize,
    /// The files in the order they were found.
    order: Vec<String>,
    files: BTreeMap<String, FileState>,
}

#[derive(Default)]
struct FileState {
    /// Whether a search found it.
    listed: bool,
    reading: FileReader,
    /// Text after the edits so far; absent until the file was read.
    text: Option<String>,
    /// Position up to which the text is done.
    cursor: usize,
    /// Number of changed places that the tool confirmed.
    places: usize,
    failures: usize,
    /// The reason why the file cannot be changed.
    failed: Option<String>,
}

impl SearchState {
    fn of(run: &CurrentRun, task: &Substitution) -> Self {
        let mut state = Self::default();
        for done in &run.done {
            match done.name.as_str() {
                "grep" => state.take_search(done),
                "read_file" => state.file(done).take_read(done),
                "edit_file" => {
                    state.edits_since_search += usize::from(!done.result.is_error);
                    state.file(done).take_edit(done, task);
                }
                _ => {}
            }
        }
        state
    }

    fn file(&mut self, done: &CompletedCall) -> &mut FileState {
        self.files.entry(done.argument("file_path").to_owned()).or_default()
    }

    fn take_search(&mut self, done: &CompletedCall) {
        self.searches += 1;
        self.edits_since_search = 0;
        if done.result.is_error {
            self.search = Some(Err(reason(&done.result.text)));
            return;
        }
        self.search = Some(Ok(()));
        let (paths, cut) = listed_paths(&done.result.text);
        self.cut = cut;
        for path in paths.into_iter().map(unquoted) {
            let file = self.files.entry(path.clone()).or_default();
            if !file.listed {
                file.listed = true;
                self.order.push(path);
            }
        }
    }

    /// Returns the files that must still be read or changed.
    fn pending<'a>(&'a self, task: &'a Substitution) -> impl Iterator<Item = (&'a String, &'a FileState)> {
        self.order
            .iter()
            .filter_map(|path| Some((path, self.files.get(path)?)))
            .filter(|(_, file)| file.is_pending(task))
    }

    /// Returns the report: the changes that the tools confirmed, and the files that were not changed.
    fn report(&self, task: &Substitution, remark: Option<&str>) -> String {
        let (from, to) = (&task.needle.text, &task.to);
        let changed: Vec<&FileState> = self.files.values().filter(|file| file.places > 0).collect();
        let places: usize = changed.iter().map(|file| file.places).sum();
        let failed: Vec<(&String, &FileState)> = self.files.iter().filter(|(_, file)| file.failed.is_some()).collect();
        let mut report = if places > 0 {
            let verb = if task.needle.whole {
                format!("Renamed {from} to {to}")
            } else {
                format!("Replaced {from:?} with {to:?}")
            };
            format!("{verb}: {} in {}.", plural(places, "place"), plural(changed.len(), "file"))
        } else if !failed.is_empty() || matches!(self.search, Some(Err(_))) {
            "Nothing was changed.".to_owned()
        } else {
            let place = task.path.as_deref().map_or_else(|| "any text file".to_owned(), |path| format!("`{path}`"));
            let whole = if task.needle.whole { " as a whole name" } else { "" };
            format!(
                "Found no `{from}`{whole} in {place}, so nothing was changed. Check the spelling: upper and lower case \
                 differ, and ignored files are not searched."
            )
        };
        if !failed.is_empty() {
            report.push_str(&format!("\nNot finished ({}):", plural(failed.len(), "file")));
            for (path, file) in failed.iter().take(NAMED_MAX) {
                let done =
                    if file.places > 0 { format!("after {}, ", plural(file.places, "place")) } else { String::new() };
                let why = file.failed.as_deref().unwrap_or_default();
                // The reason may begin with the path.
                let why = why.strip_prefix(&format!("{path}: ")).unwrap_or(why);
                report.push_str(&format!("\n- {path}: {done}{why}"));
            }
            if failed.len() > NAMED_MAX {
                report.push_str(&format!("\n- and {} more", failed.len() - NAMED_MAX));
            }
        }
        if let Some(note) = self.hyphenated(task) {
            report.push('\n');
            report.push_str(&note);
        }
        if let Some(remark) = remark {
            report.push('\n');
            report.push_str(remark);
        }
        report
    }

    /// Returns a note on occurrences that were kept because they are part of a hyphenated name.
    fn hyphenated(&self, task: &Substitution) -> Option<String> {
        if !task.needle.whole {
            return None;
        }
        let mut count = 0;
        let mut example = None;
        for (path, file) in &self.files {
            let (found, name) = task.needle.hyphenated(file.text.as_deref().unwrap_or_default());
            count += found;
            example = example.or_else(|| name.map(|name| format!("`{name}` in {path}")));
        }
        let example = example?;
        Some(format!("Left alone as part of longer hyphenated names, such as {example}: {}.", plural(count, "place")))
    }
}

impl FileState {
    fn is_pending(&self, task: &Substitution) -> bool {
        self.failed.is_none() && self.text.as_ref().is_none_or(|text| task.needle.find(text, self.cursor).is_some())
    }

    fn take_read(&mut self, done: &CompletedCall) {
        self.reading.take(done);
        self.text = self.reading.text();
        self.cursor = 0;
        self.failed = self.reading.failure().map(str::to_owned);
    }

    fn take_edit(&mut self, done: &CompletedCall, task: &Substitution) {
        let (old, new) = (done.argument("old_string"), done.argument("new_string"));
        if done.result.is_error {
            self.failures += 1;
            (self.reading, self.text) = (FileReader::default(), None);
            // A changed occurrence would look like an unchanged one if the file was read again.
            if self.failures >= ATTEMPTS_MAX || task.repeats() {
                self.failed = Some(reason(&done.result.text));
            }
            return;
        }
        let Some(text) = &mut self.text else {
            self.places += task.needle.count(old);
            return;
        };
        let mut from = self.cursor.saturating_sub(old.len());
        while !text.is_char_boundary(from) {
            from -= 1;
        }
        let Some(start) = text[from..].find(old).map(|at| from + at) else {
            self.places += task.needle.count(old);
            return;
        };
        let edit = Edit { start, old: old.to_owned(), new: new.to_owned() };
        self.places += places_of(text, self.cursor, &edit, task);
        self.cursor = edit.apply(text);
    }
}

/// Returns the paths in a list of files, and whether the list was truncated.
fn listed_paths(text: &str) -> (Vec<&str>, bool) {
    let mut paths: Vec<&str> = Vec::new();
    let (mut cut, mut lost_begin) = (false, false);
    for line in text.lines() {
        let remark = line.starts_with('[') && line.ends_with(']') || line.to_ascii_lowercase().starts_with("no match");
        if is_cut_mark(line) {
            (cut, lost_begin) = (true, true);
        } else if line.trim().is_empty() || remark {
        } else if lost_begin {
            // The first path after the mark may be incomplete; the next search shows it whole.
            lost_begin = false;
        } else {
            paths.push(line);
        }
    }
    (paths, cut)
}

/// Returns `1 place`, `2 places` and so on.
pub(crate) fn plural(count: usize, noun: &str) -> String {
    format!("{count} {noun}{}", if count == 1 { "" } else { "s" })
}
