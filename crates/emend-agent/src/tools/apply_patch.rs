//! `apply_patch`: several edits of several files in one patch, all or none.

use emend_edit::patch::v4a;
use emend_edit::truncate::{Mode, OutputLimits};
use emend_llm::{BoxFuture, ToolDefinition};
use serde_json::{Map, Value};

use super::arguments::{schema, text_argument};
use super::patching::apply;
use super::preview;
use crate::error_code::Code;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};

/// Applies a patch in the v4a format.
pub struct ApplyPatch;

impl ApplyPatch {
    /// The default output limits of the tool.
    pub const OUTPUT_LIMITS: OutputLimits = OutputLimits { chars_max: 10_000, mode: Mode::Tail, lines_max: None };
}

impl Tool for ApplyPatch {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "apply_patch".to_owned(),
            description: "Applies a patch to one or more files, completely or not at all. The format:\n\
                          *** Begin Patch\n*** Update File: path\n@@ a line above the change, such as a heading or \
                          function\n unchanged line\n-removed line\n+added line\n*** Add File: path\n+line\n\
                          *** Delete File: path\n*** End Patch\n`*** Move to: path` after `*** Update File:` renames the file. \
                          Give about three unchanged lines around each change."
                .to_owned(),
            parameters: schema(
                r#"{
                "type": "object",
                "required": ["patch"],
                "properties": {"patch": {"type": "string", "minLength": 1, "description": "The patch text."}}
            }"#,
            ),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn output_limits(&self) -> OutputLimits {
        Self::OUTPUT_LIMITS
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        v4a::parse(text_argument(arguments, "patch"))
            .map(|(patch, _)| patch.paths().into_iter().map(str::to_owned).collect())
            .unwrap_or_default()
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move {
            match v4a::parse(text_argument(arguments, "patch")) {
                Ok((patch, _)) => preview::of_patch(context, &patch).await,
                Err(_) => Preview::Futile,
            }
        })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let (patch, diagnostics) = v4a::parse(text_argument(arguments, "patch"))
                .map_err(|error| ToolError::new(Code::InvalidArgument, error.to_string()))?;
            apply(context, patch, diagnostics).await
        })
    }
}
