//! `propose_edits`: edits of lines and of whole files, in several files at once. All edits of a call apply or none.

use std::collections::BTreeMap;

use emend_edit::patch::PlannedFile;
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value, json};

use super::plan::{paths, plan_edits, with_states, writes_of};
use super::proposal::{ProposedEdit, listed, read_edits};
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::tools::arguments::{schema, text_argument};
use crate::tools::patching::report;
use crate::tools::preview::of_plan;
use crate::workspace::{Texts, WrittenFile};

/// Proposes edits.
pub(super) struct ProposeEdits;

impl Tool for ProposeEdits {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "propose_edits".to_owned(),
            description:
                "Proposes edits of one or more files; the user reviews them. Line numbers are those of the files \
                          as {tool:read_file} showed them. Keep edits small and focused, and give the reason of each. All \
                          edits of a call apply together or none. The call is rejected if a file has changed since it was \
                          read, or if edits overlap."
                    .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["edits"],
                "additionalProperties": false,
                "properties": {
                    "edits": {
                        "type": "array",
                        "minItems": 1,
                        "items": {
                            "type": "object",
                            "required": ["file_path", "operation"],
                            "additionalProperties": false,
                            "properties": {
                                "edit_id": {"type": "string", "description": "Name of the edit within the call, e.g. `e_1`."},
                                "file_path": {"type": "string", "minLength": 1, "description": "Path under the project root."},
                                "operation": {
                                    "enum": ["replace", "insert", "delete", "create", "delete_file", "rename"],
                                    "description": "`replace` and `delete` change the lines from start_line to end_line. `insert` inserts before start_line; one past the last line appends. `create` makes a file with new_text. `rename` moves the file to new_path."
                                },
                                "start_line": {"type": "integer", "minimum": 1, "description": "First line, from 1."},
                                "end_line": {"type": "integer", "minimum": 1, "description": "Last line, inclusive. Default: start_line."},
                                "new_text": {"type": "string", "description": "New lines or text; empty for a deletion."},
                                "new_path": {"type": "string", "description": "New path of a rename."},
                                "expected_hash": {"type": "string", "description": "sha256 of the file that was shown, or of the lines to change. Default: the version shown last."},
                                "rationale": {"type": "string", "description": "Reason for the edit, for the user."}
                            }
                        }
                    }
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        let named = listed(arguments).flat_map(|edit| ["file_path", "new_path"].map(|name| text_argument(edit, name)));
        let mut paths: Vec<String> = Vec::new();
        for path in named.filter(|path| !path.is_empty()) {
            if !paths.iter().any(|known| known == path) {
                paths.push(path.to_owned());
            }
        }
        paths
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            let Ok(edits) = read_edits(arguments, context).await else { return Preview::Futile };
            let mut texts: Texts = BTreeMap::new();
            for path in paths(&edits) {
                let Ok(text) = context.workspace.text(&path).await else { return Preview::Futile };
                texts.insert(path, text);
            }
            plan_edits(&edits, &texts, &context.reads).map_or(Preview::Futile, |planned| of_plan(&planned, None))
        })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let edits = read_edits(arguments, context).await?;
            let planned = |texts: &Texts| {
                let planned = plan_edits(&edits, texts, &context.reads)
                    .map_err(|refusal| with_states(refusal, texts, &context.reads))?;
                Ok((writes_of(&edits, &planned, texts), planned))
            };
            let (written, planned) =
                context.workspace.write::<_, ToolError>(&context.write(), &paths(&edits), planned).await?;
            Ok(done(&edits, &written, &planned))
        })
    }
}

/// Reports the edits. The data keeps the id and the rationale of each edit; a change of the review names the edit as
/// `CALL/EDIT_ID`.
fn done(edits: &[ProposedEdit], written: &[WrittenFile], planned: &[PlannedFile]) -> ToolOutput {
    let mut output = report(written, planned, Vec::new());
    let shown = |edit: &ProposedEdit| {
        let mut shown = json!({
            "edit_id": edit.id,
            "file_path": edit.path,
            "operation": edit.kind.name(),
        });
        let fields = [
            ("start_line", edit.start_line.map(Value::from)),
            ("end_line", edit.end_line.or(edit.start_line).map(Value::from)),
            ("new_text", (!edit.new_text.is_empty()).then(|| Value::from(edit.new_text.as_str()))),
            ("new_path", edit.target.as_ref().map(|path| Value::from(path.as_str()))),
            ("expected_hash", edit.expected_hash.map(|hash| Value::from(hash.to_string()))),
            ("rationale", edit.rationale.as_deref().map(Value::from)),
        ];
        for (name, value) in fields {
            if let Some(value) = value {
                shown[name] = value;
            }
        }
        shown
    };
    let state = |file: &WrittenFile| {
        let hash = (!file.deleted).then(|| file.hash.to_string());
        json!({ "file_path": file.path, "hash": hash, "version": file.version, "deleted": file.deleted })
    };
    output.data["edits"] = edits.iter().map(shown).collect();
    output.data["states"] = written.iter().map(state).collect();
    output
}
