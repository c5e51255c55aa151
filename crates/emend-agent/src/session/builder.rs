//! Builds a session from a model, a workspace and the host's choices.
//!
//! Hosts hold no rules about profiles and tools of their own: the command line and the browser fill in the same builder.

use emend_llm::{Clock, Provider, Random, Shared, Transport};

use super::{Session, SessionConfig, SessionOptions};
use crate::approval::{Approver, Policy};
use crate::profile::{Edits, EditsError, Profile};
use crate::tool::Tool;
use crate::tools::{ClarifyUser, WebFetch, WebFetchOptions, core_tools, register_subagent_tools};
use crate::workspace::Workspace;

/// The profile that a session uses.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ProfileChoice {
    /// The profile of the model's family; none for the offline model and for unknown families.
    #[default]
    Auto,
    /// The profile of OpenAI's models.
    Openai,
    /// The profile of Anthropic's models.
    Anthropic,
    /// The profile of Google's models.
    Gemini,
    /// No profile: the model gets all core tools under their canonical names.
    None,
}

impl ProfileChoice {
    /// The names of the choices, as options and settings write them.
    pub const NAMES: [&str; 5] = ["auto", "openai", "anthropic", "gemini", "none"];

    /// Returns the choice with this name, or `None` if there is none.
    #[must_use]
    pub fn from_name(name: &str) -> Option<Self> {
        Some(match name {
            "auto" => Self::Auto,
            "openai" => Self::Openai,
            "anthropic" => Self::Anthropic,
            "gemini" => Self::Gemini,
            "none" => Self::None,
            _ => return None,
        })
    }

    fn profile(self, provider: &str, model: &str, offline: bool) -> Option<Profile> {
        match self {
            Self::Auto if offline => None,
            Self::Auto => Profile::of(provider, model),
            Self::Openai => Some(Profile::openai(model)),
            Self::Anthropic => Some(Profile::anthropic(model)),
            Self::Gemini => Some(Profile::gemini(model)),
            Self::None => None,
        }
    }
}

/// Builds a [`Session`], or the [`SessionOptions`] to resume or fork one with.
///
/// Without further choices the session has the tools and instructions of the model's family, the default limits, no web
/// access, no subagents and no questions to the user; every tool call runs without approval.
///
/// ```
/// # use emend_agent::environment::memory::MemFs;
/// # use emend_agent::session::{ProfileChoice, SessionBuilder};
/// # use emend_agent::workspace::{Mode, Workspace};
/// # use emend_llm::{BoxFuture, Clock, Provider, Random, Shared};
/// # fn example(provider: Shared<dyn Provider>, clock: Shared<dyn Clock>, random: Shared<dyn Random>) -> Result<(), Box<dyn std::error::Error>> {
/// let files = MemFs::from_fixture("//- notes.md\nhello\n");
/// let workspace = Shared::new(Workspace::new(Shared::new(files), Mode::Staged, clock));
/// let session = SessionBuilder::new(provider, "claude-sonnet-4-5", workspace, random)
///     .profile(ProfileChoice::Anthropic)
///     .questions(true)
///     .build()?;
/// # drop(session);
/// # Ok(())
/// # }
/// ```
#[must_use = "a builder does nothing until it builds"]
pub struct SessionBuilder {
    provider: Shared<dyn Provider>,
    model: String,
    offline: bool,
    workspace: Shared<Workspace>,
    clock: Shared<dyn Clock>,
    random: Shared<dyn Random>,
    choice: ProfileChoice,
    own_profile: Option<Profile>,
    edits: Option<Edits>,
    web: Option<Shared<dyn Transport>>,
    subagents: bool,
    questions: bool,
    tools: Vec<Shared<dyn Tool>>,
    config: SessionConfig,
}

impl SessionBuilder {
    /// Returns a builder for sessions in which `model` of `provider` works in `workspace`. `random` is the source of ids;
    /// the time comes from the clock of the workspace.
    pub fn new(
        provider: Shared<dyn Provider>,
        model: impl Into<String>,
        workspace: Shared<Workspace>,
        random: Shared<dyn Random>,
    ) -> Self {
        Self {
            provider,
            model: model.into(),
            offline: false,
            clock: workspace.clock(),
            workspace,
            random,
            choice: ProfileChoice::Auto,
            own_profile: None,
            edits: None,
            web: None,
            subagents: false,
            questions: false,
            tools: Vec::new(),
            config: SessionConfig::default(),
        }
    }

    /// Sets whether the model is the offline model; events say so.
    pub fn offline(mut self, offline: bool) -> Self {
        self.offline = offline;
        self
    }

    /// Takes the time from `clock` instead of the workspace's clock.
    pub fn clock(mut self, clock: Shared<dyn Clock>) -> Self {
        self.clock = clock;
        self
    }

