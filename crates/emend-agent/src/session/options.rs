//! The parts and limits of a session: [`SessionOptions`] and [`SessionConfig`].

use std::collections::BTreeMap;

use emend_edit::truncate::OutputLimits;
use emend_llm::{Clock, Provider, Random, RetryPolicy, Shared};
use serde_json::{Map, Value};

use super::budget::RunBudget;
use crate::approval::{Approver, Policy};
use crate::error_code::Code;
use crate::event::EventKind;
use crate::history::{ContextStrategy, PruneOldOutputs};
use crate::tool::{CommandLimits, ResultForm, ToolRegistry};
use crate::workspace::Workspace;

/// Limits and settings of a session. They can be changed between two model calls; see
/// [`Session::configure`](super::Session::configure).
#[derive(Clone)]
pub struct SessionConfig {
    /// Maximum number of model responses of the whole session; 0 = unlimited.
    pub max_turns: u64,
    /// Maximum number of tool rounds per user message; 0 = unlimited.
    pub max_tool_rounds_per_input: u64,
    /// Maximum number of tool calls of one run and its subagents; 0 = unlimited. Calls beyond the limit do not run, and
    /// their results say so. The model then responds once more, without tools, and the run ends.
    pub max_tool_calls: u64,
    /// Number of times that the model may try again, in consecutive rounds, after the arguments of every call of a response
    /// failed the schema; then the run ends with an error. 0 = unlimited.
    pub max_schema_retries: u64,
    /// Limits on the tokens, the cost and the duration of one run.
    pub run_budget: RunBudget,
    /// Timeout of a command whose call sets none, in milliseconds.
    pub default_command_timeout_ms: u64,
    /// Maximum timeout of a command, in milliseconds.
    pub max_command_timeout_ms: u64,
    /// Reasoning effort of the model; `None` for the provider's default.
    pub reasoning_effort: Option<String>,
    /// Maximum characters of a tool's output for the model, by canonical tool name.
    pub tool_output_limits: BTreeMap<String, usize>,
    /// Maximum lines of a tool's output for the model, by canonical tool name.
    pub tool_line_limits: BTreeMap<String, usize>,
    /// Whether responses are streamed; otherwise they appear when they are complete.
    pub streaming: bool,
    /// Whether [concurrent](crate::tool::Tool::concurrent) calls of a message run at the same time.
    pub parallel_tool_calls: bool,
    /// Whether a model that repeats its calls gets a warning.
    pub enable_loop_detection: bool,
    /// Number of consecutive calls that must repeat before the warning.
    pub loop_detection_window: usize,
    /// Maximum nesting of subagents: with 1, a subagent starts none.
    pub max_subagent_depth: u32,
    /// Maximum number of subagents that work at the same time.
    pub max_subagents: usize,
    /// Whether a response that ends with a question leaves the session awaiting input instead of idle.
    pub detect_questions: bool,
    /// Context window in tokens; `None` for the catalogue's value of the model.
    pub context_window: Option<u64>,
    /// The strategy that compacts the history when the context window fills up.
    pub context: Shared<dyn ContextStrategy>,
    /// Approximate bytes of events that are retained for late readers; fixed at the creation of the session.
    pub event_bytes_max: usize,
    /// The base instructions; `None` for the general ones. A profile sets its own.
    pub base_prompt: Option<String>,
    /// Names of project documents with instructions for agents, for example `AGENTS.md`.
    pub project_documents: Vec<String>,
    /// The format of tool results for the model. A profile sets that of its family.
    pub result_form: ResultForm,
    /// Provider-specific request parameters, by provider name.
    pub provider_options: Map<String, Value>,
    /// User instructions, appended to the system prompt with the highest precedence.
    pub instructions: Option<String>,
    /// The policy of tool calls: allow, ask or deny. By default every call is allowed.
    pub policy: Policy,
    /// Asks the user for approval. Without an approver, calls that need approval are refused.
    pub approver: Option<Shared<dyn Approver>>,
    /// The retry policy of model calls. The session replaces `on_retry`: each retry emits a WARNING.
    pub retry: RetryPolicy,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            max_turns: 0,
            max_tool_rounds_per_input: 0,
            max_tool_calls: 0,
            max_schema_retries: 5,
            run_budget: RunBudget::default(),
            default_command_timeout_ms: CommandLimits::default().default_timeout_ms,
            max_command_timeout_ms: CommandLimits::default().max_timeout_ms,
            reasoning_effort: None,
            tool_output_limits: BTreeMap::new(),
            tool_line_limits: BTreeMap::new(),
            streaming: true,
            parallel_tool_calls: true,
            enable_loop_detection: true,
            loop_detection_window: 10,
            max_subagent_depth: 1,
            max_subagents: 8,
            detect_questions: false,
            context_window: None,
            context: Shared::new(PruneOldOutputs),
            event_bytes_max: 4 << 20,
            base_prompt: None,
            project_documents: vec!["AGENTS.md".to_owned()],
            result_form: ResultForm::Text,
            provider_options: Map::new(),
            instructions: None,
            policy: Policy::default(),
            approver: None,
            retry: RetryPolicy::default(),
        }
    }
}

impl SessionConfig {
    /// Returns the timeout limits of commands.
    pub(crate) fn command_limits(&self) -> CommandLimits {
        CommandLimits {
            default_timeout_ms: self.default_command_timeout_ms,
            max_timeout_ms: self.max_command_timeout_ms,
        }
    }

    /// Returns the output limits of a tool: the session's for its canonical name, or else the tool's own.
    pub(crate) fn output_limits(&self, canonical: &str, own: OutputLimits) -> OutputLimits {
        OutputLimits {
            chars_max: self.tool_output_limits.get(canonical).copied().unwrap_or(own.chars_max),
            mode: own.mode,
            lines_max: self.tool_line_limits.get(canonical).copied().or(own.lines_max),
        }
    }
}

/// The parts of a session.
pub struct SessionOptions {
    /// Provider of the model.
    pub provider: Shared<dyn Provider>,
    /// The provider's model id.
    pub model: String,
    /// Whether the model is the offline model; events say so.
    pub offline: bool,
    /// Tools that the model may call.
    pub tools: ToolRegistry,
    /// The files that the session works on.
    pub workspace: Shared<Workspace>,
    /// Source of the time.
    pub clock: Shared<dyn Clock>,
    /// Source of ids.
    pub random: Shared<dyn Random>,
    /// Limits and settings.
    pub config: SessionConfig,
}

/// The settings that may change between two model calls.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) provider: Shared<dyn Provider>,
    pub(super) model: String,
    pub(super) offline: bool,
    pub(super) tools: Shared<ToolRegistry>,
    pub(super) config: Shared<SessionConfig>,
}

impl Settings {
    /// Returns the event that tells the model of a session that begins.
    pub(super) fn session_start(&self) -> EventKind {
        let Self { provider, model, offline, .. } = self;
        EventKind::SessionStart { model: model.clone(), provider: provider.name().to_owned(), offline: *offline }
    }
}

/// Why a message was rejected.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// A run is in progress.
    #[error("the session is still working on the last message; wait for it or cancel it")]
    Busy,
    /// The session is closed.
    #[error("the session is closed; start a new one")]
    Closed,
    /// The message is empty.
    #[error("the task is empty; say what to do")]
    Empty,
}

impl SubmitError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::Busy => Code::Busy,
            Self::Closed => Code::Conflict,
            Self::Empty => Code::InvalidArgument,
        }
    }
}
