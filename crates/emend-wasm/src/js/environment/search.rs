//! A search through a host's files, continued whenever the host has answered.

use emend_agent::environment::FileMatches;
use emend_agent::environment::walk::Filter;
use emend_agent::environment::{EnvError, FilePath, GrepQuery};
use emend_agent::search::SearchLimits;
use js_sys::{Array, Uint8Array};
use wasm_bindgen::JsValue;

use super::entries::joined;
use super::lookup::Entries;
use super::replay::AnswerCache;

/// Number of files that one `contents` operation reads.
const FILES_AT_ONCE: usize = 16;

/// A running search.
pub(super) struct Search<'a> {
    query: &'a GrepQuery,
    /// Argument of the `grep` operation: the pattern, `i` if case is ignored, and the glob.
    argument: String,
    /// The files left to search, last first. `None` until they have been found.
    ahead: Option<Vec<FilePath>>,
    limits: SearchLimits,
    found: Vec<FileMatches>,
}

impl<'a> Search<'a> {
    pub(super) fn new(query: &'a GrepQuery) -> Self {
        let case = if query.matcher.is_case_insensitive() { "i" } else { "" };
        let argument = [query.matcher.pattern(), case, query.glob.as_deref().unwrap_or_default()].join("\0");
        Self { query, argument, ahead: None, limits: query.limits(), found: Vec::new() }
    }

    /// Continues as far as the cached answers allow. Returns all matches once the search is complete.
    pub(super) fn step(&mut self, cache: &AnswerCache<'_>) -> Result<Vec<FileMatches>, EnvError> {
        let path = &self.query.path;
        let ahead = match &mut self.ahead {
            Some(ahead) => ahead,
            unfiltered => {
                let filter = Filter::of_grep(self.query)?;
                let argument = JsValue::from(&self.argument);
                let files = cache.find(path, Entries::Shown, usize::MAX, Some(("grep", &argument)))?;
                let wanted = files.into_iter().rev().map(|file| file.path).filter(|path| filter.accepts(path));
                unfiltered.insert(wanted.collect())
            }
        };
        while self.limits.max_matches > 0 && !ahead.is_empty() {
            let from = ahead.len().saturating_sub(FILES_AT_ONCE);
            // The pattern after the paths and an empty field: the host may know that a file has no match.
            let fields = ahead[from..].iter().map(FilePath::as_str).chain(["", &self.argument]);
            let contents = Array::from(&cache.ask("contents", path, &joined(fields))?);
            for (path, content) in ahead.drain(from..).rev().zip(contents.reverse().iter()) {
                if content.is_undefined() || self.limits.max_matches == 0 {
                    continue;
                }
                let lines = self.query.matcher.search(&Uint8Array::new(&content).to_vec(), self.limits);
                let matches = FileMatches { path, lines };
                self.limits.max_matches -= matches.match_count();
                if !matches.lines.is_empty() {
                    self.found.push(matches);
                }
            }
        }
        Ok(std::mem::take(&mut self.found))
    }
}
