//! One table for each family of models: the names under which its profile exposes tools and parameters, when a tool is
//! offered, and how its output is laid out.
//!
//! A tool that a table does not list is not offered by that profile. A parameter that is not listed keeps its canonical
//! name.

use super::edits::Edits;
use crate::tool::{ExposedNames, Rename, ResultForm, ToolNames};

/// When a profile offers a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// From the start.
    Always,
    /// If the host asks for it: questions to the user, pages of the web.
    OnRequest,
    /// If the host lets the model start subagents.
    Subagents,
    /// Never. The exposed name is that of the tool which the model has instead.
    Instead,
}

/// The layout of a tool's output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum OutputLayout {
    /// As the tool writes it.
    Own,
    /// Of a command: its duration and exit code come before its output, as in Codex.
    ExitCodeFirst,
}

/// One tool in one profile.
#[derive(Clone, Copy, Debug)]
pub struct ProfileTool {
    /// The exposed names of the tool, its parameters and their values.
    pub names: ExposedNames,
    /// When the profile offers the tool.
    pub offer: Offer,
    /// The layout of the tool's output.
    pub output: OutputLayout,
}

const fn row(offer: Offer, canonical: &'static str, exposed: &'static str, params: &'static [Rename]) -> ProfileTool {
    let names = ExposedNames { canonical, exposed, params, values: &[] };
    ProfileTool { names, offer, output: OutputLayout::Own }
}

const fn always(canonical: &'static str, exposed: &'static str, params: &'static [Rename]) -> ProfileTool {
    row(Offer::Always, canonical, exposed, params)
}

const fn on_request(canonical: &'static str, exposed: &'static str) -> ProfileTool {
    row(Offer::OnRequest, canonical, exposed, &[])
}

const fn subagents(canonical: &'static str, exposed: &'static str, params: &'static [Rename]) -> ProfileTool {
    row(Offer::Subagents, canonical, exposed, params)
}

const fn instead(canonical: &'static str, exposed: &'static str) -> ProfileTool {
    row(Offer::Instead, canonical, exposed, &[])
}

/// The names of OpenAI's Codex: edits are patches, and writing whole files is for new ones.
const OPENAI: &[ProfileTool] = &[
    always("read_file", "read_file", &[]),
    always("apply_patch", "apply_patch", &[("patch", "input")]),
    always("write_file", "write_file", &[]),
    always("move_file", "move_file", &[]),
    always("grep", "grep_files", &[("glob_filter", "include"), ("max_results", "limit")]),
    always("glob", "glob", &[]),
    always("list_dir", "list_dir", &[("path", "dir_path")]),
    ProfileTool {
        output: OutputLayout::ExitCodeFirst,
        ..always("shell", "exec_command", &[("command", "cmd"), ("working_dir", "workdir")])
    },
    on_request("clarify_user", "request_user_input"),
    on_request("web_fetch", "web_fetch"),
    subagents("spawn_agent", "spawn_agent", &[("task", "message")]),
    subagents("send_input", "send_input", &[("agent_id", "id")]),
    subagents("wait", "wait_agent", &[("agent_id", "id")]),
    subagents("close_agent", "close_agent", &[("agent_id", "id")]),
    instead("edit_file", "apply_patch"),
];

/// The names of Anthropic's Claude Code.
const ANTHROPIC: &[ProfileTool] = &[
    always("read_file", "Read", &[]),
    always("write_file", "Write", &[]),
    always("edit_file", "Edit", &[]),
    always("move_file", "Move", &[]),
    ProfileTool {
        names: ExposedNames {
            canonical: "grep",
            exposed: "Grep",
            params: &[
                ("glob_filter", "glob"),
                ("case_insensitive", "-i"),
                ("context", "-C"),
                ("before", "-B"),
                ("after", "-A"),
                ("max_results", "head_limit"),
            ],
            values: &[("files", "files_with_matches")],
        },
        offer: Offer::Always,
        output: OutputLayout::Own,
    },
    always("glob", "Glob", &[]),
    always("list_dir", "LS", &[]),
    always("shell", "Bash", &[("timeout_ms", "timeout")]),
    on_request("clarify_user", "AskUserQuestion"),
    on_request("web_fetch", "WebFetch"),
    subagents("spawn_agent", "Task", &[("task", "prompt")]),
    subagents("send_input", "SendMessage", &[("agent_id", "to")]),
    subagents("wait", "TaskOutput", &[("agent_id", "task_id"), ("timeout_ms", "timeout")]),
    subagents("close_agent", "TaskStop", &[("agent_id", "task_id")]),
    instead("apply_patch", "Edit"),
];

/// The names of Google's Gemini CLI.
const GEMINI: &[ProfileTool] = &[
    always("read_file", "read_file", &[]),
    always("read_many_files", "read_many_files", &[]),
    always("write_file", "write_file", &[]),
    always("edit_file", "replace", &[("replace_all", "allow_multiple")]),
    always("move_file", "move_file", &[]),
    always(
        "grep",
        "grep_search",
        &[("path", "dir_path"), ("glob_filter", "include_pattern"), ("max_results", "total_max_matches")],
    ),
    always("glob", "glob", &[("path", "dir_path")]),
    always("list_dir", "list_directory", &[("path", "dir_path")]),
    always("shell", "run_shell_command", &[("working_dir", "dir_path")]),
    on_request("clarify_user", "ask_user"),
    on_request("web_fetch", "web_fetch"),
    subagents("spawn_agent", "spawn_agent", &[]),
    subagents("send_input", "send_input", &[]),
    subagents("wait", "wait", &[]),
    subagents("close_agent", "close_agent", &[]),
    instead("apply_patch", "replace"),
];

/// The tools that `safe_patch` and `edit_lines` replace.
const EDIT_TOOLS: [&str; 2] = ["edit_file", "apply_patch"];

impl ProfileTool {
    /// Returns whether the tool is the family's own way to edit, which `safe_patch` or `edit_lines` can replace.
    pub(super) fn is_edit(&self) -> bool {
        EDIT_TOOLS.contains(&self.names.canonical)
    }
}

/// Returns the canonical names of the agent's own tools, each with a name in a profile. Canonical names come first, with
/// themselves.
pub(super) fn all() -> Vec<[&'static str; 2]> {
    let rows = || [OPENAI, ANTHROPIC, GEMINI].into_iter().flatten().map(|row| row.names);
    let mut all: Vec<_> = rows().map(|names| [names.canonical; 2]).collect();
    all.extend(["read_many_files", "safe_patch", "edit_lines"].map(|name| [name; 2]));
    all.extend(rows().map(|names| [names.canonical, names.exposed]));
    all
}

/// Returns the tools of the profile with this id.
pub(super) fn of(profile: &str) -> &'static [ProfileTool] {
    match profile {
        "anthropic" => ANTHROPIC,
        "gemini" => GEMINI,
        _ => OPENAI,
    }
}

/// Returns the exposed names of the profile with this id, for a model that edits in this way.
pub(super) fn names(profile: &str, edits: Edits) -> ToolNames {
    let exposed = |row: &ProfileTool| match edits.tool() {
        Some(exposed) if row.is_edit() => ExposedNames { exposed, params: &[], ..row.names },
        _ => row.names,
    };
    ToolNames::new(of(profile).iter().map(exposed).collect())
}

/// Returns the form that a profile's results have.
pub(super) fn result_form(profile: &str) -> ResultForm {
    match profile {
        // Gemini's API takes objects as results.
        "gemini" => ResultForm::Envelope,
        _ => ResultForm::Text,
    }
}
