//! Opens what `emend run` and a conversation work with: the project, who answers, and the session.

use std::path::{Path, PathBuf};

use emend_agent::approval::Approver;
use emend_agent::error_code::Code;
use emend_agent::profile::Edits;
use emend_agent::session::{ProfileChoice, Session, SessionBuilder, SessionConfig, SessionOptions};
use emend_agent::store::{Store, Summary, summaries};
use emend_agent::workspace::Mode;
use emend_host::{OsRandom, Sandbox};
use emend_llm::Shared;

use crate::args::SessionArgs;
use crate::failure::Failure;
use crate::project::Project;
use crate::provider::Chosen;
use crate::saved_sessions::find;
use crate::settings::{EditsName, Model, ProfileName, Settings};
use crate::tool_set::web_transport;
use crate::{approve, provider};

/// What differs between one task and a conversation.
pub(crate) struct Host<'a> {
    /// Where the exchanges with the model are recorded.
    pub(crate) record: Option<&'a Path>,
    /// Who is asked about calls.
    pub(crate) approver: Shared<dyn Approver>,
    /// Who answers if nothing says so.
    pub(crate) fallback: &'a Model,
    /// Whether the model may ask the user.
    pub(crate) answers_questions: bool,
}

/// Everything a session is made of, and the session.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) project: Project,
    pub(crate) store: Shared<dyn Store>,
    pub(crate) chosen: Chosen,
    pub(crate) session: Session,
    /// The saved session that this one goes on from or began with.
    pub(crate) origin: Option<String>,
    answers_questions: bool,
}

impl Setup {
    /// Opens a session.
    pub(crate) async fn open(args: &SessionArgs, settings: Settings, host: Host<'_>) -> Result<Self, Failure> {
        // Wrong rules are told before anything is opened.
        let policy = approve::policy(&settings)?;
        let writable = || settings.sandbox_write.iter().map(|place| PathBuf::from(&place.value)).collect();
        let sandbox = settings.sandbox.value.then(|| Sandbox { writable: writable() });
        let mode = if settings.review.value { Mode::Staged } else { Mode::Direct };
        let project = Project::open_confined(&args.root, mode, sandbox)?;
        let store = project.sessions()?;
        let origin = Origin::of(args, &*store).await?;
        let model = settings.model.value.clone().or_else(|| origin.model());
        let chosen = provider::choose(model.as_ref().unwrap_or(host.fallback), host.record, &project)?;
        let config = SessionConfig {
            policy,
            approver: Some(host.approver),
            reasoning_effort: settings.effort.value.clone().map(|effort| effort.0),
            ..SessionConfig::default()
        };
        let options = session_options(&settings, &chosen, &project, host.answers_questions, config)?;
        let session = open(args, options, Shared::clone(&store), &origin).await?;
        let origin = origin.source.map(|source| source.id);
        Ok(Self { settings, project, store, chosen, session, origin, answers_questions: host.answers_questions })
    }

    /// Returns what a session with `chosen` is made of, with the limits and rules of the one that is open.
    pub(crate) fn options(&self, chosen: &Chosen) -> Result<SessionOptions, Failure> {
        let now = self.session.config();
        // What comes from the profile of the model before must not stay.
        let fresh = SessionConfig {
            policy: now.policy,
            approver: now.approver,
            reasoning_effort: now.reasoning_effort,
            ..SessionConfig::default()
        };
        session_options(&self.settings, chosen, &self.project, self.answers_questions, fresh)
    }
}

/// Where a conversation begins.
struct Origin {
    /// The saved session, none for a new conversation.
    source: Option<Summary>,
    forks: bool,
}

impl Origin {
    async fn of(args: &SessionArgs, store: &dyn Store) -> Result<Self, Failure> {
        let Some(id) = args.fork.as_ref().or(args.resume.as_ref()) else {
            return Ok(Self { source: None, forks: false });
        };
        let saved = summaries(store).await?;
        let source = if id.is_empty() {
            let message = "this project has no saved session to resume";
            saved.into_iter().next().ok_or_else(|| Failure::new(Code::NotFound, message))?
        } else {
            find(saved, id)?
        };
        Ok(Self { source: Some(source), forks: args.fork.is_some() })
    }

    /// Returns the model that the conversation was had with.
    fn model(&self) -> Option<Model> {
        self.source.as_ref().and_then(|source| Model::of_session(&source.provider, &source.model))
    }
}

/// Opens the session: a new one, or one that goes on from a saved one.
async fn open(
    args: &SessionArgs,
    options: SessionOptions,
    store: Shared<dyn Store>,
    origin: &Origin,
) -> Result<Session, Failure> {
    let opened = match &origin.source {
        None => Ok(Session::new(options).with_store(store)),
        Some(source) if origin.forks => Session::fork(options, store, &source.id, args.turns).await,
        Some(source) => Session::resume(options, store, &source.id).await,
    };
    opened.map_err(Failure::from)
}

fn session_options(
    settings: &Settings,
    chosen: &Chosen,
    project: &Project,
    asks: bool,
    config: SessionConfig,
) -> Result<SessionOptions, Failure> {
    let provider = Shared::clone(&chosen.provider);
    let (workspace, clock) = (Shared::clone(&project.workspace), Shared::clone(&project.clock));
    let profile = match settings.profile.value {
        ProfileName::Auto => ProfileChoice::Auto,
        ProfileName::Openai => ProfileChoice::Openai,
        ProfileName::Anthropic => ProfileChoice::Anthropic,
        ProfileName::Gemini => ProfileChoice::Gemini,
        ProfileName::None => ProfileChoice::None,
    };
    let edits = settings.edits.value.map(|edits| match edits {
        EditsName::Own => Edits::Own,
        EditsName::SafePatch => Edits::SafePatch,
    });
    let mut builder = SessionBuilder::new(provider, chosen.model.as_str(), workspace, Shared::new(OsRandom))
        .clock(clock)
        .offline(chosen.offline)
        .profile(profile)
        .edits(edits)
        .subagents(settings.subagents.value)
        .questions(asks)
        .config(config);
    if settings.web.value {
        builder = builder.web(web_transport());
    }
    Ok(builder.options()?)
}
