//! Tests of the loop against a scripted provider.

use std::sync::Mutex;
use std::task::Poll;

use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::tool::{Tool, ToolCallRepair, ToolContext};
use super::*;
use crate::client::Client;
use crate::error::{ErrorKind, LlmError};
use crate::model::{FinishKind, Message, Request, ToolCall, ToolDefinition};
use crate::provider::Provider;
use crate::runtime::{BoxFuture, CancelToken, Shared};
use crate::testing::{ManualClock, Script, Scripted, SeededRandom, calls, covers, says};

fn generator_of(provider: Shared<dyn Provider>, clock: ManualClock) -> Generator {
    Generator {
        client: Client::new().with_provider(provider),
        clock: Shared::new(clock),
        random: Shared::new(SeededRandom::new(1)),
    }
}

/// Generates with `options` against scripted responses. Returns the result and the requests.
fn run(
    options: Generate,
    answers: impl IntoIterator<Item = Scripted>,
) -> (Result<GenerateResult, LlmError>, Vec<Request>) {
    let script = Script::new("script", answers);
    let generator = generator_of(Shared::clone(&script) as Shared<dyn Provider>, ManualClock::default());
    (block_on(generator.generate(options)), script.requests())
}

fn definition(name: &str) -> ToolDefinition {
    let parameters = json!({"type": "object", "properties": {"city": {"type": "string"}}, "required": ["city"]});
    ToolDefinition { name: name.into(), description: "Weather.".into(), parameters }
}

/// A tool that returns the city, or fails for Atlantis.
fn weather() -> Tool {
    Tool::active(definition("weather"), |arguments: Value, context: ToolContext| async move {
        assert_eq!(context.messages.last().map(|message| message.role), Some(crate::model::Role::Assistant));
        match arguments["city"].as_str() {
            Some("Atlantis") => Err("it sank".to_owned()),
            city => Ok(json!(format!("sunny in {}", city.unwrap_or_default()))),
        }
    })
    .unwrap()
}

fn prompt(tools: Vec<Tool>) -> Generate {
    Generate { prompt: Some("weather?".into()), tools, ..Generate::default() }
}

fn asks(cities: &[&str]) -> Scripted {
    let asked: Vec<(&str, &str, Value)> = cities.iter().map(|city| (*city, "weather", json!({"city": city}))).collect();
    calls(&asked, FinishKind::ToolCalls)
}

fn results(request: &Request) -> Vec<(String, bool)> {
    let last = request.messages.last().unwrap();
    let results = last.content.iter().filter_map(|part| match part {
        crate::model::ContentPart::ToolResult(result) => Some(result),
        _ => None,
    });
    results.map(|result| (result.content.as_str().unwrap().to_owned(), result.is_error)).collect()
}

#[test]
fn a_prompt_or_messages_but_not_both() {
    covers("generate.prompt generate.messages generate.exclusive");
    let (result, requests) = run(Generate { system: Some("s".into()), ..prompt(vec![]) }, [says(&["Hi"])]);
    assert_eq!(result.unwrap().last.text(), "Hi");
    assert_eq!(requests[0].messages, [Message::system("s"), Message::user("weather?")]);
    let messages = Some(vec![Message::user("a"), Message::assistant("b"), Message::user("c")]);
    let (result, requests) = run(Generate { messages: messages.clone(), ..Generate::default() }, [says(&["Hi"])]);
    assert_eq!(result.unwrap().steps.len(), 1);
    assert_eq!(Some(&requests[0].messages), messages.as_ref());
    for options in [Generate { messages, ..prompt(vec![]) }, Generate::default()] {
        let (result, requests) = run(options, []);
        assert_eq!((result.unwrap_err().kind, requests.len()), (ErrorKind::InvalidRequest, 0));
    }
}

