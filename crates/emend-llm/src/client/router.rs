//! Chooses between a local and a remote model, and reports the reason.
//!
//! In hybrid mode the local response is held back until it has passed all checks: events that were yielded could not be
//! replaced by those of the remote model.

use futures::StreamExt;
use futures::future::{Either, select};
use serde::{Deserialize, Serialize};

use crate::error::{ErrorKind, LlmError};
use crate::model::schema;
use crate::model::{FinishKind, Request, Response, StreamEvent};
use crate::provider::{EventStream, Provider};
use crate::runtime::{BoxFuture, CancelToken, Clock, MaybeSend, MaybeSync, Mutex, Shared};

/// The model that responds.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum AgentMode {
    /// Always the local model.
    Local,
    /// Always the remote model.
    #[default]
    Remote,
    /// The local model first, then the remote model where the policy says so.
    HybridAuto,
}

/// The conditions under which the hybrid mode uses the remote model.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default)]
pub struct RouterPolicy {
    /// The mode.
    pub agent_mode: AgentMode,
    /// Forbids the remote model whatever else is set, for experiments that must stay local.
    pub strict_local: bool,
    /// The number of local attempts before a response that does not pass goes to the remote model. At least one.
    pub hybrid_max_local_attempts: u32,
    /// Whether to use the remote model if the response does not pass: a call that does not match its schema, or a
    /// rejection by the gate. Without it the gate is not asked, and the last response with such a call is returned.
    pub hybrid_remote_on_schema_fail: bool,
    /// Whether to use the remote model if the conversation exceeds the local model's context window.
    pub hybrid_remote_on_context_overflow: bool,
    /// Time limit of a whole local response, in milliseconds. After it the remote model responds. No limit if absent.
    pub hybrid_remote_on_timeout_ms: Option<u64>,
}

impl Default for RouterPolicy {
    fn default() -> Self {
        Self {
            agent_mode: AgentMode::default(),
            strict_local: false,
            hybrid_max_local_attempts: 2,
            hybrid_remote_on_schema_fail: true,
            hybrid_remote_on_context_overflow: true,
            hybrid_remote_on_timeout_ms: None,
        }
    }
}

/// The reason for a choice.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RouteReason {
    /// The mode fixes the model.
    Mode,
    /// The hybrid mode starts with the local model.
    LocalFirst,
    /// A call of the last local response did not match its schema.
    SchemaFail,
    /// The gate rejected the last local response.
    ValidationFail,
    /// The conversation exceeds the local model's context window.
    ContextOverflow,
    /// The local model exceeded its time limit.
    Timeout,
    /// The local model failed.
    LocalError,
    /// The session asked for the remote model, e.g. because its rounds ended without a usable edit.
    Escalated,
}

/// One choice of a model, for traces.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub struct RouteTrace {
    /// Name of the provider.
    pub provider: String,
    /// Whether the provider is the local one.
    pub local: bool,
    /// The reason.
    pub reason: RouteReason,
    /// Number of the attempt, from 1, both providers together.
    pub attempt: u32,
    /// The problem of the attempt before.
    pub detail: Option<String>,
}

/// Observes every choice.
pub trait RouteObserver: MaybeSend + MaybeSync {
    /// Called before a provider is asked.
    fn routed(&self, trace: &RouteTrace);
}

impl<F: Fn(&RouteTrace) + MaybeSend + MaybeSync> RouteObserver for F {
    fn routed(&self, trace: &RouteTrace) {
        self(trace);
    }
}

/// A gate: checks a local response before it is yielded. It only decides between the models: if the remote model cannot
/// respond instead, the gate is not asked.
pub trait ValidationGate: MaybeSend + MaybeSync {
    /// Returns the problem of the response, `None` if it passes.
    fn problem<'a>(&'a self, request: &'a Request, response: &'a Response) -> BoxFuture<'a, Option<String>>;
}

impl<F: Fn(&Request, &Response) -> Option<String> + MaybeSend + MaybeSync> ValidationGate for F {
    fn problem<'a>(&'a self, request: &'a Request, response: &'a Response) -> BoxFuture<'a, Option<String>> {
        Box::pin(std::future::ready(self(request, response)))
    }
}

