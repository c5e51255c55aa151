//! One model call in the shape of the provider contract: message, canonical calls, proposed edits, stop reason, usage.
//!
//! Adapters in `emend-llm` know the wire formats; this module sees their common response. The service stores each step
//! as an event, so a trace shows every model call with its tokens and its latency.

use emend_llm::runtime::Mutex;
use emend_llm::{
    BoxFuture, CancelToken, Clock, EventStream, FinishKind, LlmError, Provider, Request, Response, Shared, StreamEvent,
    ToolChoice, Usage,
};
use futures::StreamExt;
use serde::{Deserialize, Serialize};
use serde_json::{Value, json};

use super::host::RouteLog;

/// The reason why the model stopped.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum StopReason {
    /// The response calls tools.
    NeedsTools,
    /// The response asks the user.
    NeedsClarification,
    /// The response proposes edits by `propose_edits`.
    ProposedEdits,
    /// The response is the final answer.
    Done,
    /// The response failed or was cut off.
    Error,
}

/// A tool call in the form that is the same for all providers.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct CanonicalCall {
    /// Id of the call.
    pub tool_call_id: String,
    /// Name of the tool.
    pub name: String,
    /// Arguments.
    pub arguments: Value,
}

/// The usage of one model call.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RawUsage {
    /// Tokens of the request.
    pub input_tokens: u64,
    /// Tokens of the response.
    pub output_tokens: u64,
    /// Time from the request to the end of the response in milliseconds.
    pub latency_ms: u64,
    /// Model that responded.
    pub model: String,
    /// Provider that responded.
    pub provider: String,
}

/// One model call, normalised.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct ProviderStepResult {
    /// Text of the response.
    pub assistant_message: String,
    /// Calls in order.
    pub tool_calls: Vec<CanonicalCall>,
    /// Edits of `propose_edits` calls, as the model wrote them. They are not checked yet.
    pub proposed_edits: Vec<Value>,
    /// Number of edits of other calls that write: the elements of `edits`, or 1 for a call without it.
    pub n_derived_edits: u64,
    /// Why the model stopped.
    pub stop_reason: StopReason,
    /// Usage.
    pub raw_usage: RawUsage,
}

impl ProviderStepResult {
    /// Normalises a response that took `latency_ms`. `writes` decides whether a tool writes.
    #[must_use]
    pub fn of(response: &Response, latency_ms: u64, writes: impl Fn(&str) -> bool) -> Self {
        let calls = response.message.tool_calls();
        let tool_calls: Vec<CanonicalCall> = calls
            .iter()
            .map(|call| CanonicalCall {
                tool_call_id: call.id.clone(),
                name: call.name.clone(),
                arguments: call.arguments.clone(),
            })
            .collect();
        let calls_of = |name: &'static str| tool_calls.iter().filter(move |call| call.name == name);
        let proposed_edits: Vec<Value> = calls_of("propose_edits")
            .filter_map(|call| call.arguments.get("edits")?.as_array().cloned())
            .flatten()
            .collect();
        let derived = tool_calls.iter().filter(|call| call.name != "propose_edits" && writes(&call.name));
        let n_derived_edits = derived.map(|call| call.arguments["edits"].as_array().map_or(1, Vec::len) as u64).sum();
        let failed =
            matches!(response.finish_reason.reason, FinishKind::Error | FinishKind::Length | FinishKind::ContentFilter);
        let stop_reason = if failed {
            StopReason::Error
        } else if calls_of("clarify_user").next().is_some() {
            StopReason::NeedsClarification
        } else if !proposed_edits.is_empty() {
            StopReason::ProposedEdits
        } else if tool_calls.is_empty() {
            StopReason::Done
        } else {
            StopReason::NeedsTools
        };
        Self {
            assistant_message: response.message.text(),
            tool_calls,
            proposed_edits,
            n_derived_edits,
            stop_reason,
            raw_usage: RawUsage {
                input_tokens: response.usage.input_tokens,
                output_tokens: response.usage.output_tokens,
                latency_ms,
                model: response.model.clone(),
                provider: response.provider.clone(),
            },
        }
    }

    /// Returns the data of the event `provider.step`. Arguments and texts are in other events.
    #[must_use]
    pub fn event_data(&self) -> Value {
        let calls: Vec<Value> = self
            .tool_calls
            .iter()
            .map(|call| json!({ "tool_call_id": call.tool_call_id, "name": call.name }))
            .collect();
        json!({
            "stop_reason": self.stop_reason,
            "tool_calls": calls,
            "n_proposed_edits": self.proposed_edits.len() as u64 + self.n_derived_edits,
            "raw_usage": self.raw_usage,
        })
    }
}

/// Collects the model calls until the next commit.
#[derive(Default)]
pub(super) struct StepLog {
    steps: Mutex<Vec<(ProviderStepResult, Usage)>>,
    /// Names of the tools that write.
    writers: Mutex<Vec<String>>,
}

impl StepLog {
    /// Sets the names of the tools that write.
    pub(super) fn set_writers(&self, names: Vec<String>) {
        *self.writers.lock() = names;
    }

