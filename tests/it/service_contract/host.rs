//! A service in memory with the offline model and a scripted one. Its jobs advance when the runner asks for it.

use std::collections::VecDeque;
use std::pin::pin;

use emend_agent::environment::ExecutionEnvironment;
use emend_agent::environment::memory::MemFs;
use emend_agent::error_code::Code;
use emend_agent::service::api::{Method, route};
use emend_agent::service::store::EventScope;
use emend_agent::service::{
    AgentMode, AgentPlan, ApiError, ApiRequest, ApiResult, MemServiceStore, Reading, Service, ServiceHost,
    ServiceLimits, ServiceParts, Timestamp,
};
use emend_agent::session::SessionBuilder;
use emend_agent::store::MemStore;
use emend_agent::workspace::{Mode, Workspace};
use emend_llm::runtime::Mutex;
use emend_llm::{
    BoxFuture, CancelToken, Clock, ContentPart, EventStream, FinishKind, FinishReason, LlmError, Message, Provider,
    Request, Response, Role, Shared, StreamEvent, ToolCall, Usage,
};
use emend_tests::chance::Ticks;
use futures::FutureExt as _;
use serde_json::{Value, json};

use super::Client;

/// Number of polls of each task in one pause.
const POLLS: usize = 20;
/// Number of pauses in which a reply must come.
const PAUSES_MAX: usize = 1_000;

/// A clock that advances by one with every call. Its sleeps do not end, so that no limit of time decides a reply.
#[derive(Default)]
struct Untiring(Ticks);

impl Clock for Untiring {
    fn now_ms(&self) -> u64 {
        self.0.now_ms()
    }

    fn sleep(&self, _: u64) -> BoxFuture<'static, ()> {
        Box::pin(std::future::pending())
    }
}

/// A service and its tasks.
pub(super) struct Bench {
    service: Service,
    host: Shared<Host>,
    files: Shared<MemFs>,
}

impl Bench {
    /// Returns a service over the files and the script of a contract.
    pub(super) fn new(contract: &Value) -> Self {
        let files = Shared::new(MemFs::new());
        for (path, text) in contract["files"].as_object().unwrap() {
            files.insert(path, text.as_str().unwrap().as_bytes().to_vec()).unwrap();
        }
        let clock: Shared<dyn Clock> = Shared::new(Untiring::default());
        let script = contract["script"].as_array().unwrap().iter().cloned().collect();
        let random: Shared<Ticks> = Shared::default();
        let host = Shared::new(Host {
            tasks: Mutex::default(),
            script: Shared::new(Script(Mutex::new(script))),
            random: Shared::clone(&random),
        });
        let service = Service::new(ServiceParts {
            workspace: Shared::new(Workspace::new(
                Shared::clone(&files) as Shared<dyn ExecutionEnvironment>,
                Mode::Staged,
                Shared::clone(&clock),
            )),
            host: Shared::clone(&host) as Shared<dyn ServiceHost>,
            store: Shared::new(MemServiceStore::new()),
            conversations: Shared::new(MemStore::new()),
            clock,
            random,
            limits: ServiceLimits::default(),
        });
        Self { service, host, files }
    }

    /// Returns the service, for a transport.
    pub(super) fn service(&self) -> Service {
        self.service.clone()
    }
}

impl Client for Bench {
    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let request = ApiRequest::new(Method::from_name(method).unwrap(), path, body);
        let mut handling = pin!(self.service.handle(request));
        for _ in 0..PAUSES_MAX {
            if let Some(reply) = (&mut handling).now_or_never() {
                return (reply.status, reply.body);
            }
            // Some replies wait for a job.
            self.pause().await;
        }
        panic!("{method} {path} gets no reply");
    }

    async fn stream(&self, path: &str, n: usize) -> (u16, Value) {
        let request = ApiRequest::new(Method::Get, path, Value::Null);
        let (_, ids) = route(request.method, &request.path).unwrap();
        let scope = ids.first().map_or(EventScope::All, |id| EventScope::Job(id.clone()));
        let after = request.query.iter().find(|(name, _)| name == "after");
        let after = after.map_or(0, |(_, value)| value.parse().unwrap());
        match messages(&self.service, scope, after, n).await {
            Ok(messages) => (200, Value::Array(messages)),
            Err(error) => {
                let reply = error.response();
                (reply.status, reply.body)
            }
        }
    }

    async fn pause(&self) {
        let mut tasks = std::mem::take(&mut *self.host.tasks.lock());
        for _ in 0..POLLS {
            tasks.retain_mut(|task| task.now_or_never().is_none());
        }
        self.host.tasks.lock().extend(tasks);
    }

    fn write_to_disk(&self, path: &str, text: &str) {
        self.files.insert(path, text.as_bytes().to_vec()).unwrap();
    }
}