#[test]
fn all_calls_of_a_response_run_and_their_results_are_sent_in_order() {
    covers("tool_loop.active tool_loop.one_message tool_loop.tool_error tool_loop.steps tool_loop.handler_context");
    let (result, requests) = run(prompt(vec![weather()]), [asks(&["Oslo", "Atlantis", "Rome"]), says(&["Done"])]);
    let result = result.unwrap();
    assert_eq!((result.steps.len(), requests.len(), result.last.text().as_str()), (2, 2, "Done"));
    let expected = [("sunny in Oslo", false), ("it sank", true), ("sunny in Rome", false)];
    assert_eq!(results(&requests[1]), expected.map(|(text, is_error)| (text.to_owned(), is_error)));
    assert_eq!(result.steps[0].tool_results.len(), 3);
    assert_eq!((result.last.usage().input_tokens, result.total_usage.input_tokens), (10, 20));
}

#[test]
fn calls_run_at_the_same_time() {
    covers("tool_loop.concurrent");
    // Each call waits until the other has begun: run in sequence, they would wait forever.
    let begun: Shared<Mutex<usize>> = Shared::default();
    let tool = Tool::active(definition("weather"), move |_: Value, _: ToolContext| {
        let begun = Shared::clone(&begun);
        *begun.lock().unwrap() += 1;
        let mut polls = 0;
        std::future::poll_fn(move |context| {
            polls += 1;
            context.waker().wake_by_ref();
            match *begun.lock().unwrap() {
                2 => Poll::Ready(Ok(json!("both"))),
                _ if polls > 100 => Poll::Ready(Err("alone".to_owned())),
                _ => Poll::Pending,
            }
        })
    });
    let (_, requests) = run(prompt(vec![tool.unwrap()]), [asks(&["a", "b"]), says(&["Done"])]);
    assert_eq!(results(&requests[1]), [("both".to_owned(), false), ("both".to_owned(), false)]);
}

#[test]
fn rounds_are_limited() {
    covers("tool_loop.limit tool_loop.zero tool_loop.stop_condition");
    let endless = || (0..9).map(|_| asks(&["Oslo"]));
    for (rounds, steps) in [(None, 2), (Some(0), 1), (Some(1), 2), (Some(4), 5)] {
        let options = Generate { max_tool_rounds: rounds, ..prompt(vec![weather()]) };
        let (result, requests) = run(options, endless());
        let result = result.unwrap();
        assert_eq!((result.steps.len(), requests.len()), (steps, steps), "{rounds:?} rounds");
        assert_eq!((result.last.tool_calls().len(), result.last.tool_results.len()), (1, 0));
    }
    let enough = |steps: &[StepResult]| steps.len() == 2;
    let stop_when: Option<Shared<dyn StopCondition>> = Some(Shared::new(enough));
    let options = Generate { max_tool_rounds: Some(9), stop_when, ..prompt(vec![weather()]) };
    assert_eq!(run(options, endless()).0.unwrap().steps.len(), 2);
}

#[test]
fn calls_of_passive_tools_and_truncated_calls_are_returned_to_the_caller() {
    covers("tool_loop.passive tool_loop.truncated_call");
    let passive = Tool::passive(definition("weather")).unwrap();
    let options = Generate { max_tool_rounds: Some(9), ..prompt(vec![passive]) };
    let (result, requests) = run(options, [asks(&["Oslo"])]);
    assert_eq!((result.unwrap().last.tool_calls().len(), requests.len()), (1, 1));
    let cut = calls(&[("1", "weather", json!("{\"city\": \"O"))], FinishKind::Length);
    let (result, requests) = run(prompt(vec![weather()]), [cut]);
    assert_eq!((result.unwrap().last.tool_results.len(), requests.len()), (0, 1));
}

#[test]
fn unknown_tools_and_wrong_arguments_are_reported_to_the_model() {
    covers("tool_loop.unknown_tool tool_loop.arguments");
    let asked = [("1", "whether", json!({})), ("2", "weather", json!({"town": "Oslo"})), ("3", "weather", json!("{"))];
    let (_, requests) = run(prompt(vec![weather()]), [calls(&asked, FinishKind::ToolCalls), says(&["Sorry"])]);
    let expected = [
        "Unknown tool: whether. Known tools: weather",
        "Invalid arguments for weather: /city: required but missing; received town",
        "Invalid arguments for weather: value: expected object, got string \"{\"",
    ];
    assert_eq!(results(&requests[1]), expected.map(|text| (text.to_owned(), true)));
}

