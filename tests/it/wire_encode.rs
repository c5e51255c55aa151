//! Every request is valid by the providers' own schemas: requests written by hand for each feature, and conversations
//! that continue each recorded response, at its provider and at every other one.
//!
//! The validator is beside the recordings that `EMEND_WIRE` names. It runs in the Python environment that `cargo xtask
//! setup` creates. Without either, the test is skipped.

use std::collections::BTreeMap;
use std::io::Write;
use std::path::{Path, PathBuf};
use std::process::{Command, Stdio};

use emend_llm::{
    Api, Config, ContentPart, FinishKind, MediaData, Message, Request, ResponseFormat, Role, StreamEvent, ToolChoice,
    ToolDefinition, ToolResult,
};
use serde_json::{Value, json};

use crate::checklist::covers;
use crate::wire::{Case, load};

/// Validates the request in each line of standard input: `{"api", "body"}`.
const VALIDATE_LINES: &str = "\
import json, sys
sys.path.insert(0, sys.argv[1])
from validate_request import validate
for line in sys.stdin:
    request = json.loads(line)
    result = validate(request['api'], request['body'])
    print(json.dumps(result['errors'] + result['strict_errors']))
";

pub(crate) struct Sample {
    pub(crate) name: String,
    pub(crate) api: Api,
    pub(crate) body: Value,
}

pub(crate) fn python() -> Option<PathBuf> {
    let root = Path::new(env!("CARGO_MANIFEST_DIR")).parent()?;
    Some(root.join("target/py/bin/python")).filter(|python| python.exists())
}

fn sample(name: &str, api: Api, request: &Request) -> Sample {
    let adapter = api.adapter(Config { api_key: "k".into(), ..Config::default() });
    let http = adapter.encode(request, true).unwrap_or_else(|error| panic!("{name} for {}: {error}", api.name()));
    Sample { name: name.to_owned(), api, body: serde_json::from_slice(&http.body).unwrap() }
}

fn model(api: Api) -> &'static str {
    match api {
        Api::AnthropicMessages => "claude-opus-4-6",
        Api::OpenAiResponses | Api::OpenAiChat => "gpt-5.2",
        Api::Gemini => "gemini-3-flash-preview",
    }
}

fn tool(name: &str) -> ToolDefinition {
    let parameters = json!({"type": "object", "properties": {"path": {"type": "string"}}, "required": ["path"]});
    ToolDefinition { name: name.into(), description: "A tool.".into(), parameters }
}

/// Requests for each feature that all formats support.
fn features(api: Api) -> Vec<(&'static str, Request)> {
    let base = Request {
        model: model(api).into(),
        messages: vec![Message::system("s"), Message::text_of(Role::Developer, "d"), Message::user("u")],
        ..Request::default()
    };
    let user = |part: ContentPart| {
        let content = vec![ContentPart::Text { text: "look".into() }, part];
        Request { messages: vec![Message { role: Role::User, content: content.into(), name: None }], ..base.clone() }
    };
    let data = |media_type: &str| MediaData {
        data: Some("aGk=".into()),
        media_type: Some(media_type.into()),
        detail: Some("low".into()),
        file_name: Some("a.pdf".into()),
        url: None,
    };
    let url = MediaData { url: Some("https://example.com/a.png".into()), ..MediaData::default() };
    let choose = |choice: ToolChoice| Request { tools: vec![tool("read")], tool_choice: Some(choice), ..base.clone() };
    let format = |format: ResponseFormat| Request { response_format: Some(format), ..base.clone() };
    let schema = json!({"type": "object", "properties": {"a": {"type": "string"}}, "required": ["a"],
        "additionalProperties": false});
    let effort = |effort: &str| Request { reasoning_effort: Some(effort.into()), ..base.clone() };
    let sampling = Request {
        temperature: Some(0.5),
        top_p: Some(0.9),
        max_tokens: Some(2000),
        stop_sequences: vec!["END".into()],
        metadata: BTreeMap::from([("user_id".to_owned(), "me".to_owned())]),
        ..base.clone()
    };
    let mut requests = vec![
        ("text", base.clone()),
        ("image by address", user(ContentPart::Image(url))),
        ("image by data", user(ContentPart::Image(data("image/jpeg")))),
        ("document", user(ContentPart::Document(data("application/pdf")))),
        ("tool choice auto", choose(ToolChoice::Auto)),
        ("tool choice none", choose(ToolChoice::None)),
        ("tool choice required", choose(ToolChoice::Required)),
        ("tool choice named", choose(ToolChoice::Named { tool_name: "read".into() })),
        ("format json", format(ResponseFormat::Json)),
        ("format schema", format(ResponseFormat::JsonSchema { json_schema: schema.clone(), strict: false })),
        ("format strict schema", format(ResponseFormat::JsonSchema { json_schema: schema, strict: true })),
        ("effort none", effort("none")),
        ("effort minimal", effort("minimal")),
        ("effort high", effort("high")),
        ("effort max", effort("max")),
        ("sampling", sampling),
    ];
    if matches!(api, Api::OpenAiChat | Api::Gemini) {
        requests.push(("audio", user(ContentPart::Audio(data("audio/wav")))));
    }
    requests
}

