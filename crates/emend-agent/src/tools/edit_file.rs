//! `edit_file`: replaces one string in one file.

use emend_edit::patch::{Change, Patch};
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value};

use super::arguments::{flag_argument, schema, text_argument};
use super::patching::apply;
use super::preview;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// Replaces an exact string in a file.
pub struct EditFile;

impl EditFile {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 10_000, mode: Mode::Tail, lines_max: None };
}

impl Tool for EditFile {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "edit_file".to_owned(),
            description: "Replaces {param:edit_file.old_string} by {param:edit_file.new_string} in a file. \
                          {param:edit_file.old_string} must be copied exactly from the file, without line numbers, and must \
                          occur once, unless {param:edit_file.replace_all} is set. The line endings of the file are kept. An empty \
                          {param:edit_file.old_string} creates a file."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["file_path", "old_string", "new_string"],
                "properties": {
                    "file_path": {"type": "string", "description": "Path under the working directory."},
                    "old_string": {"type": "string", "description": "The text to replace."},
                    "new_string": {"type": "string", "description": "The new text."},
                    "replace_all": {"type": "boolean", "description": "Replace every occurrence. Default false."}
                }
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        vec![text_argument(arguments, "file_path").to_owned()]
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move { preview::of_patch(context, &patch_of(arguments)).await })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move { apply(context, patch_of(arguments), Vec::new()).await })
    }
}

fn patch_of(arguments: &Map<String, Value>) -> Patch {
    Patch::of(
        text_argument(arguments, "file_path"),
        Change::Replace {
            old: text_argument(arguments, "old_string").to_owned(),
            new: text_argument(arguments, "new_string").to_owned(),
            replace_all: flag_argument(arguments, "replace_all"),
        },
    )
}
