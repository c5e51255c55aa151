//! One cell of the parity matrix: a session of one model family whose model follows a script in the provider's wire
//! format.

use std::collections::VecDeque;
use std::sync::Mutex;

use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::memory::MemFs;
use emend_agent::event::{Event, EventKind};
use emend_agent::profile::Profile;
use emend_agent::session::{Session, SessionBuilder};
use emend_agent::workspace::{Mode, Workspace};
use emend_edit::ContentHash;
use emend_llm::{
    Api, BoxFuture, CancelToken, Clock, Config, Headers, HttpProvider, HttpRequest, HttpResponse, Shared, Transport,
    TransportError,
};
use emend_tests::chance::Ticks;
use futures::StreamExt;
use serde_json::{Value, json};

use super::wire::{self, WireCall};

/// A model family: one column of the matrix.
pub(crate) struct Family {
    pub(crate) name: &'static str,
    pub(crate) api: Api,
    model: &'static str,
    profile: fn(&str) -> Profile,
    /// Canonical and exposed tool names, in the order of the request.
    tools: &'static [(&'static str, &'static str)],
    /// Renamed parameters: tool, canonical name, exposed name.
    params: &'static [(&'static str, &'static str, &'static str)],
    /// The end of the request URL's path.
    path: &'static str,
}

pub(crate) const FAMILIES: [Family; 3] = [
    Family {
        name: "OpenAI",
        api: Api::OpenAiResponses,
        model: "gpt-5.2",
        profile: Profile::openai,
        tools: &[
            ("read_file", "read_file"),
            ("apply_patch", "apply_patch"),
            ("write_file", "write_file"),
            ("grep", "grep_files"),
            ("glob", "glob"),
            ("list_dir", "list_dir"),
            ("shell", "exec_command"),
            ("spawn_agent", "spawn_agent"),
            ("wait", "wait_agent"),
        ],
        params: &[
            ("grep", "glob_filter", "include"),
            ("list_dir", "path", "dir_path"),
            ("shell", "command", "cmd"),
            ("spawn_agent", "task", "message"),
            ("wait", "agent_id", "id"),
        ],
        path: "/responses",
    },
    Family {
        name: "Anthropic",
        api: Api::AnthropicMessages,
        model: "claude-opus-4-6",
        profile: Profile::anthropic,
        tools: &[
            ("read_file", "Read"),
            ("write_file", "Write"),
            ("edit_file", "Edit"),
            ("grep", "Grep"),
            ("glob", "Glob"),
            ("list_dir", "LS"),
            ("shell", "Bash"),
            ("spawn_agent", "Task"),
            ("wait", "TaskOutput"),
        ],
        params: &[
            ("grep", "glob_filter", "glob"),
            ("shell", "timeout_ms", "timeout"),
            ("spawn_agent", "task", "prompt"),
            ("wait", "agent_id", "task_id"),
        ],
        path: "/messages",
    },
    Family {
        name: "Gemini",
        api: Api::Gemini,
        model: "gemini-3-flash-preview",
        profile: Profile::gemini,
        tools: &[
            ("read_file", "read_file"),
            ("read_many_files", "read_many_files"),
            ("write_file", "write_file"),
            ("grep", "grep_search"),
            ("glob", "glob"),
            ("list_dir", "list_directory"),
            ("shell", "run_shell_command"),
            ("safe_patch", "safe_patch"),
            ("spawn_agent", "spawn_agent"),
            ("wait", "wait"),
        ],
        params: &[
            ("grep", "glob_filter", "include_pattern"),
            ("grep", "path", "dir_path"),
            ("glob", "path", "dir_path"),
            ("list_dir", "path", "dir_path"),
        ],
        path: ":streamGenerateContent?alt=sse",
    },
];