/// Returns a conversation that continues after a recorded response: its calls get results and the user writes again.
fn continuation(case: &Case, api: Api) -> Option<Request> {
    let (events, _) = case.api.decode(case.status, &case.headers, [&case.body[..]]);
    let Some(StreamEvent::Finish { response }) = events.into_iter().next_back() else { return None };
    // A truncated or paused response is not continued.
    if matches!(response.finish_reason.reason, FinishKind::Length | FinishKind::Pause) {
        return None;
    }
    let calls = response.message.tool_calls();
    let tools = calls.iter().map(|call| tool(&call.name)).chain([tool("read")]);
    let mut tools: Vec<ToolDefinition> = tools.collect();
    tools.dedup_by(|a, b| a.name == b.name);
    let results: Vec<ToolResult> = calls
        .iter()
        .enumerate()
        .map(|(index, call)| ToolResult {
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            content: json!("found"),
            is_error: index % 2 == 1,
            image: None,
        })
        .collect();
    let mut messages = vec![Message::system("s"), Message::user("u"), response.message];
    if !results.is_empty() {
        messages.push(Message::tool_results(results));
    }
    messages.push(Message::user("go on"));
    Some(Request { model: model(api).into(), messages, tools, ..Request::default() })
}

/// Returns the problems of each request.
pub(crate) fn validate(python: &Path, wire: &Path, samples: &[Sample]) -> Vec<Vec<String>> {
    let mut child = Command::new(python)
        .args(["-c", VALIDATE_LINES])
        .arg(wire)
        .stdin(Stdio::piped())
        .stdout(Stdio::piped())
        .spawn()
        .expect("Python starts");
    let mut input = child.stdin.take().expect("a pipe");
    let lines: String =
        samples.iter().map(|sample| format!("{}\n", json!({"api": sample.api.name(), "body": sample.body}))).collect();
    let writer = std::thread::spawn(move || input.write_all(lines.as_bytes()));
    let output = child.wait_with_output().expect("Python ends");
    writer.join().expect("the writer ends").expect("all requests are written");
    let text = String::from_utf8(output.stdout).expect("UTF-8");
    text.lines().map(|line| serde_json::from_str(line).expect("a list of errors")).collect()
}

/// Fields that are valid at their own provider only and must be echoed to it. OpenAI's schemas lack them.
const DIALECT_ERRORS: [(Api, &str); 4] = [
    (Api::OpenAiChat, "Additional properties are not allowed ('reasoning_content' was unexpected)"),
    (Api::OpenAiChat, "Additional properties are not allowed ('reasoning_details' was unexpected)"),
    (Api::OpenAiChat, ".content[0].type: 'thinking' is not one of ['text']"),
    (Api::OpenAiResponses, "Additional properties are not allowed ('format' was unexpected)"),
];

#[test]
fn requests_match_the_providers_schemas() {
    let Some(wire) = std::env::var_os("EMEND_WIRE").map(PathBuf::from) else {
        println!("skipped: about 900 requests (set EMEND_WIRE to the directory of the recordings)");
        return;
    };
    let Some(python) = python() else {
        println!("skipped: about 900 requests (run `cargo xtask setup` for the Python environment)");
        return;
    };
    covers("message.text message.image message.media message.mixed tool_loop.choice message.foreign recorded.schema");
    let mut samples: Vec<Sample> = Vec::new();
    for api in Api::ALL {
        samples.extend(features(api).iter().map(|(name, request)| sample(name, api, request)));
    }
    let n_features = samples.len();
    for case in &load(&wire) {
        for api in Api::ALL {
            if let Some(request) = continuation(case, api) {
                samples.push(sample(&case.id, api, &request));
            }
        }
    }
    let results = validate(&python, &wire, &samples);
    assert_eq!(results.len(), samples.len(), "the validator stopped early");
    let mut table: BTreeMap<Api, (usize, usize)> = BTreeMap::new();
    let mut dialects = 0;
    for (sample, errors) in samples.iter().zip(&results) {
        let dialect =
            |error: &String| DIALECT_ERRORS.iter().any(|(api, words)| sample.api == *api && error.ends_with(words));
        let (valid, all) = table.entry(sample.api).or_default();
        *all += 1;
        *valid += usize::from(errors.iter().all(dialect));
        dialects += usize::from(!errors.is_empty() && errors.iter().all(dialect));
        if !errors.iter().all(dialect) {
            println!("{} for {}\n  {}", sample.name, sample.api.name(), errors.join("\n  "));
        }
    }
    let n_continuations = samples.len() - n_features;
    println!(
        "{n_features} requests by feature, {n_continuations} continuations ({dialects} in a dialect of their provider)"
    );
    for (api, (valid, all)) in &table {
        println!("{:20} {valid:4} of {all:4} valid", api.name());
    }
    assert!(table.values().all(|(valid, all)| valid == all), "some requests are invalid");
    assert!(samples.len() > 800, "only {} requests", samples.len());
}
