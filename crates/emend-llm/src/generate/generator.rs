//! The loop of every generation: call the model, run its tools, call it again.

use std::collections::VecDeque;
use std::future::Future;

use futures::StreamExt;
use futures::future::{Either, select};

use super::options::Generate;
use super::result::{GenerateEvent, GenerateResult, StepResult};
use super::stream_result::{StreamResult, timed_out};
use crate::client::{Client, retry_stream};
use crate::error::{ErrorKind, LlmError};
use crate::model::{FinishKind, Message, Request, Response, StreamEvent, ToolCall};
use crate::provider::EventStream;
use crate::runtime::{BoxFuture, Clock, Random, Shared};

/// A client with a clock and randomness, for the high-level calls.
///
/// # Examples
///
/// ```
/// # use emend_llm::{BoxFuture, Clock, Random};
/// # struct StoppedClock;
/// # impl Clock for StoppedClock {
/// #     fn now_ms(&self) -> u64 { 0 }
/// #     fn sleep(&self, _: u64) -> BoxFuture<'static, ()> { Box::pin(std::future::pending()) }
/// # }
/// # struct Zero;
/// # impl Random for Zero {
/// #     fn next_u64(&self) -> u64 { 0 }
/// # }
/// use emend_llm::generate::{Generate, Generator};
/// use emend_llm::tool::{Tool, ToolContext};
/// use emend_llm::{Client, ErrorKind, Shared, ToolDefinition};
/// use futures::executor::block_on;
/// use serde_json::{Value, json};
///
/// let definition = ToolDefinition {
///     name: "weather".to_owned(),
///     description: "Returns the weather in a city.".to_owned(),
///     parameters: json!({"type": "object", "properties": {"city": {"type": "string"}}}),
/// };
/// let weather = Tool::active(definition, |_: Value, _: ToolContext| async { Ok(json!("sunny")) })?;
///
/// // A program adds a provider to the client, and its host's clock and randomness.
/// let generator = Generator { client: Client::new(), clock: Shared::new(StoppedClock), random: Shared::new(Zero) };
/// let options = Generate {
///     prompt: Some("What is the weather in Oslo?".to_owned()),
///     tools: vec![weather],
///     ..Generate::default()
/// };
/// let error = block_on(generator.generate(options)).unwrap_err();
/// assert_eq!(error.kind, ErrorKind::Configuration); // the client lacks a provider
/// # Ok::<(), emend_llm::tool::ToolError>(())
/// ```
#[derive(Clone)]
pub struct Generator {
    /// Sends the requests.
    pub client: Client,
    /// Waits between attempts and enforces time limits.
    pub clock: Shared<dyn Clock>,
    /// Varies the delays between attempts.
    pub random: Shared<dyn Random>,
}

impl Generator {
    /// Generates a response and runs active tools.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if both or neither of `prompt` and `messages` are given,
    /// [`ErrorKind::RequestTimeout`] past a time limit, [`ErrorKind::Abort`] once cancelled, and the errors of the
    /// provider.
    pub async fn generate(&self, options: Generate) -> Result<GenerateResult, LlmError> {
        let mut stream = self.stream(options)?;
        while let Some(event) = stream.next().await {
            event?;
        }
        stream.into_result()
    }

    /// As [`generate`](Self::generate), but yields events as they arrive.
    ///
    /// # Errors
    ///
    /// [`ErrorKind::InvalidRequest`] if both or neither of `prompt` and `messages` are given. All other errors are
    /// items of the stream.
    pub fn stream(&self, options: Generate) -> Result<StreamResult, LlmError> {
        let messages = conversation(&options)?;
        let cancel = options.cancel.clone();
        let total = options.timeout.total_ms.map(|ms| self.clock.sleep(ms));
        let steps = Steps::new(self.clone(), options, messages);
        let events = futures::stream::unfold(steps, Steps::next);
        Ok(StreamResult::new(Box::pin(events), total, cancel.cancelled()))
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

/// The state of a generation between two events.
struct Steps {
    generator: Generator,
    options: Generate,
    messages: Vec<Message>,
    steps: Vec<StepResult>,
    /// The response that is being read.
    answer: Option<EventStream>,
    /// The time limit of the current step.
    step_limit: Option<BoxFuture<'static, ()>>,
    ready: VecDeque<GenerateEvent>,
    done: bool,
}

impl Steps {
    fn new(generator: Generator, options: Generate, messages: Vec<Message>) -> Self {
        Self {
            generator,
            options,
            messages,
            steps: Vec::new(),
            answer: None,
            step_limit: None,
            ready: VecDeque::new(),
            done: false,
        }
    }

    async fn next(mut self) -> Option<(Result<GenerateEvent, LlmError>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((Ok(event), self));
            }
            if self.done {
                return None;
            }
            if let Err(error) = self.advance().await {
                self.done = true;
                return Some((Err(error), self));
            }
        }
    }

