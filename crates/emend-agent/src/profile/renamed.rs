//! A tool under another name: what the model sees and sends is translated, the tool itself knows nothing of it.

use emend_llm::{BoxFuture, Shared, ToolDefinition};
use serde_json::{Map, Value};

use super::EDIT_TOOLS;
use super::tool_names::{Naming, Output, Param};
use crate::approval::Target;
use crate::tool::{Preview, Tool, ToolContext, ToolError, ToolOutput};
use crate::tools::end_first;

/// A tool as one profile names it.
pub struct Named {
    inner: Shared<dyn Tool>,
    naming: &'static Naming,
    /// All names of the profile: texts speak of other tools too.
    names: &'static [Naming],
    /// What texts call the tools that edit, where that is none of the profile's own.
    edits_by: Option<&'static str>,
}

impl Named {
    /// Returns `inner` under the name and parameters of `naming`, which is one of `names`.
    #[must_use]
    pub fn new(inner: Shared<dyn Tool>, naming: &'static Naming, names: &'static [Naming]) -> Self {
        Self { inner, naming, names, edits_by: None }
    }

    /// Lets texts that speak of `edit_file` or `apply_patch` speak of this tool instead.
    #[must_use]
    pub(super) fn with_edits_by(self, name: Option<&'static str>) -> Self {
        Self { edits_by: name, ..self }
    }

    fn to_canonical(&self, arguments: &Map<String, Value>) -> Map<String, Value> {
        let canonical = arguments.iter().map(|(name, value)| {
            let param = self.naming.params.iter().find(|(_, wire)| wire == name);
            let name = param.map_or(name.as_str(), |(canonical, _)| canonical);
            let known = self.naming.values.iter().find(|(_, wire)| value.as_str() == Some(wire));
            (name.to_owned(), known.map_or_else(|| value.clone(), |(canonical, _)| Value::from(*canonical)))
        });
        canonical.collect()
    }

    /// Calls the tools of a text, and this tool's parameters, by their names on the wire. Only names that are no ordinary words are looked for.
    fn renamed(&self, text: &str) -> String {
        let mut text = text.to_owned();
        if let Some(name) = self.edits_by {
            for canonical in EDIT_TOOLS {
                text = text.replace(canonical, name);
            }
        }
        for naming in self.names.iter().filter(|naming| naming.canonical.contains('_')) {
            if naming.canonical != naming.wire {
                text = text.replace(naming.canonical, naming.wire);
            }
        }
        for (canonical, wire) in self.naming.params.iter().filter(|(canonical, _)| canonical.contains('_')) {
            text = text.replace(canonical, wire);
        }
        text
    }

    /// Calls a parameter that a message ends by naming by its name on the wire. Elsewhere the word may be any other.
    fn renamed_params(&self, message: String) -> String {
        let named = |(canonical, wire): &Param| {
            let head = message.strip_suffix(&format!("the {canonical} parameter.]"))?;
            Some(format!("{head}the {wire} parameter.]"))
        };
        self.naming.params.iter().find_map(named).unwrap_or(message)
    }

    fn rename_params(&self, parameters: &mut Value) {
        for (canonical, wire) in self.naming.params {
            if let Some(Value::Array(required)) = parameters.get_mut("required") {
                for name in required.iter_mut().filter(|name| name.as_str() == Some(canonical)) {
                    *name = Value::from(*wire);
                }
            }
        }
        let Some(Value::Object(properties)) = parameters.get_mut("properties") else { return };
        // Rebuilt, so that the order stays.
        let renamed = std::mem::take(properties).into_iter().map(|(name, mut schema)| {
            for (canonical, wire) in self.naming.values {
                if let Some(Value::Array(values)) = schema.get_mut("enum") {
                    for value in values.iter_mut().filter(|value| value.as_str() == Some(canonical)) {
                        *value = Value::from(*wire);
                    }
                }
            }
            if let Some(Value::String(description)) = schema.get_mut("description") {
                *description = self.renamed(description);
            }
            let param = self.naming.params.iter().find(|(canonical, _)| *canonical == name);
            (param.map_or(name, |(_, wire)| (*wire).to_owned()), schema)
        });
        *properties = renamed.collect();
    }
}

impl Tool for Named {
    fn definition(&self) -> ToolDefinition {
        let mut definition = self.inner.definition();
        definition.name = self.naming.wire.to_owned();
        definition.description = self.renamed(&definition.description);
        for (canonical, wire) in self.naming.values {
            definition.description = definition.description.replace(&format!("`{canonical}`"), &format!("`{wire}`"));
        }
        self.rename_params(&mut definition.parameters);
        definition
    }

    fn canonical_name(&self) -> Option<&str> {
        Some(self.naming.canonical)
    }

    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String> {
        self.inner.paths(&self.to_canonical(arguments))
    }

    fn target(&self, arguments: &Map<String, Value>) -> Target {
        self.inner.target(&self.to_canonical(arguments))
    }

    fn interruptible(&self) -> bool {
        self.inner.interruptible()
    }

    fn concurrent(&self) -> bool {
        self.inner.concurrent()
    }

    fn asks_user(&self) -> bool {
        self.inner.asks_user()
    }

    fn preview<'a>(&'a self, arguments: &'a Map<String, Value>, context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(async move { self.inner.preview(&self.to_canonical(arguments), context).await })
    }

    fn is_for_subagents(&self) -> bool {
        self.inner.is_for_subagents()
    }

    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(async move {
            let outcome = self.inner.call(&self.to_canonical(arguments), context).await;
            let outcome = outcome.map(|output| match self.naming.output {
                Output::Own => output,
                Output::EndFirst => end_first(output),
            });
            outcome.map_err(|error| ToolError {
                message: self.renamed_params(self.renamed(&error.message)),
                suggestions: error.suggestions.iter().map(|text| self.renamed(text)).collect(),
                ..error
            })
        })
    }
}
