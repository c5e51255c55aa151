//! `emend run`: one task, from the message to the last event.

use std::io::Write as _;
use std::process::ExitCode;

use emend_agent::code::Code;
use emend_agent::event::{EndReason, EventKind};
use emend_agent::profile::{Edits, Profile};
use emend_agent::session::{Session, SessionConfig, SessionOptions};
use emend_agent::store::{Store, Summary, summaries};
use emend_agent::tools::{core_tools, register_subagent_tools};
use emend_agent::workspace::Mode;
use emend_host::{OsRandom, Sandbox};
use emend_llm::{CancelToken, Shared};
use futures::StreamExt;
use serde_json::json;

use crate::args::{Model, ProfileName, RunArgs};
use crate::failure::Failure;
use crate::output::{Printer, Style};
use crate::project::Project;
use crate::provider::Chosen;
use crate::tools::web_fetch;
use crate::{approve, provider, review, sessions};

pub(crate) async fn run(args: RunArgs) -> Result<ExitCode, Failure> {
    if args.task.trim().is_empty() {
        return Err(Failure::new(
            Code::InvalidArgument,
            "the task is empty; say what to do, e.g. emend run \"rename a to b\"",
        ));
    }
    // Wrong rules are told before anything is opened.
    let policy = approve::policy(&args.allow, &args.deny)?;
    let mode = if args.review { Mode::Staged } else { Mode::Direct };
    let sandbox = args.sandbox.then(|| Sandbox { writable: args.sandbox_write.clone() });
    let project = Project::open_confined(&args.root, mode, sandbox)?;
    let store = project.sessions()?;
    let origin = Origin::of(&args, &*store).await?;
    let model = args.model.clone().or_else(|| origin.model()).unwrap_or(Model::Offline);
    let chosen = provider::choose(&model, &args, &project)?;
    let config = SessionConfig { policy, approver: Some(approve::approver(args.json)), ..SessionConfig::default() };
    let options = session_options(&args, &chosen, &project, config);
    let session = open(&args, options, store, &origin).await?;
    if args.debug {
        let origin = origin.source.as_ref().map(|source| &source.id);
        let line = json!({ "debug": "session", "id": session.id(), "from": origin, "model": chosen.model });
        writeln!(std::io::stderr(), "{line}")?;
    }
    let cancel = CancelToken::new();
    let turn =
        session.submit(&args.task, cancel.clone()).map_err(|error| Failure::new(error.code(), error.to_string()))?;
    let style = Style { json: args.json, debug: args.debug };
    let outcome = follow(turn, cancel, style, &project).await;
    // What was recorded and what was edited is kept, however the turn ended.
    chosen.finish(&args)?;
    project.save()?;
    let status = outcome?;
    if args.review && !args.json {
        return review::decide(&project, status).await;
    }
    Ok(status)
}

/// Where a run's conversation begins.
struct Origin {
    /// The saved session, none for a new conversation.
    source: Option<Summary>,
    forks: bool,
}

impl Origin {
    async fn of(args: &RunArgs, store: &dyn Store) -> Result<Self, Failure> {
        let Some(id) = args.fork.as_ref().or(args.resume.as_ref()) else {
            return Ok(Self { source: None, forks: false });
        };
        let saved = summaries(store).await.map_err(|error| Failure::new(error.code(), error.to_string()))?;
        let source = if id.is_empty() {
            let message = "there is no saved session in this project to resume";
            saved.into_iter().next().ok_or_else(|| Failure::new(Code::NotFound, message))?
        } else {
            sessions::find(saved, id)?
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
    args: &RunArgs,
    options: SessionOptions,
    store: Shared<dyn Store>,
    origin: &Origin,
) -> Result<Session, Failure> {
    let opened = match &origin.source {
        None => Ok(Session::new(options).with_store(store)),
        Some(source) if origin.forks => Session::fork(options, store, &source.id, args.turns).await,
        Some(source) => Session::resume(options, store, &source.id).await,
    };
    opened.map_err(|error| Failure::new(error.code(), error.to_string()))
}

fn session_options(args: &RunArgs, chosen: &Chosen, project: &Project, config: SessionConfig) -> SessionOptions {
    let model = chosen.model.as_str();
    let profile = match args.profile {
        // The stand-in is of no family.
        ProfileName::Auto if chosen.offline => None,
        ProfileName::Auto => Profile::of(chosen.provider.name(), model),
        ProfileName::Openai => Some(Profile::openai(model)),
        ProfileName::Anthropic => Some(Profile::anthropic(model)),
        ProfileName::Gemini => Some(Profile::gemini(model)),
        ProfileName::None => None,
    };
    let provider = Shared::clone(&chosen.provider);
    let (workspace, clock) = (Shared::clone(&project.workspace), Shared::clone(&project.clock));
    let random = Shared::new(OsRandom);
    let options = match profile {
        Some(profile) => {
            // The stand-in replaces texts; it makes no diffs.
            let profile = if chosen.offline { profile.with_edits(Edits::Own) } else { profile };
            let profile = if args.web { profile.with_tool(web_fetch()) } else { profile };
            let profile = if args.subagents { profile.with_subagents() } else { profile };
            profile.session_options(provider, workspace, clock, random, config)
        }
        None => {
            let mut tools = core_tools();
            if args.web {
                tools.register(web_fetch());
            }
            if args.subagents {
                register_subagent_tools(&mut tools);
            }
            let (model, offline) = (chosen.model.clone(), false);
            SessionOptions { provider, model, offline, tools, workspace, clock, random, config }
        }
    };
    SessionOptions { offline: chosen.offline, ..options }
}

/// Prints events until the turn ends. Ctrl-C cancels the turn; the rest of its events still come.
async fn follow(
    mut turn: emend_agent::session::Run,
    cancel: CancelToken,
    style: Style,
    project: &Project,
) -> Result<ExitCode, Failure> {
    let mut printer = Printer::new(style, std::io::stdout(), std::io::stderr());
    let mut failure = None;
    let mut end = EndReason::Natural;
    loop {
        let event = tokio::select! {
            event = turn.next() => event,
            signal = tokio::signal::ctrl_c(), if !cancel.is_cancelled() => {
                signal?;
                cancel.cancel();
                continue;
            }
        };
        let Some(event) = event else { break };
        if let Err(error) = printer.print(&event) {
            // Nobody reads any more (`| head`): stop working for no one.
            cancel.cancel();
            failure.get_or_insert(Failure::from(error));
            continue;
        }
        match event.kind {
            // A crash later must find what was changed so far.
            EventKind::FileChanged { .. } => project.save()?,
            EventKind::Error(error) => {
                let code = Code::from_name(error.code).unwrap_or(Code::Internal);
                failure = Some(Failure { code, message: error.message, suggestions: error.suggestions });
            }
            EventKind::ProcessingEnd { reason, .. } => end = reason,
            _ => {}
        }
    }
    match (failure, end) {
        (Some(failure), _) => Err(failure),
        (None, EndReason::Aborted) => Ok(ExitCode::from(Code::Aborted.row().exit_status)),
        (None, EndReason::TurnLimit) => Ok(ExitCode::from(Code::LimitReached.row().exit_status)),
        (None, EndReason::ContextLength) => Ok(ExitCode::from(Code::ContextLength.row().exit_status)),
        (None, EndReason::Natural | EndReason::AwaitingInput | EndReason::Error) => Ok(ExitCode::SUCCESS),
    }
}