impl Family {
    /// Returns the exposed name.
    pub(crate) fn exposed_name(&self, tool: &str) -> &'static str {
        let found = self.tools.iter().find(|(own, _)| *own == tool);
        found.unwrap_or_else(|| panic!("{} has no {tool}", self.name)).1
    }

    /// Returns the tool's canonical name. All editing tools count as `edit`, because each family has its own.
    fn canonical_name(&self, exposed_name: &str) -> String {
        match self.tools.iter().find(|(_, wire)| *wire == exposed_name) {
            Some(("apply_patch" | "edit_file" | "safe_patch", _)) => "edit".to_owned(),
            Some((own, _)) => (*own).to_owned(),
            None => format!("?{exposed_name}"),
        }
    }

    fn call(&self, step: &Step) -> (&'static str, Value) {
        match step {
            Step::Call(tool, arguments) => {
                let renamed = arguments.as_object().into_iter().flatten().map(|(name, value)| {
                    let param = self.params.iter().find(|(of, own, _)| of == tool && own == name);
                    let value = match value {
                        Value::String(text) => Value::from(text.replace("{family}", self.name)),
                        value => value.clone(),
                    };
                    (param.map_or(name.as_str(), |(_, _, wire)| *wire).to_owned(), value)
                });
                (self.exposed_name(tool), Value::Object(renamed.collect()))
            }
            Step::Edit(path, before, after) => self.edit(path, before, after),
        }
    }

    /// Returns the edit from one text to another as a call of this family's editing tool.
    fn edit(&self, path: &str, before: &str, after: &str) -> (&'static str, Value) {
        let (old, new): (Vec<&str>, Vec<&str>) = (before.lines().collect(), after.lines().collect());
        // Both texts have the same number of lines in these tests.
        assert_eq!(old.len(), new.len());
        let mut body = String::new();
        for (old, new) in old.iter().zip(&new) {
            body.push_str(&if old == new { format!(" {old}\n") } else { format!("-{old}\n+{new}\n") });
        }
        match self.api {
            Api::AnthropicMessages => {
                let changed: Vec<(&&str, &&str)> = old.iter().zip(&new).filter(|(old, new)| old != new).collect();
                let arguments = json!({
                    "file_path": path,
                    "old_string": changed[0].0,
                    "new_string": changed[0].1,
                    "replace_all": changed.len() > 1,
                });
                ("Edit", arguments)
            }
            Api::Gemini => {
                let head = format!("--- a/{path}\n+++ b/{path}\n@@ -1,{} +1,{} @@\n", old.len(), new.len());
                let hash = ContentHash::of(before.as_bytes()).hex();
                let diff = head + &body;
                ("safe_patch", json!({"file_path": path, "unified_diff": diff, "base_content_sha256": hash}))
            }
            _ => {
                let patch = format!("*** Begin Patch\n*** Update File: {path}\n@@\n{body}*** End Patch\n");
                ("apply_patch", json!({ "input": patch }))
            }
        }
    }
}