/// A provider and the model to ask it for.
#[derive(Clone)]
pub struct Route {
    /// The provider.
    pub provider: Shared<dyn Provider>,
    /// The model; the request's own if absent.
    pub model: Option<String>,
}

/// A provider that chooses between a local and a remote provider for each request.
pub struct Router {
    local: Option<Route>,
    remote: Option<Route>,
    policy: RouterPolicy,
    clock: Shared<dyn Clock>,
    gate: Option<Shared<dyn ValidationGate>>,
    observer: Option<Shared<dyn RouteObserver>>,
    escalated: Mutex<Option<String>>,
}

/// The outcome of a local attempt.
enum Local {
    Passed(Vec<StreamEvent>),
    /// A call in the response does not match its schema.
    Malformed(LlmError, Vec<StreamEvent>),
    Failed(RouteReason, LlmError),
}

impl Router {
    /// Returns a router over the given routes.
    #[must_use]
    pub fn new(local: Option<Route>, remote: Option<Route>, policy: RouterPolicy, clock: Shared<dyn Clock>) -> Self {
        Self { local, remote, policy, clock, gate: None, observer: None, escalated: Mutex::new(None) }
    }

    /// Adds a gate for local responses.
    #[must_use]
    pub fn with_gate(mut self, gate: Shared<dyn ValidationGate>) -> Self {
        self.gate = Some(gate);
        self
    }

    /// Adds an observer of choices.
    #[must_use]
    pub fn with_observer(mut self, observer: Shared<dyn RouteObserver>) -> Self {
        self.observer = Some(observer);
        self
    }

    /// Makes the following requests of the hybrid mode use the remote model, for reasons that only the session can see,
    /// e.g. rounds of tool calls without progress. Returns whether that changes the model.
    pub fn escalate(&self, detail: impl Into<String>) -> bool {
        let is_new = self.escalated.lock().replace(detail.into()).is_none();
        is_new && self.policy.agent_mode == AgentMode::HybridAuto && !self.policy.strict_local && self.remote.is_some()
    }

    fn escalation(&self) -> Option<String> {
        self.escalated.lock().clone()
    }

    fn route(&self, local: bool) -> Result<&Route, LlmError> {
        let refused = |message: &str| Err(LlmError::new(ErrorKind::Configuration, message));
        if local {
            return self.local.as_ref().map_or_else(|| refused("no local model is set up"), Ok);
        }
        if self.policy.strict_local {
            return refused("the remote model is needed, but `strict_local` forbids it");
        }
        self.remote.as_ref().map_or_else(|| refused("no remote model is set up"), Ok)
    }

    fn trace(&self, route: &Route, trace: RouteTrace) -> StreamEvent {
        let trace = RouteTrace { provider: route.provider.name().to_owned(), ..trace };
        if let Some(observer) = &self.observer {
            observer.routed(&trace);
        }
        StreamEvent::ProviderEvent { raw: serde_json::json!({"type": "route", "route": trace}) }
    }

    /// Asks one provider and yields the trace before its events.
    async fn ask(
        &self,
        request: Request,
        cancel: CancelToken,
        local: bool,
        traces: Vec<StreamEvent>,
    ) -> Result<EventStream, LlmError> {
        let route = self.route(local)?;
        let stream = route.provider.stream(for_route(request, route), cancel).await?;
        Ok(Box::pin(futures::stream::iter(traces.into_iter().map(Ok)).chain(stream)))
    }

