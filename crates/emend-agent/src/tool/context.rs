//! The context of a tool call: the workspace, the limits and the names that the call uses.

use emend_edit::truncate::OutputLimits;
use emend_llm::{CancelToken, Clock, Shared};

use super::names::ToolNames;
use super::progress::Progress;
use super::subagents::SubagentHost;
use crate::canvas::Ticket;
use crate::workspace::{ReadTracker, Workspace, WriteContext};

/// Limits on the time of commands, in milliseconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CommandLimits {
    /// The timeout of a command whose call names none.
    pub default_timeout_ms: u64,
    /// The longest timeout that a call may name.
    pub max_timeout_ms: u64,
}

impl Default for CommandLimits {
    /// Ten seconds, and at most ten minutes.
    fn default() -> Self {
        Self { default_timeout_ms: 10_000, max_timeout_ms: 600_000 }
    }
}

/// The state and services that one call uses. It is complete when the call begins.
pub struct ToolContext {
    /// The files: all reads and edits of the call.
    pub workspace: Shared<Workspace>,
    /// The text of each file that this session last read.
    pub reads: Shared<ReadTracker>,
    /// Number of the run that the call belongs to.
    pub run_id: u64,
    /// Id of the call. The changes that the call makes carry it.
    pub call_id: String,
    /// The canvas lease, if one of the call's [paths](super::Tool::paths) is the canvas.
    pub lease: Option<Ticket>,
    /// False if the approval prompt was skipped because the [preview](super::Tool::preview) predicted a failure. Such a call
    /// runs only for its error message: any write that it attempts is rejected. Always false in a preview.
    pub may_write: bool,
    /// Fires when the user cancels the run.
    pub cancel: CancelToken,
    /// Limits on the time of commands.
    pub limits: CommandLimits,
    /// The output limits of this call, after the session's own limits.
    pub output_limits: OutputLimits,
    /// Receives text that the call prints while it runs.
    pub progress: Progress,
    /// The host's clock.
    pub clock: Shared<dyn Clock>,
    /// The names under which the model knows tools and parameters, for texts that mention them.
    pub names: Shared<ToolNames>,
    /// The session's subagents; `None` for a call outside of a session.
    pub subagents: Option<Shared<dyn SubagentHost>>,
}

impl ToolContext {
    /// Returns the part of the context that the workspace needs for a write.
    #[must_use]
    pub fn write(&self) -> WriteContext<'_> {
        WriteContext {
            run_id: self.run_id,
            call_id: &self.call_id,
            lease: self.lease,
            may_write: self.may_write,
            reads: &self.reads,
            cancel: &self.cancel,
        }
    }
}
