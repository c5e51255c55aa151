//! Opens the project, the model and the session of `emend run`, of a conversation and of each task of `emend eval`.

use std::path::PathBuf;

use emend_agent::approval::{Approver, ToolEffect};
use emend_agent::error_code::Code;
use emend_agent::event::EventKind;
use emend_agent::profile::Edits;
use emend_agent::session::{ProfileChoice, Session, SessionBuilder, SessionConfig, SessionOptions};
use emend_agent::store::{Store, Summary};
use emend_agent::workspace::{Mode, Workspace};
use emend_host::{EnvPolicy, Inherit, OsRandom, Sandbox};
use emend_llm::{Clock, Shared};

use crate::args::SessionArgs;
use crate::failure::Failure;
use crate::meter::Meter;
use crate::place::Place;
use crate::project::{Project, ProjectOptions};
use crate::provider::{OwnResponses, Record, SelectedModel};
use crate::saved_sessions::find;
use crate::session_config::{override_profile, session_config};
use crate::session_notes::SessionNotes;
use crate::settings::{EditsName, InheritName, Model, ProfileName, Settings, Sourced};
use crate::tool_set::{outline, web_transport};
use crate::{approve, provider};

/// Differences between `emend run` and a conversation.
pub(crate) struct Host<'a> {
    /// Place for the recording of requests and responses.
    pub(crate) record: Record<'a>,
    /// Asks the user about tool calls.
    pub(crate) approver: Shared<dyn Approver>,
    /// Whether the model may ask the user questions.
    pub(crate) answers_questions: bool,
    /// The responses, if they do not come from the model of the settings.
    pub(crate) responses: Option<OwnResponses>,
    /// Directory for the state of projects, if not the user's.
    pub(crate) state_home: Option<PathBuf>,
    /// Whether the model may run commands, if the rules allow them.
    pub(crate) has_shell: bool,
}

impl<'a> Host<'a> {
    /// Returns a host with the model of the settings and the user's directory for state.
    pub(crate) fn new(record: Record<'a>, approver: Shared<dyn Approver>, answers_questions: bool) -> Self {
        Self { record, approver, answers_questions, responses: None, state_home: None, has_shell: true }
    }
}

/// An open session with everything that it uses.
pub(crate) struct Setup {
    pub(crate) settings: Settings,
    pub(crate) project: Project,
    pub(crate) store: Shared<dyn Store>,
    pub(crate) selected: SelectedModel,
    /// The model, as `--model` takes it.
    pub(crate) model: Model,
    /// Whether neither the settings nor a saved session named the model.
    pub(crate) is_default_model: bool,
    pub(crate) session: Session,
    /// ID of the saved session that this one continues or was forked from.
    pub(crate) origin: Option<String>,
    /// Counts what the conversation uses.
    pub(crate) meter: Meter,
    answers_questions: bool,
}

impl Setup {
    /// Returns the command that decides on waiting hunks, with the place of a project that is not on this machine.
    pub(crate) fn review_command(&self) -> String {
        match &self.settings.env.value {
            // A shell takes the text between quotes as it is, except for the quote itself.
            Some(place) => format!("emend review --env '{}'", place.replace('\'', "'\\''")),
            None => "emend review".to_owned(),
        }
    }

    /// Opens the session that options and settings describe.
    pub(crate) async fn open(
        args: &SessionArgs,
        place: &Place,
        settings: Settings,
        host: Host<'_>,
    ) -> Result<Self, Failure> {
        // Invalid rules are reported before anything is opened.
        let policy = approve::policy(&settings)?;
        let writable = || settings.sandbox_write.iter().map(|place| PathBuf::from(&place.value)).collect();
        let sandbox = settings.sandbox.value.then(|| Sandbox { writable: writable() });
        let mode = if settings.review.value { Mode::Staged } else { Mode::Direct };
        let options = ProjectOptions {
            mode,
            sandbox,
            variables: variables(&settings),
            read_only: settings.read_only.value,
            // The other process may be about to continue the same conversation.
            works_beside: args.resumed().is_none(),
            has_index: settings.index.value.0,
            state_home: host.state_home,
        };
        let project = Project::open_with(place, options).await?;
        let store = project.sessions()?;
        let origin = Origin::of(args, &*store, &SessionNotes::load(project.directory())?).await?;
        let named = settings.model.value.clone().or_else(|| origin.model());
        let is_default_model = named.is_none();
        let model = named.or_else(provider::newest).unwrap_or(Model::Offline);
        let selected = match host.responses {
            None => provider::select(&model, host.record, &project, &settings)?,
            Some(own) => provider::select_own(own, host.record, &project, &settings)?,
        };
        let config = session_config(&settings, &selected.providers(), policy, Some(host.approver))?;
        let mut options = session_options(&settings, &selected, &project, host.answers_questions, config)?;
        if !host.has_shell {
            options.tools = std::mem::take(&mut options.tools).filtered(|tool| !tool.needs_shell());
        }
        let session = open(args, options, Shared::clone(&store), &origin).await?;
        let origin = origin.source.map(|source| source.id);
        let answers_questions = host.answers_questions;
        let meter = Meter::default();
        Ok(Self {
            settings,
            project,
            store,
            selected,
            model,
            is_default_model,
            session,
            origin,
            meter,
            answers_questions,
        })
    }

