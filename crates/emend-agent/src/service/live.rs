//! Changes of sessions and jobs, each in one commit, and the opening of agents.

use std::sync::Arc;

use emend_llm::Shared;
use emend_llm::router::{RouteObserver, ValidationGate};
use futures::lock::OwnedMutexGuard;

use super::api::{ApiError, ApiResult};
use super::changes::Changes;
use super::desk::Desk;
use super::host::{AgentPlan, RouteLog};
use super::idle::check_can_start;
use super::inner::Inner;
use super::jobs::{Claim, Held};
use super::provider_step::{Observed, StepLog};
use super::records::{JobRecord, SessionRecord, ToolSet, WorkMode};
use super::slot::{Agent, AgentSettings, Slot};
use super::store::{Commit, Committed};
use crate::approval::{Action, Approver, READ_FILE, Rule, ToolEffect};
use crate::error_code::Code;
use crate::session::{EditGate, Session};
use crate::tools::{CANVAS_INSTRUCTIONS, CanvasNotes, PROJECT_INSTRUCTIONS, canvas_tools, project_tools};
use crate::workspace::Mode;

/// A change of a session that is not stored yet. No other change of the session begins before it ends.
struct Changing {
    session: SessionRecord,
    /// The job that the change creates or changes.
    job: Option<JobRecord>,
    changes: Changes,
    everywhere: Option<Box<dyn Held>>,
    _order: OwnedMutexGuard<()>,
}

impl Inner {
    /// Returns the slot of a session.
    pub(super) fn slot(&self, session_id: &str) -> Shared<Slot> {
        let mut slots = self.slots.lock();
        Shared::clone(slots.entry(session_id.to_owned()).or_default())
    }

    /// Changes a session in one commit. If `change` fails, nothing is stored.
    pub(super) async fn change<R>(
        &self,
        session_id: &str,
        change: impl FnOnce(&mut SessionRecord, &mut Changes) -> ApiResult<R>,
    ) -> ApiResult<(R, Committed)> {
        let mut changing = self.begin_change(session_id).await?;
        let result = change(&mut changing.session, &mut changing.changes)?;
        Ok((result, self.end_change(changing).await?))
    }

    // The parts of a change that do not depend on the closure are functions of their own, which keeps the module small.

    async fn begin_change(&self, session_id: &str) -> ApiResult<Box<Changing>> {
        let _order = Arc::clone(&self.slot(session_id).order).lock_owned().await;
        let everywhere = self.lock_everywhere(session_id).await?;
        let session = self.session(session_id).await?;
        Ok(Box::new(Changing { session, job: None, changes: Changes::default(), everywhere, _order }))
    }

    async fn end_change(&self, changing: Box<Changing>) -> ApiResult<Committed> {
        let Changing { session, job, changes, everywhere, _order } = *changing;
        self.commit(session, Vec::from_iter(job), changes, everywhere.as_deref()).await
    }

    /// Changes a job and its session in one commit. If `change` fails, nothing is stored.
    pub(super) async fn change_job<R>(
        &self,
        job_id: &str,
        change: impl FnOnce(&mut SessionRecord, &mut JobRecord, &mut Changes) -> ApiResult<R>,
    ) -> ApiResult<(R, Committed)> {
        let (mut changing, mut job) = self.begin_job_change(job_id).await?;
        let result = change(&mut changing.session, &mut job, &mut changing.changes)?;
        changing.job = Some(*job);
        Ok((result, self.end_change(changing).await?))
    }

    async fn begin_job_change(&self, job_id: &str) -> ApiResult<(Box<Changing>, Box<JobRecord>)> {
        let session_id = self.job(job_id).await?.session_id;
        let changing = self.begin_change(&session_id).await?;
        // Read again: the job may have changed while this waited.
        Ok((changing, Box::new(self.job(job_id).await?)))
    }

    /// Stores a new session.
    pub(super) async fn add_session(&self, session: SessionRecord, changes: Changes) -> ApiResult<Committed> {
        self.commit(session, Vec::new(), changes, None).await
    }

    /// Stores a new job. If `change` fails, nothing is stored.
    pub(super) async fn add_job(
        &self,
        session_id: &str,
        job: JobRecord,
        change: impl FnOnce(&mut SessionRecord, &JobRecord, &mut Changes) -> ApiResult<()>,
    ) -> ApiResult<Committed> {
        let mut changing = self.begin_change(session_id).await?;
        if self.shared_jobs().is_some() {
            // Another server may have started a job since this one looked, or this one.
            check_can_start(self, &changing.session).await?;
            #[cfg(not(target_family = "wasm"))]
            if self.store.job(&job.job_id).await?.is_some() {
                return Err(ApiError::new(Code::Conflict, "another server has the job"));
            }
        }
        change(&mut changing.session, &job, &mut changing.changes)?;
        changing.job = Some(job);
        self.end_change(changing).await
    }

