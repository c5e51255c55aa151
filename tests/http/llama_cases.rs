//! Cases for a real model behind llama.cpp's server, on both hosts: the three wire formats that it supports, and a tool
//! call through schema-constrained output.

use emend_llm::constrained::ConstrainedTools;
use emend_llm::generate::{Generate, GenerateEvent, GenerateResult, Generator};
use emend_llm::tool::{Tool, ToolContext};
use emend_llm::{
    Api, CancelToken, ErrorKind, FinishKind, LlmError, Request, Shared, StreamEvent, ToolChoice, ToolDefinition, schema,
};
use futures::StreamExt;
use serde_json::{Value, json};

use crate::cases::{Provide, generator};

/// The wire formats that the server supports.
const APIS: [Api; 3] = [Api::OpenAiChat, Api::OpenAiResponses, Api::AnthropicMessages];

/// The server accepts any key.
const KEY: &str = "none";

fn prompt(text: &str, max_tokens: u64) -> Generate {
    let request = Request {
        model: "smollm2".to_owned(),
        max_tokens: Some(max_tokens),
        temperature: Some(0.0),
        ..Request::default()
    };
    Generate { request, prompt: Some(text.to_owned()), ..Generate::default() }
}

fn over(provide: Provide<'_>, api: Api) -> Generator {
    generator(provide(api, KEY)).0
}

async fn stream(generator: &Generator, options: Generate) -> (Vec<StreamEvent>, Result<GenerateResult, LlmError>) {
    let mut stream = generator.stream(options).unwrap();
    let mut events = Vec::new();
    let failure = loop {
        match stream.next().await {
            Some(Ok(GenerateEvent::Model(event))) => events.push(event),
            Some(Ok(GenerateEvent::StepFinish(_))) => {}
            Some(Err(error)) => break Some(error),
            None => break None,
        }
    };
    (events, failure.map_or_else(|| stream.into_result(), Err))
}

fn text_of(events: &[StreamEvent]) -> String {
    let deltas = events.iter().filter_map(|event| match event {
        StreamEvent::TextDelta { delta, .. } => Some(delta.as_str()),
        _ => None,
    });
    deltas.collect()
}

pub(crate) async fn text_streams_in_three_formats(provide: Provide<'_>) {
    for api in APIS {
        let (events, outcome) = stream(&over(provide, api), prompt("Say hello in one sentence.", 40)).await;
        let result = outcome.unwrap_or_else(|error| panic!("{}: {error:?}", api.name()));
        let text = result.last.text();
        println!("{}: {text:?}, {:?}", api.name(), result.last.usage());
        assert!(!text.trim().is_empty(), "{}: the answer is empty", api.name());
        assert_eq!(text_of(&events), text, "{}", api.name());
        assert!(events.len() > 5, "{}: it came in {} events", api.name(), events.len());
        let usage = result.last.usage();
        assert!(usage.input_tokens > 5 && usage.output_tokens > 1, "{}: {usage:?}", api.name());
        let reason = result.last.finish_reason().reason;
        assert!([FinishKind::Stop, FinishKind::Length].contains(&reason), "{}: {reason:?}", api.name());
    }
}

pub(crate) async fn a_response_at_its_limit_reports_it(provide: Provide<'_>) {
    for api in APIS {
        let (_, outcome) = stream(&over(provide, api), prompt("Write a long story about a dragon.", 8)).await;
        let result = outcome.unwrap();
        // In Responses the server always reports `completed`.
        let expected = if api == Api::OpenAiResponses { FinishKind::Stop } else { FinishKind::Length };
        assert_eq!(result.last.finish_reason().reason, expected, "{}: {result:?}", api.name());
        assert_eq!(result.last.usage().output_tokens, 8, "{}", api.name());
    }
}

pub(crate) async fn a_conversation_that_is_too_long_is_reported(provide: Provide<'_>) {
    for api in APIS {
        let (_, outcome) = stream(&over(provide, api), prompt(&"word ".repeat(9000), 8)).await;
        assert_eq!(outcome.unwrap_err().kind, ErrorKind::ContextLength, "{}", api.name());
    }
}

pub(crate) async fn after_cancelling_the_server_answers_again(provide: Provide<'_>) {
    for api in APIS {
        let generator = over(provide, api);
        let cancel = CancelToken::new();
        let options = Generate { cancel: cancel.clone(), ..prompt("Write a long story about a dragon.", 4000) };
        let mut stream = generator.stream(options).unwrap();
        let error = loop {
            match stream.next().await.expect("an end") {
                Ok(GenerateEvent::Model(StreamEvent::TextDelta { .. })) => cancel.cancel(),
                Ok(GenerateEvent::StepFinish(_)) => panic!("{}: it ended before it was cancelled", api.name()),
                Ok(_) => {}
                Err(error) => break error,
            }
        };
        assert_eq!(error.kind, ErrorKind::Abort, "{}", api.name());
        let answer = generator.generate(prompt("Say hello.", 8)).await.unwrap();
        assert!(!answer.last.text().is_empty());
    }
}

fn read_file() -> ToolDefinition {
    let parameters = json!({
        "type": "object",
        "properties": {"path": {"type": "string", "description": "The file."}},
        "required": ["path"],
        "additionalProperties": false,
    });
    ToolDefinition { name: "read_file".to_owned(), description: "Reads a file.".to_owned(), parameters }
}

pub(crate) async fn a_model_without_native_tools_calls_one_through_constrained_output(provide: Provide<'_>) {
    let constrained = Shared::new(ConstrainedTools::new(provide(Api::OpenAiChat, KEY)));
    let (generator, _) = generator(constrained);
    let read = |arguments: Value, _: ToolContext| async move { Ok(json!(format!("read {}", arguments["path"]))) };
    let mut options = prompt("Read the file notes.txt and tell me what it says.", 200);
    options.request.tool_choice = Some(ToolChoice::Required);
    let tool = Tool::active(read_file(), read).unwrap();
    let (events, outcome) =
        stream(&generator, Generate { tools: vec![tool], max_tool_rounds: Some(1), ..options }).await;
    let result = outcome.unwrap();
    let first = &result.steps[0];
    let calls = first.tool_calls();
    println!("the model called {calls:?}; it was given {:?}", first.tool_results);
    assert_eq!((calls.len(), calls[0].name.as_str()), (1, "read_file"));
    assert_eq!(schema::validate(&read_file().parameters, &calls[0].arguments), Ok(()));
    assert!(calls[0].arguments["path"].as_str().is_some_and(|path| path.contains("notes")), "{calls:?}");
    assert_eq!(first.finish_reason().reason, FinishKind::ToolCalls);
    assert_eq!(first.tool_results[0].content, json!(format!("read {}", calls[0].arguments["path"])));
    assert!(events.iter().any(|event| matches!(event, StreamEvent::ToolCallEnd { .. })));
}