struct TownIsCity;

impl ToolCallRepair for TownIsCity {
    fn repair(&self, call: &ToolCall, problem: &str) -> BoxFuture<'static, Option<Value>> {
        assert_eq!(problem, "/city: required but missing; received town");
        let town = call.arguments["town"].clone();
        Box::pin(async move { Some(json!({"city": town})) })
    }
}

#[test]
fn wrong_arguments_can_be_repaired() {
    covers("tool_loop.repair");
    let options = Generate { repair_tool_call: Some(Shared::new(TownIsCity)), ..prompt(vec![weather()]) };
    let asked = calls(&[("1", "weather", json!({"town": "Oslo"}))], FinishKind::ToolCalls);
    let (_, requests) = run(options, [asked, says(&["Done"])]);
    assert_eq!(results(&requests[1]), [("sunny in Oslo".to_owned(), false)]);
}

#[test]
fn each_step_has_its_own_retries() {
    covers("retry.disabled retry.permanent retry.per_step");
    let overloaded = || Err(LlmError::new(ErrorKind::Server, "overloaded"));
    let answers = [overloaded(), asks(&["Oslo"]), overloaded(), overloaded(), says(&["Done"])];
    let (result, requests) = run(prompt(vec![weather()]), answers);
    assert_eq!((result.unwrap().steps.len(), requests.len()), (2, 5));
    let (result, requests) = run(prompt(vec![]), [overloaded(), overloaded(), overloaded(), says(&["late"])]);
    assert_eq!((result.unwrap_err().kind, requests.len()), (ErrorKind::Server, 3));
    let denied = Err(LlmError::new(ErrorKind::Authentication, "no"));
    let (result, requests) = run(prompt(vec![]), [denied, says(&["late"])]);
    assert_eq!((result.unwrap_err().kind, requests.len()), (ErrorKind::Authentication, 1));
}

#[test]
fn no_retry_follows_the_first_content() {
    covers("retry.after_content");
    let mut broken = says(&["Hel"]).unwrap();
    broken.truncate(3);
    broken.push(Err(LlmError::new(ErrorKind::Stream, "broke off")));
    let (result, requests) = run(prompt(vec![]), [Ok(broken), says(&["Hello"])]);
    assert_eq!((result.unwrap_err().kind, requests.len()), (ErrorKind::Stream, 1));
}

#[test]
fn time_limits_and_cancelling_end_the_wait() {
    covers("generate.cancel generate.timeouts");
    let hang = |timeout: TimeoutConfig| run(Generate { timeout, ..prompt(vec![]) }, []).0.unwrap_err().kind;
    assert_eq!(hang(TimeoutConfig { total_ms: Some(5), per_step_ms: None }), ErrorKind::RequestTimeout);
    assert_eq!(hang(TimeoutConfig { total_ms: None, per_step_ms: Some(5) }), ErrorKind::RequestTimeout);
    let cancelled = prompt(vec![]);
    cancelled.cancel.cancel();
    assert_eq!(run(cancelled, []).0.unwrap_err().kind, ErrorKind::Abort);
    // Cancelled by the tool while the next response is awaited.
    let cancel = CancelToken::new();
    let tool = Tool::active(definition("weather"), |_: Value, context: ToolContext| async move {
        context.cancel.cancel();
        Ok(json!("done"))
    });
    let options = Generate { cancel: cancel.clone(), ..prompt(vec![tool.unwrap()]) };
    assert_eq!(run(options, [asks(&["Oslo"])]).0.unwrap_err().kind, ErrorKind::Abort);
}

