//! A model call: the request, retries, and the streamed response.

use emend_llm::{
    BoxFuture, CancelToken, ErrorKind, EventStream, LlmError, Message, Request, Response, RetryPolicy, Shared,
    StreamEvent, ToolChoice, retry_stream,
};
use futures::StreamExt;
use futures::future::{Either, select};

use super::canvas_lease::LeaseHolder;
use crate::event::EventKind;
use crate::history::HistoryEntryKind;
use crate::session::core::Core;
use crate::session::input::system_prompt;
use crate::session::options::Settings;

/// Sends the history and streams the response to the host. The choice of tools is the provider's default if `None`.
pub(in crate::session) async fn call_model(
    core: &Core,
    lease_holder: &mut LeaseHolder<'_>,
    tool_choice: Option<ToolChoice>,
    cancel: &CancelToken,
) -> Result<Response, LlmError> {
    let settings = core.settings();
    lease_holder.keep_for_model();
    // Other servers must not take the lease for expired during the call.
    #[cfg(not(target_family = "wasm"))]
    core.workspace.share_canvas().await;
    let outcome = receive(core, &settings, lease_holder, tool_choice, cancel).await;
    lease_holder.end_guard();
    outcome
}

fn build_request(core: &Core, settings: &Settings, tool_choice: Option<ToolChoice>) -> Request {
    let mut messages = vec![Message::system(system_prompt::system_prompt(core, settings))];
    messages.extend(core.history().entries().iter().map(|turn| turn.message.clone()));
    Request {
        model: settings.model.clone(),
        messages,
        provider: Some(settings.provider.name().to_owned()),
        tools: settings.tools.definitions(),
        tool_choice,
        reasoning_effort: settings.config.reasoning_effort.clone(),
        provider_options: settings.config.provider_options.clone(),
        ..Request::default()
    }
}

async fn receive(
    core: &Core,
    settings: &Settings,
    lease_holder: &mut LeaseHolder<'_>,
    tool_choice: Option<ToolChoice>,
    cancel: &CancelToken,
) -> Result<Response, LlmError> {
    let mut stream = match select(Box::pin(open(core, settings, tool_choice, cancel)), cancel.cancelled()).await {
        Either::Left((stream, _)) => stream?,
        Either::Right(_) => return Err(aborted()),
    };
    let mut answer = PartialResponse::default();
    loop {
        let event = match select(stream.next(), cancel.cancelled()).await {
            Either::Left((Some(event), _)) => event,
            Either::Left((None, _)) => {
                return Err(
                    answer.lost(core, LlmError::new(ErrorKind::Stream, "the answer ended without its end event"))
                );
            }
            Either::Right(_) => return Err(answer.lost(core, aborted())),
        };
        match event {
            Ok(StreamEvent::Finish { response }) => {
                answer.finish(core, &response.message);
                return Ok(response);
            }
            Ok(event) => {
                lease_holder.renew();
                answer.take(core, event);
                core.emitter.yield_to_readers().await;
            }
            Err(error) => return Err(answer.lost(core, error)),
        }
    }
}

/// Opens the response stream. Retries by the session's policy until the first event has arrived.
async fn open(
    core: &Core,
    settings: &Settings,
    tool_choice: Option<ToolChoice>,
    cancel: &CancelToken,
) -> Result<EventStream, LlmError> {
    let emitter = Shared::clone(&core.emitter);
    let max_retries = settings.config.retry.max_retries;
    let warn = move |error: &LlmError, attempt: u32, delay_ms: u64| {
        let (seconds, tenths) = (delay_ms / 1000, delay_ms % 1000 / 100);
        let message =
            format!("{} Trying again in {seconds}.{tenths} s ({attempt} of {max_retries}).", sentence(&error.message));
        emitter.emit(EventKind::Warning { code: "retry", message });
    };
    let policy = RetryPolicy { on_retry: Some(Shared::new(warn)), ..settings.config.retry.clone() };
    let attempt = |_| -> BoxFuture<'_, Result<EventStream, LlmError>> {
        // The user may have cancelled during the wait.
        match cancel.is_cancelled() {
            true => Box::pin(std::future::ready(Err(aborted()))),
            // Built for each attempt: keeping a copy would duplicate a long history every time.
            false if settings.config.streaming => {
                settings.provider.stream(build_request(core, settings, tool_choice.clone()), cancel.clone())
            }
            false => settings.provider.complete(build_request(core, settings, tool_choice.clone()), cancel.clone()),
        }
    };
    retry_stream(&policy, &*core.clock, &*core.random, cancel, attempt).await
}

