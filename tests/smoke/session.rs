//! The steps of a session: editing files, commands, truncation, steering, a subagent, a timeout.

use std::path::Path;
use std::sync::Arc;

use emend_agent::error_code::Code;
use emend_agent::event::{Event, EventKind};
use emend_agent::session::{ProfileChoice, Session, SessionBuilder};
use emend_agent::workspace::{Mode, Workspace};
use emend_host::LocalEnvironment;
use emend_llm::generate::Generator;
use emend_llm::{CancelToken, ContentPart, Provider};
use futures::StreamExt;

use crate::report::{Report, ensure};

/// The length of the tool's output, which exceeds the limit for the model.
const BIG_CHARS: usize = 100_000;

pub(crate) async fn run(generator: &Generator, provider: &str, model: &str, report: &mut Report) {
    let work = match Work::new(generator, provider, model) {
        Ok(work) => work,
        Err(problem) => return report.step("session: set-up", async { Err(problem) }).await,
    };
    report.step("session: a file is created", work.create()).await;
    report.step("session: it is read and edited", work.edit()).await;
    report.step("session: a command runs", work.calls("Run hello.py and show the output", "shell", "Hello")).await;
    report.step("session: a long output is cut for the model only", work.truncate()).await;
    report.step("session: steering", work.steer()).await;
    let prompt = "Spawn a subagent to write tests for hello.py, then review its output";
    report.step("session: a subagent", work.calls(prompt, "spawn_agent", "agent_1")).await;
    let prompt = "Run 'sleep 30' with the default timeout";
    report.step("session: a command times out", work.calls(prompt, "shell", "timed out")).await;
}

struct Work {
    session: Session,
    folder: tempfile::TempDir,
}

impl Work {
    fn new(generator: &Generator, provider: &str, model: &str) -> Result<Self, String> {
        let folder = tempfile::tempdir().map_err(|error| error.to_string())?;
        let environment = LocalEnvironment::new(folder.path()).map_err(|error| error.to_string())?;
        let clock = Arc::clone(&generator.clock);
        let workspace = Arc::new(Workspace::new(Arc::new(environment), Mode::Direct, clock));
        let provider = Arc::new(generator.client.clone().with_default_provider(provider)) as Arc<dyn Provider>;
        let session = SessionBuilder::new(provider, model, workspace, Arc::clone(&generator.random))
            .profile(ProfileChoice::None)
            .subagents(true)
            .build()
            .map_err(|error| error.to_string())?;
        Ok(Self { session, folder })
    }

    fn path(&self, name: &str) -> std::path::PathBuf {
        Path::new(self.folder.path()).join(name)
    }

    fn read(&self, name: &str) -> Result<String, String> {
        std::fs::read_to_string(self.path(name)).map_err(|error| format!("{name}: {error}"))
    }

    /// Submits a message and waits for the end of the run.
    async fn submit(&self, text: &str) -> Result<Vec<EventKind>, String> {
        let run = self.session.submit(text, CancelToken::new()).map_err(|error| error.to_string())?;
        let events: Vec<EventKind> = run.map(|Event { kind, .. }| kind).collect().await;
        let failed = events.iter().find_map(|kind| match kind {
            EventKind::Error(error) if error.code != Code::LimitReached.as_str() => Some(error.message.clone()),
            _ => None,
        });
        failed.map_or(Ok(events), Err)
    }

    async fn create(&self) -> Result<(), String> {
        self.submit("Create a file called hello.py that prints 'Hello World'").await?;
        let text = self.read("hello.py")?;
        ensure(text.contains("Hello"), || format!("hello.py is {text:?}"))
    }

    async fn edit(&self) -> Result<(), String> {
        self.submit("Read hello.py and add a second print statement that says 'Goodbye'").await?;
        let text = self.read("hello.py")?;
        ensure(text.contains("Hello") && text.contains("Goodbye"), || format!("hello.py is {text:?}"))
    }

    /// Changes the task during the run; the result must follow the change.
    async fn steer(&self) -> Result<(), String> {
        let text = "Create a Flask web application with multiple routes";
        let mut run = self.session.submit(text, CancelToken::new()).map_err(|error| error.to_string())?;
        let steering = "Actually, just create a single /health endpoint for now";
        self.session.steer(steering).map_err(|error| error.to_string())?;
        while run.next().await.is_some() {}
        let history = self.session.history();
        let place = history.iter().position(|message| message.text().contains(steering));
        let Some(place) = place else { return Err("the history does not contain the steering message".to_owned()) };
        let after = serde_json::to_string(&history[place + 1..]).unwrap_or_default();
        ensure(after.contains("health"), || "the responses after the steering message do not follow it".to_owned())
    }

    /// Checks that the prompt leads to a call of the tool, and that the call's output contains `what`.
    async fn calls(&self, prompt: &str, tool: &str, what: &str) -> Result<(), String> {
        let events = self.submit(prompt).await?;
        let said: Vec<&str> = events
            .iter()
            .filter_map(|kind| match kind {
                EventKind::ToolCallEnd { tool_name, output, .. } if tool_name == tool => Some(output.as_str()),
                _ => None,
            })
            .collect();
        ensure(said.iter().any(|output| output.contains(what)), || {
            format!("no call of {tool} prints {what:?}: {said:?}")
        })
    }

    async fn truncate(&self) -> Result<(), String> {
        std::fs::write(self.path("big.txt"), "x".repeat(BIG_CHARS)).map_err(|error| error.to_string())?;
        let events = self.submit("Read big.txt").await?;
        let is_whole = events.iter().any(|kind| match kind {
            EventKind::ToolCallEnd { output, .. } => output.matches('x').count() >= BIG_CHARS,
            _ => false,
        });
        ensure(is_whole, || "no event contains the whole file".to_owned())?;
        let history = self.session.history();
        let mut results = history.iter().flat_map(|message| &message.content).filter_map(|part| match part {
            ContentPart::ToolResult(result) => Some(result.content.to_string()),
            _ => None,
        });
        let is_cut = results.next_back().is_some_and(|last| last.contains("truncated") && last.len() < BIG_CHARS);
        ensure(is_cut, || "the result for the model is not marked as truncated".to_owned())
    }
}
