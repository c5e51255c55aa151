//! The context of a tool call: the workspace, the limits and the names that the call uses.

use emend_edit::truncate::OutputLimits;
use emend_llm::{CancelToken, Clock, Shared};

use super::names::ToolNames;
use super::progress::Progress;
use crate::canvas::Ticket;
use crate::session::{Agents, SessionConfig};
use crate::workspace::{Seen, Workspace};

/// The state and services that one call uses.
pub struct ToolContext {
    /// The files: all reads and edits of the call.
    pub workspace: Shared<Workspace>,
    /// The text of each file that this session last saw.
    pub seen: Shared<Seen>,
    /// Number of the run that the call belongs to.
    pub run: u64,
    /// Id of the call. The changes that the call makes carry it.
    pub call_id: String,
    /// The canvas lease, if one of the call's [paths](super::Tool::paths) is the canvas.
    pub ticket: Option<Ticket>,
    /// False if the approval prompt was skipped because the [preview](super::Tool::preview) predicted a failure. Such a call
    /// runs only for its error message: any write that it attempts is rejected.
    pub may_write: bool,
    /// Fires when the user cancels the run.
    pub cancel: CancelToken,
    /// Limits and settings of the session, e.g. how long a command may run.
    pub config: Shared<SessionConfig>,
    /// The output limits of this call, after the session's own limits.
    pub output_limits: OutputLimits,
    /// Receives text that the call prints while it runs.
    pub progress: Progress,
    /// The host's clock.
    pub clock: Shared<dyn Clock>,
    /// The names under which the model knows tools and parameters, for texts that mention them.
    pub names: Shared<ToolNames>,
    /// The session's subagents; `None` for a call outside of a session.
    pub agents: Option<Agents>,
}
