//! The review service: sessions, jobs, review and checkpoints behind requests and replies, without a transport.
//!
//! A host gives the service a workspace, a store, and a way to open models and to start tasks. HTTP and JavaScript hand
//! [`ApiRequest`]s to [`Service::handle`] and read events by [`Service::events`]; both see the same JSON.
//!
//! Each change of a session is one commit of the [`ServiceStore`]. A job ends with one terminal event, also if the process
//! dies: [`Service::recover`] ends the jobs that a former process left running. An undo can reopen a completed job, which
//! then settles without a second terminal event.

pub mod api;
mod bodies;
mod budget;
#[cfg(any(feature = "openapi", test))]
mod bundle_bodies;
mod canvas_bodies;
mod changes;
mod checkpoint_bodies;
mod desk;
mod driver;
mod ending;
mod event_types;
mod events;
mod gc;
mod going_back;
mod handlers;
mod host;
mod idle;
mod inner;
pub mod jobs;
mod limits;
mod live;
mod operations;
mod patches;
mod provider_step;
mod queue;
mod recorder;
mod records;
mod recovery;
mod resume;
mod review_body;
mod review_requests;
mod run;
mod settle;
mod slot;
mod steering;
pub mod store;
mod task;
mod text;
mod time;
mod translate;

use emend_llm::{Clock, Random, Shared};

pub use api::{ApiError, ApiRequest, ApiResponse, ApiResult, Method, OPERATIONS, Operation, OperationInfo};
pub use bodies::{
    ApproveDecision, ApproveRequest, ChatMessage, CheckpointList, CheckpointSummary, ClarifyRequest, CommentList,
    CommentRequest, CreateSession, Done, EventList, FileEntry, FileList, FollowUpList, JobEvents, JobList, JobState,
    JobTrace, OutputBody, Permission, PermissionList, RewindReply, RewindRequest, RunReply, RunRequest, SearchHit,
    SearchReply, SessionList, SessionSnapshot, TextRequest, ToolConfig, TraceStep, UnwindReply, UnwindRequest,
    UpdateSession,
};
#[cfg(any(feature = "openapi", test))]
pub use bundle_bodies::{BundleFileBody, BundleHunkBody, DiffBundleBody, PendingReviewBody, ProposedEditBody};
pub use canvas_bodies::{
    CanvasBody, CanvasEditRequest, CanvasFlags, CanvasGrepRequest, CanvasLeaseRequest, CanvasLineEdit,
    CanvasLineOperation, CanvasOpenRequest, CanvasPatchRequest, CanvasPromoteRequest, CanvasReadRequest,
    CanvasUserEdit,
};
pub use checkpoint_bodies::{
    ChangeLogBody, ChangeLogEntry, CheckpointBody, CheckpointFileBody, CheckpointHunkBody, Diff3Body, OtherFileBody,
    RollbackBody, RollbackModeName, RollbackReply, RolledBackFileBody,
};
pub use event_types::{EVENT_TYPES, EventType};
pub use events::{Announced, EventReader, Reading, number_of};
pub use host::{AgentPlan, ServiceHost};
pub use limits::{LIMITS, LimitInfo, ServiceLimits};
pub use provider_step::{CanonicalCall, ProviderStepResult, RawUsage, StopReason};
pub use records::{
    AgentMode, Applying, Budget, Comment, ContextKind, ContextRow, ErrorBody, EventRecord, FollowUp, JobControl,
    JobDecision, JobRecord, JobStatus, OpenApproval, PurgedJob, Question, Rewinding, Rewound, RollingBack,
    SessionRecord, SessionStatus, Spent, ToolSet, WorkMode,
};
pub use review_body::{ReviewBody, ReviewFileBody, ReviewHunkBody, ReviewLineBody};
pub use review_requests::{
    AppliedFileBody, ApplyReply, ApplyRequest, Buffer, DecideRequest, DecisionName, DependentsName, EditHunkRequest,
    HunkLinesBody, SaveReply, SaveRequest, SavedFileBody, SplitRequest, StepRequest, TouchedBody, TouchedFileBody,
    UserEditRequest,
};
pub use store::{MemServiceStore, ServiceStore};
pub use time::Timestamp;

use self::inner::Inner;
use self::jobs::Jobs;
use self::store::EventScope;
use crate::store::Store;
use crate::workspace::Workspace;

/// The parts of a service.
pub struct ServiceParts {
    /// Files, line logs and review of the project.
    pub workspace: Shared<Workspace>,
    /// The host.
    pub host: Shared<dyn ServiceHost>,
    /// Keeps sessions, jobs and events.
    pub store: Shared<dyn ServiceStore>,
    /// Keeps conversations.
    pub conversations: Shared<dyn Store>,
    /// Source of the time.
    pub clock: Shared<dyn Clock>,
    /// Source of ids.
    pub random: Shared<dyn Random>,
    /// Limits.
    pub limits: ServiceLimits,
}

