//! The built-in tools, one file each: a definition for the model and a call over the workspace.
//!
//! Tools do not repeat checks: arguments are valid when a call begins, the workspace resolves paths, and the engines of
//! `emend-edit` locate text.

mod apply_patch;
mod arguments;
#[cfg_attr(not(feature = "canvas"), path = "no_canvas.rs")]
mod canvas;
mod canvas_replies;
mod clarify_user;
mod edit_file;
mod edit_lines;
mod glob;
mod grep;
mod list_dir;
mod move_file;
mod patching;
mod preview;
mod project;
mod read_file;
mod read_many_files;
mod safe_patch;
mod shell;
mod subagents;
mod web_fetch;
mod write_file;

use emend_edit::truncate::OutputLimits;
use emend_llm::Shared;

pub use apply_patch::ApplyPatch;
pub use canvas::{CANVAS_INSTRUCTIONS, CanvasNotes, canvas_tools};
#[cfg(feature = "canvas")]
pub use canvas::{CanvasDesk, CanvasEdit, CanvasFailure, Place};
pub use canvas_replies::{CanvasEdited, CanvasLines, CanvasMatch, CanvasMatches, CheckOut, CheckedIn, Renewed};
pub use clarify_user::{ClarifyUser, NO_USER_ANSWER};
pub use edit_file::EditFile;
pub use edit_lines::EditLines;
pub use glob::Glob;
pub use grep::Grep;
pub use list_dir::ListDir;
pub use move_file::MoveFile;
pub use project::{PROJECT_INSTRUCTIONS, ProjectToolLimits, project_tools};
pub(crate) use project::{files, search};
pub use read_file::ReadFile;
pub(crate) use read_file::{IMAGE_BYTES_MAX, image_type};
pub use read_many_files::ReadManyFiles;
pub use safe_patch::SafePatch;
pub use shell::Shell;
pub(crate) use shell::exit_code_first;
pub use subagents::{SubagentTool, register_subagent_tools};
pub use web_fetch::{WebFetch, WebFetchOptions};
pub use write_file::WriteFile;

use crate::tool::{Tool, ToolRegistry};

/// Canonical names of the tools that a session without a profile has.
pub(crate) const CORE: [&str; 10] = [
    "read_file",
    "read_many_files",
    "write_file",
    "edit_file",
    "apply_patch",
    "move_file",
    "grep",
    "glob",
    "list_dir",
    "shell",
];

/// Returns a registry of the tools that a session without a profile has, under their canonical names. The session leaves
/// out `shell` if its environment has no shell.
#[must_use]
pub fn core_tools() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    for tool in CORE.into_iter().filter_map(built_in) {
        registry.register(tool);
    }
    registry
}

/// Returns the default output limits of the tool with this canonical name, for programs that have no registry.
#[must_use]
pub fn output_limits_of(canonical: &str) -> OutputLimits {
    match canonical {
        "read_file" => ReadFile::OUTPUT_LIMITS,
        "write_file" => WriteFile::OUTPUT_LIMITS,
        "edit_file" => EditFile::OUTPUT_LIMITS,
        "apply_patch" => ApplyPatch::OUTPUT_LIMITS,
        "grep" => Grep::OUTPUT_LIMITS,
        "glob" => Glob::OUTPUT_LIMITS,
        "shell" => Shell::OUTPUT_LIMITS,
        "spawn_agent" => subagents::SPAWN_OUTPUT_LIMITS,
        _ => OutputLimits::default(),
    }
}

/// Returns the built-in tool with this canonical name, unless it needs something from the host.
pub(crate) fn built_in(canonical: &str) -> Option<Shared<dyn Tool>> {
    Some(match canonical {
        "read_file" => Shared::new(ReadFile),
        "read_many_files" => Shared::new(ReadManyFiles),
        "write_file" => Shared::new(WriteFile),
        "edit_file" => Shared::new(EditFile),
        "edit_lines" => Shared::new(EditLines),
        "apply_patch" => Shared::new(ApplyPatch),
        "safe_patch" => Shared::new(SafePatch),
        "move_file" => Shared::new(MoveFile),
        "grep" => Shared::new(Grep),
        "glob" => Shared::new(Glob),
        "list_dir" => Shared::new(ListDir),
        "shell" => Shared::new(Shell),
        "clarify_user" => Shared::new(ClarifyUser),
        name => Shared::new(subagents::subagent_tool(name)?),
    })
}

#[cfg(test)]
mod tests;
