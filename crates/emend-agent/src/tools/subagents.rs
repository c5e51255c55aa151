//! `spawn_agent`, `send_input`, `wait` and `close_agent`: the model's control of its subagents. The session holds and
//! drives the subagents.

use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, Clock, Shared, ToolDefinition};
use futures::future::{Either, select};
use serde_json::{Map, Value, json};

use super::arguments::{number_argument, schema, text_argument};
use crate::error_code::Code;
use crate::event::AgentStatus;
use crate::tool::{
    SubagentHost, SubagentReport, SubagentTask, Tool, ToolContext, ToolEffect, ToolError, ToolOutput, ToolRegistry,
};

/// Registers the four tools for subagents.
pub fn register_subagent_tools(registry: &mut ToolRegistry) {
    for action in [Action::Spawn, Action::Send, Action::Wait, Action::Close] {
        registry.register(Shared::new(SubagentTool(action)));
    }
}

/// Returns the tool for subagents with this canonical name.
pub(crate) fn subagent_tool(name: &str) -> Option<SubagentTool> {
    let action = match name {
        "spawn_agent" => Action::Spawn,
        "send_input" => Action::Send,
        "wait" => Action::Wait,
        "close_agent" => Action::Close,
        _ => return None,
    };
    Some(SubagentTool(action))
}

#[derive(Clone, Copy)]
enum Action {
    Spawn,
    Send,
    Wait,
    Close,
}

const SPAWN: &str = r#"{"type": "object", "required": ["task"], "properties": {
  "task": {"type": "string", "minLength": 1, "description": "The whole task."},
  "working_dir": {"type": "string", "description": "A directory that the subagent cannot leave. Default: the whole project."},
  "model": {"type": "string", "description": "Another model of the same provider. Default: yours."},
  "max_turns": {"type": "integer", "minimum": 0, "description": "The most answers of the subagent. 0, the default, is unlimited."}}}"#;
const SEND: &str = r#"{"type": "object", "required": ["agent_id", "message"], "properties": {
  "agent_id": {"type": "string", "minLength": 1, "description": "The subagent's id."},
  "message": {"type": "string", "minLength": 1}}}"#;
const WAIT: &str = r#"{"type": "object", "required": ["agent_id"], "properties": {
  "agent_id": {"type": "string", "minLength": 1, "description": "The subagent's id."},
  "timeout_ms": {"type": "integer", "minimum": 0, "description": "Timeout in milliseconds. Default: until the subagent is done."}}}"#;
const CLOSE: &str = r#"{"type": "object", "required": ["agent_id"], "properties": {
  "agent_id": {"type": "string", "minLength": 1, "description": "The subagent's id."}}}"#;

/// The default output limits of `spawn_agent`.
pub(super) const SPAWN_OUTPUT_LIMITS: OutputLimits =
    OutputLimits { chars_max: 20_000, mode: Mode::HeadTail, lines_max: None };

/// One of the four tools for subagents.
pub struct SubagentTool(Action);

impl Tool for SubagentTool {
    fn definition(&self) -> ToolDefinition {
        let (name, description, parameters) = match self.0 {
            Action::Spawn => (
                "spawn_agent",
                "Starts a subagent on a task of its own and returns its id at once. The subagent works while you continue. Use \
                 it for parts that do not depend on each other. It does not see your conversation, so state everything \
                 in the task. It shares your files: do not give two agents the same file.",
                SPAWN,
            ),
            Action::Send => (
                "send_input",
                "Sends a message to a subagent. A running subagent reads it during its work; a finished one continues with it.",
                SEND,
            ),
            Action::Wait => (
                "wait",
                "Waits until a subagent is done and returns its result. Subagents work only while you do, so wait for \
                 all of them before you end.",
                WAIT,
            ),
            Action::Close => {
                ("close_agent", "Ends a subagent, done or not, and returns its final status. Its edits stay.", CLOSE)
            }
        };
        let parameters = schema(parameters);
        ToolDefinition { name: name.to_owned(), description: description.to_owned(), parameters }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Delegates
    }

    fn output_limits(&self) -> OutputLimits {
        match self.0 {
            Action::Spawn => SPAWN_OUTPUT_LIMITS,
            Action::Send | Action::Wait | Action::Close => OutputLimits::default(),
        }
    }

    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let Some(agents) = &context.subagents else {
                return Err(ToolError::new(Code::Unsupported, "Subagents are available only in a session."));
            };
            let id = text_argument(arguments, "agent_id");
            match self.0 {
                Action::Spawn => spawn(context, &**agents, arguments).await,
                Action::Send => {
                    let was_at_work = agents.send(id, text_argument(arguments, "message"))?;
                    let text = if was_at_work {
                        format!("{id} is running and will read the message.")
                    } else {
                        format!("{id} had finished and continues with the message.")
                    };
                    Ok(ToolOutput::new(text, json!({ "agent_id": id, "status": AgentStatus::Running })))
                }
                Action::Wait => wait(&**agents, &*context.clock, id, number_argument(arguments, "timeout_ms")).await,
                Action::Close => Ok(output(id, &agents.close(id).await?, "")),
            }
        })
    }
}

async fn spawn(
    context: &ToolContext,
    agents: &dyn SubagentHost,
    arguments: &Map<String, Value>,
) -> Result<ToolOutput, ToolError> {
    let optional = |name| arguments.get(name).and_then(Value::as_str);
    let task = SubagentTask {
        task: text_argument(arguments, "task"),
        working_dir: optional("working_dir"),
        model: optional("model"),
        max_turns: number_argument(arguments, "max_turns").unwrap_or(0) as u64,
    };
    let id = agents.spawn(task).await?;
    let text = format!("{id} is running. Get its result with {}.", context.names.tool("wait"));
    Ok(ToolOutput::new(text, json!({ "agent_id": id, "status": AgentStatus::Running })))
}

async fn wait(
    agents: &dyn SubagentHost,
    clock: &dyn Clock,
    id: &str,
    timeout_ms: Option<usize>,
) -> Result<ToolOutput, ToolError> {
    let Some(timeout_ms) = timeout_ms else { return Ok(output(id, &agents.done(id).await?, "")) };
    match select(Box::pin(agents.done(id)), clock.sleep(timeout_ms as u64)).await {
        Either::Left((report, _)) => Ok(output(id, &report?, "")),
        Either::Right(_) => {
            Ok(output(id, &agents.report(id)?, &format!(" It is not done after {timeout_ms} ms; wait again.")))
        }
    }
}

/// Writes the status and the output of a subagent, as text and as JSON.
fn output(id: &str, report: &SubagentReport, remark: &str) -> ToolOutput {
    let SubagentReport { status, output, turns_used } = report;
    let done = *status != AgentStatus::Running;
    let shown = if done { output.as_str() } else { "" };
    let head = format!("{id}: {} after {turns_used} turns.{remark}", status.name());
    let text = if shown.is_empty() { head } else { format!("{head}\n{shown}") };
    let success = *status == AgentStatus::Completed;
    let data = json!({
        "agent_id": id, "status": status, "output": shown, "success": success, "turns_used": turns_used,
        "timed_out": !done,
    });
    ToolOutput::new(text, data)
}
