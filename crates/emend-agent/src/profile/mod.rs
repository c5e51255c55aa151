//! Profiles: what a family of models works best with (S2 §3). A model is given the tools, names and instructions that
//! resemble those of its maker's own agent, over the same implementations.
//!
//! The names are in `tool_names.rs`, one table for each profile. The instructions are text files beside this one, in our
//! own words; they name tools and parameters by the placeholders of [`ToolNames::expand`](crate::tool::ToolNames::expand).
//! Talking to a provider is the job of its adapter.

mod renamed;
mod tool_names;

use emend_llm::{Shared, get_model_info};
use serde::Deserialize;
use serde_json::{Map, Value, json};

pub use renamed::Renamed;
pub use tool_names::{Offer, OutputLayout, ProfileTool};

use crate::error_code::Code;
use crate::tool::{ResultForm, Tool, ToolRegistry};
use crate::tools::{SafePatch, built_in};

/// What a family of models works best with. Everything can be changed before a session is made of it; a tool that is
/// registered later replaces one of the same name.
#[derive(Clone)]
pub struct Profile {
    /// `openai`, `anthropic` or `gemini`.
    pub id: &'static str,
    /// The provider's model id.
    pub model: String,
    /// What the model may call.
    pub tools: ToolRegistry,
    /// The host's own base instructions; those of the family when absent.
    pub base_prompt: Option<String>,
    /// The documents in which projects instruct this family's agents.
    pub project_documents: Vec<String>,
    /// How the model is shown what its calls gave.
    pub result_form: ResultForm,
    /// What is sent beside the conversation, by provider name: beta headers, safety settings, built-in tools.
    pub provider_options: Map<String, Value>,
    /// How long a command may run whose call names no time, where that differs from the session's default.
    pub default_command_timeout_ms: Option<u64>,
    /// Whether the model reasons before it answers.
    pub supports_reasoning: bool,
    /// Whether answers come piece by piece. Others are shown when they are complete.
    pub supports_streaming: bool,
    /// Whether the model makes several calls in one answer.
    pub supports_parallel_tool_calls: bool,
    /// The most tokens of input and output together.
    pub context_window_size: u64,
    edits: Edits,
}

/// How a model edits. By name: `own`, `safe_patch`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum Edits {
    /// As its family's own agent does: by patches or by exact replacement.
    Own,
    /// By `safe_patch`: unified diffs over exactly the text they were made for (S3).
    SafePatch,
}

impl Edits {
    /// Returns how the model of a session is to edit: as was asked for, or else, where that is `None`, as its profile
    /// says. The stand-in replaces texts whatever its profile.
    ///
    /// # Errors
    ///
    /// [`EditsError`].
    pub fn choose(asked: Option<Self>, has_profile: bool, offline: bool) -> Result<Option<Self>, EditsError> {
        match asked {
            Some(Self::SafePatch) if offline => Err(EditsError::Offline),
            Some(Self::SafePatch) if !has_profile => Err(EditsError::NoProfile),
            None if offline => Ok(Some(Self::Own)),
            asked => Ok(asked),
        }
    }
}

/// Why a model cannot edit as it was asked to.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum EditsError {
    /// The stand-in would not know what to do.
    #[error("the stand-in replaces texts and makes no diffs; name a model to edit by safe_patch")]
    Offline,
    /// There is nothing to choose for.
    #[error("models of no known family edit as the tools' own names say; name a profile to edit by safe_patch")]
    NoProfile,
}

impl EditsError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> Code {
        Code::Configuration
    }
}

/// The window of a model that is not in the catalogue.
const CONTEXT_WINDOW_UNKNOWN: u64 = 128_000;

impl Profile {
    /// Returns the profile of OpenAI's models: `apply_patch` is how they edit.
    #[must_use]
    pub fn openai(model: &str) -> Self {
        Self::new("openai", model, ".codex/instructions.md")
    }

    /// Returns the profile of Anthropic's models: they edit by exact replacement, and commands may take two minutes.
    #[must_use]
    pub fn anthropic(model: &str) -> Self {
        let profile = Self::new("anthropic", model, "CLAUDE.md");
        Self { default_command_timeout_ms: Some(120_000), ..profile }
    }

    /// Returns the profile of Google's models: they edit by `safe_patch`, a diff over exactly the text it was made for.
    #[must_use]
    pub fn gemini(model: &str) -> Self {
        Self::new("gemini", model, "GEMINI.md").with_edits(Edits::SafePatch)
    }

    /// Returns the profile for a model by the provider that serves it: by its name, or by what the catalogue says of
    /// the model. `None` for families without one, which do well with the tools' canonical names.
    #[must_use]
    pub fn of(provider: &str, model: &str) -> Option<Self> {
        let known = || get_model_info(model).map(|info| info.provider.as_str());
        [Some(provider), known()].into_iter().flatten().find_map(|name| match name {
            "openai" => Some(Self::openai(model)),
            "anthropic" => Some(Self::anthropic(model)),
            "gemini" => Some(Self::gemini(model)),
            _ => None,
        })
    }