    /// Takes one action: opens a step, reads an event, or runs the tools of a finished response.
    async fn advance(&mut self) -> Result<(), LlmError> {
        let Some(mut answer) = self.answer.take() else {
            self.step_limit = self.options.timeout.per_step_ms.map(|ms| self.generator.clock.sleep(ms));
            let opened = open(self.generator.clone(), self.options.clone(), self.request());
            self.answer = Some(limited(&mut self.step_limit, Box::pin(opened)).await??);
            return Ok(());
        };
        let next = limited(&mut self.step_limit, answer.next()).await?;
        match next {
            Some(Ok(StreamEvent::Finish { response })) => {
                self.ready.push_back(GenerateEvent::Model(StreamEvent::Finish { response: response.clone() }));
                self.finish_step(response).await;
            }
            Some(event) => {
                self.ready.push_back(GenerateEvent::Model(event?));
                self.answer = Some(answer);
            }
            None => return Err(LlmError::new(ErrorKind::Stream, "the response ended without its end event")),
        }
        Ok(())
    }

    fn request(&self) -> Request {
        let tools = self.options.tools.iter().map(|tool| tool.definition().clone()).collect();
        Request { messages: self.messages.clone(), tools, ..self.options.request.clone() }
    }

    /// Runs the tools if all are active, and decides whether another step follows.
    async fn finish_step(&mut self, response: Response) {
        let calls: Vec<ToolCall> = response.message.tool_calls().into_iter().cloned().collect();
        let rounds = self.options.max_tool_rounds.unwrap_or(1);
        let budget_left = (self.steps.len() as u64) < u64::from(rounds);
        // A truncated response may hold half a call, which must not run.
        let wanted = !calls.is_empty() && response.finish_reason.reason == FinishKind::ToolCalls;
        let passive =
            calls.iter().any(|call| self.options.tool(&call.name).is_some_and(|tool| tool.handler().is_none()));
        let run = wanted && budget_left && !passive;
        self.messages.push(response.message.clone());
        let tool_results = if run { self.options.run_tools(&calls, &self.messages).await } else { Vec::new() };
        let step = StepResult { response, tool_results };
        self.steps.push(step.clone());
        let enough = self.options.stop_when.as_ref().is_some_and(|condition| condition.stop(&self.steps));
        self.done = !run || enough;
        if run {
            self.messages.push(Message::tool_results(step.tool_results.clone()));
        }
        self.ready.push_back(GenerateEvent::StepFinish(step));
    }
}

async fn open(generator: Generator, options: Generate, request: Request) -> Result<EventStream, LlmError> {
    let (clock, random) = (&*generator.clock, &*generator.random);
    retry_stream(&options.retry, clock, random, &options.cancel, |_| {
        let (client, request, cancel) = (generator.client.clone(), request.clone(), options.cancel.clone());
        async move { client.stream(request, cancel).await }
    })
    .await
}

/// Waits for `future`, but not past the time limit of the step.
async fn limited<T>(
    limit: &mut Option<BoxFuture<'static, ()>>,
    future: impl Future<Output = T> + Unpin,
) -> Result<T, LlmError> {
    let Some(limit) = limit else { return Ok(future.await) };
    match select(future, limit).await {
        Either::Left((value, _)) => Ok(value),
        Either::Right(_) => Err(timed_out("a call of the model")),
    }
}
