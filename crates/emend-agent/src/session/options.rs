//! What a session is made of and what limits it: [`SessionOptions`] and [`SessionConfig`].

use std::collections::BTreeMap;

use emend_edit::truncate::OutputLimits;
use emend_llm::{Clock, Provider, Random, RetryPolicy, Shared};
use serde_json::{Map, Value};

use crate::approval::{Approver, Policy};
use crate::error_code::Code;
use crate::history::{ContextStrategy, PruneOldOutputs};
use crate::tool::{CommandLimits, ResultForm, ToolRegistry};
use crate::workspace::Workspace;

/// Limits and settings of a session. Names and defaults are S2 §2.2's. They can be changed between two calls to the
/// model; see [`Session::configure`](super::Session::configure).
#[derive(Clone)]
pub struct SessionConfig {
    /// Assistant turns of the whole session; 0 = unlimited.
    pub max_turns: u64,
    /// Tool rounds for one user message; 0 = unlimited.
    pub max_tool_rounds_per_input: u64,
    /// How long a command may run whose call names no time, in milliseconds.
    pub default_command_timeout_ms: u64,
    /// The longest that any command may run, in milliseconds.
    pub max_command_timeout_ms: u64,
    /// What the model is asked to spend on reasoning; the provider's default when absent.
    pub reasoning_effort: Option<String>,
    /// The most characters of a tool's output that the model sees, by canonical tool name.
    pub tool_output_limits: BTreeMap<String, usize>,
    /// The most lines of a tool's output that the model sees, by canonical tool name.
    pub tool_line_limits: BTreeMap<String, usize>,
    /// Whether answers are asked for piece by piece; others are shown when they are complete.
    pub streaming: bool,
    /// Whether calls of one message run at the same time that are [concurrent](crate::tool::Tool::concurrent).
    pub parallel_tool_calls: bool,
    /// Whether a model that repeats itself is told so.
    pub enable_loop_detection: bool,
    /// How many calls in a row have to repeat before it is.
    pub loop_detection_window: usize,
    /// How deep subagents may nest: 1 = a subagent starts none of its own.
    pub max_subagent_depth: u32,
    /// How many subagents may work at the same time.
    pub max_subagents: usize,
    /// Whether an answer that ends with a question leaves the session awaiting input instead of idle.
    pub detect_questions: bool,
    /// The most tokens the model takes; what the catalogue says of the model when absent.
    pub context_window: Option<u64>,
    /// What makes room when the context fills up.
    pub context: Shared<dyn ContextStrategy>,
    /// About how many bytes of events are kept for readers who come later; fixed once the session is made.
    pub event_bytes_max: usize,
    /// The base instructions; those for any model when absent. A profile brings its own.
    pub base_prompt: Option<String>,
    /// The names of the documents in which projects instruct agents, e.g. `AGENTS.md`.
    pub project_documents: Vec<String>,
    /// How the model is shown what its calls gave. A profile sets its family's.
    pub result_form: ResultForm,
    /// Parameters that only one provider knows, by provider name.
    pub provider_options: Map<String, Value>,
    /// Appended to the system prompt, with the highest precedence.
    pub instructions: Option<String>,
    /// Which tool calls run, which are refused, and which the user is asked about. All run by default.
    pub policy: Policy,
    /// Who asks the user. Without one, what would be asked is refused.
    pub approver: Option<Shared<dyn Approver>>,
    /// When a call to the model is tried again. Its `on_retry` is the session's own: each retry is a WARNING.
    pub retry: RetryPolicy,
}

impl Default for SessionConfig {
    fn default() -> Self {
        Self {
            max_turns: 0,
            max_tool_rounds_per_input: 0,
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
    /// Returns the limits on the time of commands.
    pub(crate) fn command_limits(&self) -> CommandLimits {
        CommandLimits {
            default_timeout_ms: self.default_command_timeout_ms,
            max_timeout_ms: self.max_command_timeout_ms,
        }
    }

    /// Returns how much of a tool's output the model sees: the session's limits for its canonical name, or else the tool's.
    pub(crate) fn output_limits(&self, canonical: &str, own: OutputLimits) -> OutputLimits {
        OutputLimits {
            chars_max: self.tool_output_limits.get(canonical).copied().unwrap_or(own.chars_max),
            mode: own.mode,
            lines_max: self.tool_line_limits.get(canonical).copied().or(own.lines_max),
        }
    }
}

/// What a session is made of.
pub struct SessionOptions {
    /// Who answers.
    pub provider: Shared<dyn Provider>,
    /// The provider's model id.
    pub model: String,
    /// Whether the model is the stand-in and no AI; events say so.
    pub offline: bool,
    /// What the model may call.
    pub tools: ToolRegistry,
    /// Where files are read and edits go.
    pub workspace: Shared<Workspace>,
    /// The time.
    pub clock: Shared<dyn Clock>,
    /// The source of ids.
    pub random: Shared<dyn Random>,
    /// Limits.
    pub config: SessionConfig,
}

/// Who answers, and how: what may change between two calls to the model.
#[derive(Clone)]
pub(super) struct Settings {
    pub(super) provider: Shared<dyn Provider>,
    pub(super) model: String,
    pub(super) offline: bool,
    pub(super) tools: Shared<ToolRegistry>,
    pub(super) config: Shared<SessionConfig>,
}

/// Why a message was not taken.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum SubmitError {
    /// A turn is running.
    #[error("the session is still working on the last message; wait for it or cancel it")]
    Busy,
    /// The session has ended.
    #[error("the session is closed; start a new one")]
    Closed,
    /// The message says nothing.
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