    fn new(id: &'static str, model: &str, document: &str) -> Self {
        let info = get_model_info(model);
        let profile = Self {
            id,
            model: model.to_owned(),
            tools: ToolRegistry::with_names(tool_names::names(id, Edits::Own)),
            base_prompt: None,
            project_documents: vec!["AGENTS.md".to_owned(), document.to_owned()],
            result_form: tool_names::result_form(id),
            provider_options: Map::new(),
            default_command_timeout_ms: None,
            supports_reasoning: info.is_none_or(|info| info.supports_reasoning),
            supports_streaming: true,
            supports_parallel_tool_calls: true,
            context_window_size: info.map_or(CONTEXT_WINDOW_UNKNOWN, |info| info.context_window),
            edits: Edits::Own,
        };
        profile.with_offered(|row| row.offer == Offer::Always)
    }

    fn with_offered(mut self, is_offered: impl Fn(&ProfileTool) -> bool) -> Self {
        for row in tool_names::of(self.id).iter().filter(|row| is_offered(row)) {
            if let Some(tool) = built_in(row.names.canonical) {
                self.tools.register(Shared::new(Renamed::new(tool, *row)));
            }
        }
        self
    }

    /// Returns the base instructions: the host's own, or those of the family for the way in which the model edits.
    #[must_use]
    pub fn instructions(&self) -> String {
        if let Some(own) = &self.base_prompt {
            return own.clone();
        }
        let (template, own_edits) = match self.id {
            "anthropic" => (include_str!("anthropic.md"), include_str!("anthropic-edits.md")),
            "gemini" => (include_str!("gemini.md"), include_str!("gemini-edits.md")),
            _ => (include_str!("openai.md"), include_str!("openai-edits.md")),
        };
        let edits = match self.edits {
            Edits::Own => own_edits,
            Edits::SafePatch => include_str!("safe_patch.md"),
        };
        let (before, after) = template.split_once("{edits}").unwrap_or((template, ""));
        self.tools.tool_names().expand(&[before, edits.trim_end(), after].concat())
    }

    /// Chooses how the model edits. The profile's own tools for edits replace tools of the same names.
    #[must_use]
    pub fn with_edits(mut self, edits: Edits) -> Self {
        self.edits = edits;
        self.tools.set_names(tool_names::names(self.id, edits));
        match edits {
            Edits::Own => {
                self.tools.remove("safe_patch");
                self.with_offered(|row| row.offer == Offer::Always && row.is_edit())
            }
            Edits::SafePatch => {
                let own = tool_names::of(self.id).iter().filter(|row| row.offer == Offer::Always && row.is_edit());
                own.for_each(|row| self.tools.remove(row.names.exposed));
                self.tools.register(Shared::new(SafePatch));
                self
            }
        }
    }

    /// Lets the model ask the user.
    #[must_use]
    pub fn with_questions(self) -> Self {
        self.with_offered(|row| row.offer == Offer::OnRequest)
    }

    /// Adds a tool that the host made, such as [`WebFetch`](crate::tools::WebFetch), under the name and parameters by
    /// which this family knows it; one that the family does not know keeps its own.
    #[must_use]
    pub fn with_tool(mut self, tool: Shared<dyn Tool>) -> Self {
        let name = tool.definition().name;
        let mut rows = tool_names::of(self.id).iter();
        self.tools.register(match rows.find(|row| row.names.canonical == name && row.offer != Offer::Instead) {
            Some(row) => Shared::new(Renamed::new(tool, *row)),
            None => tool,
        });
        self
    }

    /// Lets the model start subagents.
    #[must_use]
    pub fn with_subagents(self) -> Self {
        self.with_offered(|row| row.offer == Offer::Subagents)
    }

    /// Lets the model search the web by its provider's own means.
    #[must_use]
    pub fn with_web_search(mut self) -> Self {
        let tool = match self.id {
            "anthropic" => json!({ "type": "web_search_20250305", "name": "web_search" }),
            "gemini" => json!({ "google_search": {} }),
            _ => json!({ "type": "web_search" }),
        };
        self.add_option("tools", tool);
        self
    }

    /// Asks Anthropic for features that are not yet part of its API, by the names of their headers, e.g. a longer
    /// context. Other providers know no such names.
    #[must_use]
    pub fn with_beta_headers(mut self, names: &[&str]) -> Self {
        for name in names.iter().filter(|_| self.id == "anthropic").copied().collect::<Vec<_>>() {
            self.add_option("beta_headers", json!(name));
        }
        self
    }

    /// Sets how strictly Google's filters judge, e.g. `HARM_CATEGORY_DANGEROUS_CONTENT` and `BLOCK_ONLY_HIGH`. Other
    /// providers know no such setting.
    #[must_use]
    pub fn with_safety(mut self, category: &str, threshold: &str) -> Self {
        if self.id == "gemini" {
            self.add_option("safetySettings", json!({ "category": category, "threshold": threshold }));
        }
        self
    }

    /// Adds to a list among the provider's options.
    fn add_option(&mut self, key: &str, value: Value) {
        let own = self.provider_options.entry(self.id).or_insert_with(|| json!({}));
        match &mut own[key] {
            Value::Array(list) => list.push(value),
            slot => *slot = json!([value]),
        }
    }
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests;
#[cfg(test)]
mod quoting_tests;
#[cfg(test)]
mod tests;
#[cfg(test)]
mod wire_tests;
