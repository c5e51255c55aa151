//! The tools of a review service: `search_project`, `read_file`, `list_files`, `clarify_user` and `propose_edits`.
//!
//! They are a set of their own, beside the tools of the profiles. Their names and results are fixed, because programs read
//! the results as data. The text for the model shows the same with line numbers. No result exceeds the limits of the set,
//! so the session need not cut it.

mod list;
mod plan;
mod proposal;
mod propose;
mod read;
mod search;

use emend_llm::Shared;

use super::ClarifyUser;
use crate::tool::ToolRegistry;

/// The limits of the [project tools](project_tools).
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

/// Returns the project tools.
///
/// ```
/// use emend_agent::tools::{ProjectToolLimits, project_tools};
/// let tools = project_tools(ProjectToolLimits::default());
/// let names: Vec<&str> = tools.names().collect();
/// assert_eq!(names, ["search_project", "read_file", "list_files", "clarify_user", "propose_edits"]);
/// ```
#[must_use]
pub fn project_tools(limits: ProjectToolLimits) -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register(Shared::new(search::SearchProject(limits)));
    registry.register(Shared::new(read::ReadLines(limits)));
    registry.register(Shared::new(list::ListFiles(limits)));
    registry.register(Shared::new(ClarifyUser));
    registry.register(Shared::new(propose::ProposeEdits));
    registry
}

#[cfg(test)]
mod tests;
