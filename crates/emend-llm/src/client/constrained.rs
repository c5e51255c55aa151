//! Tool calls for models without native tool calls: the output is constrained to one JSON object, which is either a
//! call or the final text.
//!
//! It is meant for small local models behind a server that enforces a schema (llama.cpp, Ollama). The request's
//! conversation is rewritten to text, and the object of the response becomes ordinary events, so that callers see a
//! model with native tools.

use std::collections::VecDeque;

use futures::StreamExt;
use serde_json::{Map, Value, json};

use crate::error::LlmError;
use crate::model::{
    ContentPart, FinishKind, Message, Request, Response, ResponseFormat, Role, StreamEvent, ToolCall, ToolChoice,
    ToolDefinition,
};
use crate::partial_json::PartialJson;
use crate::provider::{EventStream, Provider};
use crate::providers::shared::response_builder::local_call_id;
use crate::providers::shared::shared_encoding::result_text;
use crate::runtime::{BoxFuture, CancelToken, Shared};

/// A provider that adds tool calls to a provider without them.
pub struct ConstrainedTools {
    inner: Shared<dyn Provider>,
}

impl ConstrainedTools {
    /// Wraps `inner`, which must enforce [`ResponseFormat::JsonSchema`] or at least pass it to the model.
    #[must_use]
    pub fn new(inner: Shared<dyn Provider>) -> Self {
        Self { inner }
    }
}

impl Provider for ConstrainedTools {
    fn name(&self) -> &str {
        self.inner.name()
    }

    fn initialize(&self) -> Result<(), LlmError> {
        self.inner.initialize()
    }

    fn close(&self) {
        self.inner.close();
    }

    fn stream(&self, request: Request, cancel: CancelToken) -> BoxFuture<'_, Result<EventStream, LlmError>> {
        let no_tools = request.tools.is_empty() || request.tool_choice == Some(ToolChoice::None);
        let request = rewrite(request, no_tools);
        Box::pin(async move {
            let answer = self.inner.stream(request, cancel).await?;
            if no_tools {
                return Ok(answer);
            }
            let state = ConstrainedResponse {
                answer,
                json: PartialJson::new(),
                text: String::new(),
                shown: None,
                ready: VecDeque::new(),
            };
            Ok(Box::pin(futures::stream::unfold(state, ConstrainedResponse::next)) as EventStream)
        })
    }
}

/// Rewrites calls and results to text, and tools to an instruction and a schema.
fn rewrite(mut request: Request, no_tools: bool) -> Request {
    request.messages = request.messages.into_iter().map(as_text).collect();
    let tools = std::mem::take(&mut request.tools);
    let choice = request.tool_choice.take().unwrap_or_default();
    if no_tools {
        return request;
    }
    let tools: Vec<&ToolDefinition> = match &choice {
        ToolChoice::Named { tool_name } => tools.iter().filter(|tool| tool.name == *tool_name).collect(),
        _ => tools.iter().collect(),
    };
    let may_answer = choice == ToolChoice::Auto;
    let instruction = Message::system(instruction(&tools, may_answer));
    let place = request.messages.iter().take_while(|message| message.role == Role::System).count();
    request.messages.insert(place, instruction);
    request.response_format =
        Some(ResponseFormat::JsonSchema { json_schema: call_schema(&tools, may_answer), strict: false });
    request
}

fn instruction(tools: &[&ToolDefinition], may_answer: bool) -> String {
    let mut text = String::from(
        "You work with tools. Write exactly one JSON object and nothing else.\n\
         To call a tool: {\"tool\": \"<name>\", \"arguments\": {...}}. You will be given its result.\n",
    );
    if may_answer {
        text.push_str("When no tool is needed any more: {\"answer\": \"<your answer>\"}.\n");
    }
    text.push_str("The tools:\n");
    for tool in tools {
        text.push_str(&format!("- {}: {} Arguments: {}\n", tool.name, tool.description, tool.parameters));
    }
    text
}

fn call_schema(tools: &[&ToolDefinition], may_answer: bool) -> Value {
    let object = |properties: Value, required: &[&str]| json!({"type": "object", "properties": properties, "required": required, "additionalProperties": false});
    let mut shapes: Vec<Value> = tools
        .iter()
        .map(|tool| object(json!({"tool": {"const": tool.name}, "arguments": tool.parameters}), &["tool", "arguments"]))
        .collect();
    if may_answer {
        shapes.push(object(json!({"answer": {"type": "string"}}), &["answer"]));
    }
    json!({"anyOf": shapes})
}

/// Rewrites a message for a model without tools: its own calls become the objects that it would have written, results
/// become messages of the user.
fn as_text(message: Message) -> Message {
    let has_tools =
        message.content.iter().any(|part| matches!(part, ContentPart::ToolCall(_) | ContentPart::ToolResult(_)));
    if !has_tools {
        return message;
    }
    let mut content = Vec::with_capacity(message.content.len());
    for part in message.content {
        match part {
            ContentPart::ToolCall(call) => {
                let call = json!({"tool": call.name, "arguments": call.arguments});
                content.push(ContentPart::Text { text: call.to_string() });
            }
            ContentPart::ToolResult(result) => {
                let what = if result.is_error { "Error" } else { "Result" };
                let text = format!("{what} of {}:\n{}\n", result.name, result_text(&result.content));
                content.push(ContentPart::Text { text });
                content.extend(result.image.map(ContentPart::Image));
            }
            other => content.push(other),
        }
    }
    let role = if message.role == Role::Tool { Role::User } else { message.role };
    Message { role, content: content.into(), name: message.name }
}