    async fn hybrid(&self, request: Request, cancel: CancelToken) -> Result<EventStream, LlmError> {
        let mut traces = Vec::new();
        let trace =
            |local, reason, attempt, detail| RouteTrace { provider: String::new(), local, reason, attempt, detail };
        let (mut reason, mut detail) = (RouteReason::LocalFirst, None);
        let mut attempt = 1;
        if let (Some(escalation), false) = (self.escalation(), self.policy.strict_local) {
            (reason, detail) = (RouteReason::Escalated, Some(escalation));
        }
        while reason != RouteReason::Escalated {
            let route = self.route(true)?;
            traces.push(self.trace(route, trace(true, reason, attempt, detail.clone())));
            let (why, error, answer) = match self.try_local(route, &request, &cancel).await {
                Local::Passed(events) => {
                    return Ok(Box::pin(futures::stream::iter(traces.into_iter().chain(events).map(Ok))));
                }
                Local::Failed(why, error) => (why, error, None),
                Local::Malformed(error, events) => (RouteReason::SchemaFail, error, Some(events)),
            };
            let again = matches!(why, RouteReason::SchemaFail | RouteReason::ValidationFail | RouteReason::LocalError);
            attempt += 1;
            (reason, detail) = (why, Some(error.message.clone()));
            if error.kind == ErrorKind::Abort || (!again || attempt > self.max_attempts()) && !self.may_go_remote(why) {
                // The session tells the model of a call that does not match, and limits how often.
                return match answer {
                    Some(events) => Ok(Box::pin(futures::stream::iter(traces.into_iter().chain(events).map(Ok)))),
                    None => Err(error),
                };
            }
            if !again || attempt > self.max_attempts() {
                break;
            }
        }
        traces.push(self.trace(self.route(false)?, trace(false, reason, attempt, detail)));
        self.ask(request, cancel, false, traces).await
    }

    fn max_attempts(&self) -> u32 {
        self.policy.hybrid_max_local_attempts.max(1)
    }

    fn may_go_remote(&self, reason: RouteReason) -> bool {
        if self.policy.strict_local || self.remote.is_none() {
            return false;
        }
        match reason {
            RouteReason::SchemaFail | RouteReason::ValidationFail => self.policy.hybrid_remote_on_schema_fail,
            RouteReason::ContextOverflow => self.policy.hybrid_remote_on_context_overflow,
            RouteReason::Mode
            | RouteReason::LocalFirst
            | RouteReason::Timeout
            | RouteReason::LocalError
            | RouteReason::Escalated => true,
        }
    }

    /// Reads a whole local response and checks it.
    async fn try_local(&self, route: &Route, request: &Request, cancel: &CancelToken) -> Local {
        // A token of its own: a local timeout must not cancel the remote model.
        let own = CancelToken::new();
        let answer = Box::pin(read(route, for_route(request.clone(), route), own.clone()));
        let limit = async {
            match self.policy.hybrid_remote_on_timeout_ms {
                Some(ms) => self.clock.sleep(ms).await,
                None => std::future::pending().await,
            }
        };
        let stop = select(Box::pin(limit), cancel.cancelled());
        let outcome = match select(answer, stop).await {
            Either::Left((outcome, _)) => outcome,
            Either::Right((stopped, _)) => {
                own.cancel();
                return match stopped {
                    Either::Left(_) => {
                        let message = "the local model took longer than `hybrid_remote_on_timeout_ms`";
                        Local::Failed(RouteReason::Timeout, LlmError::new(ErrorKind::RequestTimeout, message))
                    }
                    Either::Right(_) => {
                        let error = LlmError::new(ErrorKind::Abort, "the request was cancelled");
                        Local::Failed(RouteReason::LocalError, error)
                    }
                };
            }
        };
        let invalid = |problem| LlmError::new(ErrorKind::InvalidToolCall, problem);
        match outcome {
            Ok((events, response)) => match self.problem(request, &response).await {
                None => Local::Passed(events),
                Some((RouteReason::SchemaFail, problem)) if response.finish_reason.reason != FinishKind::Error => {
                    Local::Malformed(invalid(problem), events)
                }
                Some((reason, problem)) => Local::Failed(reason, invalid(problem)),
            },
            Err(error) if error.kind == ErrorKind::ContextLength => Local::Failed(RouteReason::ContextOverflow, error),
            Err(error) => Local::Failed(RouteReason::LocalError, error),
        }
    }

    /// Returns the problem of a response: a call of an unknown tool, arguments that do not match their schema, or the
    /// problem that the gate reports.
    async fn problem(&self, request: &Request, response: &Response) -> Option<(RouteReason, String)> {
        if let Some(problem) = schema_problem(request, response) {
            return Some((RouteReason::SchemaFail, problem));
        }
        let gate = self.gate.as_ref().filter(|_| self.may_go_remote(RouteReason::ValidationFail))?;
        Some((RouteReason::ValidationFail, gate.problem(request, response).await?))
    }
}

