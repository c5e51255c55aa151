//! The part of the host that the service calls: it opens agents and starts tasks.

use emend_llm::router::{RouteObserver, RouteReason, RouteTrace, ValidationGate};
use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, MaybeSend, MaybeSync, Shared};

use super::api::ApiResult;
use super::limits::ServiceLimits;
use super::records::{Budget, SessionRecord};
use crate::session::{SessionBuilder, SessionOptions};
use crate::workspace::Workspace;

/// A request for the agent of a session.
pub struct AgentPlan<'a> {
    /// The session.
    pub session: &'a SessionRecord,
    /// Files in the mode of the session.
    pub workspace: Shared<Workspace>,
    /// Observer for the router of the model, if the host uses one. The job's trace has each choice with its reason.
    pub routes: Shared<dyn RouteObserver>,
    /// Gate for this router: it rejects a response of the first model whose edit would fail.
    pub gate: Shared<dyn ValidationGate>,
    /// Limits of the service.
    pub limits: &'a ServiceLimits,
}

/// The parts of the host that the service uses.
pub trait ServiceHost: MaybeSend + MaybeSync {
    /// Returns a builder for the agent of a session: model, profile, rules and limits of the host. The service adds
    /// questions, approvals and its own limits.
    ///
    /// # Errors
    ///
    /// The model is unknown or cannot be opened.
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder>;

    /// Changes the options of a session last, after the profile of its model has set them.
    fn adjust(&self, _options: &mut SessionOptions) {}

    /// Tells the router of the model of a session, if it has one, to use its second model from now on. Returns whether that
    /// changes the model. The service calls it when a job has used up its tool calls; a job without edits then goes on.
    fn escalate(&self, _session_id: &str, _detail: &str) -> bool {
        false
    }

    /// Returns why this host has no canvas, if it has none: sessions then get no canvas tools, and no file opens.
    fn canvas_refusal(&self) -> Option<&'static str> {
        None
    }

    /// Returns whether agents may not change files. Sessions then get no tools that edit.
    fn is_read_only(&self) -> bool {
        false
    }

    /// Returns the name of the model of sessions that name none.
    fn default_model(&self) -> String;

    /// Returns the limits that every job has, also if its session names none or larger ones.
    fn job_budget(&self) -> Budget {
        Budget::default()
    }

    /// Returns the limits that a new session has over all its jobs, also if it names none or larger ones. A later change of
    /// the session may set others.
    fn session_budget(&self) -> Budget {
        Budget::default()
    }

    /// Starts a task that runs to its end.
    fn spawn(&self, task: BoxFuture<'static, ()>);
}

/// Collects the choices of a router until the next commit.
#[derive(Default)]
pub(super) struct RouteLog {
    traces: Mutex<Vec<RouteTrace>>,
    /// Whether the trace of the present run has no choice yet.
    is_first: Mutex<bool>,
}

impl RouteLog {
    /// Begins a run.
    pub(super) fn begin(&self) {
        *self.is_first.lock() = true;
    }

    /// Notes the provider of the first request of a run that has no router.
    pub(super) fn without_router(&self, provider: &str) {
        if std::mem::take(&mut *self.is_first.lock()) {
            let provider = provider.to_owned();
            let trace = RouteTrace { provider, local: false, reason: RouteReason::Mode, attempt: 1, detail: None };
            self.traces.lock().push(trace);
        }
    }

    /// Returns the choices since the last call.
    pub(super) fn take(&self) -> Vec<RouteTrace> {
        std::mem::take(&mut *self.traces.lock())
    }
}

impl RouteObserver for RouteLog {
    fn routed(&self, trace: &RouteTrace) {
        *self.is_first.lock() = false;
        self.traces.lock().push(trace.clone());
    }
}
