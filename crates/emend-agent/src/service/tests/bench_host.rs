//! A service in memory whose tasks run when a test asks for it.

use std::collections::{BTreeMap, VecDeque};
use std::sync::atomic::{AtomicU64, Ordering};

use emend_llm::router::{AgentMode, Route, Router, RouterPolicy};
use emend_llm::runtime::Mutex;
use emend_llm::{
    BoxFuture, CancelToken, Clock, ErrorKind, EventStream, LlmError, Provider, Random, Request, Role, Shared,
};
use futures::FutureExt;
use futures::future::join_all;
use serde_json::{Value, json};

use crate::environment::ExecutionEnvironment;
use crate::environment::memory::MemFs;
use crate::service::jobs::Jobs;
use crate::service::store::{EventScope, KeptServiceStore};
use crate::service::{
    AgentPlan, ApiRequest, ApiResult, MemServiceStore, Method, Reading, Service, ServiceHost, ServiceLimits,
    ServiceParts, ServiceStore,
};
use crate::session::tests::{Answer, events_of};
use crate::session::{SessionBuilder, SessionOptions};
use crate::store::{MemStore, Store};
use crate::test_support::Interleaved;
use crate::tool::Tool;
use crate::workspace::{Mode, Workspace};

/// Counts milliseconds and random numbers.
#[derive(Default)]
struct Counter(AtomicU64);

impl Clock for Counter {
    fn now_ms(&self) -> u64 {
        1_770_292_800_000 + self.0.fetch_add(1, Ordering::Relaxed)
    }

    fn sleep(&self, _ms: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::ready(()))
    }
}

impl Random for Counter {
    fn next_u64(&self) -> u64 {
        self.0.fetch_add(0x0101_0101, Ordering::Relaxed)
    }
}

/// A model that responds from a script. After its end a request waits until the run is cancelled.
#[derive(Default)]
pub(super) struct Script {
    answers: Mutex<VecDeque<Answer>>,
    requests: Mutex<Vec<Request>>,
}

impl Script {
    /// Adds responses.
    pub(super) fn push(&self, answers: impl IntoIterator<Item = Answer>) {
        self.answers.lock().extend(answers);
    }

    /// Returns all requests.
    pub(super) fn requests(&self) -> Vec<Request> {
        self.requests.lock().clone()
    }

    /// Returns the texts of the user messages of the last request.
    pub(super) fn last_user_texts(&self) -> Vec<String> {
        let requests = self.requests.lock();
        let messages = requests.last().map(|request| request.messages.clone()).unwrap_or_default();
        messages.iter().filter(|message| message.role == Role::User).map(|message| message.text()).collect()
    }
}

impl Provider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        let n_requests = {
            let mut requests = self.requests.lock();
            requests.push(request);
            requests.len()
        };
        let answer = self.answers.lock().pop_front();
        Box::pin(async move {
            match answer {
                Some(Answer::Refuse(kind)) => Err(LlmError::new(kind, "refused by the script")),
                Some(answer) => Ok(Box::pin(futures::stream::iter(events_of(&answer, n_requests))) as EventStream),
                None => {
                    cancel.cancelled().await;
                    Err(LlmError::new(ErrorKind::Abort, "cancelled"))
                }
            }
        })
    }
}

/// Opens the offline model or the script, and keeps tasks until they are run.
#[derive(Default)]
struct OfflineHost {
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
    script: Shared<Script>,
    /// Routers of sessions with the model `routed`: first the script, then the offline model.
    routers: Mutex<BTreeMap<String, Shared<Router>>>,
    /// The model `other`.
    other: Mutex<Option<Shared<dyn Provider>>>,
    /// A tool for sessions with the model `other`.
    tool: Mutex<Option<Shared<dyn Tool>>>,
    /// The host's maximum number of tool calls, and whether it is read-only.
    settings: Mutex<(u64, bool)>,
}