/// Returns the problem of a response that its request shows.
fn schema_problem(request: &Request, response: &Response) -> Option<String> {
    if response.finish_reason.reason == FinishKind::Error {
        return Some("the local model ended with an error".to_owned());
    }
    for call in response.message.tool_calls().into_iter().filter(|call| !call.custom) {
        let Some(tool) = request.tools.iter().find(|tool| tool.name == call.name) else {
            return Some(format!("there is no tool {}", call.name));
        };
        if let Err(violation) = schema::validate(&tool.parameters, &call.arguments) {
            return Some(format!("the arguments of {} do not match: {violation}", call.name));
        }
    }
    None
}

/// Reads a whole response.
async fn read(route: &Route, request: Request, cancel: CancelToken) -> Result<(Vec<StreamEvent>, Response), LlmError> {
    let mut stream = route.provider.stream(request, cancel).await?;
    let mut events = Vec::new();
    while let Some(event) = stream.next().await {
        let event = event?;
        let response = if let StreamEvent::Finish { response } = &event { Some(response.clone()) } else { None };
        events.push(event);
        if let Some(response) = response {
            return Ok((events, response));
        }
    }
    Err(LlmError::new(ErrorKind::Stream, "the local response ended without its end event"))
}

fn for_route(mut request: Request, route: &Route) -> Request {
    if let Some(model) = &route.model {
        request.model.clone_from(model);
    }
    request.provider = None;
    request
}

impl Provider for Router {
    /// Returns the name of the provider that is asked first, because profiles and saved sessions depend on it.
    fn name(&self) -> &str {
        let [first, second] = match self.policy.agent_mode {
            AgentMode::Remote => [&self.remote, &self.local],
            AgentMode::Local | AgentMode::HybridAuto => [&self.local, &self.remote],
        };
        first.as_ref().or(second.as_ref()).map_or("router", |route| route.provider.name())
    }

    fn initialize(&self) -> Result<(), LlmError> {
        [&self.local, &self.remote].into_iter().flatten().try_for_each(|route| route.provider.initialize())
    }

