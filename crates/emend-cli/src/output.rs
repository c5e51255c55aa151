//! Prints the events of a run as text or as JSON.
//!
//! If standard output is not a terminal it gets the final answer or the JSON only, and the progress goes to standard error.

use std::io::{self, Write};
use std::mem;

use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, ErrorInfo, Event, EventKind, LeaseChange};
use emend_edit::patch::v4a;
use serde_json::{Value, json};

use crate::limit_text::{advice_at_limit, limit_reached};
use crate::style::{self, Painter};
use crate::visible::{Guarded, visible, without_colours};

/// The form of the output.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OutputFormat {
    /// Progress and answer as they come, on one terminal.
    Together,
    /// The final answer on standard output, the progress on standard error.
    Apart,
    /// One object at the end.
    Json,
    /// One object per event.
    Events,
}

/// Prints events.
pub(crate) struct Printer<O, E> {
    format: OutputFormat,
    /// Whether to print debug lines to standard error, instead of the progress.
    debug: bool,
    out: Guarded<O>,
    err: Guarded<Lenient<E>>,
    /// Whether the prefix of the model's text was printed in this run.
    prefixed: bool,
    /// Whether the last line is incomplete.
    mid_line: bool,
    /// Characters of the present line of a command's output.
    n_chars: usize,
    offline: bool,
    /// The model's text since its last tool call, if the format needs it.
    answer: String,
    /// Whether standard output was closed by its reader.
    is_closed: bool,
    painter: Painter,
}

/// Ignores errors: a reader of the progress may leave before the end.
struct Lenient<E>(E);

impl<E: Write> Write for Lenient<E> {
    fn write(&mut self, bytes: &[u8]) -> io::Result<usize> {
        let _ = self.0.write_all(bytes);
        Ok(bytes.len())
    }

    fn flush(&mut self) -> io::Result<()> {
        let _ = self.0.flush();
        Ok(())
    }
}

impl<O: Write, E: Write> Printer<O, E> {
    /// Returns a printer to two streams. `guards` tells for each whether it is a terminal.
    pub(crate) fn new(format: OutputFormat, debug: bool, (out, err): (O, E), guards: (bool, bool)) -> Self {
        Self {
            format,
            debug,
            out: Guarded::new(out, guards.0),
            err: Guarded::new(Lenient(err), guards.1),
            prefixed: false,
            mid_line: false,
            n_chars: 0,
            offline: false,
            answer: String::new(),
            is_closed: false,
            painter: Painter::OFF,
        }
    }

    /// Styles warnings with `painter`.
    pub(crate) fn with_painter(self, painter: Painter) -> Self {
        Self { painter, ..self }
    }

    /// Prints an event. A reader that closes standard output ends the output, not the run.
    pub(crate) fn print(&mut self, event: &Event) -> io::Result<()> {
        let printed = self.printed(event);
        self.unless_closed(printed)
    }

    fn printed(&mut self, event: &Event) -> io::Result<()> {
        if self.debug {
            self.debug(event)?;
        }
        self.note_answer(&event.kind);
        match self.format {
            _ if self.is_closed => Ok(()),
            OutputFormat::Events => {
                self.out.write_json(&serde_json::to_string(event)?)?;
                self.out.flush()
            }
            OutputFormat::Json => Ok(()),
            OutputFormat::Together => {
                self.text(&event.kind)?;
                self.out.flush()
            }
            OutputFormat::Apart => {
                self.text(&event.kind)?;
                match event.kind {
                    EventKind::ProcessingEnd { .. } if !self.answer.trim().is_empty() => {
                        writeln!(self.out, "{}", self.answer.trim_end())?;
                        self.out.flush()
                    }
                    _ => Ok(()),
                }
            }
        }
    }

    /// Prints the result of a run in the format [`Json`](OutputFormat::Json).
    pub(crate) fn finish(&mut self, mut result: Value) -> io::Result<()> {
        if self.format != OutputFormat::Json {
            return Ok(());
        }
        result["text"] = self.answer.trim_end().into();
        let printed = self.out.write_json(&result.to_string()).and_then(|()| self.out.flush());
        self.unless_closed(printed)
    }

    fn unless_closed(&mut self, printed: io::Result<()>) -> io::Result<()> {
        match printed {
            Err(error) if error.kind() == io::ErrorKind::BrokenPipe => {
                if !mem::replace(&mut self.is_closed, true) {
                    let note = "emend: standard output was closed; the run continues without output";
                    writeln!(self.err, "{note}")?;
                }
                Ok(())
            }
            printed => printed,
        }
    }

    /// Keeps the model's text since its last tool call. Earlier text is progress.
    fn note_answer(&mut self, kind: &EventKind) {
        match kind {
            EventKind::AssistantTextEnd { text, .. } => {
                self.answer.push_str(text);
            }
            EventKind::ToolCallStart { .. } | EventKind::UserInput { .. } | EventKind::SteeringInjected { .. } => {
                let text = mem::take(&mut self.answer);
                if self.format == OutputFormat::Apart && !self.debug && !text.trim().is_empty() {
                    let prefix = if mem::replace(&mut self.prefixed, true) { "" } else { self.prefix() };
                    // Errors of standard error are ignored.
                    let _ = writeln!(self.err, "{prefix}{}", text.trim_end());
                }
            }
            _ => {}
        }
    }