impl ServiceHost for OfflineHost {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        let AgentPlan { session, workspace, routes, gate, .. } = plan;
        let random = Shared::new(Counter::default());
        if session.model == "routed" {
            let first = Route { provider: Shared::clone(&self.script) as Shared<dyn Provider>, model: None };
            let second = Shared::new(emend_offline::provider(emend_offline::Options::default()));
            let second = Route { provider: second, model: Some(emend_offline::MODEL.to_owned()) };
            let agent_mode = session.agent_mode.map_or(AgentMode::HybridAuto, Into::into);
            let policy = RouterPolicy { agent_mode, ..RouterPolicy::default() };
            let clock = Shared::new(Counter::default());
            let router = Router::new(Some(first), Some(second), policy, clock).with_observer(routes).with_gate(gate);
            let router = Shared::new(router);
            self.routers.lock().insert(session.session_id.clone(), Shared::clone(&router));
            return Ok(SessionBuilder::new(router, "m", workspace, random));
        }
        if matches!(session.model.as_str(), "script" | "priced") {
            let provider = Shared::clone(&self.script) as Shared<dyn Provider>;
            let model = if session.model == "priced" { "claude-opus-4-6" } else { "m" };
            return Ok(SessionBuilder::new(provider, model, workspace, random));
        }
        if let Some(other) = self.other.lock().clone().filter(|_| session.model == "other") {
            let builder = SessionBuilder::new(other, emend_offline::MODEL, workspace, random).offline(true);
            return Ok(match self.tool.lock().clone() {
                Some(tool) => builder.tool(tool),
                None => builder,
            });
        }
        if session.model != "offline" {
            let code = crate::error_code::Code::Configuration;
            return Err(crate::service::ApiError::new(code, format!("no model {:?}", session.model)));
        }
        let provider = Shared::new(emend_offline::provider(emend_offline::Options::default()));
        Ok(SessionBuilder::new(provider, emend_offline::MODEL, workspace, random).offline(true))
    }

    fn adjust(&self, options: &mut SessionOptions) {
        options.config.max_tool_calls = self.settings.lock().0;
    }

    fn is_read_only(&self) -> bool {
        self.settings.lock().1
    }

    fn default_model(&self) -> String {
        "offline".to_owned()
    }

    fn escalate(&self, session_id: &str, detail: &str) -> bool {
        self.routers.lock().get(session_id).is_some_and(|router| router.escalate(detail))
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tasks.lock().push(task);
    }
}

/// The parts that survive a restart of a service.
#[derive(Clone)]
pub(super) struct Disk {
    pub(super) files: Shared<MemFs>,
    workspace: Shared<Workspace>,
    store: Shared<dyn ServiceStore>,
    conversations: Shared<dyn Store>,
    counter: Shared<Counter>,
    /// Keeps the steps of jobs, if they are recorded.
    jobs: Option<Shared<dyn Jobs>>,
}

impl Disk {
    /// Returns these parts with another store.
    pub(super) fn with_store(self, store: Shared<dyn ServiceStore>) -> Self {
        Self { store, ..self }
    }

    /// Returns whether no file was edited.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn has_no_logs(&self) -> bool {
        self.workspace.runs().is_empty()
    }
}

/// A service under test.
pub(super) struct Bench {
    pub(super) service: Service,
    pub(super) disk: Disk,
    host: Shared<OfflineHost>,
    limits: ServiceLimits,
}

impl Bench {
    /// Returns the scripted model of sessions with the model `script`.
    pub(super) fn script(&self) -> &Script {
        &self.host.script
    }

    /// Returns a service over the files of a fixture.
    pub(super) fn new(fixture: &str) -> Self {
        Self::with_limits(fixture, ServiceLimits::default())
    }

    /// Returns a service that records the steps of its jobs.
    pub(super) fn recording(fixture: &str) -> Self {
        let Disk { files, workspace, conversations, counter, .. } = Self::new(fixture).disk;
        let store = Shared::new(MemServiceStore::new());
        store.pauses.store(true, Ordering::Relaxed);
        let jobs = Some(Shared::clone(&store) as Shared<dyn Jobs>);
        Self::open(Disk { files, workspace, store, conversations, counter, jobs }, ServiceLimits::default())
    }

