//! The tools of a session, by name.

use emend_llm::schema::unsupported_keywords;
use emend_llm::{Shared, ToolDefinition};

use super::names::ToolNames;
use super::tool_trait::Tool;

/// The tools of a session, in the order of registration. Of two tools with one name the later is used.
#[derive(Clone, Default)]
pub struct ToolRegistry {
    tools: Vec<(ToolDefinition, Shared<dyn Tool>)>,
    names: Shared<ToolNames>,
}

impl ToolRegistry {
    /// Returns a registry with no tools.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Returns a registry with no tools. Its tools' texts use these names.
    #[must_use]
    pub fn with_names(names: ToolNames) -> Self {
        Self { tools: Vec::new(), names: Shared::new(names) }
    }

    /// Changes the names that the tools' texts use. Each tool stays registered under its name.
    pub fn set_names(&mut self, names: ToolNames) {
        for (definition, tool) in &mut self.tools {
            *definition = names.expand_definition(tool.definition());
        }
        self.names = Shared::new(names);
    }

    /// Returns the names that the tools' texts use.
    #[must_use]
    pub fn tool_names(&self) -> &Shared<ToolNames> {
        &self.names
    }

    /// Adds `tool`, or replaces the tool of the same name. Returns the keywords of its schema that are not checked.
    pub fn register(&mut self, tool: Shared<dyn Tool>) -> Vec<String> {
        let definition = self.names.expand_definition(tool.definition());
        let unsupported = unsupported_keywords(&definition.parameters);
        match self.tools.iter_mut().find(|(known, _)| known.name == definition.name) {
            Some(slot) => *slot = (definition, tool),
            None => self.tools.push((definition, tool)),
        }
        unsupported
    }

    /// Removes the tool of this name, if there is one.
    pub fn remove(&mut self, name: &str) {
        self.tools.retain(|(definition, _)| definition.name != name);
    }

    /// Returns the tool that is registered under `name`.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&ToolDefinition, &Shared<dyn Tool>)> {
        self.tools.iter().find(|(definition, _)| definition.name == name).map(|(definition, tool)| (definition, tool))
    }

    /// Returns a registry of the tools for which `keep` returns true.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&dyn Tool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|(_, tool)| keep(&**tool)).cloned().collect();
        Self { tools, names: Shared::clone(&self.names) }
    }

    /// Returns the definitions of all tools, as the model sees them.
    #[must_use]
    pub fn definitions(&self) -> Vec<ToolDefinition> {
        self.tools.iter().map(|(definition, _)| definition.clone()).collect()
    }

    /// Returns the name under which the tool with this canonical name is registered.
    #[must_use]
    pub fn name_of(&self, canonical: &str) -> Option<&str> {
        let found = self.tools.iter().find(|(_, tool)| tool.canonical_name() == Some(canonical));
        found.map(|(definition, _)| definition.name.as_str())
    }

    /// Returns the names under which the tools are registered.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|(definition, _)| definition.name.as_str())
    }
}
