//! `emend conformance`: the five commands by which AttractorBench checks a coding agent's loop (its tier 2).
//!
//! A checker starts each command by itself, in the directory to work in, with providers' keys and addresses in the
//! environment as `emend run` reads them, writes at most one JSON object to standard input, and reads JSON from standard
//! output. Sessions, profiles, tools, files and HTTP are those of `emend run`; nothing is made up here. Where nobody can
//! be asked, the model runs no commands.

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::event::{EndReason, ErrorInfo, EventKind};
use emend_agent::profile::Profile;
use emend_agent::session::{Session, SessionBuilder, SessionConfig, call_tool};
use emend_agent::tool::ToolRegistry;
use emend_agent::workspace::Mode;
use emend_host::{OsRandom, ReqwestTransport, Timeouts};
use emend_llm::{CancelToken, Client, Shared, get_latest_model};
use futures::StreamExt as _;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use crate::args::ConformanceCommand;
use crate::failure::Failure;
use crate::project::Project;
use crate::settings::Settings;
use crate::{approve, tools};

/// What `process-input` reads.
#[derive(Deserialize)]
struct Task {
    prompt: String,
    /// Appended to the system prompt.
    system_prompt: Option<String>,
    /// The provider's model id; the newest of the catalogue by default.
    model: Option<String>,
    /// Where the provider is, instead of what the environment says.
    #[serde(alias = "_test_base_url")]
    base_url: Option<String>,
}

/// What `tool-dispatch` reads.
#[derive(Deserialize)]
struct Dispatch {
    #[serde(alias = "name")]
    tool_name: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default, alias = "id")]
    tool_call_id: String,
}

/// What `steering` reads.
#[derive(Deserialize)]
struct Steering {
    message: String,
}

/// What the session is asked where the command brings no prompt.
const PROMPT: &str = "Say hello in a few words.";

pub(crate) async fn conformance(command: ConformanceCommand) -> Result<ExitCode, Failure> {
    match command {
        ConformanceCommand::SessionCreate => create(),
        ConformanceCommand::ProcessInput => process(input()?).await,
        ConformanceCommand::ToolDispatch => dispatch(input()?).await,
        ConformanceCommand::Steering => steer(input()?).await,
        ConformanceCommand::Events => events().await,
    }
}

/// Reads the one JSON object on standard input.
fn input<T: DeserializeOwned>() -> Result<T, Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("standard input cannot be read: {error}")))
}

fn print(value: &Value) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout().lock(), "{value}")?)
}

/// A session in the working directory, with the first provider that the environment has a key for.
struct Scene {
    project: Project,
    session: Session,
    profile: &'static str,
    model: String,
}

impl Scene {
    fn open(task: &Task) -> Result<Self, Failure> {
        let base_url = |name: &str| task.base_url.clone().filter(|_| name.ends_with("_BASE_URL"));
        let variable = |name: &str| base_url(name).or_else(|| std::env::var(name).ok());
        let client = Client::from_env(variable, Shared::new(ReqwestTransport::new(Timeouts::default())), false);
        let provider = client.provider(None).map_err(|error| Failure::new(Code::Configuration, error.message))?;
        let name = provider.name();
        let newest = || get_latest_model(name, None).map(|model| model.id.clone());
        let no_model = || Failure::new(Code::Configuration, format!("no model of {name} is known; name one"));
        let model = task.model.clone().or_else(newest).ok_or_else(no_model)?;
        let profile = Profile::of(name, &model).unwrap_or_else(|| Profile::openai(&model));
        let project = Project::open(Path::new("."), Mode::Direct)?;
        let config = SessionConfig {
            policy: approve::policy(&Settings::default())?,
            instructions: task.system_prompt.clone(),
            ..SessionConfig::default()
        };
        let id = profile.id;
        let (workspace, clock) = (Shared::clone(&project.workspace), Shared::clone(&project.clock));
        let builder = SessionBuilder::new(Shared::clone(provider), "", workspace, Shared::new(OsRandom)).clock(clock);
        let session = builder.with_profile(profile).config(config).build()?;
        Ok(Self { project, session, profile: id, model })
    }

    /// Runs one turn to its end; `look` sees each event.
    async fn run(&self, prompt: &str, mut look: impl FnMut(&Session, &EventKind)) -> Result<Ended, Failure> {
        let mut ended = Ended { reason: EndReason::Error, output: String::new(), error: None };
        let mut turn = self.session.submit(prompt, CancelToken::new())?;
        while let Some(event) = turn.next().await {
            look(&self.session, &event.kind);
            match event.kind {
                EventKind::AssistantTextEnd { text } => ended.output = text,
                EventKind::Error(error) => ended.error = Some(error),
                EventKind::ProcessingEnd { reason, .. } => ended.reason = reason,
                _ => {}
            }
        }
        self.project.save()?;
        Ok(ended)
    }

    fn n_answers(&self) -> usize {
        let is_answer = |turn: &emend_agent::history::HistoryEntry| turn.message.role == emend_llm::Role::Assistant;
        self.session.entries().iter().filter(|turn| is_answer(turn)).count()
    }
}

/// How a turn ended.
struct Ended {
    reason: EndReason,
    /// What the model said last.
    output: String,
    error: Option<ErrorInfo>,
}