    pub(super) fn with_limits(fixture: &str, limits: ServiceLimits) -> Self {
        let files = Shared::new(MemFs::from_fixture(fixture));
        let counter: Shared<Counter> = Shared::default();
        let environment = Shared::clone(&files) as Shared<dyn ExecutionEnvironment>;
        let clock = Shared::clone(&counter) as Shared<dyn Clock>;
        let disk = Disk {
            files,
            workspace: Shared::new(Workspace::new(environment, Mode::Staged, clock)),
            store: Shared::new(MemServiceStore::new()),
            conversations: Shared::new(MemStore::new()),
            counter,
            jobs: None,
        };
        Self::open(disk, limits)
    }

    /// Returns a service over files whose operations wait.
    pub(super) fn waiting(fixture: &str) -> Self {
        let Disk { files, store, conversations, counter, jobs, .. } = Self::new(fixture).disk;
        let environment = Interleaved::new(&files, 2) as Shared<dyn ExecutionEnvironment>;
        let clock = Shared::clone(&counter) as Shared<dyn Clock>;
        let workspace = Shared::new(Workspace::new(environment, Mode::Staged, clock));
        Self::open(Disk { files, workspace, store, conversations, counter, jobs }, ServiceLimits::default())
    }

    /// Returns a service whose store of conversations also keeps sessions, jobs and line logs.
    pub(super) fn kept(fixture: &str) -> Self {
        Self::new(fixture).over_documents()
    }

    /// Returns this service with a store of conversations that also keeps sessions, jobs and line logs.
    pub(super) fn over_documents(&self) -> Self {
        let environment = Shared::clone(&self.disk.files) as Shared<dyn ExecutionEnvironment>;
        let clock = Shared::clone(&self.disk.counter) as Shared<dyn Clock>;
        let workspace = Shared::new(Workspace::new(environment, Mode::Staged, clock));
        let documents = Shared::clone(&self.disk.conversations);
        let store = Shared::new(KeptServiceStore::new(documents, Shared::clone(&workspace)));
        Self::open(Disk { workspace, store, ..self.disk.clone() }, self.limits.clone())
    }

    /// Opens a service in a new process that finds the same files and documents.
    pub(super) async fn reload_kept(&self) -> Self {
        let next = self.over_documents();
        next.service.recover().await.unwrap();
        next
    }

    /// Opens a service on what another one left.
    pub(super) fn open(disk: Disk, limits: ServiceLimits) -> Self {
        let host: Shared<OfflineHost> = Shared::default();
        let parts = ServiceParts {
            workspace: Shared::clone(&disk.workspace),
            host: Shared::clone(&host) as Shared<dyn ServiceHost>,
            store: Shared::clone(&disk.store),
            conversations: Shared::clone(&disk.conversations),
            clock: Shared::clone(&disk.counter) as Shared<dyn Clock>,
            random: Shared::clone(&disk.counter) as Shared<dyn Random>,
            limits: limits.clone(),
        };
        let service = match &disk.jobs {
            Some(jobs) => Service::with_jobs(parts, Shared::clone(jobs)),
            None => Service::new(parts),
        };
        Self { service, disk, host, limits }
    }

    /// Sets the host's maximum number of tool calls, and whether it is read-only.
    pub(super) fn set_host(&self, max_tool_calls: u64, is_read_only: bool) {
        *self.host.settings.lock() = (max_tool_calls, is_read_only);
    }

    /// Lets sessions with the model `other` use a provider.
    pub(super) fn serve_model(&self, provider: Shared<dyn Provider>) {
        *self.host.other.lock() = Some(provider);
    }

    /// Gives sessions with the model `other` a tool.
    #[cfg(not(target_family = "wasm"))]
    pub(super) fn give_tool(&self, tool: Shared<dyn Tool>) {
        *self.host.tool.lock() = Some(tool);
    }

    /// Returns the provider of sessions with the model `other`.
    pub(super) fn model(&self) -> Shared<dyn Provider> {
        self.host.other.lock().clone().unwrap()
    }