    /// Reads the line logs of other servers, if several share the jobs. Absent in a browser, where no server is.
    #[cfg(not(target_family = "wasm"))]
    pub(super) async fn refresh(&self) -> ApiResult<()> {
        match self.shared_jobs() {
            Some(_) => Ok(self.workspace.refresh().await?),
            None => Ok(()),
        }
    }

    /// Keeps other servers from changing a session, if several share the jobs.
    async fn lock_everywhere(&self, session_id: &str) -> ApiResult<Option<Box<dyn Held>>> {
        match self.shared_jobs() {
            Some(jobs) => Ok(jobs.lock(session_id).await?),
            None => Ok(None),
        }
    }

    /// Returns whether an agent works in a session, or waits for the user.
    pub(super) async fn is_at_work(&self, session: &SessionRecord) -> ApiResult<bool> {
        if self.slot(&session.session_id).running.lock().is_some() {
            return Ok(true);
        }
        match &session.last_job_id {
            Some(id) => Ok(self.store.job(id).await?.is_some_and(|job| job.status.holds_slot())),
            None => Ok(false),
        }
    }

    /// Rejects a text that is too long.
    pub(super) fn check_text(&self, text: &str) -> ApiResult<()> {
        let max = self.limits.max_text_bytes;
        if max > 0 && text.len() as u64 > max {
            let message = format!("the text has {} bytes; at most {max} are allowed", text.len());
            return Err(ApiError { status: Some(413), ..ApiError::new(Code::InvalidArgument, message) });
        }
        Ok(())
    }

    /// Returns the paths of files with pending edits of some runs.
    pub(super) fn pending_files(&self, runs: &[u64]) -> Vec<String> {
        self.workspace.pending_files(runs).into_iter().map(|path| path.to_string()).collect()
    }

    async fn commit(
        &self,
        mut session: SessionRecord,
        jobs: Vec<JobRecord>,
        changes: Changes,
        everywhere: Option<&dyn Held>,
    ) -> ApiResult<Committed> {
        let at = self.now();
        session.updated_at = at;
        let commit = Commit {
            at,
            session,
            jobs,
            events: changes.events,
            text: changes.text,
            purged_jobs: changes.purged_jobs,
            events_per_job_max: self.limits.max_events_per_job,
            // Shared jobs: the store then checks that no other server has changed the session meanwhile.
            work: if self.shared_jobs().is_some() {
                let mut work = changes.work.unwrap_or_default();
                work.lock = everywhere.map(Held::proof);
                Some(work)
            } else {
                changes.work.filter(|_| self.recorded_jobs().is_some())
            },
        };
        let committed = self.store.commit(commit).await?;
        self.hub.notify();
        Ok(committed)
    }

    /// Checks that the model of a session can be opened.
    pub(super) fn check_model(&self, session: &SessionRecord) -> ApiResult<()> {
        let (routes, gate): (Shared<RouteLog>, Shared<EditGate>) = Default::default();
        let workspace = Shared::clone(&self.workspace);
        drop(self.host.session(AgentPlan { session, workspace, routes, gate, limits: &self.limits })?);
        Ok(())
    }

    /// Returns a text as the agent of a session sees it: rules may hide the file from it.
    pub(super) async fn text_for_agent(&self, session: &SessionRecord, path: &str) -> ApiResult<Option<String>> {
        let (routes, gate): (Shared<RouteLog>, Shared<EditGate>) = Default::default();
        let workspace = Shared::clone(&self.workspace);
        let plan = AgentPlan { session, workspace, routes, gate, limits: &self.limits };
        let options = self.host.session(plan)?.options();
        let options = options.map_err(|error| ApiError::new(Code::Configuration, error.to_string()))?;
        let mut policy = options.config.policy.hiding_secrets();
        if self.workspace.environment().ignores_case() {
            policy = policy.ignoring_case();
        }
        let hidden = policy.hidden(options.tools.tool_names().tool(READ_FILE));
        if hidden.is_empty() {
            return Ok(self.workspace.text(path).await?);
        }
        Ok(self.workspace.hiding(hidden).text(path).await?)
    }

    /// Returns the agent of a session; opens it if necessary, with its conversation so far.
    pub(super) async fn agent(&self, record: &SessionRecord) -> ApiResult<Agent> {
        self.agent_under(record, None).await
    }

