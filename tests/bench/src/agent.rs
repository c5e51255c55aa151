//! Benchmarks of the loop: the overhead of a run with a short and a long history, the throughput of events, and the
//! memory of a long session.
//!
//! A run consists of a user message, a response that calls a tool without effect, and a final response. Requests are
//! encoded completely, and responses are decoded from the provider's events; only the network is missing.

use std::path::Path;
use std::sync::Mutex;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use emend_agent::environment::memory::MemFs;
use emend_agent::event::EventKind;
use emend_agent::session::{Session, SessionConfig, SessionOptions};
use emend_agent::tool::{Tool, ToolContext, ToolEffect, ToolError, ToolOutput, ToolRegistry};
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::{
    Api, BoxFuture, CancelToken, Clock, Config, Headers, HttpProvider, HttpRequest, HttpResponse, Random, Shared,
    ToolDefinition, Transport, TransportError,
};
use futures::StreamExt as _;
use futures::executor::block_on;
use serde_json::{Map, Value, json};

use crate::heap;
use crate::llm::{self, conversation};
use crate::measure::{Row, millis};

/// Lengths of the history in model responses, so that growth shows.
const HISTORIES: [usize; 3] = [10, 100, 1000];
const N_ROUNDS: usize = 60;
const N_EVENTS: usize = 100_000;

/// Runs all measurements. Leaves the conversations in `folder` for peers in Node.
pub(crate) fn rows(folder: &Path) -> Result<Vec<Row>> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let mut rows = Vec::new();
    for n_turns in HISTORIES {
        let file = folder.join(format!("history-{n_turns}.json"));
        std::fs::write(&file, serde_json::to_string(&conversation(n_turns))?).context("the conversation")?;
        let (taken, body_bytes) = turn(n_turns)?;
        rows.push(Row::alone(format!("a turn of two calls, history {n_turns}"), millis(taken), "ms"));
        rows.push(Row::alone(format!("each of its two requests, history {n_turns}"), body_bytes as f64 / 1000.0, "KB"));
    }
    rows.push(Row::alone(format!("{N_EVENTS} events from the wire to a reader"), millis(deliver()?), "ms"));
    rows.push(Row::alone("a session of 1000 turns, with its events".to_owned(), memory()?, "MiB"));
    Ok(rows)
}

struct Standing;

impl Clock for Standing {
    fn now_ms(&self) -> u64 {
        0
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Random for Standing {
    fn next_u64(&self) -> u64 {
        1
    }
}

/// Cycles through a list of responses, and records the size of the last request.
struct Script {
    answers: Vec<String>,
    state: Mutex<(usize, usize)>,
}

impl Script {
    fn sent_bytes(&self) -> usize {
        self.state.lock().map_or(0, |state| state.1)
    }
}

impl Transport for Script {
    fn send(&self, request: HttpRequest, _: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let answer = self.state.lock().map_or(String::new(), |mut state| {
            let answer = self.answers[state.0 % self.answers.len()].clone();
            *state = (state.0 + 1, request.body.len());
            answer
        });
        let headers = Headers(vec![("content-type".to_owned(), "text/event-stream".to_owned())]);
        let body = Box::pin(futures::stream::iter([Ok(answer.into_bytes())]));
        Box::pin(std::future::ready(Ok(HttpResponse { status: 200, headers, body })))
    }
}

/// A tool without effect.
struct Nothing;

impl Tool for Nothing {
    fn definition(&self) -> ToolDefinition {
        ToolDefinition {
            name: "nothing".to_owned(),
            description: "Does nothing.".to_owned(),
            parameters: json!({"type": "object", "properties": {"text": {"type": "string"}}}),
        }
    }

    fn effect(&self) -> ToolEffect {
        ToolEffect::Writes
    }

    fn paths(&self, _: &Map<String, Value>) -> Vec<String> {
        Vec::new()
    }

    fn call<'a>(
        &'a self,
        _: &'a Map<String, Value>,
        _: &'a ToolContext,
    ) -> BoxFuture<'a, Result<ToolOutput, ToolError>> {
        Box::pin(std::future::ready(Ok(ToolOutput::new("nothing", Value::Null))))
    }
}

fn session(answers: Vec<String>) -> (Session, Shared<Script>) {
    let transport = Shared::new(Script { answers, state: Mutex::default() });
    let adapter = Api::AnthropicMessages.adapter(Config { api_key: "k".to_owned(), ..Config::default() });
    let provider = HttpProvider::new(adapter, Shared::clone(&transport) as Shared<dyn Transport>);
    let clock: Shared<dyn Clock> = Shared::new(Standing);
    let mut tools = ToolRegistry::new();
    tools.register(Shared::new(Nothing));
    let session = Session::new(SessionOptions {
        provider: Shared::new(provider),
        model: "claude-opus-4-6".to_owned(),
        offline: false,
        tools,
        workspace: Shared::new(Workspace::new(Shared::new(MemFs::new()), Mode::Direct, Shared::clone(&clock))),
        clock,
        random: Shared::new(Standing),
        // The complete history is measured; compaction must not shorten it.
        config: SessionConfig {
            context_window: Some(u64::MAX),
            enable_loop_detection: false,
            ..SessionConfig::default()
        },
    });
    (session, transport)
}

/// Submits a message and returns the number of events.
fn run(session: &Session) -> Result<usize> {
    let run = session.submit("go on", CancelToken::new())?;
    let events: Vec<_> = block_on(run.collect());
    let ended = events.iter().any(|event| matches!(event.kind, EventKind::ProcessingEnd { .. }));
    let failed = events.iter().any(|event| matches!(event.kind, EventKind::Error { .. }));
    ensure!(ended && !failed, "the run failed: {:?}", events.last());
    Ok(events.len())
}

fn two_answers() -> Vec<String> {
    vec![llm::answer("I call it.", Some(("nothing", json!({"text": "x"})))), llm::answer("That is all.", None)]
}

/// Returns the shortest time of a run in a growing session, and the size of its last request body.
fn turn(n_turns: usize) -> Result<(Duration, usize)> {
    let (session, transport) = session(two_answers());
    let session = session.with_history(conversation(n_turns).split_off(1));
    let mut best = Duration::MAX;
    for _ in 0..N_ROUNDS {
        let begun = Instant::now();
        run(&session)?;
        best = best.min(begun.elapsed());
    }
    ensure!(session.history().len() >= 2 * n_turns + 4 * N_ROUNDS, "the history is incomplete");
    Ok((best, transport.sent_bytes()))
}

/// Measures the delivery of one response in very many pieces.
fn deliver() -> Result<Duration> {
    let (session, _) = session(vec![llm::answer_in_pieces(N_EVENTS)]);
    let begun = Instant::now();
    let n_events = run(&session)?;
    ensure!(n_events >= N_EVENTS, "only {n_events} events arrived");
    Ok(begun.elapsed())
}

fn memory() -> Result<f64> {
    let before = heap::in_use();
    let (session, transport) = session(two_answers());
    for _ in 0..1000 {
        run(&session)?;
    }
    let held = heap::in_use() - before;
    ensure!(session.history().len() == 4000 && transport.sent_bytes() > 0, "the history is incomplete");
    Ok(held as f64 / 1024.0 / 1024.0)
}