/// Id of the only text of a response.
const TEXT_ID: &str = "text_0";

struct ConstrainedResponse {
    answer: EventStream,
    json: PartialJson,
    text: String,
    /// Number of bytes of the final text that were yielded. If 0, the text block has not begun.
    shown: Option<usize>,
    ready: VecDeque<StreamEvent>,
}

impl ConstrainedResponse {
    async fn next(mut self) -> Option<(Result<StreamEvent, LlmError>, Self)> {
        loop {
            if let Some(event) = self.ready.pop_front() {
                return Some((Ok(event), self));
            }
            match self.answer.next().await? {
                Err(error) => return Some((Err(error), self)),
                Ok(event) => self.take(event),
            }
        }
    }

    fn take(&mut self, event: StreamEvent) {
        match event {
            StreamEvent::TextStart { .. } | StreamEvent::TextEnd { .. } => {}
            StreamEvent::TextDelta { delta, .. } => {
                self.text.push_str(&delta);
                // Text that is not JSON is examined at the end.
                if self.json.push(&delta).is_ok()
                    && let Some(answer) = self.json.value()["answer"].as_str().map(str::to_owned)
                {
                    self.show(&answer);
                }
            }
            StreamEvent::StreamStart { .. } => {
                (self.json, self.shown) = (PartialJson::new(), None);
                self.text.clear();
                self.ready.push_back(event);
            }
            StreamEvent::Finish { response } => self.finish(response),
            other => self.ready.push_back(other),
        }
    }

    /// Yields the new part of a text.
    fn show(&mut self, text: &str) {
        let shown = *self.shown.get_or_insert_with(|| {
            self.ready.push_back(StreamEvent::TextStart { text_id: TEXT_ID.to_owned() });
            0
        });
        if let Some(new) = text.get(shown..).filter(|new| !new.is_empty()) {
            self.ready.push_back(StreamEvent::TextDelta { text_id: TEXT_ID.to_owned(), delta: new.to_owned() });
            self.shown = Some(text.len());
        }
    }

    fn finish(&mut self, mut response: Response) {
        let mut content: Vec<ContentPart> = std::mem::take(&mut response.message.content);
        content.retain(|part| !matches!(part, ContentPart::Text { .. }));
        let object: Map<String, Value> = match serde_json::from_str(self.text.trim()) {
            Ok(Value::Object(object)) => object,
            // Truncated JSON or plain text: the readable part is the response.
            _ => Map::new(),
        };
        match object.get("tool").and_then(Value::as_str) {
            Some(name) => {
                let arguments = object.get("arguments").cloned().unwrap_or_else(|| json!({}));
                let call = ToolCall {
                    id: local_call_id(&response.id, content.len()),
                    name: name.to_owned(),
                    raw_arguments: Some(arguments.to_string()),
                    arguments,
                    custom: false,
                    provider_data: None,
                };
                self.emit_call(&call);
                content.push(ContentPart::ToolCall(call));
                response.finish_reason.reason = FinishKind::ToolCalls;
            }
            None => {
                let text = match (object.get("answer").and_then(Value::as_str), self.shown) {
                    (Some(answer), _) => answer.to_owned(),
                    (None, Some(_)) => self.json.value()["answer"].as_str().unwrap_or_default().to_owned(),
                    (None, None) => std::mem::take(&mut self.text),
                };
                self.show(&text);
                self.ready.push_back(StreamEvent::TextEnd { text_id: TEXT_ID.to_owned() });
                content.push(ContentPart::Text { text });
            }
        }
        response.message.content = content.into();
        self.ready.push_back(StreamEvent::Finish { response });
    }

    fn emit_call(&mut self, call: &ToolCall) {
        let (id, delta) = (call.id.clone(), call.raw_arguments.clone().unwrap_or_default());
        self.ready.push_back(StreamEvent::ToolCallStart { id: id.clone(), name: call.name.clone() });
        self.ready.push_back(StreamEvent::ToolCallDelta { id, delta });
        self.ready.push_back(StreamEvent::ToolCallEnd { tool_call: call.clone() });
    }
}

#[cfg(test)]
mod tests {
    use futures::executor::block_on;

    use super::*;
    use crate::model::ToolResult;
    use crate::model::schema;
    use crate::testing::{Script, covers, says};
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    fn tool(name: &str) -> ToolDefinition {
        let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
        ToolDefinition { name: name.into(), description: "A tool.".into(), parameters }
    }

    fn request(choice: Option<ToolChoice>) -> Request {
        Request {
            messages: vec![Message::system("s"), Message::user("u")],
            tools: vec![tool("read"), tool("write")],
            tool_choice: choice,
            ..Request::default()
        }
    }

