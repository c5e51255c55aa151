//! Whole runs with a scripted model over files in memory: the log of events is the expectation.

mod approvals;
mod errors;
mod events;
mod failures;
mod hidden;
#[cfg(not(target_family = "wasm"))]
mod host_tests;
mod interleaving;
mod kept;
#[cfg(feature = "canvas")]
mod lease_waits;
#[cfg(feature = "canvas")]
mod leases;
mod limits;
mod mentions;
mod parallel;
mod prompts;
mod saving;
mod settings;
mod simulation;
mod steering;
mod subagents;
mod turns;
mod verified;

use std::collections::VecDeque;
use std::sync::Mutex;

use emend_llm::{
    BoxFuture, CancelToken, Clock, ContentPart, ErrorKind, EventStream, FinishKind, FinishReason, LlmError, MaybeSend,
    MaybeSync, Message, Provider, Random, Request, Response, Role, Shared, StreamEvent, ToolCall, Usage,
};
use expect_test::Expect;
use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};

use super::*;
use crate::environment::ExecutionEnvironment;
use crate::environment::memory::MemFs;
use crate::event::{Event, EventKind};
use crate::history::{ContextStrategy, KeepEverything, is_valid};
use crate::profile::Profile;
use crate::test_support::{Action, ToyShell};
use crate::tools::{ClarifyUser, core_tools};
use crate::workspace::Mode;

/// Returns the options of a session with this profile and these settings, otherwise like `other`.
pub(crate) fn with_profile(profile: Profile, other: SessionOptions, config: SessionConfig) -> SessionOptions {
    let builder = SessionBuilder::new(other.provider, "", other.workspace, other.random);
    builder.clock(other.clock).with_profile(profile).config(config).options().unwrap()
}

/// A clock that advances by one millisecond on each query.
#[derive(Default)]
pub(crate) struct TickingClock {
    now_ms: Mutex<u64>,
}

impl TickingClock {
    #[cfg(feature = "canvas")]
    fn advance(&self, ms: u64) {
        *self.now_ms.lock().unwrap() += ms;
    }
}

impl Clock for TickingClock {
    fn now_ms(&self) -> u64 {
        let mut now_ms = self.now_ms.lock().unwrap();
        *now_ms += 1;
        *now_ms
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(async {})
    }
}

struct Counter(Mutex<u64>);

impl Random for Counter {
    fn next_u64(&self) -> u64 {
        let mut next = self.0.lock().unwrap();
        *next += 1;
        *next
    }
}