    fn close(&self) {
        [&self.local, &self.remote].into_iter().flatten().for_each(|route| route.provider.close());
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        Box::pin(async move {
            let local = match self.policy.agent_mode {
                AgentMode::Local => true,
                AgentMode::Remote => false,
                AgentMode::HybridAuto => return self.hybrid(request, cancel).await,
            };
            let (reason, provider) = (RouteReason::Mode, String::new());
            let trace = RouteTrace { provider, local, reason, attempt: 1, detail: None };
            let traces = vec![self.trace(self.route(local)?, trace)];
            self.ask(request, cancel, local, traces).await
        })
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;
    use serde_json::{Value, json};

    use super::*;
    use crate::client::collect;
    use crate::model::{Message, ToolDefinition};
    use crate::testing::{ManualClock, Script, Scripted, calls, covers, says};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn hybrid() -> RouterPolicy {
        RouterPolicy { agent_mode: AgentMode::HybridAuto, ..RouterPolicy::default() }
    }

    fn overflow() -> Scripted {
        Err(LlmError::new(ErrorKind::ContextLength, "too long"))
    }

    fn call(arguments: Value) -> Scripted {
        calls(&[("1", "read", arguments)], FinishKind::ToolCalls)
    }

    /// Asks a router over scripted responses. Returns the outcome as text, and the choices with their reasons.
    fn run(
        policy: RouterPolicy,
        local: impl IntoIterator<Item = Scripted>,
        remote: impl IntoIterator<Item = Scripted>,
    ) -> (Result<String, ErrorKind>, Vec<String>) {
        ask(&router(policy, local, remote))
    }

    fn router(
        policy: RouterPolicy,
        local: impl IntoIterator<Item = Scripted>,
        remote: impl IntoIterator<Item = Scripted>,
    ) -> (Router, Shared<Mutex<Vec<String>>>) {
        let seen: Shared<Mutex<Vec<String>>> = Shared::default();
        let route = |provider| Some(Route { provider, model: None });
        let local: Shared<dyn Provider> = Script::new("small", local);
        let remote: Shared<dyn Provider> = Script::new("large", remote);
        let observer = {
            let seen = Shared::clone(&seen);
            move |trace: &RouteTrace| {
                let reason = serde_json::to_value(trace.reason).unwrap();
                let line = format!("{} {} {}", trace.attempt, trace.provider, reason.as_str().unwrap());
                seen.lock().push(line);
            }
        };
        let clock = Shared::new(ManualClock::default());
        let gate =
            |_: &Request, response: &Response| (response.message.text() == "bad").then(|| "it is bad".to_owned());
        let router = Router::new(route(local), route(remote), policy, clock)
            .with_observer(Shared::new(observer))
            .with_gate(Shared::new(gate));
        (router, seen)
    }

    fn ask((router, seen): &(Router, Shared<Mutex<Vec<String>>>)) -> (Result<String, ErrorKind>, Vec<String>) {
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        let tools = vec![ToolDefinition { name: "read".into(), description: String::new(), parameters }];
        let request = Request { messages: vec![Message::user("u")], tools, ..Request::default() };
        let answer = block_on(async { collect(router.stream(request, CancelToken::new()).await?).await });
        let text = answer.map(|response| {
            let calls = response.message.tool_calls();
            calls.first().map_or_else(|| response.message.text(), |call| call.arguments.to_string())
        });
        (text.map_err(|error| error.kind), std::mem::take(&mut seen.lock()))
    }

    #[test]
    fn the_mode_decides_which_model_is_asked() {
        covers("router.local_first router.trace");
        let mode = |agent_mode| RouterPolicy { agent_mode, ..RouterPolicy::default() };
        let answers = || ([says(&["near"])], [says(&["far"])]);
        let (local, remote) = answers();
        let expected = (Ok("near".to_owned()), vec!["1 small mode".to_owned()]);
        assert_eq!(run(mode(AgentMode::Local), local, remote), expected);
        let (local, remote) = answers();
        assert_eq!(
            run(mode(AgentMode::Remote), local, remote),
            (Ok("far".to_owned()), vec!["1 large mode".to_owned()])
        );
        let (local, remote) = answers();
        assert_eq!(run(hybrid(), local, remote), (Ok("near".to_owned()), vec!["1 small local_first".to_owned()]));
    }

    #[test]
    fn rejected_local_responses_are_retried_and_then_go_remote() {
        covers("router.local_first router.trace");
        let good = || call(json!({"path": "a"}));
        let bad = || call(json!({"file": "a"}));
        let found = |text: &str, seen: &[&str]| {
            (Ok(text.to_owned()), seen.iter().map(|line| (*line).to_owned()).collect::<Vec<_>>())
        };
        let twice = ["1 small local_first", "2 small schema_fail"];
        assert_eq!(run(hybrid(), [bad(), good()], []), found("{\"path\":\"a\"}", &twice));
        let thrice = [&twice[..], &["3 large schema_fail"]].concat();
        assert_eq!(run(hybrid(), [bad(), bad()], [says(&["far"])]), found("far", &thrice));
        let gated = ["1 small local_first", "2 small validation_fail", "3 large validation_fail"];
        assert_eq!(run(hybrid(), [says(&["bad"]), says(&["bad"])], [says(&["far"])]), found("far", &gated));
        assert_eq!(run(hybrid(), [says(&["bad"]), good()], []), found("{\"path\":\"a\"}", &gated[..2]));
        let never = RouterPolicy { hybrid_remote_on_schema_fail: false, ..hybrid() };
        // A gate has no other model to choose.
        assert_eq!(run(never.clone(), [says(&["bad"])], []), found("bad", &gated[..1]));
        let strict = RouterPolicy { strict_local: true, ..hybrid() };
        assert_eq!(run(strict, [says(&["bad"])], []), found("bad", &gated[..1]));
        // The caller gets the call that does not match, as from a single model.
        for policy in [never, RouterPolicy { strict_local: true, ..hybrid() }] {
            assert_eq!(run(policy, [bad(), bad()], [says(&["far"])]), found("{\"file\":\"a\"}", &twice));
        }
    }

    #[test]
    fn an_overflow_or_a_timeout_goes_remote_at_once() {
        covers("router.local_first");
        let seen = |reason: &str| vec!["1 small local_first".to_owned(), format!("2 large {reason}")];
        let far = || Ok("far".to_owned());
        assert_eq!(run(hybrid(), [overflow()], [says(&["far"])]), (far(), seen("context_overflow")));
        let never = RouterPolicy { hybrid_remote_on_context_overflow: false, ..hybrid() };
        assert_eq!(run(never, [overflow()], [says(&["far"])]).0, Err(ErrorKind::ContextLength));
        let slow = RouterPolicy { hybrid_remote_on_timeout_ms: Some(5), ..hybrid() };
        assert_eq!(run(slow, [], [says(&["far"])]), (far(), seen("timeout")));
    }

    /// A local model that computes until its token is cancelled.
    #[derive(Default)]
    struct Computes(Mutex<Option<CancelToken>>);

    impl Provider for Computes {
        fn name(&self) -> &str {
            "computes"
        }

        fn stream(&self, _request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
            *self.0.lock() = Some(cancel);
            Box::pin(std::future::pending())
        }
    }

    #[test]
    fn a_local_model_stops_when_its_time_is_over_and_the_remote_one_answers() {
        covers("router.local_first");
        let local = Shared::new(Computes::default());
        let route = |provider| Some(Route { provider, model: None });
        let remote: Shared<dyn Provider> = Script::new("large", [says(&["far"])]);
        let policy = RouterPolicy { hybrid_remote_on_timeout_ms: Some(5), ..hybrid() };
        let clock = Shared::new(ManualClock::default());
        let router = Router::new(route(Shared::clone(&local) as Shared<dyn Provider>), route(remote), policy, clock);
        let caller = CancelToken::new();
        let request = Request { messages: vec![Message::user("u")], ..Request::default() };
        let answer = block_on(async { collect(router.stream(request, caller.clone()).await?).await });
        assert_eq!(answer.map(|response| response.message.text()), Ok("far".to_owned()));
        assert!(local.0.lock().as_ref().is_some_and(CancelToken::is_cancelled));
        assert!(!caller.is_cancelled());
    }

    #[test]
    fn strict_local_never_goes_remote() {
        covers("router.local_only");
        for agent_mode in [AgentMode::HybridAuto, AgentMode::Remote] {
            let policy = RouterPolicy { agent_mode, strict_local: true, ..RouterPolicy::default() };
            let (outcome, seen) = run(policy, [overflow()], [says(&["far"])]);
            assert!(outcome.is_err() && !seen.iter().any(|line| line.contains("large")), "{outcome:?} {seen:?}");
        }
    }

    #[test]
    fn the_session_may_ask_for_the_remote_model() {
        let router = router(hybrid(), [says(&["near"])], [says(&["far"])]);
        assert_eq!(ask(&router).0, Ok("near".to_owned()));
        router.0.escalate("no usable edit in 20 rounds");
        assert_eq!(ask(&router), (Ok("far".to_owned()), vec!["1 large escalated".to_owned()]));
    }

    #[test]
    fn a_router_has_the_name_of_the_provider_that_is_asked_first() {
        for (agent_mode, expected) in
            [(AgentMode::HybridAuto, "small"), (AgentMode::Local, "small"), (AgentMode::Remote, "large")]
        {
            let (router, _) = router(RouterPolicy { agent_mode, ..RouterPolicy::default() }, [], []);
            assert_eq!(router.name(), expected);
        }
    }

    #[test]
    fn choices_are_in_the_stream_too() {
        covers("router.trace");
        let (router, _) = router(hybrid(), [overflow()], [says(&["far"])]);
        let request = Request { messages: vec![Message::user("u")], ..Request::default() };
        let events: Vec<StreamEvent> = block_on(async {
            let stream = router.stream(request, CancelToken::new()).await.unwrap();
            stream.map(Result::unwrap).collect().await
        });
        let StreamEvent::ProviderEvent { raw } = &events[1] else { panic!("{events:?}") };
        let route = json!({"provider": "large", "local": false, "reason": "context_overflow", "attempt": 2, "detail": "too long"});
        assert_eq!(*raw, json!({"type": "route", "route": route}));
    }
}