impl Ended {
    /// Returns the word for it, and the exit status.
    fn status(&self) -> (&'static str, u8) {
        let failed = |code: Option<Code>| code.unwrap_or(Code::Internal).row().exit_status;
        match (&self.error, self.reason) {
            (Some(error), _) => ("failed", failed(Code::from_name(error.code))),
            (None, EndReason::Natural) => ("completed", 0),
            (None, EndReason::AwaitingInput) => ("awaiting_input", 0),
            (None, EndReason::TurnLimit) => ("limit_reached", failed(Some(Code::LimitReached))),
            (None, EndReason::Aborted) => ("aborted", failed(Some(Code::Aborted))),
            (None, EndReason::ContextLength) => ("failed", failed(Some(Code::ContextLength))),
            (None, EndReason::Error) => ("failed", failed(None)),
        }
    }
}

/// The task of a session that was given none.
fn greeting() -> Task {
    Task { prompt: PROMPT.to_owned(), system_prompt: None, model: None, base_url: None }
}

fn create() -> Result<ExitCode, Failure> {
    let scene = Scene::open(&greeting())?;
    let (id, profile, model) = (scene.session.id(), scene.profile, &scene.model);
    print(&json!({ "session_id": id, "status": "created", "profile": profile, "model": model }))?;
    Ok(ExitCode::SUCCESS)
}

/// A provider that fails is an outcome, told on standard output as others are.
async fn process(task: Task) -> Result<ExitCode, Failure> {
    let scene = Scene::open(&task)?;
    let ended = scene.run(&task.prompt, |_, _| ()).await?;
    let (status, exit_status) = ended.status();
    print(&json!({
        "session_id": scene.session.id(),
        "status": status,
        "output": ended.output,
        "turns": scene.n_answers(),
        "error": ended.error,
    }))?;
    Ok(ExitCode::from(exit_status))
}

/// Dispatches one call. A call that fails has a result, too, so the command itself succeeds.
async fn dispatch(call: Dispatch) -> Result<ExitCode, Failure> {
    let tools = tools::tools();
    let arguments = own_names(&tools, &call.tool_name, call.arguments);
    let project = Project::open(&root_of(&arguments), Mode::Direct)?;
    let outcome = call_tool(&tools, &project.workspace, &call.tool_name, arguments).await;
    project.save()?;
    let (result, error) = match &outcome {
        Ok(output) => (Some(&output.text), None),
        Err(error) => (None, Some(error.info())),
    };
    print(&json!({
        "tool_call_id": call.tool_call_id,
        "name": call.tool_name,
        "ok": outcome.is_ok(),
        "result": result,
        "error": error,
    }))?;
    Ok(ExitCode::SUCCESS)
}

/// Calls the file of a call by our name for it: the checker says `path`.
fn own_names(tools: &ToolRegistry, name: &str, arguments: Value) -> Value {
    let takes = |param: &str| {
        tools.get(name).is_some_and(|(definition, _)| definition.parameters["properties"].get(param).is_some())
    };
    match arguments {
        Value::Object(arguments) if takes("file_path") && !takes("path") => {
            let renamed = |(name, value)| (if name == "path" { "file_path".to_owned() } else { name }, value);
            Value::Object(arguments.into_iter().map(renamed).collect::<Map<_, _>>())
        }
        Value::Null => json!({}),
        arguments => arguments,
    }
}

/// Returns the directory that a call may not leave: the working directory, or that of the file it names elsewhere by its
/// whole path. Each command is a project of its own.
fn root_of(arguments: &Value) -> PathBuf {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_else(|_| PathBuf::from("."));
    let named = arguments["file_path"].as_str().map(Path::new).filter(|path| path.is_absolute());
    let parent = named.and_then(Path::parent).filter(|parent| parent.is_dir() && !parent.starts_with(&here));
    parent.map_or(here.clone(), Path::to_path_buf)
}

/// Puts a message into a turn that runs and acknowledges it once the model has been sent it.
async fn steer(steering: Steering) -> Result<ExitCode, Failure> {
    let scene = Scene::open(&greeting())?;
    let (mut sent, mut injected) = (false, false);
    let ended = scene
        .run(PROMPT, |session, kind| {
            sent = sent || session.steer(&steering.message).is_ok();
            injected |= matches!(kind, EventKind::SteeringInjected { .. });
        })
        .await?;
    let (status, exit_status) = ended.status();
    let status = if injected { "injected" } else { status };
    print(&json!({
        "session_id": scene.session.id(),
        "status": status,
        "acknowledged": injected,
        "message": steering.message,
        "output": ended.output,
        "error": ended.error,
    }))?;
    Ok(ExitCode::from(exit_status))
}

/// Prints the events of a session from its start to its end, one a line.
async fn events() -> Result<ExitCode, Failure> {
    let scene = Scene::open(&greeting())?;
    let ended = scene.run(PROMPT, |_, _| ()).await?;
    scene.session.close();
    let events = scene.session.poll_events(0, usize::MAX);
    let mut stdout = std::io::stdout().lock();
    for event in events.map_err(|error| Failure::new(Code::ResyncRequired, error.to_string()))? {
        serde_json::to_writer(&mut stdout, &event).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    }
    Ok(ExitCode::from(ended.status().1))
}
