//! Tools: what one is, the registry a session holds, and what a call gives back.
//!
//! The pipeline that runs calls (lookup, validate, execute, truncate, emit) is the session's; what the built-in tools
//! do is in [`crate::tools`].

mod arguments;
mod names;
mod preview;
mod progress;
mod result_format;

use emend_edit::truncate::OutputLimits;
use emend_llm::schema::unsupported_keywords;
use emend_llm::{BoxFuture, CancelToken, Clock, MaybeSend, MaybeSync, MediaData, Shared, ToolDefinition};
use serde_json::{Map, Value, json};

pub use arguments::{example, meant, read_arguments, tidy};
pub use names::{ExposedNames, Rename, ToolNames};
pub use preview::Preview;
pub use progress::Progress;
pub(crate) use result_format::replace_result_text;
pub use result_format::{ResultForm, result_text};

use crate::approval::Target;
pub use crate::approval::ToolEffect;
use crate::canvas::Ticket;
use crate::environment::EnvError;
use crate::error_code::Code;
use crate::event::ErrorInfo;
use crate::session::{Agents, SessionConfig};
use crate::workspace::{Seen, Workspace, latest_state_text};

/// What a call may use.
pub struct ToolContext {
    /// Where files are read and edits go.
    pub workspace: Shared<Workspace>,
    /// What this session has seen of each file.
    pub seen: Shared<Seen>,
    /// The turn the call belongs to.
    pub run: u64,
    /// The call's own id; it marks the changes the call makes.
    pub call_id: String,
    /// The canvas lease, where the call holds it.
    pub ticket: Option<Ticket>,
    /// Whether the call may write. One that would be refused anyway runs without being asked about, to say why; if it is
    /// not refused after all, its writes are.
    pub may_write: bool,
    /// Ends the call early.
    pub cancel: CancelToken,
    /// The session's limits, e.g. how long a command may run.
    pub config: Shared<SessionConfig>,
    /// How much of the output the model sees.
    pub output_limits: OutputLimits,
    /// Takes what the call prints while it runs.
    pub progress: Progress,
    /// The time.
    pub clock: Shared<dyn Clock>,
    /// The names by which the model knows the tools.
    pub names: Shared<ToolNames>,
    /// The session's subagents; none outside of a conversation.
    pub agents: Option<Agents>,
}

/// What a call that worked gives.
#[derive(Clone, Debug, PartialEq)]
pub struct ToolOutput {
    /// Text for the model and for events, not yet truncated.
    pub text: String,
    /// The same as data, for callers that want fields.
    pub data: Value,
    /// An image for the model, base64-encoded.
    pub image: Option<MediaData>,
}

impl ToolOutput {
    /// Returns an output of text, and the same as data.
    pub fn new(text: impl Into<String>, data: Value) -> Self {
        Self { text: text.into(), data, image: None }
    }

    /// Adds an image.
    #[must_use]
    pub fn with_image(mut self, image: MediaData) -> Self {
        self.image = Some(image);
        self
    }
}

/// What a call that failed gives. The model is told; the loop goes on.
#[derive(Clone, Debug, PartialEq, thiserror::Error)]
#[error("{message}")]
pub struct ToolError {
    /// The stable code.
    pub code: Code,
    /// What happened and what to do.
    pub message: String,
    /// What to try instead, best first.
    pub suggestions: Vec<String>,
    /// Details for callers and, as JSON, for the model.
    pub data: Option<Value>,
    /// The canonical name of a tool that does what this call could not. The session adds its exposed name to the message.
    pub better_tool: Option<&'static str>,
}

impl ToolError {
    /// Returns an error without suggestions.
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into(), suggestions: Vec::new(), data: None, better_tool: None }
    }

    /// Adds what to try instead.
    #[must_use]
    pub fn with_suggestions(mut self, suggestions: Vec<String>) -> Self {
        self.suggestions = suggestions;
        self
    }

    /// Names the [better tool](Self::better_tool) in the message, by the name that the model knows.
    #[must_use]
    pub(crate) fn naming(mut self, names: &ToolNames) -> Self {
        if let Some(tool) = self.better_tool.take() {
            self.message.push_str(&format!(", or use {}", names.tool(tool)));
        }
        self
    }

    /// Returns the failure as events show it.
    #[must_use]
    pub fn info(&self) -> ErrorInfo {
        ErrorInfo {
            code: self.code.as_str(),
            message: self.message.clone(),
            suggestions: self.suggestions.clone(),
            data: self.data.clone(),
        }
    }

    /// Returns the text the model sees: names that come close are asked about, other advice is given as it is, and the
    /// state of a file that the failure shows comes last.
    #[must_use]
    pub fn text(&self) -> String {
        let asks = matches!(self.code, Code::NotFound | Code::UnknownTool);
        let text = match self.suggestions.as_slice() {
            [] => self.message.clone(),
            [one] if asks => format!("{}\nDid you mean {one}?", self.message),
            many if asks => format!("{}\nDid you mean one of {}?", self.message, many.join(", ")),
            advice => format!("{}\nTry: {}", self.message, advice.join("; ")),
        };
        match self.data.as_ref().and_then(latest_state_text) {
            Some(state) => format!("{text}\n{state}"),
            None => text,
        }
    }
}