#[test]
fn a_stream_spans_the_steps() {
    covers("generate.stream_bounds generate.partial_response");
    let script = Script::new("script", [asks(&["Oslo"]), says(&["Do", "ne"])]);
    let generator = generator_of(script, ManualClock::default());
    let mut stream = generator.stream(prompt(vec![weather()])).unwrap();
    let mut seen = Vec::new();
    while let Some(event) = block_on(stream.next()) {
        seen.push(match event.unwrap() {
            GenerateEvent::Model(event) => {
                let partial = stream.partial_response().message;
                let kind = serde_json::to_value(&event).unwrap()["type"].as_str().unwrap().to_owned();
                format!("{kind} {}", partial.text())
            }
            GenerateEvent::StepFinish(step) => format!("step with {} results", step.tool_results.len()),
        });
    }
    let first = ["stream_start ", "tool_call_start ", "tool_call_end ", "finish ", "step with 1 results"];
    let second = ["stream_start ", "text_start ", "text_delta Do", "text_delta Done", "text_end Done", "finish Done"];
    assert_eq!(seen, [&first[..], &second[..], &["step with 0 results"]].concat());
    assert_eq!(stream.response().unwrap().message.text(), "Done");
    assert_eq!(stream.into_result().unwrap().steps.len(), 2);
    let script = Script::new("script", [says(&["Do", "ne"])]);
    let texts = generator_of(script, ManualClock::default()).stream(prompt(vec![])).unwrap().text_stream();
    assert_eq!(block_on(texts.map(Result::unwrap).collect::<Vec<_>>()), ["Do", "ne"]);
}

fn person() -> Value {
    json!({"type": "object", "properties": {"name": {"type": "string"}, "age": {"type": "integer"}},
        "required": ["name", "age"], "additionalProperties": false})
}

#[test]
fn an_object_is_parsed_and_checked() {
    covers("generate.object generate.invalid_object");
    #[track_caller]
    fn check(text: &str, expected: Option<Value>) {
        let script = Script::new("script", [says(&[text])]);
        let generator = generator_of(Shared::clone(&script) as Shared<dyn Provider>, ManualClock::default());
        let outcome = block_on(generator.generate_object(prompt(vec![]), person()));
        match expected {
            Some(expected) => assert_eq!(outcome.unwrap().output, Some(expected)),
            None => assert_eq!(outcome.unwrap_err().kind, ErrorKind::NoObjectGenerated),
        }
        let format = crate::model::ResponseFormat::JsonSchema { json_schema: person(), strict: true };
        assert_eq!(script.requests()[0].response_format, Some(format));
    }
    let alice = json!({"name": "Alice", "age": 30});
    check("{\"name\": \"Alice\", \"age\": 30}", Some(alice.clone()));
    check("```json\n{\"name\": \"Alice\", \"age\": 30}\n```", Some(alice));
    check("{\"name\": \"Alice\", \"age\": \"30\"}", None);
    check("{\"name\": \"Alice\"", None);
    check("Alice is 30.", None);
}

#[test]
fn an_object_can_be_watched_while_it_grows() {
    covers("generate.partial_object");
    let script = Script::new("script", [says(&["```json\n{\"name\": \"Al", "ice\", \"age\": 3", "0}", "\n```"])]);
    let mut stream = generator_of(script, ManualClock::default()).stream_object(prompt(vec![]), person()).unwrap();
    let mut seen = Vec::new();
    while let Some(value) = block_on(stream.next()) {
        seen.push(value.unwrap().clone());
    }
    let whole = json!({"name": "Alice", "age": 30});
    assert_eq!(seen, [json!({"name": "Al"}), json!({"name": "Alice", "age": null}), whole.clone()]);
    assert_eq!(stream.object(), Ok(whole));
}

#[test]
fn the_default_client_is_the_one_set_last() {
    covers("client.default_client");
    crate::set_default_client(None);
    assert_eq!(crate::default_client().map(drop).unwrap_err().kind, ErrorKind::Configuration);
    let make = || generator_of(Script::new("script", [says(&["sunny"]), says(&["rainy"])]), ManualClock::default());
    let text = |generator: &Generator| block_on(generator.generate(prompt(vec![]))).map(|result| result.last.text());
    assert_eq!(text(&crate::default_client_or_set(make)).as_deref(), Ok("sunny"));
    let other = || generator_of(Script::new("other", [says(&["foggy"])]), ManualClock::default());
    assert_eq!(text(&crate::default_client_or_set(other)).as_deref(), Ok("rainy"), "the first one stays");
    crate::set_default_client(Some(other()));
    assert_eq!(text(&crate::default_client().unwrap()).as_deref(), Ok("foggy"));
}