    /// Gives the next run its limits; see [`Meter::begin`].
    pub(crate) async fn begin_run(&self, is_new_task: bool) -> Result<(), Failure> {
        self.meter.begin(&self.project, &self.settings, &self.session, is_new_task).await
    }

    /// Counts an event of the run.
    pub(crate) fn count(&self, kind: &EventKind) -> Result<(), Failure> {
        self.meter.take(kind, &self.session, &self.project)
    }

    /// Returns session options for another model, with the rules and the effort of the open session.
    pub(crate) fn options(&self, selected: &SelectedModel) -> Result<SessionOptions, Failure> {
        let now = self.session.config();
        // Other values may come from the profile of the previous model.
        let fresh = SessionConfig {
            reasoning_effort: now.reasoning_effort,
            ..session_config(&self.settings, &selected.providers(), now.policy, now.approver)?
        };
        session_options(&self.settings, selected, &self.project, self.answers_questions, fresh)
    }
}

/// The start of a conversation.
struct Origin {
    /// The saved session, `None` for a new conversation.
    source: Option<Summary>,
    forks: bool,
}

impl Origin {
    async fn of(args: &SessionArgs, store: &dyn Store, notes: &SessionNotes) -> Result<Self, Failure> {
        let Some(id) = args.fork.as_deref().or(args.resumed()) else {
            return Ok(Self { source: None, forks: false });
        };
        let source = if id.is_empty() {
            let message = "this project has no saved session to resume";
            notes.active(store).await?.into_iter().next().ok_or_else(|| Failure::new(Code::NotFound, message))?
        } else {
            find(notes.all(store).await?, id)?
        };
        Ok(Self { source: Some(source), forks: args.fork.is_some() })
    }

    /// Returns the model of the saved session.
    fn model(&self) -> Option<Model> {
        self.source.as_ref().and_then(|source| Model::of_session(&source.provider, &source.model))
    }
}

/// Opens a new, resumed or forked session.
async fn open(
    args: &SessionArgs,
    options: SessionOptions,
    store: Shared<dyn Store>,
    origin: &Origin,
) -> Result<Session, Failure> {
    if let Some((n_turns, source)) = args.turns.zip(origin.source.as_ref())
        && n_turns > source.n_turns
    {
        let message = format!("--turns {n_turns}: the conversation has only {} entries", source.n_turns);
        return Err(Failure::new(Code::InvalidArgument, message));
    }
    let opened = match &origin.source {
        None => Ok(Session::new(options).with_store(store)),
        Some(source) if origin.forks => Session::fork(options, store, &source.id, args.turns).await,
        Some(source) => Session::resume(options, store, &source.id).await,
    };
    let session = opened?;
    session.restore_reads();
    Ok(session)
}

fn session_options(
    settings: &Settings,
    selected: &SelectedModel,
    project: &Project,
    asks: bool,
    config: SessionConfig,
) -> Result<SessionOptions, Failure> {
    let workspace = Shared::clone(&project.agents);
    let builder = session_builder(settings, selected, workspace, Shared::clone(&project.clock), config);
    let mut options = builder.questions(asks).options()?;
    adjust(settings, &mut options);
    Ok(options)
}

/// Returns a builder with the settings of the user.
pub(crate) fn session_builder(
    settings: &Settings,
    selected: &SelectedModel,
    workspace: Shared<Workspace>,
    clock: Shared<dyn Clock>,
    config: SessionConfig,
) -> SessionBuilder {
    let provider = Shared::clone(&selected.provider);
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
        EditsName::EditLines => Edits::EditLines,
    });
    let mut builder = SessionBuilder::new(provider, selected.model.as_str(), workspace, Shared::new(OsRandom))
        .clock(clock)
        .offline(selected.offline)
        .profile(profile)
        .edits(edits)
        .subagents(settings.subagents.value)
        .config(config);
    if settings.web.value {
        builder = builder.web(web_transport());
    }
    builder
}

/// Sets the options that a profile would replace, and adds the tools that the core does not have.
pub(crate) fn adjust(settings: &Settings, options: &mut SessionOptions) {
    override_profile(settings, &mut options.config);
    if settings.outline.value {
        options.tools.register(outline());
    }
    if settings.read_only.value {
        let tools = std::mem::take(&mut options.tools);
        options.tools = tools.filtered(|tool| tool.effect() != ToolEffect::Writes && !tool.needs_shell());
    }
}

/// Returns the policy for the environment variables of commands.
pub(crate) fn variables(settings: &Settings) -> EnvPolicy {
    let names = |list: &[Sourced<String>]| list.iter().map(|name| name.value.clone()).collect();
    EnvPolicy {
        inherit: match settings.env_inherit.value {
            InheritName::Harmless => Inherit::Harmless,
            InheritName::All => Inherit::All,
            InheritName::Core => Inherit::Core,
            InheritName::None => Inherit::None,
        },
        keep: names(&settings.env_keep),
        drop: names(&settings.env_drop),
    }
}
