//! The session's subagents, as tools reach them.

use emend_llm::{BoxFuture, MaybeSend, MaybeSync};

use super::error::ToolError;
use crate::event::AgentStatus;

/// A task for a new subagent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SubagentTask<'a> {
    /// The whole task; the subagent does not see the conversation.
    pub task: &'a str,
    /// The directory that it may not leave; the root if absent.
    pub working_dir: Option<&'a str>,
    /// Another model of the same provider.
    pub model: Option<&'a str>,
    /// Maximum number of model responses; 0 = unlimited.
    pub max_turns: u64,
}

/// The state of a subagent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SubagentReport {
    /// Whether it works, is done, or failed.
    pub status: AgentStatus,
    /// Its last text, or the reason why it failed.
    pub output: String,
    /// Number of model responses so far.
    pub turns_used: u64,
}

/// Starts and steers subagents. The session implements it for its tools.
pub trait SubagentHost: MaybeSend + MaybeSync {
    /// Starts a subagent and returns its id. It works while the parent's run continues.
    ///
    /// # Errors
    ///
    /// `LimitReached` if subagents may not nest deeper or too many run; `NotFound` and other errors of the environment if
    /// the working directory does not resolve.
    fn spawn<'a>(&'a self, task: SubagentTask<'a>) -> BoxFuture<'a, Result<String, ToolError>>;

    /// Sends a message to a subagent: into its run if it works, as a new task otherwise. Returns whether it was at work.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such subagent, `LimitReached` if too many run.
    fn send(&self, id: &str, message: &str) -> Result<bool, ToolError>;

    /// Returns the current state of a subagent.
    ///
    /// # Errors
    ///
    /// `NotFound` if there is no such subagent.
    fn report(&self, id: &str) -> Result<SubagentReport, ToolError>;

    /// Waits until a subagent is done and returns its state.
    ///
    /// # Errors
    ///
    /// As [`report`](Self::report).
    fn done<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SubagentReport, ToolError>>;

    /// Cancels a subagent, waits for its end and forgets it. Its edits stay.
    ///
    /// # Errors
    ///
    /// As [`report`](Self::report).
    fn close<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<SubagentReport, ToolError>>;
}
