//! The trait that every tool implements.

use emend_edit::truncate::OutputLimits;
use emend_llm::{BoxFuture, MaybeSend, MaybeSync, ToolDefinition};
use serde_json::{Map, Value};

use super::context::ToolContext;
use super::error::ToolError;
use super::output::ToolOutput;
use super::preview::Preview;
use crate::approval::{Target, ToolEffect};

/// A tool that a model may call.
///
/// A host adds its own tools to the session's [`ToolRegistry`](super::ToolRegistry). The trait is object safe. An
/// implementation names other tools and its own parameters in texts through [`ToolContext::names`], and in its definition
/// through the placeholders of [`ToolNames::expand`](super::ToolNames::expand), since a profile may rename both.
///
/// ```
/// use emend_agent::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput};
/// use emend_llm::{BoxFuture, ToolDefinition};
/// use serde_json::{Map, Value, json};
///
/// struct Today;
///
/// impl Tool for Today {
///     fn definition(&self) -> ToolDefinition {
///         ToolDefinition {
///             name: "today".to_owned(),
///             description: "Returns the time in milliseconds since 1970.".to_owned(),
///             parameters: json!({"type": "object", "properties": {}}),
///         }
///     }
///
///     fn effect(&self) -> ToolEffect {
///         ToolEffect::Reads
///     }
///
///     fn paths(&self, _arguments: &Map<String, Value>) -> Vec<String> {
///         Vec::new()
///     }
///
///     fn call<'a>(
///         &'a self,
///         _arguments: &'a Map<String, Value>,
///         context: &'a ToolContext,
///     ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
///         let now_ms = context.clock.now_ms();
///         Box::pin(async move { Ok(ToolOutput::new(now_ms.to_string(), json!({ "now_ms": now_ms }))) })
///     }
/// }
///
/// let mut tools = emend_agent::tools::core_tools();
/// tools.register(emend_llm::Shared::new(Today));
/// assert!(tools.get("today").unwrap().1.concurrent());
/// ```
pub trait Tool: MaybeSend + MaybeSync {
    /// Returns the name, the description and the parameters of the tool.
    ///
    /// The registry expands the placeholders in the descriptions. The parameters are a JSON Schema with an object at its
    /// root.
    fn definition(&self) -> ToolDefinition;

    /// Returns the canonical name, under which approval rules and output limits know the tool. `None` if that is the name
    /// in the [definition](Self::definition).
    fn canonical_name(&self) -> Option<&str> {
        None
    }

    /// Returns whether the tool can only fail in an environment without a shell. A session in such an environment does not
    /// offer it.
    fn needs_shell(&self) -> bool {
        false
    }

    /// Returns the effect of a call. Approval defaults, concurrency and interruption follow from it.
    ///
    /// [`ToolEffect::Writes`] is right for a tool about which nothing is known.
    fn effect(&self) -> ToolEffect;

    /// Returns the paths that a call with these arguments reads or writes, as the model wrote them; empty for a tool
    /// without path parameters.
    ///
    /// Path rules such as `deny *:secrets/**` apply to these paths. The session acquires the canvas lease before the call
    /// if one of them is the canvas.
    fn paths(&self, arguments: &Map<String, Value>) -> Vec<String>;

    /// Returns the subject of a call with these arguments, to which approval rules apply. By default its paths.
    fn target(&self, arguments: &Map<String, Value>) -> Target {
        Target { paths: self.paths(arguments), ..Target::default() }
    }

    /// Returns how much of the output the model sees. Limits of the session take precedence.
    fn output_limits(&self) -> OutputLimits {
        OutputLimits::default()
    }

    /// Returns whether a call may be dropped before its end when the user cancels. By default this follows from the
    /// [effect](Self::effect).
    fn interruptible(&self) -> bool {
        self.effect().is_interruptible()
    }

    /// Returns whether a call may run at the same time as other calls of its message. By default this follows from the
    /// [effect](Self::effect).
    fn concurrent(&self) -> bool {
        self.effect().is_concurrent()
    }

    /// Returns a preview of a call, for the approval prompt. The preview writes nothing and does not count as a read.
    ///
    /// The arguments are valid by the [definition](Self::definition).
    fn preview<'a>(&'a self, _arguments: &'a Map<String, Value>, _context: &'a ToolContext) -> BoxFuture<'a, Preview> {
        Box::pin(std::future::ready(Preview::Plain))
    }

    /// Runs a call. The arguments are valid by the [definition](Self::definition).
    ///
    /// Polling the future runs the call. An [interruptible](Self::interruptible) call may be dropped at any `await`.
    ///
    /// # Errors
    ///
    /// A [`ToolError`] is the result that the model sees, and the run continues. Its message says what was wrong, where,
    /// and the next step. A call that fails has changed nothing.
    fn call<'a>(
        &'a self,
        arguments: &'a Map<String, Value>,
        context: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>>;
}
