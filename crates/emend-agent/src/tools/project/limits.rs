//! The limits of the project tools.

/// The limits of the [project tools](super::project_tools).
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ProjectToolLimits {
    /// Results of a search that sets no limit.
    pub max_search_results_default: usize,
    /// The most results of a search, whatever the call asks for.
    pub max_search_results_cap: usize,
    /// The most lines of one search result.
    pub max_search_snippet_lines: usize,
    /// Bytes that a read shows if the call sets no limit.
    pub max_read_bytes_default: usize,
    /// The most bytes that a read shows, whatever the call asks for.
    pub max_read_bytes_cap: usize,
    /// Lines that a read shows if the call names no last line.
    pub max_read_lines_default: usize,
    /// The most files of a list.
    pub max_listed_files: usize,
}

impl Default for ProjectToolLimits {
    fn default() -> Self {
        Self {
            max_search_results_default: 20,
            max_search_results_cap: 50,
            max_search_snippet_lines: 20,
            max_read_bytes_default: 65_536,
            max_read_bytes_cap: 262_144,
            max_read_lines_default: 800,
            max_listed_files: 1000,
        }
    }
}
