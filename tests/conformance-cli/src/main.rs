//! `emend-conformance COMMAND`: the five commands with which AttractorBench checks a coding agent's loop (its tier 2).
//!
//! The bench starts each command in the directory to work in, with API keys and addresses of providers in the
//! environment. A command reads at most one JSON object from standard input and writes JSON to standard output. Sessions,
//! profiles, tools, files and HTTP are those of the libraries. Commands of the model are refused, since nobody can
//! approve them.

mod session;

use std::io::{Read as _, Write as _};
use std::path::{Path, PathBuf};
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_agent::event::EventKind;
use emend_agent::session::call_tool;
use emend_agent::tool::ToolRegistry;
use emend_agent::tools::{ClarifyUser, EditLines, SafePatch, core_tools};
use emend_llm::Shared;
use serde::Deserialize;
use serde::de::DeserializeOwned;
use serde_json::{Map, Value, json};

use session::{Bench, Failure, Task, workspace};

const USAGE: &str = "usage: emend-conformance session-create|process-input|tool-dispatch|steering|events";

/// The input of `tool-dispatch`.
#[derive(Deserialize)]
struct Dispatch {
    #[serde(alias = "name")]
    tool_name: String,
    #[serde(default)]
    arguments: Value,
    #[serde(default, alias = "id")]
    tool_call_id: String,
}

/// The input of `steering`.
#[derive(Deserialize)]
struct Steering {
    message: String,
}

fn main() -> ExitCode {
    let command = std::env::args().nth(1).unwrap_or_default();
    let runtime = match tokio::runtime::Builder::new_current_thread().enable_all().build() {
        Ok(runtime) => runtime,
        Err(error) => return Failure::from(error).report(),
    };
    let outcome = runtime.block_on(async {
        match command.as_str() {
            "session-create" => create(),
            "process-input" => process(input()?).await,
            "tool-dispatch" => dispatch(input()?).await,
            "steering" => steer(input()?).await,
            "events" => events().await,
            _ => Err(Failure::new(Code::InvalidArgument, USAGE)),
        }
    });
    outcome.unwrap_or_else(|failure| failure.report())
}

/// Reads the JSON object on standard input.
fn input<T: DeserializeOwned>() -> Result<T, Failure> {
    let mut text = String::new();
    std::io::stdin().read_to_string(&mut text)?;
    serde_json::from_str(&text)
        .map_err(|error| Failure::new(Code::InvalidArgument, format!("invalid standard input: {error}")))
}

fn print(value: &Value) -> Result<(), Failure> {
    Ok(writeln!(std::io::stdout().lock(), "{value}")?)
}

/// Creates a session: `{"session_id", "status", …}`.
fn create() -> Result<ExitCode, Failure> {
    let bench = Bench::open(&Task::greeting())?;
    let (id, profile, model) = (bench.session.id(), bench.profile, &bench.model);
    print(&json!({ "session_id": id, "status": "created", "profile": profile, "model": model }))?;
    Ok(ExitCode::SUCCESS)
}

/// Works on `{"prompt", "system_prompt"?, "model"?}`: `{"session_id", "status", "output", "turns", "error"}`.
///
/// An error of the provider is an outcome, which is written to standard output too.
async fn process(task: Task) -> Result<ExitCode, Failure> {
    let bench = Bench::open(&task)?;
    let outcome = bench.run(&task.prompt, |_, _| ()).await?;
    let (status, exit_status) = outcome.status();
    print(&json!({
        "session_id": bench.session.id(),
        "status": status,
        "output": outcome.output,
        "turns": bench.n_responses(),
        "error": outcome.error,
    }))?;
    Ok(ExitCode::from(exit_status))
}

/// Calls `{"tool_name", "arguments"}`: `{"tool_call_id", "name", "ok", "result", "error"}`.
///
/// An error of the tool is a result, so the command itself succeeds.
async fn dispatch(call: Dispatch) -> Result<ExitCode, Failure> {
    let tools = tools();
    let arguments = canonical_arguments(&tools, &call.tool_name, call.arguments);
    let workspace = workspace(&root_of(&arguments))?;
    let outcome = call_tool(&tools, &workspace, &call.tool_name, arguments).await;
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

/// Returns every tool that needs no network.
fn tools() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(SafePatch));
    tools.register(Shared::new(EditLines));
    tools.register(Shared::new(ClarifyUser));
    tools
}

/// Renames `path`, as the bench calls it, to `file_path` for tools that take that.
fn canonical_arguments(tools: &ToolRegistry, name: &str, arguments: Value) -> Value {
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

/// Returns the root of a call: the working directory, or the directory of a file elsewhere that the call names by its
/// absolute path.
fn root_of(arguments: &Value) -> PathBuf {
    let here = std::env::current_dir().and_then(std::fs::canonicalize).unwrap_or_else(|_| PathBuf::from("."));
    let named = arguments["file_path"].as_str().map(Path::new).filter(|path| path.is_absolute());
    let parent = named.and_then(Path::parent).filter(|parent| parent.is_dir() && !parent.starts_with(&here));
    parent.map_or(here.clone(), Path::to_path_buf)
}

/// Steers a run with `{"message"}`, and acknowledges the message once it was sent to the model.
async fn steer(steering: Steering) -> Result<ExitCode, Failure> {
    let task = Task::greeting();
    let bench = Bench::open(&task)?;
    let (mut sent, mut injected) = (false, false);
    let outcome = bench
        .run(&task.prompt, |session, kind| {
            sent = sent || session.steer(&steering.message).is_ok();
            injected |= matches!(kind, EventKind::SteeringInjected { .. });
        })
        .await?;
    let (status, exit_status) = outcome.status();
    let status = if injected { "injected" } else { status };
    print(&json!({
        "session_id": bench.session.id(),
        "status": status,
        "acknowledged": injected,
        "message": steering.message,
        "output": outcome.output,
        "error": outcome.error,
    }))?;
    Ok(ExitCode::from(exit_status))
}

/// Runs a short session and prints its events, one per line.
async fn events() -> Result<ExitCode, Failure> {
    let task = Task::greeting();
    let bench = Bench::open(&task)?;
    let outcome = bench.run(&task.prompt, |_, _| ()).await?;
    bench.session.close();
    let events = bench.session.poll_events(0, usize::MAX);
    let mut stdout = std::io::stdout().lock();
    for event in events.map_err(|error| Failure::new(Code::ResyncRequired, error.to_string()))? {
        serde_json::to_writer(&mut stdout, &event).map_err(std::io::Error::from)?;
        writeln!(stdout)?;
    }
    Ok(ExitCode::from(outcome.status().1))
}
