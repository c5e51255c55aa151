//! Profiles: the tools, names and instructions for a family of models. They resemble those of the agent of the models'
//! maker. The implementations of the tools are the same in all profiles.
//!
//! The names are in `tool_names.rs`, one table for each profile. The instructions are text files beside this one, in our
//! own words; they name tools and parameters by the placeholders of [`ToolNames::expand`](crate::tool::ToolNames::expand).
//! Talking to a provider is the job of its adapter.

mod edits;
mod renamed;
mod tool_names;

use std::fmt;

use emend_llm::{Shared, get_model_info};
use serde_json::{Map, Value, json};

pub use edits::{Edits, EditsError};
pub use renamed::Renamed;
pub use tool_names::{Offer, OutputLayout, ProfileTool};

use crate::suggest::closest;
use crate::tool::{ResultForm, Tool, ToolRegistry};
use crate::tools::built_in;

/// The tools, instructions and settings for a family of models. A host may change them before the session begins. A tool
/// that is registered later replaces the tool of the same name.
#[derive(Clone)]
pub struct Profile {
    /// `openai`, `anthropic` or `gemini`.
    pub id: &'static str,
    /// The provider's model id.
    pub model: String,
    /// Tools of the session, under their exposed names.
    pub tools: ToolRegistry,
    /// The host's own base instructions; those of the family when absent.
    pub base_prompt: Option<String>,
    /// Names of the documents in which projects instruct agents of this family.
    pub project_documents: Vec<String>,
    /// Form of the results that the model sees.
    pub result_form: ResultForm,
    /// Parameters of requests by provider name: beta headers, safety settings, built-in tools of the provider.
    pub provider_options: Map<String, Value>,
    /// Timeout in milliseconds for commands whose call sets none; the session's default when absent.
    pub default_command_timeout_ms: Option<u64>,
    /// Whether the model reasons before it answers.
    pub supports_reasoning: bool,
    /// Whether responses are streamed. Others are shown when they are complete.
    pub supports_streaming: bool,
    /// Whether one response may hold several tool calls.
    pub supports_parallel_tool_calls: bool,
    /// The most tokens of input and output together.
    pub context_window_size: u64,
    edits: Edits,
}

/// Context window, in tokens, of a model that is not in the catalogue.
const CONTEXT_WINDOW_UNKNOWN: u64 = 128_000;

impl Profile {
    /// Returns the profile of OpenAI's models, which edit by `apply_patch`.
    #[must_use]
    pub fn openai(model: &str) -> Self {
        Self::new("openai", model, ".codex/instructions.md")
    }

    /// Returns the profile of Anthropic's models, which edit by exact replacement. Commands may take two minutes.
    #[must_use]
    pub fn anthropic(model: &str) -> Self {
        let profile = Self::new("anthropic", model, "CLAUDE.md");
        Self { default_command_timeout_ms: Some(120_000), ..profile }
    }

    /// Returns the profile of Google's models, which edit by `safe_patch`.
    #[must_use]
    pub fn gemini(model: &str) -> Self {
        Self::new("gemini", model, "GEMINI.md").with_edits(Edits::SafePatch)
    }

    /// Returns the profile for a model, by the name of its provider or by the catalogue. `None` for other families: their
    /// models use the canonical names of the tools.
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
            Edits::EditLines => include_str!("edit_lines.md"),
        };
        let (before, after) = template.split_once("{edits}").unwrap_or((template, ""));
        self.tools.tool_names().expand(&[before, edits.trim_end(), after].concat())
    }

    /// Chooses how the model edits. The profile's own tools for edits replace tools of the same names.
    #[must_use]
    pub fn with_edits(mut self, edits: Edits) -> Self {
        self.edits = edits;
        self.tools.set_names(tool_names::names(self.id, edits));
        ["safe_patch", "edit_lines"].into_iter().for_each(|name| self.tools.remove(name));
        match edits.tool().and_then(built_in) {
            None => self.with_offered(|row| row.offer == Offer::Always && row.is_edit()),
            Some(tool) => {
                let own = tool_names::of(self.id).iter().filter(|row| row.offer == Offer::Always && row.is_edit());
                own.for_each(|row| self.tools.remove(row.names.exposed));
                self.tools.register(tool);
                self
            }
        }
    }

    /// Lets the model ask the user.
    #[must_use]
    pub fn with_questions(self) -> Self {
        self.with_offered(|row| row.offer == Offer::OnRequest)
    }

    /// Adds a tool of the host, such as [`WebFetch`](crate::tools::WebFetch), under the names that this family has for it.
    /// A tool that the family does not know keeps its own names.
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

    /// Adds the web search of the model's provider.
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

    /// Enables features of Anthropic's API by the names of their beta headers, e.g. a longer context. Other families ignore
    /// the names.
    #[must_use]
    pub fn with_beta_headers(mut self, names: &[&str]) -> Self {
        for name in names.iter().filter(|_| self.id == "anthropic").copied().collect::<Vec<_>>() {
            self.add_option("beta_headers", json!(name));
        }
        self
    }

    /// Sets a safety filter of Google's API, e.g. `HARM_CATEGORY_DANGEROUS_CONTENT` and `BLOCK_ONLY_HIGH`. Other families
    /// ignore the setting.
    #[must_use]
    pub fn with_safety(mut self, category: &str, threshold: &str) -> Self {
        if self.id == "gemini" {
            self.add_option("safetySettings", json!({ "category": category, "threshold": threshold }));
        }
        self
    }

    /// Appends a value to a list in the provider's options.
    fn add_option(&mut self, key: &str, value: Value) {
        let own = self.provider_options.entry(self.id).or_insert_with(|| json!({}));
        match &mut own[key] {
            Value::Array(list) => list.push(value),
            slot => *slot = json!([value]),
        }
    }
}

/// A rule is for a tool that does not exist. It would never match: a misspelt rule that denies would deny nothing.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct UnknownTool {
    /// The name in the rule.
    pub name: String,
    /// The name of a tool that is similar.
    pub nearest: Option<String>,
}

impl fmt::Display for UnknownTool {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "unknown tool {:?}", self.name)?;
        self.nearest.as_ref().map_or(Ok(()), |near| write!(formatter, "; did you mean {near}?"))
    }
}

/// Checks the name of the tool that a rule is for: `*`, the name of a tool of the agent in any profile, or one of `others`.
/// The session need not have the tool. Returns the canonical name of the tool, under which the rule holds in every profile.
///
/// # Errors
///
/// Returns the tool that does not exist.
pub fn check_tool_name<'a>(name: &'a str, others: &[&str]) -> Result<&'a str, UnknownTool> {
    if name == "*" || others.contains(&name) {
        return Ok(name);
    }
    let all = tool_names::all();
    if let Some([canonical, _]) = all.iter().find(|[_, known]| *known == name) {
        return Ok(canonical);
    }
    let n_canonical = all.iter().take_while(|[canonical, known]| canonical == known).count();
    let (canonical, exposed) = all.split_at(n_canonical);
    let nearest = |names: &[[&str; 2]], others: &[&str]| {
        closest(name, names.iter().map(|[_, known]| *known).chain(others.iter().copied()), 1).pop()
    };
    let nearest = nearest(canonical, others).or_else(|| nearest(exposed, &[]));
    Err(UnknownTool { name: name.to_owned(), nearest })
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