    /// Returns the calls since the last call of this method, with their usage.
    pub(super) fn take(&self) -> Vec<(ProviderStepResult, Usage)> {
        std::mem::take(&mut *self.steps.lock())
    }
}

/// A provider whose responses and choices are logged.
pub(super) struct Observed {
    pub(super) inner: Shared<dyn Provider>,
    pub(super) log: Shared<StepLog>,
    /// Gets the choice of a router before the request is sent, or else of this provider.
    pub(super) routes: Shared<RouteLog>,
    pub(super) clock: Shared<dyn Clock>,
}

impl Observed {
    fn logged(&self, events: EventStream, began: u64) -> EventStream {
        let (log, clock) = (Shared::clone(&self.log), Shared::clone(&self.clock));
        Box::pin(events.inspect(move |event| {
            if let Ok(StreamEvent::Finish { response }) = event {
                let latency_ms = clock.now_ms().saturating_sub(began);
                let writers = log.writers.lock().clone();
                let step =
                    ProviderStepResult::of(response, latency_ms, |name| writers.iter().any(|known| known == name));
                log.steps.lock().push((step, response.usage.clone()));
            }
        }))
    }
}

impl Provider for Observed {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        let began = self.clock.now_ms();
        Box::pin(async move {
            let events = self.inner.stream(request, cancel).await;
            self.routes.without_router(self.name());
            Ok(self.logged(events?, began))
        })
    }

    fn complete(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        let began = self.clock.now_ms();
        Box::pin(async move {
            let events = self.inner.complete(request, cancel).await;
            self.routes.without_router(self.name());
            Ok(self.logged(events?, began))
        })
    }

    fn initialize(&self) -> Result<(), LlmError> {
        self.inner.initialize()
    }

    fn close(&self) {
        self.inner.close();
    }

    fn supports_tool_choice(&self, choice: &ToolChoice) -> bool {
        self.inner.supports_tool_choice(choice)
    }
}

#[cfg(test)]
mod tests {
    use emend_llm::{ContentPart, FinishReason, Message, Role, ToolCall};

    use super::*;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn response(calls: &[(&str, Value)], reason: FinishKind) -> Response {
        let mut content = vec![ContentPart::Text { text: "Text.".to_owned() }];
        content.extend(calls.iter().map(|(name, arguments)| {
            ContentPart::ToolCall(ToolCall {
                id: format!("call_{name}"),
                name: (*name).to_owned(),
                arguments: arguments.clone(),
                raw_arguments: None,
                custom: false,
                provider_data: None,
            })
        }));
        Response {
            id: "r".to_owned(),
            model: "m".to_owned(),
            provider: "p".to_owned(),
            message: Message { role: Role::Assistant, content: content.into(), name: None },
            finish_reason: FinishReason { reason, raw: None },
            usage: Usage { input_tokens: 3, output_tokens: 4, ..Usage::default() },
            warnings: Vec::new(),
            rate_limit: None,
        }
    }

    #[test]
    fn the_stop_reason_follows_from_the_response() {
        let edits = ("propose_edits", json!({ "edits": [{ "edit_id": "e_1" }, { "edit_id": "e_2" }] }));
        let (read, ask) = (("read_file", json!({})), ("clarify_user", json!({ "question": "?" })));
        let table = [
            (vec![], FinishKind::Stop, StopReason::Done, 0),
            (vec![read.clone()], FinishKind::ToolCalls, StopReason::NeedsTools, 0),
            (vec![read.clone(), ask], FinishKind::ToolCalls, StopReason::NeedsClarification, 0),
            (vec![read.clone(), edits.clone()], FinishKind::ToolCalls, StopReason::ProposedEdits, 2),
            (vec![edits], FinishKind::Length, StopReason::Error, 2),
            (vec![], FinishKind::Error, StopReason::Error, 0),
        ];
        for (calls, finish, expected, n_edits) in table {
            let step = ProviderStepResult::of(&response(&calls, finish), 7, |_| false);
            assert_eq!((step.stop_reason, step.proposed_edits.len()), (expected, n_edits), "{calls:?}");
            assert_eq!(step.tool_calls.len(), calls.len());
            assert_eq!(step.assistant_message, "Text.");
            assert_eq!(
                serde_json::to_value(&step.raw_usage).unwrap(),
                json!({ "input_tokens": 3, "output_tokens": 4, "latency_ms": 7, "model": "m", "provider": "p" })
            );
        }
    }

    #[test]
    fn edits_of_every_call_that_writes_are_counted() {
        let calls = [
            ("propose_edits", json!({ "edits": [{}, {}] })),
            ("edit_lines", json!({ "path": "a", "edits": [{}, {}, {}] })),
            ("write_file", json!({ "path": "a" })),
            ("read_file", json!({ "path": "a" })),
        ];
        let writes = |name: &str| name != "read_file";
        let step = ProviderStepResult::of(&response(&calls, FinishKind::ToolCalls), 7, writes);
        assert_eq!(step.n_derived_edits, 4);
        assert_eq!(step.event_data()["n_proposed_edits"], 6);
    }
}
