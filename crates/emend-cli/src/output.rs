//! Prints the events of a run as text or as JSON, one object per line.
//!
//! Text and JSON go to standard output, debug lines to standard error, so that each can be piped separately.

use std::io::{self, Write};

use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, ErrorInfo, Event, EventKind, LeaseChange};
use emend_edit::patch::v4a;
use serde_json::{Value, json};

/// The form of the output.
#[derive(Clone, Copy, Debug)]
pub(crate) struct OutputFormat {
    pub(crate) json: bool,
    pub(crate) debug: bool,
}

/// Prints events.
pub(crate) struct Printer<O, E> {
    format: OutputFormat,
    out: O,
    err: E,
    /// Whether the prefix of the model's text was printed in this run.
    prefixed: bool,
    /// Whether the last line is incomplete.
    mid_line: bool,
    offline: bool,
}

impl<O: Write, E: Write> Printer<O, E> {
    pub(crate) fn new(format: OutputFormat, out: O, err: E) -> Self {
        Self { format, out, err, prefixed: false, mid_line: false, offline: false }
    }

    pub(crate) fn print(&mut self, event: &Event) -> io::Result<()> {
        if self.format.debug {
            self.debug(event)?;
        }
        if self.format.json {
            serde_json::to_writer(&mut self.out, event)?;
            self.out.write_all(b"\n")?;
            return self.out.flush();
        }
        self.text(&event.kind)?;
        self.out.flush()
    }

