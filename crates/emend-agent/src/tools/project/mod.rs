//! The tools of a review service: `search_project`, `read_file`, `list_files`, `clarify_user` and `propose_edits`.
//!
//! They are a set of their own, beside the tools of the profiles. Their names and results are fixed, because programs read
//! the results as data. The text for the model shows the same with line numbers. No result exceeds the limits of the set,
//! so the session need not cut it.

mod bm25;
mod limits;
mod list;
mod plan;
mod proposal;
mod propose;
mod read;
mod search;

use emend_llm::Shared;

pub use limits::ProjectToolLimits;
pub(crate) use search::{files, search};

use super::ClarifyUser;
use crate::tool::ToolRegistry;

/// The base of the system prompt of a session whose tools are the project tools.
pub const PROJECT_INSTRUCTIONS: &str = "\
You edit the text files of a project for a user. The user reviews each of your edits and accepts or rejects it.
- Find the places first: search_project and list_files find files, read_file shows lines with their numbers.
- Edit with propose_edits. Line numbers are those that read_file showed last. Put all edits of one change into one call.
- Keep each edit small and focused, and give its reason in `rationale`. Change nothing that the instruction does not need.
- Keep the style of the text around an edit, its spelling, its indentation and its language.
- If the instruction can mean different things, and the difference matters, ask with clarify_user, one question at a time. \
The answer no_user_answer means that you decide.
- When you are done, say in a few sentences what you changed, and what you left.";

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
