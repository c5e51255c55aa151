//! The canvas tools: the model locates, inspects and edits the open file under its lease.
//!
//! The tools are a set of their own that a host adds to a session. `edits` of [`CanvasDesk`] are addressed by line and name
//! the revision that they were made for, so the model never retypes the text that it replaces.

mod desk;
mod lease_id;
mod notes;
mod sections;

use emend_edit::patch::line_edits::{LineEdit, LineOperation};
use emend_llm::{BoxFuture, Shared, ToolDefinition};
use serde::Serialize;
use serde_json::{Map, Value, json};

pub use desk::{CanvasDesk, CanvasEdit, CanvasFailure, Place};

pub use notes::CanvasNotes;

use super::arguments::{flag_argument, number_argument, schema, text_argument};
use crate::approval::Target;
use crate::error_code::Code;
use crate::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::workspace::Workspace;

/// The part of the system prompt about the canvas tools.
pub const CANVAS_INSTRUCTIONS: &str = "\
The user has a Markdown document open, the canvas. Use these tools for it: canvas_check_out, canvas_renew_lease, \
canvas_check_in, canvas_grep, canvas_read_lines, canvas_read_all, canvas_edit_lines, canvas_apply_patch.
- Check the canvas out first. Every other canvas tool needs the lease_id. Check it in when you are done.
- Always locate before you edit: canvas_grep, then canvas_read_lines, then the edit. Do not retype the text to replace.
- Prefer canvas_edit_lines. A patch for canvas_apply_patch is a unified diff whose hunks stand exactly at their lines.
- Each edit names base_revision_id, the revision_id of the reply with the lines that it is for.
- Line numbers change with every edit. Read again before the next edit.
- If the user types or stops you, your edits fail with STALE_EPOCH. Then leave the canvas alone until the next message.";

/// Returns the canvas tools over a workspace. With `enforced`, all of them but the check-out need a lease.
#[must_use]
pub fn canvas_tools(workspace: &Shared<Workspace>, enforced: bool) -> Vec<Shared<dyn Tool>> {
    Operation::ALL
        .into_iter()
        .map(|operation| {
            let workspace = Shared::clone(workspace);
            Shared::new(CanvasTool { operation, workspace, enforced }) as Shared<dyn Tool>
        })
        .collect()
}

/// One of the operations.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Operation {
    CheckOut,
    Renew,
    CheckIn,
    Grep,
    ReadLines,
    ReadAll,
    EditLines,
    ApplyPatch,
}

impl Operation {
    const ALL: [Self; 8] = [
        Self::CheckOut,
        Self::Renew,
        Self::CheckIn,
        Self::Grep,
        Self::ReadLines,
        Self::ReadAll,
        Self::EditLines,
        Self::ApplyPatch,
    ];

    /// Returns name, description, and the parameters besides `lease_id`.
    fn parts(self) -> (&'static str, &'static str, &'static str) {
        match self {
            Self::CheckOut => {
                ("canvas_check_out", "Takes the lease of the canvas. The other canvas tools need it.", "{}")
            }
            Self::Renew => {
                ("canvas_renew_lease", "Renews the lease for 15 seconds. Every canvas tool does so too.", "{}")
            }
            Self::CheckIn => ("canvas_check_in", "Releases the lease.", "{}"),
            Self::Grep => (
                "canvas_grep",
                "Finds the lines of the canvas that contain a text or match a regular expression.",
                r#"{"query": {"type": "string", "description": "The text or regular expression."},
                    "regex": {"type": "boolean", "description": "Whether the query is a regular expression. Default false."}}"#,
            ),
            Self::ReadLines => (
                "canvas_read_lines",
                "Reads lines of the canvas, by number or by section.",
                r###"{"start_line": {"type": "integer", "minimum": 1, "description": "First line, from 1."},
                    "end_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive."},
                    "section": {"type": "string", "description": "Instead of lines: a heading as in the text, such as `## Plan`; `# Notes > ## Plan` for one inside another; `## Plan [2]` for the second of this name."},
                    "item": {"type": "integer", "minimum": 1, "description": "With section: number of a list item in it, from 1."}}"###,
            ),
            Self::ReadAll => {
                ("canvas_read_all", "Reads the whole canvas. Prefer canvas_grep and canvas_read_lines.", "{}")
            }
            Self::EditLines => (
                "canvas_edit_lines",
                "Replaces, inserts or deletes whole lines of the canvas by number: all edits or none.",
                r#"{"base_revision_id": {"type": "string", "description": "The revision_id of the reply with these lines."},
                    "edits": {"type": "array", "minItems": 1, "items": {"type": "object", "required": ["operation", "start_line"], "properties": {
                      "operation": {"type": "string", "enum": ["replace", "insert", "delete"]},
                      "start_line": {"type": "integer", "minimum": 1, "description": "First line, from 1. An insert goes before this line; one past the last line appends."},
                      "end_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive. Default start_line."},
                      "new_text": {"type": "string", "description": "New lines; empty for delete."}}}}}"#,
            ),
            Self::ApplyPatch => (
                "canvas_apply_patch",
                "Applies a unified diff to the canvas. Every hunk must stand exactly at its lines: all hunks or none.",
                r#"{"base_revision_id": {"type": "string", "description": "The revision_id that the diff was made for."},
                    "patch": {"type": "string", "description": "Unified diff with @@ -a,b +c,d @@ lines."}}"#,
            ),
        }
    }

    fn required(self) -> &'static [&'static str] {
        match self {
            Self::Grep => &["query"],
            Self::EditLines => &["base_revision_id", "edits"],
            Self::ApplyPatch => &["base_revision_id", "patch"],
            _ => &[],
        }
    }

    fn writes(self) -> bool {
        matches!(self, Self::EditLines | Self::ApplyPatch)
    }
}

