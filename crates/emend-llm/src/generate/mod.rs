//! The high-level calls: one prompt or conversation in, an answer out, with tools run in between and failed calls
//! repeated.
//!
//! There is one loop, [`Generator::stream`]; [`Generator::generate`] reads it to its end. Structured output builds on
//! both in [`object`](crate::object).

mod calls;
mod steps;
#[cfg(test)]
mod tests;

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};
use serde_json::Value;

use self::steps::Steps;
use crate::accumulate::StreamAccumulator;
use crate::client::Client;
use crate::error::{ErrorKind, LlmError};
use crate::retry::RetryPolicy;
use crate::runtime::{BoxFuture, BoxStream, CancelToken, Clock, MaybeSend, MaybeSync, Random, Shared};
use crate::tool::{Tool, ToolCallRepair};
use crate::types::{FinishReason, Message, Request, Response, StreamEvent, ToolCall, ToolResult, Usage, Warning};

/// Decides after each round of tools whether to stop.
pub trait StopCondition: MaybeSend + MaybeSync {
    /// Returns whether the steps so far are enough.
    fn stop(&self, steps: &[StepResult]) -> bool;
}

impl<F: Fn(&[StepResult]) -> bool + MaybeSend + MaybeSync> StopCondition for F {
    fn stop(&self, steps: &[StepResult]) -> bool {
        self(steps)
    }
}

/// How long things may take, in milliseconds. Without a limit they may take forever.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct TimeoutConfig {
    /// The whole operation, all steps and tools.
    pub total_ms: Option<u64>,
    /// One call of the model.
    pub per_step_ms: Option<u64>,
}

/// The input of [`Generator::generate`] and [`Generator::stream`].
#[derive(Clone, Default)]
pub struct Generate {
    /// Everything of the request but its messages and tools: those below replace its own.
    pub request: Request,
    /// A user message. Excludes `messages`.
    pub prompt: Option<String>,
    /// A conversation. Excludes `prompt`.
    pub messages: Option<Vec<Message>>,
    /// Instructions, put first.
    pub system: Option<String>,
    /// The tools, active or passive.
    pub tools: Vec<Tool>,
    /// How often tools are run and their results fed back; one round when absent.
    pub max_tool_rounds: Option<u32>,
    /// Stops the loop early.
    pub stop_when: Option<Shared<dyn StopCondition>>,
    /// Mends arguments that do not match.
    pub repair_tool_call: Option<Shared<dyn ToolCallRepair>>,
    /// How failed calls are repeated; each step on its own.
    pub retry: RetryPolicy,
    /// Time limits.
    pub timeout: TimeoutConfig,
    /// Cancels everything.
    pub cancel: CancelToken,
}

/// One call of the model and the tools it asked for.
#[derive(Clone, Debug, PartialEq)]
pub struct StepResult {
    /// The answer.
    pub response: Response,
    /// What the tools gave, in the order of the calls; empty if none were run.
    pub tool_results: Vec<ToolResult>,
}

impl StepResult {
    /// Returns the text of the answer.
    #[must_use]
    pub fn text(&self) -> String {
        self.response.message.text()
    }

    /// Returns the reasoning, if there is any.
    #[must_use]
    pub fn reasoning(&self) -> Option<String> {
        self.response.message.reasoning()
    }

    /// Returns the calls the model made.
    #[must_use]
    pub fn tool_calls(&self) -> Vec<&ToolCall> {
        self.response.message.tool_calls()
    }

    /// Returns why the answer ended.
    #[must_use]
    pub fn finish_reason(&self) -> &FinishReason {
        &self.response.finish_reason
    }

    /// Returns the tokens of this step.
    #[must_use]
    pub fn usage(&self) -> &Usage {
        &self.response.usage
    }

    /// Returns what is worth knowing.
    #[must_use]
    pub fn warnings(&self) -> &[Warning] {
        &self.response.warnings
    }
}

/// The result of all steps. Text, calls and such are those of the last step.
#[derive(Clone, Debug, PartialEq)]
pub struct GenerateResult {
    /// Every step, at least one.
    pub steps: Vec<StepResult>,
    /// The last step.
    pub last: StepResult,
    /// The tokens of all steps together.
    pub total_usage: Usage,
    /// The parsed and checked object, from `generate_object`.
    pub output: Option<Value>,
}

/// What a stream of [`Generator::stream`] yields.
#[derive(Clone, Debug, PartialEq)]
pub enum GenerateEvent {
    /// The model's own event. Each step has its own start and finish.
    Model(StreamEvent),
    /// A step is over and its tools have run.
    StepFinish(StepResult),
}

/// A client with a clock and randomness: what the high-level calls need.
#[derive(Clone)]
pub struct Generator {
    /// Where requests go.
    pub client: Client,
    /// Waits between attempts and enforces limits.
    pub clock: Shared<dyn Clock>,
    /// Spreads waits.
    pub random: Shared<dyn Random>,
}

