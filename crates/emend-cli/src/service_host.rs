//! The host of a review service over a project: it opens models, and saves the line logs before the events about them.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use emend_agent::approval::Policy;
use emend_agent::environment::FilePath;
use emend_agent::error_code::Code;
use emend_agent::service::store::{Commit, SaveLineLogs};
use emend_agent::service::{AgentMode, AgentPlan, ApiError, ApiResult, Budget, JobRecord, ServiceHost};
use emend_agent::session::{SessionBuilder, SessionOptions};
use emend_agent::store::StoreError;
use emend_llm::router::Router;
use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, Shared};

use crate::budget;
use crate::failure::Failure;
use crate::project::{Project, RunNote, first_line};
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
    /// Whether the canvas is in Git mode, which has no canvas tools.
    pub(crate) is_canvas_in_git: bool,
    /// Routers of the sessions whose model has a fallback model.
    pub(crate) routers: Mutex<BTreeMap<String, Shared<Router>>>,
}

impl ProjectHost {
    fn builder(&self, plan: AgentPlan<'_>) -> Result<SessionBuilder, Failure> {
        let AgentPlan { session, workspace, routes, gate, .. } = plan;
        let model: Model = session.model.parse().map_err(|what: String| Failure::new(Code::Configuration, what))?;
        // A client must not open files of the server by the name of a model.
        if matches!(model, Model::Cassette(_)) && model != self.default_model {
            return Err(Failure::new(Code::Configuration, "a session cannot name a recording; give it to emend serve"));
        }
        let (record, watch) = (provider::Record::No, Some((routes, gate)));
        let routing = match session.agent_mode {
            Some(mode) => self.settings.routing.with_mode(mode.into()),
            None => self.settings.routing.clone(),
        };
        let settings = Settings { routing, ..self.settings.clone() };
        let selected = provider::select_observed(&model, record, &self.project, &settings, watch)?;
        if selected.router.is_none() && session.agent_mode.is_some_and(|mode| mode != AgentMode::Local) {
            let message = "the server has no second model; start it with --fallback-model";
            return Err(Failure::new(Code::Configuration, message));
        }
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

    fn escalate(&self, session_id: &str, detail: &str) -> bool {
        self.routers.lock().get(session_id).is_some_and(|router| router.escalate(detail))
    }

    fn canvas_refusal(&self) -> Option<&'static str> {
        self.is_canvas_in_git.then_some(
            "the canvas is in Git mode, which has no canvas tools; start emend serve without `--canvas git` to use them",
        )
    }

    fn is_read_only(&self) -> bool {
        self.settings.read_only.value
    }

    fn default_model(&self) -> String {
        self.default_model.to_string()
    }

    fn job_budget(&self) -> Budget {
        budget::of_runs(&self.settings)
    }

    fn session_budget(&self) -> Budget {
        budget::of_conversations(&self.settings)
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        tokio::spawn(task);
    }
}

/// Saves the line logs of the project and notes the runs of jobs for `emend checkpoints`.
pub(crate) struct ProjectSaver {
    project: Arc<Project>,
    /// Runs that have a note.
    noted: Mutex<BTreeSet<u64>>,
}

impl ProjectSaver {
    pub(crate) fn new(project: Arc<Project>) -> Self {
        Self { project, noted: Mutex::default() }
    }

    fn save_and_note(&self, jobs: &[JobRecord]) -> Result<(), Failure> {
        if !self.project.save_if_changed()? {
            return Ok(());
        }
        let runs = self.project.workspace.runs();
        for job in jobs {
            for run in &job.runs {
                let has_changes = runs.iter().any(|known| known.run_id == *run);
                if has_changes && self.noted.lock().insert(*run) {
                    let label = first_line(&job.instruction);
                    let session = job.session_id.clone();
                    self.project.note_run(RunNote {
                        run: *run,
                        session,
                        label,
                        commands: Default::default(),
                        is_passed: false,
                    })?;
                }
            }
        }
        Ok(())
    }
}

impl SaveLineLogs for ProjectSaver {
    fn save(&self, commit: &Commit) -> Result<(), StoreError> {
        let failed = |failure: Failure| StoreError::Io { name: "line logs".to_owned(), reason: failure.message };
        self.save_and_note(&commit.jobs).map_err(failed)
    }
}