    /// Returns the agent of a session for a claimed job, whose run it may go on with.
    pub(super) async fn agent_under(&self, record: &SessionRecord, claim: Option<&Claim>) -> ApiResult<Agent> {
        let slot = self.slot(&record.session_id);
        let _opening = slot.opening.lock().await;
        let settings = AgentSettings::of(record);
        if let Some(agent) = slot.agent.lock().clone().filter(|agent| agent.settings == settings && !agent.session.is_closed())
            // Another server may have continued the conversation.
            && self.shared_jobs().is_none()
        {
            return Ok(agent);
        }
        let workspace_mode = match record.mode {
            WorkMode::Review => Mode::Staged,
            WorkMode::Ask | WorkMode::Direct => Mode::Direct,
        };
        let workspace = self.workspace.in_mode(workspace_mode);
        let workspace = Shared::new(match claim {
            Some(claim) => workspace.fenced(&claim.id),
            None => workspace,
        });
        // No canvas tool saves: an edit that needs no review is one of the draft.
        let workspace_of_canvas = match workspace_mode {
            Mode::Staged => Shared::clone(&workspace),
            Mode::Direct => Shared::new(workspace.deferring_saves()),
        };
        let (routes, gate): (Shared<RouteLog>, Shared<EditGate>) = Default::default();
        let plan = AgentPlan {
            session: record,
            workspace,
            routes: Shared::clone(&routes) as Shared<dyn RouteObserver>,
            gate: Shared::clone(&gate) as Shared<dyn ValidationGate>,
            limits: &self.limits,
        };
        let builder = self.host.session(plan)?.questions(true);
        let mut options = builder.options().map_err(|error| ApiError::new(Code::Configuration, error.to_string()))?;
        self.host.adjust(&mut options);
        let steps: Shared<StepLog> = Shared::default();
        options.provider = Shared::new(Observed {
            inner: options.provider,
            log: Shared::clone(&steps),
            routes: Shared::clone(&routes),
            clock: Shared::clone(&self.clock),
        });
        if record.tools == ToolSet::Project {
            options.tools = project_tools(self.limits.of_project_tools());
            options.config.base_prompt = Some(PROJECT_INSTRUCTIONS.to_owned());
        }
        let host_limits = (options.config.max_tool_calls, options.config.max_schema_retries);
        let has_canvas = record.canvas.tools && self.check_canvas().is_ok();
        if has_canvas {
            for tool in canvas_tools(&workspace_of_canvas, record.canvas.enforce_lease) {
                options.tools.register(tool);
            }
            let own = options.config.instructions.take().map(|text| format!("{text}\n\n")).unwrap_or_default();
            options.config.instructions = Some(own + CANVAS_INSTRUCTIONS);
        }
        if self.host.is_read_only() {
            // Also the tools of the service.
            options.tools = options.tools.filtered(|tool| tool.effect() != ToolEffect::Writes);
        }
        let edits = options.tools.filtered(|tool| tool.effect() == ToolEffect::Writes);
        let writers: Vec<String> = edits.names().map(str::to_owned).collect();
        steps.set_writers(writers.clone());
        let desk = Shared::new(match record.mode {
            WorkMode::Ask => Desk::default(),
            _ if record.confirm_before_edits => Desk::confirming_once(writers),
            _ => Desk::default(),
        });
        options.config.approver = Some(Shared::clone(&desk) as Shared<dyn Approver>);
        options.config.policy = std::mem::take(&mut options.config.policy).hiding_secrets();
        if record.mode == WorkMode::Ask || record.confirm_before_edits {
            // Rules of the host come first; edits that no rule decides are asked about.
            options.config.policy.rules.push(Rule::for_effect(Action::Ask, ToolEffect::Writes));
        }
        let id = &record.session_id;
        let store = Shared::clone(&self.conversations);
        let session = match store.load(id).await? {
            Some(_) if claim.is_some() => Session::resume_run(options, store, id).await?,
            Some(_) => Session::resume(options, store, id).await?,
            None => Session::with_id(options, id.clone()).with_store(store),
        };
        session.restore_reads();
        session.restore_grants(record.grants.clone());
        gate.watch(&session);
        let notes = has_canvas.then(|| Shared::new(CanvasNotes::knowing(record.told_canvas.clone())));
        let agent = Agent { session, desk, routes, steps, notes, settings, host_limits };
        *slot.agent.lock() = Some(agent.clone());
        Ok(agent)
    }
}