impl From<EnvError> for ToolError {
    fn from(error: EnvError) -> Self {
        let data = match &error {
            EnvError::OutsideRoot { decision, .. } => Some(json!({ "sandbox": decision })),
            _ => None,
        };
        let better_tool = matches!(error, EnvError::IsDirectory { .. }).then_some("list_dir");
        let (message, suggestions) = (error.to_string(), error.suggestions());
        Self { code: error.code(), message, suggestions, data, better_tool }
    }
}

/// Returns a call's outcome as the envelope that scripts and debug output show (S0 spec 5).
#[must_use]
pub fn envelope(outcome: &Result<ToolOutput, ToolError>) -> Value {
    match outcome {
        Ok(output) => json!({ "ok": true, "data": output.data }),
        Err(error) => json!({ "ok": false, "error": error.info() }),
    }
}

/// Something the model may call.
pub trait Tool: MaybeSend + MaybeSync {
    /// Returns the name, description and parameters the model sees.
    fn definition(&self) -> ToolDefinition;

    /// Returns the name by which limits know this tool, where that is not the name the model sees.
    fn canonical_name(&self) -> Option<&str> {
        None
    }

    /// Returns the effect of a call. Approval defaults, concurrency and interruption follow from it.
    fn effect(&self) -> ToolEffect;

    /// Returns the paths that a call with these arguments reads or writes, as the model wrote them. Path rules such as
    /// `deny *:secrets/**` see these, and the session takes the canvas lease first if the canvas is among them.
    ///
    /// Empty for a tool that takes no paths.
    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String>;

    /// Returns the subject of a call with these arguments, for the rules that decide whether it may run.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        Target { paths: self.paths(arguments), ..Target::default() }
    }

    /// Returns how much of the output the model sees. The session's own limits take precedence.
    fn output_limits(&self) -> OutputLimits {
        OutputLimits::default()
    }

    /// Returns whether a call may be dropped half-way when the user cancels. By default this follows from the
    /// [effect](Self::effect).
    fn interruptible(&self) -> bool {
        self.effect().is_interruptible()
    }

    /// Returns whether a call may run at the same time as others of its message. By default this follows from the
    /// [effect](Self::effect).
    fn concurrent(&self) -> bool {
        self.effect().is_concurrent()
    }

    /// Returns what a call would do, for the question whether it may. Writes nothing and counts as no read. The
    /// arguments are valid by [`definition`](Self::definition).
    fn preview<'a>(&'a self, _arguments: &'a Map<String, Value>, _context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(std::future::ready(Preview::Plain))
    }

    /// Runs a call. The arguments are valid by [`definition`](Self::definition).
    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}

/// The tools of a session, in the order they were registered. The latest of a name wins.
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

    /// Returns a registry with no tools, whose model knows them by these names.
    #[must_use]
    pub fn with_names(names: ToolNames) -> Self {
        Self { tools: Vec::new(), names: Shared::new(names) }
    }

    /// Changes the names that the tools' texts mention. The tools stay registered as they are.
    pub fn set_names(&mut self, names: ToolNames) {
        for (definition, tool) in &mut self.tools {
            *definition = names.expand_definition(tool.definition());
        }
        self.names = Shared::new(names);
    }

    /// Returns the names by which the model knows the tools.
    #[must_use]
    pub fn tool_names(&self) -> &Shared<ToolNames> {
        &self.names
    }

    /// Adds `tool`, in place of one of the same name. Returns the schema keywords that will not be checked.
    pub fn register(&mut self, tool: Shared<dyn Tool>) -> Vec<String> {
        let definition = self.names.expand_definition(tool.definition());
        let unsupported = unsupported_keywords(&definition.parameters);
        match self.tools.iter_mut().find(|(known, _)| known.name == definition.name) {
            Some(slot) => *slot = (definition, tool),
            None => self.tools.push((definition, tool)),
        }
        unsupported
    }

    /// Takes the tool of that name out, if there is one.
    pub fn remove(&mut self, name: &str) {
        self.tools.retain(|(definition, _)| definition.name != name);
    }

    /// Returns the tool of that name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<(&ToolDefinition, &Shared<dyn Tool>)> {
        self.tools.iter().find(|(definition, _)| definition.name == name).map(|(definition, tool)| (definition, tool))
    }

    /// Returns a registry of those tools that `keep` says.
    #[must_use]
    pub fn filtered(&self, keep: impl Fn(&dyn Tool) -> bool) -> Self {
        let tools = self.tools.iter().filter(|(_, tool)| keep(&**tool)).cloned().collect();
        Self { tools, names: Shared::clone(&self.names) }
    }

    /// Returns what the model is told of all tools.
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

    /// Returns all names.
    pub fn names(&self) -> impl Iterator<Item = &str> {
        self.tools.iter().map(|(definition, _)| definition.name.as_str())
    }
}
