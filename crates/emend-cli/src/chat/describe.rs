//! Texts that the view of a run shows about events and questions.

use emend_agent::approval::ApprovalRequest;
use emend_agent::error_code::Code;
use emend_agent::event::{ErrorInfo, EventKind};

use crate::approve::{question, scope_of_always};
use crate::limit_text::limit_reached;
use crate::output::{REPEATS, exit_of_command, failure_of_call, first_line, target};
use crate::style::{self, Painter, Style};
use crate::text_diff;
use crate::wrap::{columns, truncated, wrap_text};

/// Terminals with fewer columns get a short prompt, to leave room for the answer.
const NARROW: usize = 60;

/// Returns the prompt for the answer to an approval question.
pub(super) fn answer_prompt(request: &ApprovalRequest, width: usize) -> String {
    let diff = if shows_diff(request) { ", [d]iff" } else { "" };
    match width < NARROW {
        true if diff.is_empty() => "y/n/a or reason: ".to_owned(),
        true => "y/n/a/d or reason: ".to_owned(),
        false => format!("[y]es, [n]o, [a]lways {}{diff}, or a reason to refuse: ", scope_of_always(request)),
    }
}

/// Maximum length of a diff on the screen, in lines.
pub(super) const DIFF_LINES_MAX: usize = 40;

/// Returns the lines of an approval question. A long diff is cut, and `d` shows all of it. A command is shown whole:
/// consent to lines that were not shown is not consent. The words around a command or a diff are broken between words.
pub(super) fn question_lines(request: &ApprovalRequest, painter: Painter, width: usize) -> Vec<String> {
    let text = question(request);
    let is_diff = shows_diff(request);
    let painted = |(index, line): (usize, &str)| match line.strip_prefix("    ") {
        _ if index == 0 => wrap_text(line, style::BOLD, painter, width, "", ""),
        Some(line) if is_diff => vec![format!("    {}", text_diff::painted(painter, line, false))],
        Some(_) => vec![line.to_owned()],
        None => wrap_text(line.trim_start(), Style::new(), painter, width, "  ", "  "),
    };
    let lines: Vec<String> = text.lines().enumerate().flat_map(painted).collect();
    if is_diff { shortened(lines, DIFF_LINES_MAX, "type d to see all") } else { lines }
}

/// Returns whether an approval question is about a diff.
pub(super) fn shows_diff(request: &ApprovalRequest) -> bool {
    request.detail["fileDiff"].is_string()
}

/// Returns a line about the result of a tool call, `None` if the call just succeeded.
pub(super) fn call_outcome(tool_name: &str, output: &str, error: Option<&ErrorInfo>) -> Option<(Style, String)> {
    let Some(error) = error else {
        return exit_of_command(output).map(|ended| (style::DIM, ended));
    };
    if error.code == Code::Aborted.as_str() {
        return Some((style::YELLOW, format!("{tool_name} was stopped")));
    }
    // The output was shown already. The message repeats it before the line that matters.
    let said = error.message.lines().find(|line| line.starts_with("[ERROR: "));
    let reason = said.unwrap_or_else(|| first_line(&error.message));
    Some((style::RED, failure_of_call(tool_name, error.code, reason)))
}

/// Returns a line about an event that has no view of its own.
pub(super) fn aside(kind: &EventKind) -> Option<String> {
    Some(match kind {
        EventKind::Warning { message, .. } => format!("warning: {message}"),
        EventKind::SubagentStart { agent_id, task, .. } => format!("[{agent_id}] {}", first_line(task)),
        EventKind::SubagentEvent { agent_id, event } => match &**event {
            EventKind::ToolCallStart { tool_name, arguments, .. } => {
                format!("[{agent_id}] → {tool_name} {}", target(arguments))
            }
            _ => return None,
        },
        EventKind::SubagentEnd { agent_id, status, output, .. } => {
            format!("[{agent_id}] {}: {}", status.name(), first_line(output))
        }
        EventKind::LoopDetection { .. } => format!("warning: {REPEATS}"),
        kind => return limit_reached(kind),
    })
}

/// Returns the line about a running step. A long step is cut, the way to stop it is not.
pub(super) fn status_line(frame: &str, seconds: u64, what: &str, width: usize) -> String {
    let (before, after) = (format!("{frame} {seconds} s · "), " · Ctrl-C to stop");
    let room = width.saturating_sub(columns(&before) + columns(after));
    let what = if columns(what) > room { truncated(what, room.saturating_sub(1)) + "…" } else { what.to_owned() };
    format!("{before}{what}{after}")
}

/// Truncates a list of lines and adds the number of missing lines.
pub(super) fn shortened(mut lines: Vec<String>, n_max: usize, hint: &str) -> Vec<String> {
    if lines.len() > n_max + 1 {
        let n_more = lines.len() - n_max;
        lines.truncate(n_max);
        lines.push(format!("  … {n_more} more lines; {hint}"));
    }
    lines
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    #[test]
    fn the_status_line_always_says_how_to_stop() {
        let command = "shell cargo test --workspace --all-targets --no-fail-fast -- --nocapture --test-threads 1";
        for (width, expected) in [
            (200, format!("* 4 s · {command} · Ctrl-C to stop")),
            (60, "* 4 s · shell cargo test --workspace --all… · Ctrl-C to stop".to_owned()),
            (39, "* 4 s · shell cargo t… · Ctrl-C to stop".to_owned()),
        ] {
            assert_eq!(status_line("*", 4, command, width), expected);
        }
    }

    #[test]
    fn a_command_is_shown_whole_and_a_long_diff_is_cut() {
        let lines = |detail: Value| {
            let (call_id, tool_name) = ("c".to_owned(), "shell".to_owned());
            question_lines(&ApprovalRequest { call_id, tool_name, arguments: Value::Null, detail }, Painter::OFF, 40)
        };
        let text = format!("echo start\n{}touch pwn", "\n".repeat(5_000));
        let shown = lines(json!({ "command": text }));
        assert_eq!((shown.len(), shown[5_002].as_str()), (5_004, "    touch pwn"));
        assert_eq!(shown[5_003], "  (5002 lines; scroll up to read all)");
        let words = "Removes the directories that the build has left in the way of the next one";
        let shown = lines(json!({ "command": "rm -r out", "workingDir": "a/b", "description": words }));
        let expected = [
            "? shell wants to run in a/b:",
            "    rm -r out",
            "  (Removes the directories that the",
            "  build has left in the way of the next",
            "  one)",
        ];
        assert_eq!(shown, expected);
        let shown = lines(json!({ "fileDiff": "+x\n".repeat(5_000) }));
        assert_eq!(shown.len(), DIFF_LINES_MAX + 1);
        assert!(shown.last().is_some_and(|line| line.contains("type d to see all")), "{shown:?}");
    }
}
