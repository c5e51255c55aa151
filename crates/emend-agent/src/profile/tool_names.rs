//! One table, tool by profile: the name a tool has on the wire, the names of its parameters, and the form of its output.
//!
//! A tool or parameter that is not listed keeps its canonical name (S2 §3.3).

use crate::tool::ResultForm;

/// A parameter's canonical name and its name on the wire.
pub type Param = (&'static str, &'static str);

/// Whether a profile has a tool.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Offer {
    /// From the start.
    Always,
    /// If the host lets the model ask the user.
    OnRequest,
    /// If the host lets it start subagents.
    Subagents,
    /// Not at all: where texts name it, they name the tool that stands in for it.
    Instead,
}

/// What the output of one tool looks like in one profile, beside the form that all results have there.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Output {
    /// As the tool writes it.
    Own,
    /// Of a command: how long it took and how it ended come first, as in Codex.
    EndFirst,
}

/// What one tool is called in one profile.
pub struct Naming {
    /// The tool's canonical name.
    pub canonical: &'static str,
    /// Its name on the wire.
    pub wire: &'static str,
    /// Whether the profile has it.
    pub offer: Offer,
    /// Parameters that are called differently.
    pub params: &'static [Param],
    /// Values of parameters that are called differently.
    pub values: &'static [Param],
    /// What its output looks like.
    pub output: Output,
}

const fn naming(canonical: &'static str, wire: &'static str, params: &'static [Param]) -> Naming {
    Naming { canonical, wire, offer: Offer::Always, params, values: &[], output: Output::Own }
}

/// The tool that asks the user.
const fn question(wire: &'static str) -> Naming {
    Naming { canonical: "clarify_user", wire, offer: Offer::OnRequest, params: &[], values: &[], output: Output::Own }
}

/// The tool that fetches pages, which a host brings along.
const fn fetches(wire: &'static str) -> Naming {
    Naming { canonical: "web_fetch", wire, offer: Offer::OnRequest, params: &[], values: &[], output: Output::Own }
}

/// A tool for subagents.
const fn subagents(canonical: &'static str, wire: &'static str, params: &'static [Param]) -> Naming {
    Naming { canonical, wire, offer: Offer::Subagents, params, values: &[], output: Output::Own }
}

const fn instead(canonical: &'static str, wire: &'static str) -> Naming {
    Naming { canonical, wire, offer: Offer::Instead, params: &[], values: &[], output: Output::Own }
}

/// Codex: edits are patches; writing whole files is for new ones.
pub(super) const OPENAI: &[Naming] = &[
    naming("read_file", "read_file", &[]),
    naming("apply_patch", "apply_patch", &[("patch", "input")]),
    naming("write_file", "write_file", &[]),
    naming("grep", "grep_files", &[("glob_filter", "include"), ("max_results", "limit")]),
    naming("glob", "glob", &[]),
    naming("list_dir", "list_dir", &[("path", "dir_path")]),
    Naming {
        output: Output::EndFirst,
        ..naming("shell", "exec_command", &[("command", "cmd"), ("working_dir", "workdir")])
    },
    question("request_user_input"),
    fetches("web_fetch"),
    subagents("spawn_agent", "spawn_agent", &[("task", "message")]),
    subagents("send_input", "send_input", &[("agent_id", "id")]),
    subagents("wait", "wait_agent", &[("agent_id", "id")]),
    subagents("close_agent", "close_agent", &[("agent_id", "id")]),
    instead("edit_file", "apply_patch"),
];

/// Claude Code.
pub(super) const ANTHROPIC: &[Naming] = &[
    naming("read_file", "Read", &[]),
    naming("write_file", "Write", &[]),
    naming("edit_file", "Edit", &[]),
    Naming {
        canonical: "grep",
        wire: "Grep",
        offer: Offer::Always,
        params: &[
            ("glob_filter", "glob"),
            ("case_insensitive", "-i"),
            ("context", "-C"),
            ("before", "-B"),
            ("after", "-A"),
            ("max_results", "head_limit"),
        ],
        values: &[("files", "files_with_matches")],
        output: Output::Own,
    },
    naming("glob", "Glob", &[]),
    naming("list_dir", "LS", &[]),
    naming("shell", "Bash", &[("timeout_ms", "timeout")]),
    question("AskUserQuestion"),
    fetches("WebFetch"),
    subagents("spawn_agent", "Task", &[("task", "prompt")]),
    subagents("send_input", "SendMessage", &[("agent_id", "to")]),
    subagents("wait", "TaskOutput", &[("agent_id", "task_id"), ("timeout_ms", "timeout")]),
    subagents("close_agent", "TaskStop", &[("agent_id", "task_id")]),
    instead("apply_patch", "Edit"),
];

/// Gemini CLI.
pub(super) const GEMINI: &[Naming] = &[
    naming("read_file", "read_file", &[]),
    naming("read_many_files", "read_many_files", &[]),
    naming("write_file", "write_file", &[]),
    naming("edit_file", "replace", &[("replace_all", "allow_multiple")]),
    naming(
        "grep",
        "grep_search",
        &[("path", "dir_path"), ("glob_filter", "include_pattern"), ("max_results", "total_max_matches")],
    ),
    naming("glob", "glob", &[("path", "dir_path")]),
    naming("list_dir", "list_directory", &[("path", "dir_path")]),
    naming("shell", "run_shell_command", &[("working_dir", "dir_path")]),
    question("ask_user"),
    fetches("web_fetch"),
    subagents("spawn_agent", "spawn_agent", &[]),
    subagents("send_input", "send_input", &[]),
    subagents("wait", "wait", &[]),
    subagents("close_agent", "close_agent", &[]),
    instead("apply_patch", "replace"),
];

/// The edits of S3, in every profile that has them.
pub(super) const SAFE_PATCH: Naming = naming("safe_patch", "safe_patch", &[]);

/// Returns what a profile's instructions say of its own way to edit: the part that another way replaces.
pub(super) fn edits_help(profile: &str) -> &'static str {
    match profile {
        "anthropic" => include_str!("anthropic-edits.md").trim_end(),
        "gemini" => include_str!("gemini-edits.md").trim_end(),
        _ => include_str!("openai-edits.md").trim_end(),
    }
}

/// Returns the form that a profile's results have.
pub(super) fn results(profile: &str) -> ResultForm {
    match profile {
        // Its results are objects in any case.
        "gemini" => ResultForm::Envelope,
        _ => ResultForm::Text,
    }
}

/// Returns a profile's names.
pub(super) fn of(profile: &str) -> &'static [Naming] {
    match profile {
        "anthropic" => ANTHROPIC,
        "gemini" => GEMINI,
        _ => OPENAI,
    }
}
