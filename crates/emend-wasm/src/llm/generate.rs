//! Generation: rounds of model calls and tool calls until the model is done, and values that match a schema.

use emend_llm::generate::{Generate, GenerateEvent, StepResult, TimeoutConfig};
use emend_llm::tool::{Tool, ToolContext, ToolHandler};
use emend_llm::{BoxFuture, CancelToken, Message, Request, StreamEvent, ToolDefinition, Usage};
use futures::{StreamExt as _, stream};
use js_sys::Function;
use serde::{Deserialize, Serialize};
use serde_json::Value;
use wasm_bindgen::prelude::*;

use super::client::{ClientHandle, RetryOptions, StreamHandle};
use super::{item_text, read, thrown};
use crate::failure::Failure;
use crate::host::promise;

/// The options of a generation, read from JSON text.
#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Options {
    request: Request,
    prompt: Option<String>,
    messages: Option<Vec<Message>>,
    system: Option<String>,
    #[serde(default)]
    tools: Vec<ToolOptions>,
    max_tool_rounds: Option<u32>,
    #[serde(default)]
    retry: RetryOptions,
    #[serde(default)]
    timeout: Timeout,
}

/// A tool. JavaScript runs it if it is `active`.
#[derive(Deserialize)]
struct ToolOptions {
    name: String,
    description: String,
    parameters: Value,
    #[serde(default)]
    active: bool,
}

#[derive(Default, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Timeout {
    total_ms: Option<u64>,
    per_step_ms: Option<u64>,
}

/// Items of a generation's stream beside the model's own events.
#[derive(Serialize)]
#[serde(tag = "type", rename_all = "snake_case")]
enum Item<'a> {
    StepFinish { response: &'a emend_llm::Response, tool_results: &'a [emend_llm::ToolResult] },
    Result { total_usage: Usage, output: Option<Value> },
    PartialObject { value: &'a Value },
}

/// Runs a tool through a JavaScript function. It gets the tool's name, the arguments as JSON text and the call's id. It
/// returns a promise of the result as JSON text, which rejects with a text for the model.
struct JsToolHandler {
    name: String,
    run: Function,
}

impl ToolHandler for JsToolHandler {
    fn call(&self, arguments: Value, context: ToolContext) -> BoxFuture<'static, Result<Value, String>> {
        let (name, id) = (JsValue::from_str(&self.name), JsValue::from_str(&context.tool_call_id));
        let begun = self.run.call3(&JsValue::UNDEFINED, &name, &arguments.to_string().into(), &id);
        Box::pin(async move {
            let reason =
                |thrown: JsValue| thrown.as_string().unwrap_or_else(|| "the tool failed without a reason".to_owned());
            let result = promise(&begun.map_err(reason)?).await.map_err(reason)?;
            serde_json::from_str(&result.as_string().unwrap_or_default()).map_err(|error| error.to_string())
        })
    }
}

impl Options {
    fn into_generate(self, run: &Function, cancel: CancelToken) -> Result<Generate, Failure> {
        let tools = self.tools.into_iter().map(|tool| {
            let ToolOptions { name, description, parameters, active } = tool;
            let definition = ToolDefinition { name: name.clone(), description, parameters };
            let made = match active {
                true => Tool::active(definition, JsToolHandler { name, run: run.clone() }),
                false => Tool::passive(definition),
            };
            made.map_err(|error| Failure::invalid(error.to_string()))
        });
        Ok(Generate {
            request: self.request,
            prompt: self.prompt,
            messages: self.messages,
            system: self.system,
            tools: tools.collect::<Result<_, _>>()?,
            max_tool_rounds: self.max_tool_rounds,
            retry: self.retry.policy(),
            timeout: TimeoutConfig { total_ms: self.timeout.total_ms, per_step_ms: self.timeout.per_step_ms },
            cancel,
            ..Generate::default()
        })
    }
}

#[wasm_bindgen]
impl ClientHandle {
    /// Generates a response. The items are the model's events, `step_finish` after each step, and `result` at the end.
    pub fn generate(&self, options: &str, run_tool: Function) -> Result<StreamHandle, JsValue> {
        let cancel = CancelToken::new();
        let options: Options = thrown(read("the options are", options))?;
        let options = thrown(options.into_generate(&run_tool, cancel.clone()))?;
        let events = thrown(self.generator.stream(options).map_err(Failure::from))?;
        let texts = stream::unfold(Some((events, Usage::default())), |state| async move {
            let (mut events, usage) = state?;
            match events.next().await {
                None => Some((item_text(Ok(Item::Result { total_usage: usage, output: None })), None)),
                Some(Err(error)) => Some((item_text(Err::<(), _>(error.into())), None)),
                Some(Ok(GenerateEvent::Model(event))) => {
                    Some((item_text(Ok::<&StreamEvent, _>(&event)), Some((events, usage))))
                }
                Some(Ok(GenerateEvent::StepFinish(step))) => {
                    let usage = usage + step.usage().clone();
                    Some((step_text(&step), Some((events, usage))))
                }
            }
        });
        Ok(StreamHandle::new(texts, cancel))
    }

    /// Generates a value that matches a schema. The items are `partial_object` as the value grows, then `result`.
    #[wasm_bindgen(js_name = generateObject)]
    pub fn generate_object(&self, options: &str, schema: &str, run_tool: Function) -> Result<StreamHandle, JsValue> {
        let cancel = CancelToken::new();
        let options: Options = thrown(read("the options are", options))?;
        let schema: Value = thrown(read("the schema is", schema))?;
        let options = thrown(options.into_generate(&run_tool, cancel.clone()))?;
        let objects = thrown(self.generator.stream_object(options, schema).map_err(Failure::from))?;
        let texts = stream::unfold(Some(objects), |state| async move {
            let mut objects = state?;
            let grown =
                objects.next().await.map(|value| value.map(|value| item_text(Ok(Item::PartialObject { value }))));
            Some(match grown {
                Some(Ok(text)) => (text, Some(objects)),
                Some(Err(error)) => (item_text(Err::<(), _>(error.into())), None),
                None => {
                    let output = objects.object().map_err(Failure::from);
                    let result =
                        output.map(|output| Item::Result { total_usage: Usage::default(), output: Some(output) });
                    (item_text(result), None)
                }
            })
        });
        Ok(StreamHandle::new(texts, cancel))
    }
}

fn step_text(step: &StepResult) -> String {
    item_text(Ok(Item::StepFinish { response: &step.response, tool_results: &step.tool_results }))
}
