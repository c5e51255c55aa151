//! A session in the working directory, with the first provider that the environment has an API key for.

use std::io::Write as _;
use std::path::Path;
use std::process::ExitCode;

use emend_agent::approval::{Action, Policy, Rule, ToolEffect};
use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, ErrorInfo, EventKind};
use emend_agent::profile::Profile;
use emend_agent::session::{Session, SessionBuilder, SessionConfig};
use emend_agent::workspace::{Mode, Workspace};
use emend_host::{LocalEnvironment, OsRandom, ReqwestTransport, SystemClock, Timeouts};
use emend_llm::{CancelToken, Client, Role, Shared, get_latest_model};
use futures::StreamExt as _;
use serde::Deserialize;

/// The input of `process-input`.
#[derive(Deserialize)]
pub(crate) struct Task {
    pub(crate) prompt: String,
    /// Appended to the system prompt.
    system_prompt: Option<String>,
    /// The provider's model id. By default the newest model of the catalogue.
    model: Option<String>,
    /// Overrides the base URL of the environment.
    #[serde(alias = "_test_base_url")]
    base_url: Option<String>,
}

impl Task {
    /// Returns the task of the commands that bring no prompt.
    pub(crate) fn greeting() -> Self {
        Self { prompt: "Say hello in a few words.".to_owned(), system_prompt: None, model: None, base_url: None }
    }
}

/// A failure of a command.
pub(crate) struct Failure {
    code: Code,
    message: String,
}

impl Failure {
    pub(crate) fn new(code: Code, message: impl Into<String>) -> Self {
        Self { code, message: message.into() }
    }

    /// Prints the failure and returns the exit status of its code.
    pub(crate) fn report(&self) -> ExitCode {
        // If standard error is closed the exit status still reports the failure.
        let _ = writeln!(std::io::stderr(), "emend-conformance: error [{}]: {}", self.code.as_str(), self.message);
        ExitCode::from(self.code.row().exit_status)
    }
}

impl From<std::io::Error> for Failure {
    fn from(error: std::io::Error) -> Self {
        Self::new(Code::IoError, error.to_string())
    }
}

/// Opens the files of a directory. Edits are written at once.
pub(crate) fn workspace(root: &Path) -> Result<Shared<Workspace>, Failure> {
    let environment = LocalEnvironment::new(root)
        .map_err(|error| Failure::new(Code::Configuration, format!("cannot open {}: {error}", root.display())))?;
    Ok(Shared::new(Workspace::new(Shared::new(environment), Mode::Direct, Shared::new(SystemClock))))
}

/// A session and facts about it.
pub(crate) struct Bench {
    pub(crate) session: Session,
    pub(crate) profile: &'static str,
    pub(crate) model: String,
}

impl Bench {
    /// Opens the session of a task.
    pub(crate) fn open(task: &Task) -> Result<Self, Failure> {
        let base_url = |name: &str| task.base_url.clone().filter(|_| name.ends_with("_BASE_URL"));
        let variable = |name: &str| base_url(name).or_else(|| std::env::var(name).ok());
        let client = Client::from_env(variable, Shared::new(ReqwestTransport::new(Timeouts::default())), false);
        let provider = client.provider(None).map_err(|error| Failure::new(Code::Configuration, error.message))?;
        let name = provider.name();
        let newest = || get_latest_model(name, None).map(|model| model.id.clone());
        let no_model = || Failure::new(Code::Configuration, format!("no model of {name} is known; set `model`"));
        let model = task.model.clone().or_else(newest).ok_or_else(no_model)?;
        let profile = Profile::of(name, &model).unwrap_or_else(|| Profile::openai(&model));
        let config = SessionConfig {
            // Without an approver what is asked about is refused.
            policy: Policy { rules: vec![Rule::for_effect(Action::Ask, ToolEffect::Runs)], otherwise: Action::Allow },
            instructions: task.system_prompt.clone(),
            ..SessionConfig::default()
        };
        let id = profile.id;
        let workspace = workspace(Path::new("."))?;
        let builder = SessionBuilder::new(Shared::clone(provider), "", workspace, Shared::new(OsRandom));
        let session = builder.clock(Shared::new(SystemClock)).with_profile(profile).config(config).build();
        let session = session.map_err(|error| Failure::new(error.code(), error.to_string()))?;
        Ok(Self { session, profile: id, model })
    }

    /// Runs until the end of the run. `look` sees each event.
    pub(crate) async fn run(
        &self,
        prompt: &str,
        mut look: impl FnMut(&Session, &EventKind),
    ) -> Result<Outcome, Failure> {
        let mut outcome = Outcome { reason: EndReason::Error, output: String::new(), error: None };
        let run = self.session.submit(prompt, CancelToken::new());
        let mut run = run.map_err(|error| Failure::new(error.code(), error.to_string()))?;
        while let Some(event) = run.next().await {
            look(&self.session, &event.kind);
            match event.kind {
                EventKind::AssistantTextEnd { text, .. } => outcome.output = text,
                EventKind::Error(error) => outcome.error = Some(error),
                EventKind::ProcessingEnd { reason, .. } => outcome.reason = reason,
                _ => {}
            }
        }
        Ok(outcome)
    }

    /// Returns the number of model responses.
    pub(crate) fn n_responses(&self) -> usize {
        let entries = self.session.entries();
        entries.iter().filter(|entry| entry.message.role == Role::Assistant).count()
    }
}

/// The end of a run.
pub(crate) struct Outcome {
    reason: EndReason,
    /// The last text of the model.
    pub(crate) output: String,
    pub(crate) error: Option<ErrorInfo>,
}

impl Outcome {
    /// Returns the name of the outcome for the bench, and the exit status.
    pub(crate) fn status(&self) -> (&'static str, u8) {
        let failed = |code: Option<Code>| code.unwrap_or(Code::Internal).row().exit_status;
        match (&self.error, self.reason) {
            (Some(error), _) => ("failed", failed(Code::from_name(error.code))),
            (None, EndReason::Natural) => ("completed", 0),
            (None, EndReason::AwaitingInput) => ("awaiting_input", 0),
            (None, EndReason::TurnLimit | EndReason::Budget) => ("limit_reached", failed(Some(Code::LimitReached))),
            (None, EndReason::Aborted) => ("aborted", failed(Some(Code::Aborted))),
            (None, EndReason::ContextLength) => ("failed", failed(Some(Code::ContextLength))),
            (None, EndReason::Error) => ("failed", failed(None)),
        }
    }
}