    fn text(&mut self, kind: &EventKind) -> io::Result<()> {
        match kind {
            EventKind::SessionStart { offline, .. } => self.offline = *offline,
            EventKind::UserInput { .. } => self.prefixed = false,
            EventKind::AssistantTextDelta { delta } => {
                if !self.prefixed {
                    self.line_start()?;
                    self.out.write_all(if self.offline { b"offline: " } else { b"emend: " })?;
                    self.prefixed = true;
                }
                self.out.write_all(delta.as_bytes())?;
                self.mid_line = !delta.ends_with('\n');
            }
            EventKind::AssistantTextEnd { .. } => self.line_start()?,
            EventKind::ToolCallStart { tool_name, arguments, .. } => {
                self.line_start()?;
                writeln!(self.out, "→ {tool_name} {}", target(arguments))?;
            }
            EventKind::ToolCallOutputDelta { delta, .. } => {
                for piece in delta.split_inclusive('\n') {
                    if !self.mid_line {
                        self.out.write_all(b"  | ")?;
                    }
                    self.out.write_all(piece.as_bytes())?;
                    self.mid_line = !piece.ends_with('\n');
                }
            }
            EventKind::ToolCallEnd { tool_name, error: Some(error), .. } => {
                self.line_start()?;
                // The output was printed already. The message repeats it before the line that matters.
                let ended = error.message.lines().find(|line| line.starts_with("[ERROR: "));
                let reason = ended.unwrap_or_else(|| first_line(&error.message));
                writeln!(self.out, "  {tool_name} failed [{}]: {reason}", error.code)?;
            }
            EventKind::ToolCallEnd { output, .. } => {
                let ended = output.lines().next_back().filter(|line| line.starts_with("[exit code "));
                if let Some(ended) = ended {
                    self.line_start()?;
                    writeln!(self.out, "  {ended}")?;
                }
            }
            EventKind::SubagentStart { agent_id, task, .. } => {
                self.line_start()?;
                writeln!(self.out, "  [{agent_id}] {}", first_line(task))?;
            }
            EventKind::SubagentEvent { agent_id, event } => {
                if let EventKind::ToolCallStart { tool_name, arguments, .. } = &**event {
                    self.line_start()?;
                    writeln!(self.out, "  [{agent_id}] → {tool_name} {}", target(arguments))?;
                }
            }
            EventKind::SubagentEnd { agent_id, status, output, .. } => {
                self.line_start()?;
                writeln!(self.out, "  [{agent_id}] {}: {}", status.name(), first_line(output))?;
            }
            EventKind::CanvasLease { path, state: LeaseChange::Preempted, .. } => {
                self.line_start()?;
                writeln!(self.out, "  the user took back {path}")?;
            }
            EventKind::Warning { message, .. } => {
                self.line_start()?;
                writeln!(self.out, "  warning: {message}")?;
            }
            EventKind::TurnLimit { rounds, .. } => {
                self.line_start()?;
                writeln!(self.out, "  stopped: the limit of {rounds} rounds is reached")?;
            }
            EventKind::ProcessingEnd { reason, .. } => {
                self.line_start()?;
                if *reason == EndReason::Aborted {
                    writeln!(self.out, "  interrupted")?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    fn line_start(&mut self) -> io::Result<()> {
        if self.mid_line {
            self.out.write_all(b"\n")?;
            self.mid_line = false;
        }
        Ok(())
    }

    /// Prints tool calls, their results, decisions about refused paths and other events that explain a run.
    ///
    /// Events contain no API keys.
    fn debug(&mut self, event: &Event) -> io::Result<()> {
        let line = match &event.kind {
            EventKind::ToolCallStart { call_id, tool_name, arguments } => {
                json!({ "debug": "tool_call", "id": call_id, "tool": tool_name, "arguments": arguments })
            }
            EventKind::ToolCallEnd { call_id, tool_name, ok, output, error, duration_ms, .. } => {
                if let Some(decision) =
                    error.as_ref().and_then(|error| error.data.as_ref()).map(|data| &data["sandbox"])
                    && !decision.is_null()
                {
                    let decision = json!({ "debug": "sandbox", "id": call_id, "decision": decision });
                    writeln!(self.err, "{decision}")?;
                }
                let result = match error {
                    None => json!({ "ok": true, "data": { "output": output } }),
                    Some(error) => json!({ "ok": false, "error": error }),
                };
                json!({
                    "debug": "tool_result",
                    "id": call_id,
                    "tool": tool_name,
                    "ok": ok,
                    "stage": stage(error.as_ref()),
                    "duration_ms": duration_ms,
                    "result": result,
                })
            }
            // Other events keep their names.
            kind @ (EventKind::SessionStart { .. }
            | EventKind::Warning { .. }
            | EventKind::ApprovalRequested(_)
            | EventKind::ApprovalResolved { .. }
            | EventKind::LoopDetection { .. }
            | EventKind::TurnLimit { .. }
            | EventKind::Error(_)
            | EventKind::ProcessingEnd { .. }) => {
                let event = serde_json::to_value(kind)?;
                json!({ "debug": event["kind"].as_str().map(str::to_lowercase), "data": event["data"] })
            }
            _ => return Ok(()),
        };
        writeln!(self.err, "{line}")
    }
}

/// Returns the step at which a call ended: lookup, validation or execution.
fn stage(error: Option<&ErrorInfo>) -> &'static str {
    match error {
        Some(error) if error.code == Code::UnknownTool.as_str() => "lookup",
        Some(error) if error.data.as_ref().is_some_and(|data| !data["example"].is_null()) => "validate",
        _ => "execute",
    }
}

/// Length of the longest argument that names the target of a call, in bytes.
const SHORT_TEXT_BYTES_MAX: usize = 120;

/// Returns the target of a tool call in a few words, e.g. a path or a command.
pub(crate) fn target(arguments: &Value) -> String {
    if let Some(command) = ["command", "cmd"].iter().find_map(|name| arguments[*name].as_str()) {
        return first_line(command).to_owned();
    }
    if let Some(patch) = ["input", "patch"].iter().find_map(|name| arguments[*name].as_str()) {
        return v4a::parse(patch).map(|(patch, _)| patch.paths().join(" ")).unwrap_or_default();
    }
    let name = ["file_path", "path", "dir_path"].iter().find_map(|name| arguments[*name].as_str());
    let pattern = arguments["pattern"].as_str();
    match (pattern, name) {
        (Some(pattern), Some(name)) => format!("{pattern:?} in {name}"),
        (Some(pattern), None) => format!("{pattern:?}"),
        (None, Some(name)) => name.to_owned(),
        (None, None) => short_texts(arguments),
    }
}

/// Returns the short texts among the arguments, such as the two paths of a move or the address of a page.
fn short_texts(arguments: &Value) -> String {
    let values = arguments.as_object().into_iter().flat_map(serde_json::Map::values);
    let texts = values.filter_map(Value::as_str).filter(|text| text.len() <= SHORT_TEXT_BYTES_MAX);
    texts.filter(|text| !text.is_empty() && !text.contains('\n')).take(2).collect::<Vec<_>>().join(" ")
}

pub(crate) fn first_line(text: &str) -> &str {
    text.lines().next().unwrap_or_default()
}

#[cfg(test)]
mod tests {
    use emend_agent::event::AgentStatus;

    use super::*;

    #[test]
    fn the_target_of_a_call_is_its_path_its_command_or_its_short_texts() {
        for (arguments, expected) in [
            (json!({"file_path": "a.rs", "limit": 3}), "a.rs"),
            (json!({"cmd": "ls\npwd"}), "ls"),
            (json!({"pattern": "x", "path": "src"}), "\"x\" in src"),
            (json!({"from": "a.rs", "to": "b.rs", "overwrite": true}), "a.rs b.rs"),
            (json!({"url": "https://example.org/"}), "https://example.org/"),
            (json!({"task": "x".repeat(500), "note": "two\nlines", "id": ""}), ""),
            (json!({}), ""),
        ] {
            assert_eq!(target(&arguments), expected, "{arguments}");
        }
    }

    #[track_caller]
    fn check(kinds: Vec<EventKind>, expected: &str) {
        let mut out = Vec::new();
        let mut printer = Printer::new(OutputFormat { json: false, debug: false }, &mut out, Vec::new());
        for kind in kinds {
            printer.print(&Event { cursor: 1, ts: 0, session_id: "s".to_owned(), kind }).unwrap();
        }
        assert_eq!(String::from_utf8(out).unwrap(), expected);
    }

    #[test]
    fn subagents_are_named_on_their_own_lines() {
        let agent_id = || "agent_1".to_owned();
        let call = EventKind::ToolCallStart {
            call_id: "1".to_owned(),
            tool_name: "read_file".to_owned(),
            arguments: json!({"file_path": "a.rs"}),
        };
        check(
            vec![
                EventKind::SubagentStart {
                    agent_id: agent_id(),
                    task: "look\nclosely".to_owned(),
                    model: "m".to_owned(),
                    working_dir: None,
                },
                EventKind::SubagentEvent { agent_id: agent_id(), event: Box::new(call) },
                EventKind::SubagentEvent {
                    agent_id: agent_id(),
                    event: Box::new(EventKind::AssistantTextEnd { text: "x".to_owned() }),
                },
                EventKind::SubagentEnd {
                    agent_id: agent_id(),
                    status: AgentStatus::Completed,
                    output: "Seen.\nAll.".to_owned(),
                    turns_used: 2,
                },
            ],
            "  [agent_1] look\n  [agent_1] → read_file a.rs\n  [agent_1] completed: Seen.\n",
        );
    }

    #[test]
    fn one_prefix_a_turn_and_tools_on_their_own_lines() {
        let delta = |text: &str| EventKind::AssistantTextDelta { delta: text.to_owned() };
        check(
            vec![
                EventKind::UserInput { content: "x".to_owned() },
                delta("Let me "),
                delta("look."),
                EventKind::AssistantTextEnd { text: String::new() },
                EventKind::ToolCallStart {
                    call_id: "1".to_owned(),
                    tool_name: "grep".to_owned(),
                    arguments: json!({"pattern": "a", "path": "src"}),
                },
                EventKind::ToolCallStart {
                    call_id: "2".to_owned(),
                    tool_name: "read_file".to_owned(),
                    arguments: json!({"file_path": "a.rs"}),
                },
                EventKind::ToolCallStart {
                    call_id: "3".to_owned(),
                    tool_name: "apply_patch".to_owned(),
                    arguments: json!({"input": "*** Begin Patch\n*** Delete File: a\n*** Delete File: b c\n*** End Patch"}),
                },
                delta("Done."),
                EventKind::AssistantTextEnd { text: String::new() },
            ],
            "emend: Let me look.\n→ grep \"a\" in src\n→ read_file a.rs\n→ apply_patch a b c\nDone.\n",
        );
    }

    #[test]
    fn debug_lines_say_how_far_a_call_came_and_how_a_path_was_refused() {
        let end = |code: Code, data: Value| EventKind::ToolCallEnd {
            call_id: "1".to_owned(),
            tool_name: "t".to_owned(),
            ok: false,
            output: String::new(),
            output_ref: None,
            output_cut: false,
            error: Some(ErrorInfo {
                code: code.as_str(),
                message: "no".to_owned(),
                suggestions: Vec::new(),
                data: Some(data),
            }),
            duration_ms: 1,
        };
        let kinds = [
            end(Code::UnknownTool, Value::Null),
            end(Code::InvalidArgument, json!({"example": {}})),
            end(Code::PermissionDenied, json!({"sandbox": {"root": "/p", "cleaned": "/x", "rel": "../x"}})),
            EventKind::Warning { code: "retry", message: "again".to_owned() },
        ];
        let mut err = Vec::new();
        let mut printer = Printer::new(OutputFormat { json: false, debug: true }, Vec::new(), &mut err);
        for kind in kinds {
            printer.print(&Event { cursor: 1, ts: 0, session_id: "s".to_owned(), kind }).unwrap();
        }
        let lines: Vec<Value> =
            String::from_utf8(err).unwrap().lines().map(|line| serde_json::from_str(line).unwrap()).collect();
        let debug: Vec<&str> = lines.iter().map(|line| line["debug"].as_str().unwrap()).collect();
        assert_eq!(debug, ["tool_result", "tool_result", "sandbox", "tool_result", "warning"]);
        assert_eq!((&lines[0]["stage"], &lines[1]["stage"]), (&json!("lookup"), &json!("validate")));
        assert_eq!((&lines[3]["stage"], &lines[3]["result"]["ok"]), (&json!("execute"), &json!(false)));
        assert_eq!(lines[2]["decision"], json!({"root": "/p", "cleaned": "/x", "rel": "../x"}));
        assert_eq!(lines[4]["data"], json!({"code": "retry", "message": "again"}));
    }
}