impl Generator {
    /// Generates an answer, running active tools.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if both or neither of `prompt` and `messages` are given,
    /// [`ErrorKind::RequestTimeout`] past a time limit, [`ErrorKind::Abort`] once cancelled, and what the provider
    /// reports.
    pub async fn generate(&self, options: Generate) -> Result<GenerateResult, LlmError> {
        let mut stream = self.stream(options)?;
        while let Some(event) = stream.next().await {
            event?;
        }
        stream.into_result()
    }

    /// As [`generate`](Self::generate), but yields events as they come.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if both or neither of `prompt` and `messages` are given. Everything else comes
    /// as an item of the stream.
    pub fn stream(&self, options: Generate) -> Result<StreamResult, LlmError> {
        let messages = conversation(&options)?;
        let cancel = options.cancel.clone();
        let total = options.timeout.total_ms.map(|ms| self.clock.sleep(ms));
        let steps = Steps::new(self.clone(), options, messages);
        let events = futures::stream::unfold(steps, Steps::next);
        Ok(StreamResult {
            events: Box::pin(Limited { events: Box::pin(events), total, cancelled: cancel.cancelled(), ended: false }),
            accumulator: StreamAccumulator::new(),
            steps: Vec::new(),
        })
    }
}

fn conversation(options: &Generate) -> Result<Vec<Message>, LlmError> {
    let invalid = |message: &str| Err(LlmError::new(ErrorKind::InvalidRequest, message));
    let messages = match (&options.prompt, &options.messages) {
        (Some(_), Some(_)) => return invalid("give either `prompt` or `messages`, not both"),
        (None, None) => return invalid("give a `prompt` or `messages`"),
        (Some(prompt), None) => vec![Message::user(prompt)],
        (None, Some(messages)) => messages.clone(),
    };
    Ok(options.system.as_ref().map(Message::system).into_iter().chain(messages).collect())
}

/// The events of a generation, and what they add up to.
pub struct StreamResult {
    events: BoxStream<'static, Result<GenerateEvent, LlmError>>,
    accumulator: StreamAccumulator,
    steps: Vec<StepResult>,
}

impl StreamResult {
    /// Returns the answer of the last step, once it has finished.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        self.accumulator.response()
    }

    /// Returns what has come of the current step.
    #[must_use]
    pub fn partial_response(&self) -> Response {
        self.accumulator.partial_response()
    }

    /// Returns the steps that are over.
    #[must_use]
    pub fn steps(&self) -> &[StepResult] {
        &self.steps
    }

    /// Returns a stream of nothing but text.
    pub fn text_stream(self) -> impl Stream<Item = Result<String, LlmError>> {
        self.filter_map(|event| {
            std::future::ready(match event {
                Ok(GenerateEvent::Model(StreamEvent::TextDelta { delta, .. })) => Some(Ok(delta)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
        })
    }

    /// Returns the result, once the stream has ended well.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stream`] if it was not read to its end.
    pub fn into_result(self) -> Result<GenerateResult, LlmError> {
        let Some(last) = self.steps.last().cloned() else {
            return Err(LlmError::new(ErrorKind::Stream, "the stream was not read to its end"));
        };
        let total_usage = self.steps.iter().fold(Usage::default(), |sum, step| sum + step.usage().clone());
        Ok(GenerateResult { steps: self.steps, last, total_usage, output: None })
    }
}

impl Stream for StreamResult {
    type Item = Result<GenerateEvent, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        let polled = self.events.as_mut().poll_next(context);
        match &polled {
            Poll::Ready(Some(Ok(GenerateEvent::Model(event)))) => self.accumulator.process(event),
            Poll::Ready(Some(Ok(GenerateEvent::StepFinish(step)))) => self.steps.push(step.clone()),
            _ => {}
        }
        polled
    }
}

/// Ends a stream when its time is over or the caller cancels, whatever it is waiting for.
struct Limited {
    events: BoxStream<'static, Result<GenerateEvent, LlmError>>,
    total: Option<BoxFuture<'static, ()>>,
    cancelled: BoxFuture<'static, ()>,
    ended: bool,
}

impl Stream for Limited {
    type Item = Result<GenerateEvent, LlmError>;

    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Self::Item>> {
        if self.ended {
            return Poll::Ready(None);
        }
        if self.cancelled.as_mut().poll(context).is_ready() {
            self.end();
            return Poll::Ready(Some(Err(LlmError::new(ErrorKind::Abort, "the generation was cancelled"))));
        }
        if self.total.as_mut().is_some_and(|total| total.as_mut().poll(context).is_ready()) {
            self.end();
            return Poll::Ready(Some(Err(timed_out("the generation"))));
        }
        let polled = self.events.as_mut().poll_next(context);
        if let Poll::Ready(None | Some(Err(_))) = polled {
            self.end();
        }
        polled
    }
}

impl Limited {
    /// Lets go of the answer, and so of its connection: whoever keeps the result for what has come would otherwise keep
    /// the provider working.
    fn end(&mut self) {
        self.ended = true;
        self.events = Box::pin(futures::stream::empty());
    }
}

fn timed_out(what: &str) -> LlmError {
    let error = LlmError::new(ErrorKind::RequestTimeout, format!("{what} took longer than its limit"));
    LlmError { retryable: false, ..error }
}
