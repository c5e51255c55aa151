//! The part of the host that the service calls: it opens agents and starts tasks.

use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};

use super::api::ApiResult;
use super::records::SessionRecord;
use crate::session::SessionBuilder;
use crate::workspace::Workspace;

/// The parts of the host that the service uses.
pub trait ServiceHost: MaybeSend + MaybeSync {
    /// Returns a builder for the agent of a session: model, profile, rules and limits of the host. `workspace` has the
    /// mode of the session. The service adds questions, approvals and its own limits.
    ///
    /// # Errors
    ///
    /// The model is unknown or cannot be opened.
    fn session(&self, session: &SessionRecord, workspace: Shared<Workspace>) -> ApiResult<SessionBuilder>;

    /// Returns the name of the model of sessions that name none.
    fn default_model(&self) -> String;

    /// Starts a task that runs to its end.
    fn spawn(&self, task: BoxFuture<'static, ()>);
}