/// A call of the scripted model.
pub(crate) enum Step {
    /// A tool by its canonical name and parameters.
    Call(&'static str, Value),
    /// An edit of the file at this path from one text to another, with the family's editing tool.
    Edit(&'static str, &'static str, &'static str),
}

/// A response of the scripted model.
pub(crate) enum Answer {
    /// Text without a call: the end of the run.
    Say(&'static str),
    /// Calls.
    Do(Vec<Step>),
}

/// The transport that answers, and its base URL.
pub(crate) struct Connection {
    pub(crate) transport: Shared<dyn Transport>,
    pub(crate) base_url: Option<String>,
    pub(crate) key: &'static str,
}

impl Connection {
    /// Returns a model that responds with these bodies in order.
    pub(crate) fn scripted(bodies: Vec<String>) -> Self {
        let transport = Shared::new(Script(Mutex::new(bodies.into())));
        Self { transport, base_url: None, key: "key-0123456789" }
    }
}

struct Script(Mutex<VecDeque<String>>);

impl Transport for Script {
    fn send(&self, _request: HttpRequest, _: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let body = self.0.lock().unwrap().pop_front().expect("the script is over");
        // In small pieces, as from a network.
        let chunks: Vec<_> = body.as_bytes().chunks(61).map(|chunk| Ok(chunk.to_vec())).collect();
        let headers = Headers(vec![("content-type".to_owned(), "text/event-stream".to_owned())]);
        let response = HttpResponse { status: 200, headers, body: Box::pin(futures::stream::iter(chunks)) };
        Box::pin(std::future::ready(Ok(response)))
    }
}

/// Records the requests.
struct Recorder {
    inner: Shared<dyn Transport>,
    asked: Mutex<Vec<HttpRequest>>,
}

impl Transport for Recorder {
    fn send(&self, request: HttpRequest, cancel: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        self.asked.lock().unwrap().push(request.clone());
        self.inner.send(request, cancel)
    }
}

/// The environment of a cell.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum Place {
    /// In memory, on every host.
    Memory,
    /// The local machine, for rows with commands; in a page, memory with the emulated shell.
    Machine,
}

enum Disk {
    Memory(Shared<MemFs>),
    #[cfg(not(target_family = "wasm"))]
    Machine(tempfile::TempDir),
}

impl Disk {
    fn new(place: Place, fixture: &str) -> Self {
        match place {
            Place::Memory => Self::Memory(Shared::new(MemFs::from_fixture(fixture))),
            #[cfg(not(target_family = "wasm"))]
            Place::Machine => {
                assert!(fixture.is_empty(), "cells on this machine begin with nothing");
                Self::Machine(tempfile::tempdir().unwrap())
            }
            #[cfg(target_family = "wasm")]
            Place::Machine => {
                let shell = Shared::new(emend_wasm::test_host::test_shell());
                Self::Memory(Shared::new(MemFs::from_fixture(fixture).with_shell(shell)))
            }
        }
    }

    fn environment(&self) -> Shared<dyn ExecutionEnvironment> {
        match self {
            Self::Memory(files) => Shared::clone(files) as Shared<dyn ExecutionEnvironment>,
            #[cfg(not(target_family = "wasm"))]
            Self::Machine(folder) => Shared::new(emend_host::LocalEnvironment::new(folder.path()).unwrap()),
        }
    }

    fn read(&self, path: &str) -> Option<Vec<u8>> {
        match self {
            Self::Memory(files) => files.get(path),
            #[cfg(not(target_family = "wasm"))]
            Self::Machine(folder) => std::fs::read(folder.path().join(path)).ok(),
        }
    }
}

/// The record of one cell.
pub(crate) struct Outcome {
    disk: Disk,
    pub(crate) events: Vec<Event>,
    /// The bodies of all requests.
    pub(crate) bodies: Vec<Value>,
}

impl Outcome {
    pub(crate) fn disk(&self, path: &str) -> String {
        String::from_utf8(self.disk.read(path).unwrap_or_else(|| b"(no file)".to_vec())).unwrap()
    }

    /// Returns the tool results of the last round in request number `at`.
    pub(crate) fn results(&self, family: &Family, at: usize) -> Vec<String> {
        wire::last_results(family.api, &self.bodies[at])
    }

    /// Formats the events, one or two words each, with canonical tool names.
    pub(crate) fn log(&self, family: &Family) -> Vec<String> {
        let line = |event: &Event| match &event.kind {
            EventKind::UserInput { .. } => Some("user".to_owned()),
            EventKind::ToolCallStart { tool_name, .. } => Some(format!("start {}", family.canonical_name(tool_name))),
            EventKind::ToolCallEnd { tool_name, ok, .. } => {
                Some(format!("{} {}", if *ok { "end" } else { "fail" }, family.canonical_name(tool_name)))
            }
            EventKind::FileChanged { path, .. } => Some(format!("changed {path}")),
            EventKind::SubagentStart { .. } => Some("spawned".to_owned()),
            EventKind::SteeringInjected { .. } => Some("steered".to_owned()),
            EventKind::LoopDetection { .. } => Some("loop".to_owned()),
            EventKind::AssistantTextEnd { .. } => Some("text".to_owned()),
            EventKind::ProcessingEnd { .. } => Some("done".to_owned()),
            EventKind::Warning { code, .. } => Some(format!("warning {code}")),
            EventKind::Error(error) => Some(format!("error {}", error.message)),
            _ => None,
        };
        self.events.iter().filter_map(line).collect()
    }
}

/// An action during the run.
pub(crate) type During = fn(&Session, &EventKind);

/// The start of a cell.
pub(crate) struct Task {
    /// The user's message.
    pub(crate) prompt: String,
    pub(crate) place: Place,
    pub(crate) fixture: String,
    pub(crate) n_requests: usize,
    pub(crate) during: During,
}

impl Family {
    /// Returns the model's responses, one per round: text and calls.
    pub(crate) fn answers<'a>(&self, script: &'a [Answer]) -> Vec<(&'a str, Vec<WireCall>)> {
        let answer = |(round, answer): (usize, &'a Answer)| match answer {
            Answer::Say(text) => (*text, Vec::new()),
            Answer::Do(steps) => {
                let calls = steps.iter().enumerate().map(|(at, step)| {
                    let (name, arguments) = self.call(step);
                    (format!("c{round}_{at}"), name, arguments)
                });
                ("", calls.collect())
            }
        };
        script.iter().enumerate().map(answer).collect()
    }

    /// Returns the responses as bodies in the provider's wire format.
    pub(crate) fn bodies(&self, script: &[Answer]) -> Vec<String> {
        let answers = self.answers(script).into_iter();
        answers.map(|(text, calls)| wire::say(self.api, text, &calls)).collect()
    }
}

/// Runs the cell and checks the conditions of every cell: the request URL, the offered tools, one request per scripted
/// response, and growing cursors.
pub(crate) async fn run(family: &Family, task: Task, connection: Connection) -> Outcome {
    let recorder = Shared::new(Recorder { inner: connection.transport, asked: Mutex::default() });
    let config = Config { api_key: connection.key.into(), base_url: connection.base_url, ..Config::default() };
    let transport = Shared::clone(&recorder) as Shared<dyn Transport>;
    let provider = Shared::new(HttpProvider::new(family.api.adapter(config), transport));
    let (place, disk) = (task.place, Disk::new(task.place, &task.fixture));
    let clock: Shared<dyn Clock> = Shared::new(Ticks::default());
    let workspace = Shared::new(Workspace::new(disk.environment(), Mode::Direct, Shared::clone(&clock)));
    let profile = (family.profile)(family.model).with_subagents();
    let random = Shared::new(Ticks::default());
    let builder = SessionBuilder::new(provider, "", workspace, random).clock(clock).with_profile(profile);
    let session = builder.build().unwrap();
    let mut events = Vec::new();
    let mut run = session.submit(&task.prompt, CancelToken::new()).unwrap();
    while let Some(event) = run.next().await {
        (task.during)(&session, &event.kind);
        events.push(event);
    }
    let asked = std::mem::take(&mut *recorder.asked.lock().unwrap());
    assert_eq!(asked.len(), task.n_requests, "{}: {events:?}", family.name);
    let bodies: Vec<Value> = asked.iter().map(|request| serde_json::from_slice(&request.body).unwrap()).collect();
    for (request, body) in asked.iter().zip(&bodies) {
        assert!(request.url.ends_with(family.path), "{}: {}", family.name, request.url);
        // In this order; tools that no row calls may be in between.
        let offered = wire::tool_names(family.api, body);
        let mut rest = offered.iter();
        let is_subagents = !offered.iter().any(|name| name == family.exposed_name("spawn_agent"));
        // Without a shell the shell tool is not offered; a subagent is not offered the subagent tools.
        let is_here = |own: &str| match own {
            "shell" => place == Place::Machine,
            "spawn_agent" | "wait" => !is_subagents,
            _ => true,
        };
        let mut expected = family.tools.iter().filter(|(own, _)| is_here(own));
        let has_all = expected.all(|(_, wire)| rest.any(|name| name == wire));
        assert!(has_all, "{}: {offered:?} are offered", family.name);
    }
    let outcome = Outcome { disk, events, bodies };
    for pair in outcome.events.windows(2) {
        // Coalesced deltas share one cursor, so cursors may have gaps.
        assert!(pair[1].cursor > pair[0].cursor, "{}", family.name);
    }
    outcome
}