/// The review service. Clones share it.
#[derive(Clone)]
pub struct Service {
    inner: Shared<Inner>,
}

impl Service {
    /// Returns a service over the parts. Call [`recover`](Self::recover) before the first request.
    #[must_use]
    pub fn new(parts: ServiceParts) -> Self {
        Self::build(parts, None)
    }

    /// Returns a service whose jobs go on after the process that ran them was killed: their steps are recorded. If
    /// `jobs` are shared, any of several servers runs a job.
    #[must_use]
    pub fn with_jobs(parts: ServiceParts, jobs: Shared<dyn Jobs>) -> Self {
        Self::build(parts, Some(jobs))
    }

    fn build(parts: ServiceParts, jobs: Option<Shared<dyn Jobs>>) -> Self {
        let ServiceParts { workspace, host, store, conversations, clock, random, limits } = parts;
        workspace.keep_waiting();
        workspace.set_hunk_limits(limits.of_hunks());
        Self {
            inner: Shared::new(Inner {
                workspace,
                host,
                store,
                conversations,
                clock,
                random,
                limits,
                jobs,
                freed: Default::default(),
                hub: Shared::default(),
                slots: Default::default(),
                deciding: Default::default(),
                creating: Default::default(),
                purged_at: Default::default(),
                last_purged_in: Default::default(),
                n_running: Default::default(),
                is_closing: Default::default(),
                held_back: Default::default(),
            }),
        }
    }

    /// Carries out a request. Every failure is a reply.
    ///
    /// An operation with `is_stream` is answered by [`events`](Self::events) instead.
    pub async fn handle(&self, request: ApiRequest) -> ApiResponse {
        let response = handlers::handle(&self.inner, &request).await;
        // A decision can free a place for the next job.
        let is_held_back = !self.inner.held_back.lock().is_empty();
        if is_held_back && request.method != Method::Get {
            driver::go_on_with_held_back(&self.inner).await;
        }
        match response {
            Ok(response) => response,
            Err(error) => error.response(),
        }
    }

    /// Returns a reader of the events of a scope after a number.
    ///
    /// # Errors
    ///
    /// [`Code::NotFound`](crate::error_code::Code::NotFound) if the session or job does not exist.
    pub async fn events(&self, scope: EventScope, after: u64) -> ApiResult<EventReader> {
        match &scope {
            EventScope::All => {}
            EventScope::Session(id) => {
                self.inner.session(id).await?;
            }
            EventScope::Job(id) => {
                self.inner.job(id).await?;
            }
        }
        let (store, hub) = (Shared::clone(&self.inner.store), Shared::clone(&self.inner.hub));
        Ok(EventReader::new(store, hub, scope, after))
    }

    /// Returns the first message of a stream: the open questions and approval requests, and the state of which
    /// [`Reading::Changed`] tells changes. They are state and not only events, so a client that was away learns of them here.
    /// The message has no number. Open the reader first, so that it tells of every later change.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn attached(&self, scope: &EventScope) -> ApiResult<serde_json::Value> {
        handlers::attached(&self.inner, scope).await
    }

    /// Goes on with the jobs that a former process left running, if their steps are recorded; ends them otherwise, each
    /// with one `job.failed` of the code `aborted`. Tells the decisions that a former process has carried out without
    /// telling, starts instructions that wait in idle sessions, and purges ended jobs. Reviews stay open.
    ///
    /// A service with shared jobs begins to run jobs of the queue.
    ///
    /// # Errors
    ///
    /// The store cannot be read or written.
    pub async fn recover(&self) -> ApiResult<()> {
        recovery::recover(&self.inner).await?;
        gc::purge(&self.inner).await
    }

    /// Cancels all running jobs, waits for their ends, and ends all readers. Shared jobs are left to other servers.
    pub async fn close(&self) {
        driver::close(&self.inner).await;
        self.inner.hub.close();
    }

    /// Returns the limits.
    #[must_use]
    pub fn limits(&self) -> &ServiceLimits {
        &self.inner.limits
    }

    /// Returns the workspace.
    #[must_use]
    pub fn workspace(&self) -> &Shared<Workspace> {
        &self.inner.workspace
    }

    /// Returns the store.
    #[must_use]
    pub fn store(&self) -> &Shared<dyn ServiceStore> {
        &self.inner.store
    }
}

#[cfg(test)]
mod tests;
