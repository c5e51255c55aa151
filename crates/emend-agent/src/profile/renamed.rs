//! A tool under the names of a profile. The tool itself sees canonical names only.
//!
//! The wrapper renames the tool, its parameters and their values, in the definition and in calls. It never touches the
//! text of a result: tools look up the names that their texts mention in
//! [`ToolContext::names`](crate::tool::ToolContext::names).

use emend_edit::truncate::OutputLimits;
use emend_llm::{BoxFuture, Shared, ToolDefinition};
use serde_json::{Map, Value};

use super::tool_names::{OutputLayout, ProfileTool};
use crate::approval::Target;
use crate::tool::{Preview, Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
use crate::tools::exit_code_first;

/// A tool under a profile's names.
pub struct Renamed {
    inner: Shared<dyn Tool>,
    row: ProfileTool,
}

impl Renamed {
    /// Returns `inner` under the names of `row`.
    #[must_use]
    pub fn new(inner: Shared<dyn Tool>, row: ProfileTool) -> Self {
        Self { inner, row }
    }

    fn to_canonical(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let names = &self.row.names;
        let canonical = arguments.iter().map(|(name, value)| {
            let param = names.params.iter().find(|(_, exposed)| exposed == name);
            let name = param.map_or(name.as_str(), |(canonical, _)| canonical);
            let known = names.values.iter().find(|(_, exposed)| value.as_str() == Some(exposed));
            (name.to_owned(), known.map_or_else(|| value.clone(), |(canonical, _)| Value::from(*canonical)))
        });
        canonical.collect()
    }

    fn rename_params(&self, parameters: &mut Value) {
        let names = &self.row.names;
        for (canonical, exposed) in names.params {
            if let Some(Value::Array(required)) = parameters.get_mut("required") {
                for name in required.iter_mut().filter(|name| name.as_str() == Some(canonical)) {
                    *name = Value::from(*exposed);
                }
            }
        }
        let Some(Value::Object(properties)) = parameters.get_mut("properties") else { return };
        // Rebuilt, so that the order stays.
        let renamed = std::mem::take(properties).into_iter().map(|(name, mut schema)| {
            for (canonical, exposed) in names.values {
                if let Some(Value::Array(values)) = schema.get_mut("enum") {
                    for value in values.iter_mut().filter(|value| value.as_str() == Some(canonical)) {
                        *value = Value::from(*exposed);
                    }
                }
            }
            let param = names.params.iter().find(|(canonical, _)| *canonical == name);
            (param.map_or(name, |(_, exposed)| (*exposed).to_owned()), schema)
        });
        *properties = renamed.collect();
    }
}

impl Tool for Renamed {
    fn definition(&self) -> ToolDefinition {
        let mut definition = self.inner.definition();
        definition.name = self.row.names.exposed.to_owned();
        self.rename_params(&mut definition.parameters);
        definition
    }

    fn canonical_name(&self) -> Option<&str> {
        Some(self.row.names.canonical)
    }

    fn needs_shell(&self) -> bool {
        self.inner.needs_shell()
    }

    fn effect(&self) -> ToolEffect {
        self.inner.effect()
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.inner.paths(&self.to_canonical(arguments))
    }

    fn target(&self, arguments: &Map<String, Value>) -> Target {
        self.inner.target(&self.to_canonical(arguments))
    }

    fn output_limits(&self) -> OutputLimits {
        self.inner.output_limits()
    }

    fn interruptible(&self) -> bool {
        self.inner.interruptible()
    }

    fn concurrent(&self) -> bool {
        self.inner.concurrent()
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move { self.inner.preview(&self.to_canonical(arguments), context).await })
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let output = self.inner.call(&self.to_canonical(arguments), context).await?;
            Ok(match self.row.output {
                OutputLayout::Own => output,
                OutputLayout::ExitCodeFirst => exit_code_first(output),
            })
        })
    }
}