struct CanvasTool {
    operation: Operation,
    workspace: Shared<Workspace>,
    enforced: bool,
}

impl CanvasTool {
    fn canvas(&self) -> Vec<String> {
        self.workspace.canvas().path().map(|path| path.to_string()).into_iter().collect()
    }

    async fn run(&self, arguments: &Map<String, Value>, context: &ToolContext) -> Result<ToolOutput, CanvasFailure> {
        let desk = CanvasDesk::new(&self.workspace, context.clock.now_ms(), self.enforced);
        let lease_id = arguments.get("lease_id").and_then(Value::as_str).filter(|id| !id.is_empty());
        let named = lease_id.unwrap_or_default();
        match self.operation {
            Operation::CheckOut => match context.lease {
                Some(ticket) => output(&desk.checked_out(ticket).await?),
                None => output(&desk.check_out().await?),
            },
            Operation::Renew => output(&desk.renew(named).await?),
            Operation::CheckIn => output(&desk.check_in(named).await?),
            Operation::Grep => {
                let (query, is_regex) = (text_argument(arguments, "query"), flag_argument(arguments, "regex"));
                output(&desk.grep(lease_id, query, is_regex).await?)
            }
            Operation::ReadLines => {
                let place = match place(arguments) {
                    Ok(place) => place,
                    Err(message) => return Err(desk.refused(Code::InvalidArgument, message).await),
                };
                output(&desk.read(lease_id, &place).await?)
            }
            Operation::ReadAll => output(&desk.read_all(lease_id).await?),
            Operation::EditLines | Operation::ApplyPatch => {
                let edit = match self.operation {
                    Operation::EditLines => CanvasEdit::Lines(line_edits(arguments)),
                    _ => CanvasEdit::Diff(text_argument(arguments, "patch").to_owned()),
                };
                let base = text_argument(arguments, "base_revision_id");
                output(&desk.edit(&context.write(), lease_id, base, &edit).await?)
            }
        }
    }
}

/// Returns a result for the model and for hosts: the same JSON.
fn output(result: &impl Serialize) -> Result<ToolOutput, CanvasFailure> {
    let data = serde_json::to_value(result).unwrap_or_default();
    Ok(ToolOutput::new(data.to_string(), data))
}

/// Returns the lines that the arguments of a read name.
fn place(arguments: &Map<String, Value>) -> Result<Place, &'static str> {
    let section = arguments.get("section").and_then(Value::as_str).filter(|section| !section.is_empty());
    match (section, number_argument(arguments, "start_line")) {
        (Some(section), None) => Ok(Place::Section(section.to_owned(), number_argument(arguments, "item"))),
        (None, Some(start)) => Ok(Place::Lines(start, number_argument(arguments, "end_line").unwrap_or(start))),
        _ => Err("name either start_line and end_line, or section"),
    }
}

/// Returns the edits that the arguments of an edit name.
fn line_edits(arguments: &Map<String, Value>) -> Vec<LineEdit> {
    let edits = arguments.get("edits").and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_object);
    edits
        .map(|edit| LineEdit {
            operation: match text_argument(edit, "operation") {
                "insert" => LineOperation::Insert,
                "delete" => LineOperation::Delete,
                _ => LineOperation::Replace,
            },
            start_line: number_argument(edit, "start_line").unwrap_or_default(),
            end_line: number_argument(edit, "end_line"),
            new_text: text_argument(edit, "new_text").to_owned(),
            expected_hash: None,
        })
        .collect()
}

impl From<CanvasFailure> for ToolError {
    fn from(failure: CanvasFailure) -> Self {
        let CanvasFailure { code, message, revision_id } = failure;
        let message = format!("{message} (revision_id {revision_id})");
        Self { data: Some(json!({ "revision_id": revision_id })), ..Self::new(code, message) }
    }
}

impl Tool for CanvasTool {
    fn definition(&self) -> ToolDefinition {
        let (name, description, properties) = self.operation.parts();
        let mut properties = schema(properties);
        let mut required: Vec<&str> = self.operation.required().to_vec();
        if self.operation != Operation::CheckOut {
            properties["lease_id"] = json!({ "type": "string", "description": "The lease_id of canvas_check_out." });
            if self.enforced {
                required.insert(0, "lease_id");
            }
        }
        ToolDefinition {
            name: name.to_owned(),
            description: description.to_owned(),
            parameters: json!({ "type": "object", "properties": properties, "required": required }),
        }
    }

    fn effect(&self) -> ToolEffect {
        if self.operation.writes() { ToolEffect::Writes } else { ToolEffect::Reads }
    }

    /// The session takes the lease for the check-out, and keeps it alive during its model calls. Where tools need no
    /// check-out, the session takes the lease for each edit.
    fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
        let takes_lease = self.operation == Operation::CheckOut || self.operation.writes() && !self.enforced;
        if takes_lease { self.canvas() } else { Vec::new() }
    }

    fn target(&self, _arguments: &Map<String, Value>) -> Target {
        Target { paths: self.canvas(), ..Target::default() }
    }

    fn concurrent(&self) -> bool {
        false
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { Ok(self.run(arguments, context).await?) })
    }
}

#[cfg(test)]
mod tests;