    /// Chooses the profile by name.
    pub fn profile(mut self, choice: ProfileChoice) -> Self {
        self.choice = choice;
        self
    }

    /// Uses a profile that the host has changed, and the model it was made for.
    pub fn with_profile(mut self, profile: Profile) -> Self {
        self.model.clone_from(&profile.model);
        self.own_profile = Some(profile);
        self
    }

    /// Chooses how the model edits; `None` leaves the choice to the profile.
    pub fn edits(mut self, edits: Option<Edits>) -> Self {
        self.edits = edits;
        self
    }

    /// Lets the model fetch web pages through `transport`, which must return redirects instead of following them.
    pub fn web(mut self, transport: Shared<dyn Transport>) -> Self {
        self.web = Some(transport);
        self
    }

    /// Sets whether the model may start subagents.
    pub fn subagents(mut self, allowed: bool) -> Self {
        self.subagents = allowed;
        self
    }

    /// Sets whether the model may ask the user.
    pub fn questions(mut self, allowed: bool) -> Self {
        self.questions = allowed;
        self
    }

    /// Adds a tool of the host's under its own name. It replaces a built-in tool of the same name.
    pub fn tool(mut self, tool: Shared<dyn Tool>) -> Self {
        self.tools.push(tool);
        self
    }

    /// Sets the rules that allow, deny or ask about tool calls.
    pub fn policy(mut self, policy: Policy) -> Self {
        self.config.policy = policy;
        self
    }

    /// Sets the approver, which asks the user about calls.
    pub fn approver(mut self, approver: Shared<dyn Approver>) -> Self {
        self.config.approver = Some(approver);
        self
    }

    /// Appends instructions of the user to the system prompt, with the highest precedence.
    pub fn instructions(mut self, instructions: impl Into<String>) -> Self {
        self.config.instructions = Some(instructions.into());
        self
    }

    /// Replaces all settings, policy, approver and instructions included. The profile fills in only settings that have
    /// their defaults.
    pub fn config(mut self, config: SessionConfig) -> Self {
        self.config = config;
        self
    }

    /// Returns the options for [`Session::new`], [`Session::resume`] and [`Session::fork`].
    ///
    /// # Errors
    ///
    /// Returns an [`EditsError`] if the model cannot edit in the chosen way.
    pub fn options(self) -> Result<SessionOptions, EditsError> {
        let Self { provider, model, offline, workspace, clock, random, mut config, .. } = self;
        let profile = self.own_profile.or_else(|| self.choice.profile(provider.name(), &model, offline));
        let edits = Edits::choose(self.edits, profile.is_some(), offline)?;
        let web = self.web.map(|transport| {
            Shared::new(WebFetch::new(transport, Shared::clone(&clock), WebFetchOptions::default())) as Shared<dyn Tool>
        });
        let mut tools = match profile {
            Some(mut profile) => {
                if let Some(edits) = edits {
                    profile = profile.with_edits(edits);
                }
                if let Some(web) = web {
                    profile = profile.with_tool(web);
                }
                if self.subagents {
                    profile = profile.with_subagents();
                }
                if self.questions {
                    profile = profile.with_questions();
                }
                fill_in(&mut config, &profile);
                profile.tools
            }
            None => {
                let mut tools = core_tools();
                if let Some(web) = web {
                    tools.register(web);
                }
                if self.subagents {
                    register_subagent_tools(&mut tools);
                }
                if self.questions {
                    tools.register(Shared::new(ClarifyUser));
                }
                tools
            }
        };
        for tool in self.tools {
            tools.register(tool);
        }
        Ok(SessionOptions { provider, model, offline, tools, workspace, clock, random, config })
    }

    /// Builds a new session.
    ///
    /// # Errors
    ///
    /// As [`options`](Self::options).
    pub fn build(self) -> Result<Session, EditsError> {
        Ok(Session::new(self.options()?))
    }
}

/// Fills in the settings of a profile. Base instructions, documents, context window and provider options that the host
/// has set stay.
fn fill_in(config: &mut SessionConfig, profile: &Profile) {
    config.base_prompt.get_or_insert_with(|| profile.instructions());
    if config.project_documents == SessionConfig::default().project_documents {
        config.project_documents.clone_from(&profile.project_documents);
    }
    config.context_window.get_or_insert(profile.context_window_size);
    config.result_form = profile.result_form;
    config.parallel_tool_calls &= profile.supports_parallel_tool_calls;
    config.streaming &= profile.supports_streaming;
    if let Some(timeout_ms) = profile.default_command_timeout_ms {
        config.default_command_timeout_ms = timeout_ms.min(config.max_command_timeout_ms);
    }
    for (name, options) in &profile.provider_options {
        config.provider_options.entry(name).or_insert_with(|| options.clone());
    }
}