async fn messages(service: &Service, scope: EventScope, after: u64, n: usize) -> ApiResult<Vec<Value>> {
    let mut reader = service.events(scope.clone(), after).await?;
    let mut messages = vec![service.attached(&scope).await?];
    while messages.len() < n {
        match reader.next(n - messages.len()).await? {
            Reading::Events(events) => messages.extend(events.iter().map(|event| json!(event))),
            Reading::Resync(error) => messages.push(json!({
                "type": "resync_required",
                "ts": Timestamp(0),
                "last": reader.position(),
                "error": error,
            })),
            Reading::Changed(state) => {
                messages.push(json!({ "type": "state.changed", "ts": Timestamp(0), "state": state }));
            }
            Reading::End => break,
        }
    }
    Ok(messages)
}

/// Opens the offline model or the script, and keeps tasks until they are polled.
struct Host {
    tasks: Mutex<Vec<BoxFuture<'static, ()>>>,
    script: Shared<Script>,
    /// Source of all ids, so that no two are equal.
    random: Shared<Ticks>,
}

impl ServiceHost for Host {
    fn session(&self, plan: AgentPlan<'_>) -> ApiResult<SessionBuilder> {
        let (workspace, random) = (plan.workspace, Shared::clone(&self.random));
        if plan.session.agent_mode.is_some_and(|mode| mode != AgentMode::Local) {
            let message = "the service has no second model; give it the option `routing`";
            return Err(ApiError::new(Code::Configuration, message));
        }
        match plan.session.model.as_str() {
            "offline" => {
                let provider = Shared::new(emend_offline::provider(emend_offline::Options::default()));
                Ok(SessionBuilder::new(provider, emend_offline::MODEL, workspace, random).offline(true))
            }
            "script" => {
                let provider = Shared::clone(&self.script) as Shared<dyn Provider>;
                Ok(SessionBuilder::new(provider, "script", workspace, random))
            }
            other => {
                let message = format!("there is no model {other:?}; the service has \"offline\", \"script\"");
                Err(ApiError::new(Code::Configuration, message))
            }
        }
    }

    fn default_model(&self) -> String {
        "offline".to_owned()
    }

    fn spawn(&self, task: BoxFuture<'static, ()>) {
        self.tasks.lock().push(task);
    }
}

/// A model that responds from the script of the contract.
struct Script(Mutex<VecDeque<Value>>);

impl Provider for Script {
    fn name(&self) -> &str {
        "script"
    }

    fn stream(&self, _: Request, _: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        let answer = self.0.lock().pop_front().expect("the script is over");
        let events = events_of(&answer);
        Box::pin(async { Ok(Box::pin(futures::stream::iter(events.into_iter().map(Ok))) as EventStream) })
    }
}

fn events_of(answer: &Value) -> Vec<StreamEvent> {
    let mut events = vec![StreamEvent::StreamStart { id: String::new(), model: "script".to_owned() }];
    let (part, reason) = match answer["tool"].as_str() {
        Some(name) => {
            let call = ToolCall {
                id: "call_1".to_owned(),
                name: name.to_owned(),
                arguments: answer["arguments"].clone(),
                raw_arguments: Some(answer["arguments"].to_string()),
                custom: false,
                provider_data: None,
            };
            events.push(StreamEvent::ToolCallStart { id: call.id.clone(), name: call.name.clone() });
            events.push(StreamEvent::ToolCallEnd { tool_call: call.clone() });
            (ContentPart::ToolCall(call), FinishKind::ToolCalls)
        }
        None => {
            let (id, text) = (|| "1".to_owned(), answer["text"].as_str().unwrap().to_owned());
            events.push(StreamEvent::TextStart { text_id: id() });
            events.push(StreamEvent::TextDelta { text_id: id(), delta: text.clone() });
            events.push(StreamEvent::TextEnd { text_id: id() });
            (ContentPart::Text { text }, FinishKind::Stop)
        }
    };
    events.push(StreamEvent::Finish {
        response: Response {
            id: String::new(),
            model: "script".to_owned(),
            provider: "script".to_owned(),
            message: Message { role: Role::Assistant, content: vec![part].into(), name: None },
            finish_reason: FinishReason { reason, raw: None },
            usage: Usage::default(),
            warnings: Vec::new(),
            rate_limit: None,
        },
    });
    events
}
