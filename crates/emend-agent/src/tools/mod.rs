//! The built-in tools (S2 §3.3): each a definition for the model and a call over the workspace.
//!
//! Tools check nothing twice: arguments are valid when a call begins, paths are resolved by the workspace, and text is
//! located by the engines of `emend-edit`.

mod apply_patch;
mod clarify_user;
mod edit_file;
mod edit_lines;
mod grep;
mod preview;
mod read_file;
mod read_many_files;
mod safe_patch;
mod shell;
mod subagents;
mod web_fetch;
mod write_file;

use emend_edit::ContentHash;
use emend_edit::text::ParseHashError;
use emend_edit::truncate::OutputLimits;
use emend_llm::Shared;
use serde_json::{Map, Value};

pub use apply_patch::ApplyPatch;
pub use clarify_user::ClarifyUser;
pub use edit_file::EditFile;
pub use edit_lines::EditLines;
pub use grep::{Glob, Grep};
pub use read_file::ReadFile;
pub use read_many_files::ReadManyFiles;
pub use safe_patch::SafePatch;
pub use shell::Shell;
pub(crate) use shell::exit_code_first;
pub use subagents::{SubagentTool, register_subagent_tools};
pub use web_fetch::{WebFetch, WebFetchOptions};
pub use write_file::{ListDir, WriteFile};

use crate::approval::Target;
use crate::error_code::Code;
use crate::tool::{Tool, ToolError, ToolRegistry};

/// Returns a registry with every built-in tool. A session whose environment has no shell leaves that one out.
#[must_use]
pub fn core_tools() -> ToolRegistry {
    let mut registry = ToolRegistry::new();
    registry.register(Shared::new(ReadFile));
    registry.register(Shared::new(ReadManyFiles));
    registry.register(Shared::new(WriteFile));
    registry.register(Shared::new(EditFile));
    registry.register(Shared::new(ApplyPatch));
    registry.register(Shared::new(Grep));
    registry.register(Shared::new(Glob));
    registry.register(Shared::new(ListDir));
    registry.register(Shared::new(Shell));
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
        "grep" => Shared::new(Grep),
        "glob" => Shared::new(Glob),
        "list_dir" => Shared::new(ListDir),
        "shell" => Shared::new(Shell),
        "clarify_user" => Shared::new(ClarifyUser),
        name => Shared::new(subagents::subagent_tool(name)?),
    })
}

/// Returns the subject of a search, whose paths are those that it looks through.
fn target_of_search(arguments: &Map<String, Value>) -> Target {
    let path = arguments.get("path").and_then(Value::as_str).map(str::to_owned);
    Target { paths: path.into_iter().collect(), ..Target::default() }
}

fn text_argument<'a>(arguments: &'a Map<String, Value>, name: &str) -> &'a str {
    arguments.get(name).and_then(Value::as_str).unwrap_or_default()
}

fn number_argument(arguments: &Map<String, Value>, name: &str) -> Option<usize> {
    let number = arguments.get(name)?;
    // Models write 3.0 for 3; validation has already refused fractions.
    let whole = number.as_u64().or_else(|| number.as_f64().map(|number| number as u64))?;
    usize::try_from(whole).ok()
}

fn flag_argument(arguments: &Map<String, Value>, name: &str) -> bool {
    arguments.get(name).and_then(Value::as_bool).unwrap_or(false)
}

/// Reads a hash, in either written form.
fn hash_argument(arguments: &Map<String, Value>, name: &str) -> Result<Option<ContentHash>, ToolError> {
    let Some(text) = arguments.get(name).and_then(Value::as_str).filter(|text| !text.is_empty()) else {
        return Ok(None);
    };
    text.parse().map(Some).map_err(|error: ParseHashError| {
        ToolError::new(Code::InvalidArgument, format!("{name}: {error}; leave it out to mean the version shown last"))
    })
}

/// Reads a tool's schema. It is a text, since code that builds the same weighs three times as much in a browser.
fn schema(text: &str) -> Value {
    serde_json::from_str(text).unwrap_or_default()
}

/// Writes `count` with the right form of `noun`.
fn counted(count: usize, noun: &str) -> String {
    let ending = match count {
        1 => "",
        _ if noun.ends_with("ch") || noun.ends_with('s') => "es",
        _ => "s",
    };
    format!("{count} {noun}{ending}")
}

#[cfg(test)]
mod tests;