    /// Returns the events of a response that arrives in `pieces`, as short names, and the response.
    fn run(pieces: &[&str]) -> (Vec<String>, Response) {
        let provider = ConstrainedTools::new(Script::new("local", [says(pieces)]));
        let events: Vec<StreamEvent> = block_on(async {
            let stream = provider.stream(request(None), CancelToken::new()).await.unwrap();
            stream.map(Result::unwrap).collect().await
        });
        let names = events.iter().map(|event| match event {
            StreamEvent::TextDelta { delta, .. } => format!("text {delta}"),
            StreamEvent::ToolCallDelta { delta, .. } => format!("arguments {delta}"),
            other => serde_json::to_value(other).unwrap()["type"].as_str().unwrap().to_owned(),
        });
        let Some(StreamEvent::Finish { response }) = events.last() else { panic!("{events:?}") };
        (names.collect(), response.clone())
    }

    #[test]
    fn a_call_becomes_the_events_of_a_call() {
        covers("constrained.tool_calls");
        let (events, response) = run(&["{\"tool\": \"re", "ad\", \"arguments\": {\"path\"", ": \"a\"}}"]);
        let expected = ["stream_start", "tool_call_start", "arguments {\"path\":\"a\"}", "tool_call_end", "finish"];
        assert_eq!(events, expected);
        let calls = response.message.tool_calls();
        assert_eq!((calls[0].name.as_str(), &calls[0].arguments), ("read", &json!({"path": "a"})));
        assert_eq!(response.finish_reason.reason, FinishKind::ToolCalls);
        assert_eq!(response.message.text(), "");
    }

    #[test]
    fn a_final_text_streams_while_it_is_written() {
        let (events, response) = run(&["{\"answer\": \"It ", "is", " \\u00e9.", "\"}"]);
        assert_eq!(events, ["stream_start", "text_start", "text It ", "text is", "text  é.", "text_end", "finish"]);
        assert_eq!((response.message.text().as_str(), response.finish_reason.reason), ("It is é.", FinishKind::Stop));
    }

    #[test]
    fn text_that_is_not_an_object_is_the_final_text() {
        assert_eq!(run(&["Just ", "text."]).1.message.text(), "Just text.");
        assert_eq!(run(&["{\"answer\": \"cut o"]).1.message.text(), "cut o");
        assert_eq!(run(&["{\"tool\": \"re"]).1.message.text(), "{\"tool\": \"re");
        assert_eq!(run(&["[1]"]).1.message.text(), "[1]");
    }

    #[test]
    fn the_schema_follows_the_tool_choice() {
        covers("constrained.tool_calls");
        #[track_caller]
        fn check(choice: Option<ToolChoice>, allowed: [bool; 3]) {
            let script = Script::new("local", [says(&["{}"])]);
            let provider = ConstrainedTools::new(Shared::clone(&script) as Shared<dyn Provider>);
            block_on(provider.stream(request(choice), CancelToken::new())).map(drop).unwrap();
            let sent = script.requests().remove(0);
            let Some(ResponseFormat::JsonSchema { json_schema, .. }) = sent.response_format else {
                panic!("no schema")
            };
            let valid = |value: Value| schema::validate(&json_schema, &value).is_ok();
            let call = |name: &str| json!({"tool": name, "arguments": {"path": "a"}});
            assert_eq!([valid(call("read")), valid(call("write")), valid(json!({"answer": "x"}))], allowed);
            assert!(!valid(json!({"tool": "read", "arguments": {}})));
            assert!(sent.messages[1].text().contains("write") && sent.tools.is_empty());
        }
        check(None, [true, true, true]);
        check(Some(ToolChoice::Required), [true, true, false]);
        check(Some(ToolChoice::Named { tool_name: "write".into() }), [false, true, false]);
    }

    #[test]
    fn calls_and_results_are_shown_as_text() {
        covers("constrained.tool_calls");
        let call = ToolCall {
            id: "1".into(),
            name: "read".into(),
            arguments: json!({"path": "a"}),
            raw_arguments: None,
            custom: false,
            provider_data: None,
        };
        let result = ToolResult {
            tool_call_id: "1".into(),
            name: "read".into(),
            content: json!("hello"),
            is_error: true,
            image: None,
        };
        let mut request = request(Some(ToolChoice::None));
        request.messages.push(Message {
            role: Role::Assistant,
            content: vec![ContentPart::ToolCall(call)].into(),
            name: None,
        });
        request.messages.push(Message::tool_results(vec![result]));
        let rewritten = rewrite(request, true);
        let shown: Vec<(Role, String)> =
            rewritten.messages.iter().map(|message| (message.role, message.text())).collect();
        assert_eq!(
            shown[2..],
            [
                (Role::Assistant, "{\"tool\":\"read\",\"arguments\":{\"path\":\"a\"}}".to_owned()),
                (Role::User, "Error of read:\nhello\n".to_owned())
            ]
        );
        assert_eq!((rewritten.tools.len(), rewritten.response_format), (0, None));
    }
}