fn aborted() -> LlmError {
    LlmError::new(ErrorKind::Abort, "the turn was cancelled")
}

/// Ends a text with a full stop unless it ends with punctuation.
fn sentence(text: &str) -> String {
    let text = text.trim_end();
    if text.ends_with(['.', '!', '?']) { text.to_owned() } else { format!("{text}.") }
}

/// The received part of a response. A message is announced with its first delta and closed exactly once.
#[derive(Default)]
struct PartialResponse {
    text: Option<String>,
    reasoning: Option<String>,
    /// Reasoning whose end was reported.
    reasoned: String,
    /// Whether text or reasoning arrived before the end.
    streamed: bool,
}

impl PartialResponse {
    fn take(&mut self, core: &Core, event: StreamEvent) {
        match event {
            StreamEvent::TextDelta { delta, .. } if !delta.is_empty() => {
                self.streamed = true;
                self.close_reasoning(core);
                if self.text.is_none() {
                    core.emitter.emit(EventKind::AssistantTextStart {});
                }
                self.text.get_or_insert_default().push_str(&delta);
                core.emitter.emit(EventKind::AssistantTextDelta { delta });
            }
            StreamEvent::ReasoningDelta { delta } if !delta.is_empty() => {
                self.streamed = true;
                if self.reasoning.is_none() {
                    core.emitter.emit(EventKind::ReasoningStart {});
                }
                self.reasoning.get_or_insert_default().push_str(&delta);
                core.emitter.emit(EventKind::ReasoningDelta { delta });
            }
            // A router took the fallback model. The module for browsers has no router.
            StreamEvent::ProviderEvent { raw }
                if cfg!(not(target_family = "wasm")) && raw["route"]["local"] == false =>
            {
                if let Some(detail) = raw["route"]["detail"].as_str() {
                    let name = raw["route"]["provider"].as_str().unwrap_or_default();
                    let message = format!("{} The fallback model responds ({name}).", sentence(detail));
                    core.emitter.emit(EventKind::Warning { code: "fallback", message });
                }
            }
            _ => {}
        }
    }

    fn close_reasoning(&mut self, core: &Core) {
        if let Some(text) = self.reasoning.take() {
            self.reasoned.push_str(&text);
            core.emitter.emit(EventKind::ReasoningEnd { text });
        }
    }

    /// Closes open messages. A provider without streaming sends its text and reasoning only here.
    fn finish(&mut self, core: &Core, message: &Message) {
        if !self.streamed {
            if let Some(delta) = message.reasoning() {
                self.take(core, StreamEvent::ReasoningDelta { delta });
            }
            let delta = message.text();
            if !delta.is_empty() {
                self.take(core, StreamEvent::TextDelta { text_id: String::new(), delta });
            }
        }
        self.close(core);
    }

    fn close(&mut self, core: &Core) {
        self.close_reasoning(core);
        if let Some(text) = self.text.take() {
            let reasoning = Some(std::mem::take(&mut self.reasoned)).filter(|reasoning| !reasoning.is_empty());
            core.emitter.emit(EventKind::AssistantTextEnd { text, reasoning });
        }
    }

    /// Keeps the text that the user has already read in the history. Incomplete calls are dropped, because a call
    /// without a result would make the history invalid.
    fn lost(&mut self, core: &Core, error: LlmError) -> LlmError {
        if let Some(text) = self.text.as_ref().filter(|text| !text.trim().is_empty()) {
            core.record(HistoryEntryKind::Assistant, Message::assistant(text.clone()));
        }
        self.close(core);
        error
    }
}