/// One response of the scripted model.
#[derive(Clone)]
pub(crate) enum Answer {
    Say(&'static str),
    Call(Vec<(&'static str, Value)>),
    SayThenBreakOff(&'static str),
    /// Reasoning, then text.
    Reason(&'static str, &'static str),
    /// Text that arrives only with the end, as from a provider without streaming.
    Whole(&'static str),
    Refuse(ErrorKind),
    /// Calls that all have the id of the first call.
    Repeat(Vec<(&'static str, Value)>),
    /// Text, calls, and the finish reason.
    End(&'static str, Vec<(&'static str, Value)>, FinishKind),
}

/// A model that responds from a script and checks the validity of each history.
struct Script {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
    /// Cancels the run at the start of the response with this number.
    cancel_at: Option<usize>,
    /// The user preempts the canvas at the start of the response with this number.
    preempt_at: Option<(usize, Shared<Workspace>)>,
    /// Another action at the start of the response with this number.
    hooks: Mutex<Vec<(usize, Box<dyn Action>)>>,
}

impl Provider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        assert_history_is_valid(&request.messages);
        let mut requests = self.requests.lock().unwrap();
        requests.push(request);
        let n_requests = requests.len();
        if self.cancel_at == Some(n_requests) {
            cancel.cancel();
        }
        if let Some((at, workspace)) = &self.preempt_at
            && *at == n_requests
        {
            workspace.canvas().take_back();
        }
        drop(requests);
        for (_, hook) in self.hooks.lock().unwrap().iter().filter(|(at, _)| *at == n_requests) {
            hook.happen();
        }
        let answer = self.answers.lock().unwrap().pop_front().expect("the script is over");
        Box::pin(async move {
            if let Answer::Refuse(kind) = answer {
                return Err(LlmError::new(kind, "refused by the script"));
            }
            Ok(Box::pin(futures::stream::iter(events_of(&answer, n_requests))) as EventStream)
        })
    }
}

pub(crate) fn events_of(answer: &Answer, n_requests: usize) -> Vec<Result<StreamEvent, LlmError>> {
    let mut message = Message { role: Role::Assistant, content: Vec::new().into(), name: None };
    let mut events = Vec::new();
    let (text, calls, reason) = match answer {
        Answer::Say(text) | Answer::Whole(text) => (*text, Vec::new(), FinishKind::Stop),
        Answer::Reason(reasoning, text) => {
            events.push(Ok(StreamEvent::ReasoningDelta { delta: (*reasoning).to_owned() }));
            (*text, Vec::new(), FinishKind::Stop)
        }
        Answer::SayThenBreakOff(text) => (*text, Vec::new(), FinishKind::Error),
        Answer::Call(calls) | Answer::Repeat(calls) => ("", calls.clone(), FinishKind::ToolCalls),
        Answer::End(text, calls, reason) => (*text, calls.clone(), *reason),
        Answer::Refuse(_) => ("", Vec::new(), FinishKind::Error),
    };
    if !text.is_empty() {
        let (first, second) = text.split_at(text.len() / 2);
        for delta in [first, second].into_iter().filter(|_| !matches!(answer, Answer::Whole(_))) {
            events.push(Ok(StreamEvent::TextDelta { text_id: "t".to_owned(), delta: delta.to_owned() }));
        }
        message.content.push(ContentPart::Text { text: text.to_owned() });
    }
    for (index, (name, arguments)) in calls.into_iter().enumerate() {
        let id = match answer {
            Answer::Repeat(_) => "call_1_0".to_owned(),
            _ => format!("call_{n_requests}_{index}"),
        };
        let call =
            ToolCall { id, name: name.to_owned(), arguments, raw_arguments: None, custom: false, provider_data: None };
        message.content.push(ContentPart::ToolCall(call));
    }
    if matches!(answer, Answer::SayThenBreakOff(_)) {
        events.push(Err(LlmError::new(ErrorKind::Stream, "the answer broke off")));
        return events;
    }
    let response = Response {
        id: "r".to_owned(),
        model: "m".to_owned(),
        provider: "script".to_owned(),
        message,
        finish_reason: FinishReason { reason, raw: None },
        usage: Usage { input_tokens: 10, output_tokens: 1, ..Usage::default() },
        warnings: Vec::new(),
        rate_limit: None,
    };
    events.push(Ok(StreamEvent::Finish { response }));
    events
}

/// Every call has exactly one result in the next message, in order.
fn assert_history_is_valid(messages: &[Message]) {
    for (index, message) in messages.iter().enumerate() {
        let calls: Vec<&str> = message.tool_calls().iter().map(|call| call.id.as_str()).collect();
        if calls.is_empty() {
            continue;
        }
        let results: Vec<&str> = messages[index + 1]
            .content
            .iter()
            .map(|part| match part {
                ContentPart::ToolResult(result) => result.tool_call_id.as_str(),
                part => panic!("{part:?} among tool results"),
            })
            .collect();
        assert_eq!(results, calls);
    }
}

/// A session over `files` whose model responds with `answers`.
pub(crate) struct World {
    files: Shared<MemFs>,
    clock: Shared<TickingClock>,
    script: Shared<Script>,
    session: Session,
}

#[derive(Default)]
pub(crate) struct Setup {
    staged: bool,
    /// Whether there is a shell.
    shell: bool,
    canvas: Option<&'static str>,
    cancel_at: Option<usize>,
    preempt_at: Option<usize>,
    config: SessionConfig,
}

impl Setup {
    pub(crate) fn with_shell() -> Self {
        Self { shell: true, ..Self::default() }
    }
}

impl World {
    pub(crate) fn new(fixture: &str, answers: Vec<Answer>, setup: Setup) -> Self {
        let files = MemFs::from_fixture(fixture);
        let files = Shared::new(if setup.shell { files.with_shell(Shared::new(ToyShell)) } else { files });
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        Self::over(files, environment, answers, setup)
    }

    /// Starts a session over an environment whose files are `files`.
    fn over(
        files: Shared<MemFs>,
        environment: Shared<dyn ExecutionEnvironment>,
        answers: Vec<Answer>,
        setup: Setup,
    ) -> Self {
        let ticking = Shared::new(TickingClock::default());
        let clock = Shared::clone(&ticking) as Shared<dyn Clock>;
        let mode = if setup.staged { Mode::Staged } else { Mode::Direct };
        let workspace = Shared::new(Workspace::new(environment, mode, Shared::clone(&clock)));
        workspace.canvas().open(setup.canvas.and_then(crate::environment::FilePath::clean));
        let script = Shared::new(Script {
            answers: Mutex::new(answers.into()),
            requests: Mutex::default(),
            cancel_at: setup.cancel_at,
            preempt_at: setup.preempt_at.map(|at| (at, Shared::clone(&workspace))),
            hooks: Mutex::default(),
        });
        let session = Session::new(SessionOptions {
            provider: Shared::clone(&script) as Shared<dyn Provider>,
            model: "m".to_owned(),
            offline: false,
            tools: tools(),
            workspace: Shared::clone(&workspace),
            clock,
            random: Shared::new(Counter(Mutex::new(0))),
            config: setup.config,
        });
        Self { files, clock: ticking, script, session }
    }

    /// Starts another session over the same files, with other tools.
    fn restart(&mut self, tools: ToolRegistry, answers: Vec<Answer>) {
        self.session = Session::new(SessionOptions { tools, ..self.options(answers) });
    }

    /// Returns the options of another session over the same files, with these responses.
    pub(crate) fn options(&self, answers: Vec<Answer>) -> SessionOptions {
        *self.script.answers.lock().unwrap() = answers.into();
        let core = &self.session.core;
        SessionOptions {
            provider: Shared::clone(&self.script) as Shared<dyn Provider>,
            model: "m".to_owned(),
            offline: false,
            tools: (*core.settings().tools).clone(),
            workspace: Shared::clone(&core.workspace),
            clock: Shared::clone(&core.clock),
            random: Shared::clone(&core.random),
            config: self.session.config(),
        }
    }

    /// Schedules an action on the session at the start of response number `at`.
    fn when(&self, at: usize, happens: impl Fn(&Session) + MaybeSend + MaybeSync + 'static) {
        let session = self.session.clone();
        self.script.hooks.lock().unwrap().push((at, Box::new(move || happens(&session))));
    }

    /// Runs one message and returns its events, one per line.
    fn turn(&self, text: &str) -> String {
        let run = self.session.submit(text, CancelToken::new()).unwrap();
        let events: Vec<Event> = block_on(run.collect());
        for pair in events.windows(2) {
            assert_eq!(pair[1].cursor, pair[0].cursor + 1, "cursors have no gaps");
        }
        events.iter().map(|event| line(&event.kind) + "\n").collect()
    }

    pub(crate) fn disk(&self, path: &str) -> String {
        String::from_utf8(self.files.get(path).unwrap_or_else(|| b"(no file)".to_vec())).unwrap()
    }

    pub(crate) fn last_results(&self) -> Vec<String> {
        let requests = self.script.requests.lock().unwrap();
        let last = requests.last().unwrap().messages.last().unwrap();
        last.content
            .iter()
            .filter_map(|part| match part {
                ContentPart::ToolResult(result) => {
                    let text = crate::tool::result_text(&result.content).unwrap().to_owned();
                    Some(if result.is_error { format!("error: {text}") } else { text })
                }
                _ => None,
            })
            .collect()
    }
}

fn tools() -> ToolRegistry {
    let mut tools = core_tools();
    tools.register(Shared::new(ClarifyUser));
    tools
}

fn line(kind: &EventKind) -> String {
    match kind {
        EventKind::ToolCallStart { tool_name, .. } => format!("TOOL_CALL_START {tool_name}"),
        EventKind::ToolCallEnd { tool_name, error_info: Some(error), .. } => {
            format!("TOOL_CALL_END {tool_name} {}", error.code)
        }
        EventKind::ToolCallEnd { tool_name, .. } => format!("TOOL_CALL_END {tool_name} ok"),
        kind => {
            let value = serde_json::to_value(kind).unwrap();
            format!("{} {}", value["kind"].as_str().unwrap(), value["data"])
        }
    }
}

#[track_caller]
fn check(fixture: &str, answers: Vec<Answer>, setup: Setup, expected: &Expect) -> World {
    let world = World::new(fixture, answers, setup);
    expected.assert_eq(&world.turn("do it"));
    world
}

const NOTES: &str = "//- notes.md\none\ntwo\nthree\n";

fn edit(old: &str, new: &str) -> (&'static str, Value) {
    ("edit_file", json!({"file_path": "notes.md", "old_string": old, "new_string": new}))
}

fn read() -> (&'static str, Value) {
    ("read_file", json!({"file_path": "notes.md"}))
}
