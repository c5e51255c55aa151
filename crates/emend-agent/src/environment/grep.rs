//! Searches over the files of an environment: the query and the matching lines of one file.

use serde::Serialize;

use super::path::FilePath;
use crate::search::{LineMatch, Matcher, SearchLimits, truncate_matches};

/// A search: the pattern, its range and its limits.
#[derive(Clone, Debug)]
pub struct GrepQuery {
    /// The compiled pattern.
    pub matcher: Matcher,
    /// The file or directory to search.
    pub path: FilePath,
    /// Searches only files whose path relative to `path`, or whose name, matches this glob.
    pub glob: Option<String>,
    /// Files to skip: the workspace searches those itself, because it has newer text.
    pub exclude: Vec<FilePath>,
    /// Maximum number of matching lines.
    pub max_results: usize,
    /// Lines of context before and after each match.
    pub context_lines: usize,
}

impl GrepQuery {
    /// Returns the limits for the first file; later files may return fewer matches.
    #[must_use]
    pub fn limits(&self) -> SearchLimits {
        SearchLimits {
            max_matches: self.max_results,
            context_lines: self.context_lines,
            max_line_bytes: SearchLimits::MAX_LINE_BYTES,
        }
    }
}

/// The matching lines of one file, with context, in line order.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
pub struct FileMatches {
    /// Path relative to the root.
    pub path: FilePath,
    /// Matching lines and context lines.
    pub lines: Vec<LineMatch>,
}

impl FileMatches {
    /// Truncates the result to its first `max_matches` matches. The result equals that of [`Matcher::search`] with this
    /// limit.
    pub fn truncate(&mut self, max_matches: usize, context_lines: usize) {
        truncate_matches(&mut self.lines, max_matches, context_lines);
    }

    /// Returns the number of matching lines.
    #[must_use]
    pub fn match_count(&self) -> usize {
        self.lines.iter().filter(|line| line.is_match).count()
    }
}