    /// Opens a service in a new process, which knows the line logs from their saved form.
    pub(super) async fn reload(&self) -> Self {
        let saved = serde_json::to_string(&self.disk.workspace.snapshot()).unwrap();
        let environment = Shared::clone(&self.disk.files) as Shared<dyn ExecutionEnvironment>;
        let clock = Shared::clone(&self.disk.counter) as Shared<dyn Clock>;
        let workspace = Workspace::new(environment, Mode::Staged, clock);
        workspace.restore(serde_json::from_str(&saved).unwrap()).unwrap();
        workspace.catch_up().await;
        let bench = Self::open(Disk { workspace: Shared::new(workspace), ..self.disk.clone() }, self.limits.clone());
        bench.service.recover().await.unwrap();
        bench
    }

    /// Sends a request; returns status and body.
    pub(super) async fn send(&self, method: Method, path: &str, body: Value) -> (u16, Value) {
        let response = self.service.handle(ApiRequest::new(method, path, body)).await;
        (response.status, response.body)
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> (u16, Value) {
        self.send(Method::Post, path, body).await
    }

    pub(super) async fn get(&self, path: &str) -> (u16, Value) {
        self.send(Method::Get, path, Value::Null).await
    }

    pub(super) async fn delete(&self, path: &str) -> (u16, Value) {
        self.send(Method::Delete, path, Value::Null).await
    }

    /// Creates a session and returns its id.
    pub(super) async fn session(&self, body: Value) -> String {
        let (status, body) = self.post("/api/agent/sessions", body).await;
        assert_eq!(status, 201, "{body}");
        body["session_id"].as_str().unwrap().to_owned()
    }

    /// Starts a job and returns its id.
    pub(super) async fn run(&self, session_id: &str, instruction: &str) -> String {
        let body = json!({ "session_id": session_id, "instruction": instruction });
        let (status, body) = self.post("/api/agent/run", body).await;
        assert_eq!(status, 202, "{body}");
        body["job_id"].as_str().unwrap().to_owned()
    }

    /// Runs the tasks so far to their ends, and the tasks that they start.
    pub(super) async fn work(&self) {
        loop {
            let tasks = std::mem::take(&mut *self.host.tasks.lock());
            if tasks.is_empty() {
                return;
            }
            join_all(tasks).await;
        }
    }

    /// Polls the tasks so far a number of times; unfinished ones are kept.
    pub(super) async fn work_a_little(&self, n_polls: usize) {
        let mut tasks = std::mem::take(&mut *self.host.tasks.lock());
        for _ in 0..n_polls {
            tasks.retain_mut(|task| task.now_or_never().is_none());
        }
        self.host.tasks.lock().extend(tasks);
    }

    /// Returns whether no task is left.
    pub(super) fn is_idle(&self) -> bool {
        self.host.tasks.lock().is_empty()
    }

    /// Drops all tasks, as a process that is killed.
    pub(super) fn kill(&self) {
        self.host.tasks.lock().clear();
    }

    /// Returns the types of the events of a job.
    pub(super) async fn kinds(&self, job_id: &str) -> Vec<String> {
        let (status, body) = self.get(&format!("/api/agent/jobs/{job_id}/events?limit=5000")).await;
        assert_eq!(status, 200, "{body}");
        let events = body["events"].as_array().unwrap();
        events.iter().map(|event| event["type"].as_str().unwrap().to_owned()).collect()
    }

    /// Returns the numbers of the events of a scope, as a reader gets them, until `n` have come.
    pub(super) async fn read(&self, scope: EventScope, after: u64, n: usize) -> Vec<u64> {
        let mut reader = self.service.events(scope.clone(), after).await.unwrap();
        let mut numbers = Vec::new();
        while numbers.len() < n {
            match reader.next(3).await.unwrap() {
                Reading::Events(events) => {
                    numbers.extend(events.iter().map(|event| crate::service::number_of(&scope, event)));
                }
                Reading::Changed(_) => {}
                Reading::Resync(_) | Reading::End => break,
            }
        }
        numbers
    }

    /// Returns the text of a file on disk.
    pub(super) fn disk(&self, path: &str) -> String {
        String::from_utf8(self.disk.files.get(path).unwrap_or_default().to_vec()).unwrap()
    }
}
