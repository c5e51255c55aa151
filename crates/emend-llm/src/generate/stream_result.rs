//! The stream of a generation, with its time limit and its totals.

use std::pin::Pin;
use std::task::{Context, Poll};

use futures::{Stream, StreamExt};

use super::result::{GenerateEvent, GenerateResult, StepResult};
use crate::client::StreamAccumulator;
use crate::error::{ErrorKind, LlmError};
use crate::model::{Response, StreamEvent, Usage};
use crate::runtime::{BoxFuture, BoxStream};

/// The events of a generation, and their totals so far.
pub struct StreamResult {
    events: BoxStream<'static, Result<GenerateEvent, LlmError>>,
    accumulator: StreamAccumulator,
    steps: Vec<StepResult>,
}

impl StreamResult {
    /// Returns the stream of `events`, which ends once `total` or `cancelled` resolves.
    pub(super) fn new(
        events: BoxStream<'static, Result<GenerateEvent, LlmError>>,
        total: Option<BoxFuture<'static, ()>>,
        cancelled: BoxFuture<'static, ()>,
    ) -> Self {
        Self {
            events: Box::pin(Limited { events, total, cancelled, ended: false }),
            accumulator: StreamAccumulator::new(),
            steps: Vec::new(),
        }
    }

    /// Returns the response of the last step, once it has finished.
    #[must_use]
    pub fn response(&self) -> Option<&Response> {
        self.accumulator.response()
    }

    /// Returns the response of the current step as far as it has arrived.
    #[must_use]
    pub fn partial_response(&self) -> Response {
        self.accumulator.partial_response()
    }

    /// Returns the finished steps.
    #[must_use]
    pub fn steps(&self) -> &[StepResult] {
        &self.steps
    }

    /// Returns a stream of the text alone.
    pub fn text_stream(self) -> impl Stream<Item = Result<String, LlmError>> {
        self.filter_map(|event| {
            std::future::ready(match event {
                Ok(GenerateEvent::Model(StreamEvent::TextDelta { delta, .. })) => Some(Ok(delta)),
                Ok(_) => None,
                Err(error) => Some(Err(error)),
            })
        })
    }

    /// Returns the result, once the stream has ended without an error.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::Stream`] if the stream was not read to its end.
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

/// Ends a stream when its time limit expires or the caller cancels, also while it waits.
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
    /// Drops the response and its connection: a caller that keeps this stream for its totals would otherwise keep the
    /// provider working.
    fn end(&mut self) {
        self.ended = true;
        self.events = Box::pin(futures::stream::empty());
    }
}

/// Returns the error of an expired time limit.
pub(super) fn timed_out(what: &str) -> LlmError {
    let error = LlmError::new(ErrorKind::RequestTimeout, format!("{what} took longer than its limit"));
    LlmError { retryable: false, ..error }
}