    fn prefix(&self) -> &'static str {
        if self.offline { "offline: " } else { "emend: " }
    }

    /// Returns where the progress is printed.
    fn progress(&mut self) -> &mut dyn Write {
        match self.format {
            OutputFormat::Together => &mut self.out,
            _ => &mut self.err,
        }
    }

    fn text(&mut self, kind: &EventKind) -> io::Result<()> {
        if self.debug && self.format == OutputFormat::Apart {
            return Ok(());
        }
        match kind {
            EventKind::SessionStart { offline, .. } => self.offline = *offline,
            EventKind::UserInput { .. } => self.prefixed = false,
            EventKind::AssistantTextDelta { .. } if self.format == OutputFormat::Apart => {}
            EventKind::AssistantTextDelta { delta } => {
                if !self.prefixed {
                    self.line_start()?;
                    let prefix = self.prefix();
                    self.progress().write_all(prefix.as_bytes())?;
                    self.prefixed = true;
                }
                self.progress().write_all(delta.as_bytes())?;
                self.mid_line = !delta.ends_with('\n');
            }
            EventKind::AssistantTextEnd { .. } => self.line_start()?,
            EventKind::ToolCallStart { tool_name, arguments, .. } => {
                self.line_start()?;
                // One write: standard error is not buffered.
                let line = format!("→ {tool_name} {}\n", visible(&target(arguments)));
                self.progress().write_all(line.as_bytes())?;
            }
            EventKind::ToolCallOutputDelta { delta, .. } => {
                delta.split_inclusive('\n').try_for_each(|piece| self.command_output(piece))?;
            }
            EventKind::ToolCallEnd { tool_name, error_info: Some(error), .. } => {
                self.end_output_line()?;
                // The output was printed already. The message repeats it before the line that matters.
                let ended = error.message.lines().find(|line| line.starts_with("[ERROR: "));
                let reason = ended.unwrap_or_else(|| first_line(&error.message));
                writeln!(self.progress(), "  {}", failure_of_call(tool_name, error.code, reason))?;
            }
            EventKind::ToolCallEnd { output, .. } => {
                let ended = exit_of_command(output);
                self.end_output_line()?;
                if let Some(ended) = ended {
                    writeln!(self.progress(), "  {ended}")?;
                }
            }
            EventKind::SubagentStart { agent_id, task, .. } => {
                self.line_start()?;
                writeln!(self.progress(), "  [{agent_id}] {}", first_line(task))?;
            }
            EventKind::SubagentEvent { agent_id, event } => {
                if let EventKind::ToolCallStart { tool_name, arguments, .. } = &**event {
                    self.line_start()?;
                    writeln!(self.progress(), "  [{agent_id}] → {tool_name} {}", visible(&target(arguments)))?;
                }
            }
            EventKind::SubagentEnd { agent_id, status, output, .. } => {
                self.line_start()?;
                writeln!(self.progress(), "  [{agent_id}] {}: {}", status.name(), first_line(output))?;
            }
            EventKind::CanvasLease { path, state: LeaseChange::Preempted, .. } => {
                self.line_start()?;
                writeln!(self.progress(), "  the user took back {path}")?;
            }
            EventKind::Warning { message, .. } => {
                self.line_start()?;
                let line = self.painter.paint(style::YELLOW, &visible(&format!("  warning: {message}"))) + "\n";
                match self.format {
                    OutputFormat::Together => self.out.write_own(&line)?,
                    _ => self.err.write_own(&line)?,
                }
            }
            EventKind::LoopDetection { .. } => {
                self.line_start()?;
                writeln!(self.progress(), "  warning: {REPEATS}")?;
            }
            EventKind::TurnLimit { .. } | EventKind::BudgetExceeded { .. } => {
                self.line_start()?;
                let limit = limit_reached(kind).unwrap_or_default();
                writeln!(self.progress(), "  stopped: {limit}; {}", advice_at_limit(kind))?;
            }
            EventKind::SteeringReturned { content } => {
                self.line_start()?;
                writeln!(self.progress(), "  not delivered: {}", first_line(content))?;
            }
            EventKind::ProcessingEnd { reason, .. } => {
                self.line_start()?;
                if *reason == EndReason::Aborted {
                    writeln!(self.progress(), "  interrupted")?;
                }
            }
            _ => {}
        }
        Ok(())
    }

    /// Prints a piece of a line of a command's output. The rest of a very long line is counted only.
    fn command_output(&mut self, piece: &str) -> io::Result<()> {
        if !self.mid_line {
            self.progress().write_all(b"  | ")?;
            (self.mid_line, self.n_chars) = (true, 0);
        }
        let ends = piece.ends_with('\n');
        let text = without_colours(piece.trim_end_matches('\n'));
        let shown: String = text.chars().take(LINE_CHARS_MAX.saturating_sub(self.n_chars)).collect();
        self.progress().write_all(shown.as_bytes())?;
        self.n_chars += text.chars().count();
        if ends { self.end_output_line() } else { Ok(()) }
    }

    /// Ends a line of a command's output, with the number of characters that were not printed.
    fn end_output_line(&mut self) -> io::Result<()> {
        let n_more = std::mem::take(&mut self.n_chars).saturating_sub(LINE_CHARS_MAX);
        if self.mid_line && n_more > 0 {
            write!(self.progress(), "… {n_more} more characters")?;
        }
        self.line_start()
    }

    fn line_start(&mut self) -> io::Result<()> {
        if self.mid_line {
            self.progress().write_all(b"\n")?;
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
            EventKind::ToolCallEnd { call_id, tool_name, ok, output, error_info: error, duration_ms, .. } => {
                if let Some(decision) =
                    error.as_ref().and_then(|error| error.data.as_ref()).map(|data| &data["sandbox"])
                    && !decision.is_null()
                {
                    let decision = json!({ "debug": "sandbox", "id": call_id, "decision": decision });
                    self.err.write_json(&decision.to_string())?;
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
            | EventKind::BudgetExceeded { .. }
            | EventKind::Error(_)
            | EventKind::ProcessingEnd { .. }) => {
                let event = serde_json::to_value(kind)?;
                json!({ "debug": event["kind"].as_str().map(str::to_lowercase), "data": event["data"] })
            }
            _ => return Ok(()),
        };
        self.err.write_json(&line.to_string())
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

/// Characters of a line of a command's output that are printed.
const LINE_CHARS_MAX: usize = 2_000;

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

/// Warning for the user about a model that repeats its calls.
pub(crate) const REPEATS: &str = "the model repeats its tool calls and was told to try a different approach";

/// Returns the exit code and the duration of a command in words, from the last line of its result.
pub(crate) fn exit_of_command(output: &str) -> Option<String> {
    let line = output.lines().next_back()?.strip_prefix("[exit code ")?.strip_suffix(" ms]")?;
    let (code, ms) = line.split_once(" after ")?;
    let tenths = ms.parse::<u64>().ok()?.div_ceil(100);
    Some(format!("exit code {code} after {}.{} s", tenths / 10, tenths % 10))
}

/// Returns the line about a call that failed or was refused.
pub(crate) fn failure_of_call(tool_name: &str, code: &str, reason: &str) -> String {
    let how = if code == Code::PermissionDenied.as_str() { "was refused" } else { "failed" };
    format!("{tool_name} {how}: {reason}")
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

    fn printed(format: OutputFormat, kinds: Vec<EventKind>) -> (String, String) {
        let (mut out, mut err) = (Vec::new(), Vec::new());
        let mut printer = Printer::new(format, false, (&mut out, &mut err), (false, false));
        for kind in kinds {
            printer.print(&Event { cursor: 1, ts: 0, session_id: "s".to_owned(), kind }).unwrap();
        }
        (String::from_utf8(out).unwrap(), String::from_utf8(err).unwrap())
    }

    #[track_caller]
    fn check(kinds: Vec<EventKind>, expected: &str) {
        assert_eq!(printed(OutputFormat::Together, kinds), (expected.to_owned(), String::new()));
    }

    #[test]
    fn the_answer_is_apart_from_the_progress() {
        let say = |text: &str| EventKind::AssistantTextEnd { text: text.to_owned(), reasoning: None };
        let fetch = EventKind::ToolCallStart {
            call_id: "1".to_owned(),
            tool_name: "web_fetch".to_owned(),
            arguments: json!({"url": "https://a.example/"}),
        };
        let end = EventKind::ProcessingEnd { reason: EndReason::Natural, usage: emend_llm::Usage::default() };
        let (out, err) = printed(
            OutputFormat::Apart,
            vec![EventKind::UserInput { content: "x".to_owned() }, say("Let me look."), fetch, say("Done.\n"), end],
        );
        assert_eq!((out.as_str(), err.as_str()), ("Done.\n", "emend: Let me look.\n→ web_fetch https://a.example/\n"));
    }

    #[test]
    fn a_very_long_line_of_a_command_is_cut() {
        let delta = |delta: String| EventKind::ToolCallOutputDelta { call_id: "1".to_owned(), delta };
        let kinds = vec![delta("ab".to_owned()), delta("x".repeat(1_000_000)), delta("\ndone\n".to_owned())];
        check(kinds, &format!("  | ab{}… 998002 more characters\n  | done\n", "x".repeat(1_998)));
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
                    event: Box::new(EventKind::AssistantTextEnd { text: "x".to_owned(), reasoning: None }),
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
                EventKind::AssistantTextEnd { text: String::new(), reasoning: None },
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
                EventKind::AssistantTextEnd { text: String::new(), reasoning: None },
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
            data: Value::Null,
            error: Some("no".to_owned()),
            error_info: Some(ErrorInfo {
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
        let mut printer = Printer::new(OutputFormat::Apart, true, (Vec::new(), &mut err), (false, false));
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
