//! The host of a review service over a project: it opens models, and saves the line logs before the events about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use emend_agent::approval::Policy;
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::service::store::{Commit, Committed, EventPage, EventScope, SessionPage, SessionQuery};
use emend_agent::service::{AgentPlan, ApiError, ApiResult, JobRecord, ServiceHost, ServiceStore, SessionRecord};
use emend_agent::session::{SessionBuilder, SessionOptions};
use emend_agent::store::StoreError;
use emend_llm::router::Router;
use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, Shared};

use crate::failure::Failure;
use crate::project::{Project, RunNote};
use crate::provider;
use crate::session_config::session_config;
use crate::settings::{Model, Settings};
use crate::setup::{adjust, session_builder};

/// Opens the models of sessions with the settings and rules of the project.
pub(crate) struct ProjectHost {
    pub(crate) settings: Settings,
    pub(crate) policy: Policy,
    pub(crate) project: Arc<Project>,
    /// Directory in which agents work, relative to the root.
    pub(crate) start: FilePath,
    pub(crate) default_model: Model,
    /// Routers of the sessions whose model has a fallback model.
    pub(crate) routers: Mutex<BTreeMap<String, Shared<Router>>>,
}

impl ProjectHost {
    fn builder(&self, plan: AgentPlan<'_>) -> Result<SessionBuilder, Failure> {
        let AgentPlan { session, workspace, routes, .. } = plan;
        let model: Model = session.model.parse().map_err(|what: String| Failure::new(Code::Configuration, what))?;
        // A client must not open files of the server by the name of a model.
        if matches!(model, Model::Cassette(_)) && model != self.default_model {
            return Err(Failure::new(Code::Configuration, "a session cannot name a recording; give it to emend serve"));
        }
        let selected = provider::select_observed(&model, None, &self.project, &self.settings, Some(routes))?;
        if let Some(router) = &selected.router {
            self.routers.lock().insert(session.session_id.clone(), Shared::clone(router));
        }
        let config = session_config(&self.settings, &selected.providers(), self.policy.clone(), None)?;
        let workspace = match self.start.is_root() {
            true => workspace,
            false => Shared::new(workspace.starting_in(self.start.clone())),
        };
        Ok(session_builder(&self.settings, &selected, workspace, Shared::clone(&self.project.clock), config))
    }
}

impl ServiceHost for ProjectHost {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        self.builder(plan).map_err(|failure| {
            let Failure { code, message, suggestions } = failure;
            ApiError { suggestions, ..ApiError::new(code, message) }
        })
    }

    fn adjust(&self, options: &mut SessionOptions) {
        adjust(&self.settings, options);
    }

    fn escalate(&self, session_id: &str, detail: &str) {
        if let Some(router) = self.routers.lock().get(session_id) {
            router.escalate(detail);
        }
    }

    fn default_model(&self) -> String {
        self.default_model.to_string()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

/// A store that saves the line logs of the project before each commit, so that no event tells of an edit that a crash
/// could lose.
pub(crate) struct SavingStore {
    pub(crate) inner: Shared<dyn ServiceStore>,
    pub(crate) project: Arc<Project>,
    /// Runs that have a note for `emend checkpoints`.
    pub(crate) noted: Mutex<BTreeSet<u64>>,
}

impl SavingStore {
    fn save(&self, jobs: &[JobRecord]) -> Result<(), Failure> {
        if !self.project.save_if_changed()? {
            return Ok(());
        }
        let runs = self.project.workspace.runs();
        for job in jobs {
            for run in &job.runs {
                let has_changes = runs.iter().any(|known| known.run_id == *run);
                if has_changes && self.noted.lock().insert(*run) {
                    let label = job.instruction.trim().lines().next().unwrap_or_default().to_owned();
                    let session = job.session_id.clone();
                    self.project.note_run(RunNote { run: *run, session, label, commands: Default::default() })?;
                }
            }
        }
        Ok(())
    }
}

impl ServiceStore for SavingStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        Box::pin(async move {
            let failed = |failure: Failure| StoreError::Io { name: "line logs".to_owned(), reason: failure.message };
            self.save(&commit.jobs).map_err(failed)?;
            self.inner.commit(commit).await
        })
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        self.inner.session(id)
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        self.inner.sessions(query)
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        self.inner.remove_session(id)
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        self.inner.job(id)
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        self.inner.jobs(session_id)
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        self.inner.open_jobs()
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        self.inner.events(scope, after, limit)
    }
}
