//! Recording and playing with scripted responses.

use std::sync::Mutex;

use futures::StreamExt;
use futures::executor::block_on;
use proptest::prelude::*;
use serde_json::json;
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::*;
use crate::client::HttpProvider;
use crate::model::{Message, Request, Response, StreamEvent, ToolDefinition, ToolResult};
use crate::provider::Provider;
use crate::providers::anthropic::{Anthropic, Config};
use crate::runtime::{BoxFuture, CancelToken, Shared};
use crate::testing::config;
use crate::transport::{Headers, HttpResponse, Transport};

const KEY: &str = "topsecret-key-0123456789";
const ROOT: &str = "/home/someone/project";

/// Responds to each request with the next script: pieces of a body, or a failure.
struct Scripted(Mutex<Vec<Script>>);

type Script = Result<Vec<Result<String, TransportError>>, TransportError>;

impl Scripted {
    fn new(mut scripts: Vec<Script>) -> Shared<Self> {
        scripts.reverse();
        Shared::new(Self(Mutex::new(scripts)))
    }
}

impl Transport for Scripted {
    fn send(&self, _: HttpRequest, _: CancelToken) -> BoxFuture<'_, Result<HttpResponse, TransportError>> {
        let script = self.0.lock().unwrap().pop().unwrap();
        Box::pin(async move {
            let pieces: Vec<_> = script?.into_iter().map(|piece| piece.map(String::into_bytes)).collect();
            let mut headers = Headers::default();
            headers.set("content-type", "text/event-stream");
            headers.set("set-cookie", "session=abcdef");
            headers.set("Retry-After", "1");
            Ok(HttpResponse { status: 200, headers, body: Box::pin(futures::stream::iter(pieces)) })
        })
    }
}

fn recorder(inner: Shared<dyn Transport>) -> Shared<Recorder> {
    let secrets = vec!["env-secret-value".to_owned()];
    Shared::new(Recorder::new(inner, RecorderOptions { clock_ms: 7, seed: 9, root: ROOT.to_owned(), secrets }))
}

fn player(cassette: &Cassette) -> Shared<Player> {
    let cassette = Cassette::from_json(&cassette.to_json()).unwrap();
    Shared::new(Player::new(cassette, PlayerOptions { root: "/elsewhere".to_owned(), secrets: Vec::new() }))
}

fn provider(transport: Shared<dyn Transport>) -> HttpProvider {
    let config = Config { api_key: KEY.to_owned(), ..Config::default() };
    HttpProvider::new(Shared::new(Anthropic::new(config)), transport)
}

fn request(root: &str, date: &str, messages: &[Message]) -> Request {
    let tools = ["grep", "read_file", "edit_file"].map(|name| ToolDefinition {
        name: name.to_owned(),
        description: String::new(),
        parameters: json!({"type": "object"}),
    });
    // A recording from a repository plays outside of one, too.
    let branch = if date.starts_with("2026") { format!("Git branch: {root}\n") } else { String::new() };
    let system = Message::system(format!(
        "Be brief.\nWorking directory: {root}\nIs git repository: {}\n{branch}Today's date: {date}\nSee {root}/a.\n",
        !branch.is_empty()
    ));
    Request {
        model: "offline".to_owned(),
        messages: [vec![system], messages.to_vec()].concat(),
        tools: tools.to_vec(),
        ..Request::default()
    }
}

fn ask(provider: &HttpProvider, request: Request) -> Result<Response, crate::error::LlmError> {
    let stream = block_on(provider.stream(request, CancelToken::new()))?;
    let mut events: Vec<_> = block_on(stream.collect());
    match events.pop().unwrap()? {
        StreamEvent::Finish { response } => Ok(response),
        other => panic!("the last event is {other:?}"),
    }
}

/// Runs a conversation whose tools return `results` in order. Returns the texts of all responses.
fn run(provider: &HttpProvider, root: &str, date: &str, results: &[&str]) -> Vec<String> {
    let mut messages = vec![Message::user("rename Alpha to Beta")];
    let mut results = results.iter();
    let mut texts = Vec::new();
    loop {
        let response = ask(provider, request(root, date, &messages)).unwrap();
        texts.push(response.message.text());
        let calls = response.message.tool_calls();
        if calls.is_empty() {
            return texts;
        }
        let results = calls.iter().map(|call| ToolResult {
            tool_call_id: call.id.clone(),
            name: call.name.clone(),
            content: json!(results.next().unwrap().replace("ROOT", root)),
            is_error: false,
            image: None,
        });
        let results = Message::tool_results(results.collect());
        messages.extend([response.message.clone(), results]);
    }
}

const RESULTS: [&str; 4] =
    ["a.rs", "1 | Alpha in ROOT/a.rs, env-secret-value", "ROOT/a.rs: 1 replacement", "No matches."];

/// The responses of a model that renames: it searches, reads, edits, searches again and reports.
fn rename_script() -> Vec<Script> {
    let calls = [
        ("grep", r#"{"pattern": "Alpha"}"#),
        ("read_file", r#"{"file_path": "a.rs"}"#),
        ("edit_file", r#"{"file_path": "a.rs", "old_string": "Alpha", "new_string": "Beta"}"#),
        ("grep", r#"{"pattern": "Alpha"}"#),
    ];
    let mut scripts: Vec<Script> = calls.map(|(tool, input)| Ok(called(tool, &["Looking."], &[input]))).to_vec();
    scripts.push(Ok(said("Renamed Alpha to Beta: 1 place in 1 file.")));
    scripts
}

fn recorded_turn() -> (Vec<String>, Cassette) {
    let recorder = recorder(Scripted::new(rename_script()));
    let texts = run(&provider(recorder.clone()), ROOT, "2026-11-21", &RESULTS);
    (texts, recorder.cassette())
}

#[test]
fn a_run_replays_in_another_directory_and_on_another_day() {
    let (texts, cassette) = recorded_turn();
    assert_eq!(texts.last().unwrap(), "Renamed Alpha to Beta: 1 place in 1 file.");
    assert_eq!((cassette.clock_ms, cassette.seed), (7, 9));
    let results = RESULTS.map(|result| result.replace("env-secret-value", "[redacted]"));
    let player = player(&cassette);
    assert_eq!(player.remaining(), 5);
    let played = run(&provider(player.clone()), "/elsewhere", "2027-01-01", &results.each_ref().map(String::as_str));
    assert_eq!(played, texts);
    assert_eq!(player.remaining(), 0);
}

#[test]
fn requests_are_recorded_as_differences() {
    let (_, cassette) = recorded_turn();
    let counts: Vec<(usize, usize)> = cassette
        .exchanges
        .iter()
        .map(|exchange| exchange.request.history.as_ref().unwrap())
        .map(|history| (history.kept, history.added.len()))
        .collect();
    assert_eq!(counts, [(0, 1), (1, 2), (3, 2), (5, 2), (7, 2)]);
    let second = &cassette.exchanges[1].request;
    assert_eq!(second.unchanged, ["model", "max_tokens", "system", "tools", "stream"]);
    assert!(second.body.is_empty());
    let whole = compare::whole_body(&cassette, &cassette.exchanges[4]);
    assert_eq!(whole["messages"].as_array().unwrap().len(), 9);
}

#[test]
fn a_request_replays_although_the_lease_in_it_ends_at_another_time() {
    let request = |content: Value| HttpRequest {
        method: "POST",
        url: "http://h/v1/messages".to_owned(),
        headers: Headers::default(),
        body: json!({ "messages": [content] }).to_string().into_bytes(),
    };
    let text = |end: u64| json!(json!({ "expires_at": end, "n": 4 }).to_string());
    let twice = |end: u64| json!(json!({ "data": text(end).as_str() }).to_string());
    let value = |end: u64| json!({ "expires_at": end, "expires_at_all": 4 });
    let contents: [&dyn Fn(u64) -> Value; 3] = [&text, &twice, &value];
    for content in contents {
        let recorder = recorder(Scripted::new(vec![Ok(vec![Ok("{}".to_owned())])]));
        block_on(recorder.send(request(content(1_764_432_000_000)), CancelToken::new())).unwrap();
        let replayed = |end: u64, changed: (&str, &str)| {
            let content = content(end).to_string().replace(changed.0, changed.1);
            let request = request(serde_json::from_str(&content).unwrap());
            block_on(player(&recorder.cassette()).send(request, CancelToken::new())).is_ok()
        };
        assert!(replayed(1_764_432_015_123, ("", "")), "{}", content(0));
        assert!(!replayed(1_764_432_015_123, ("4}", "5}")), "{}", content(0));
    }
}

#[test]
fn requests_in_two_wire_formats_are_compared_within_their_own() {
    let send = |transport: &dyn Transport, path: &str, model: &str, messages: &[&str]| {
        let request = HttpRequest {
            method: "POST",
            url: format!("http://h/v1/{path}"),
            headers: Headers::default(),
            body: json!({"model": model, "messages": messages}).to_string().into_bytes(),
        };
        let response = block_on(transport.send(request, CancelToken::new()))?;
        Ok::<_, TransportError>(block_on(response.body.collect::<Vec<_>>()))
    };
    let steps = [
        ("messages", "claude", &["one"][..]),
        ("chat/completions", "gpt", &["uno"]),
        ("messages", "claude", &["one", "two"]),
        ("chat/completions", "gpt", &["uno", "due"]),
    ];
    let recorder = recorder(Scripted::new(vec![Ok(vec![Ok("{}".to_owned())]); 4]));
    for (path, model, messages) in steps {
        send(&*recorder, path, model, messages).unwrap();
    }
    let cassette = recorder.cassette();
    for (exchange, (_, model, messages)) in cassette.exchanges.iter().zip(steps) {
        let whole = compare::whole_body(&cassette, exchange);
        assert_eq!(json!(whole), json!({"model": model, "messages": messages}));
    }
    let player = player(&cassette);
    send(&*player, "messages", "claude", &["one"]).unwrap();
    let error = send(&*player, "messages", "claude", &["one", "zwei"]).unwrap_err().to_string();
    assert!(error.contains("messages[1], character 1:\n  recorded: \"two\"\n  now: \"zwei\""), "{error}");
}

#[test]
fn a_request_that_differs_is_rejected_with_its_difference() {
    let (_, cassette) = recorded_turn();
    let player = provider(player(&cassette));
    let error = ask(&player, request("/elsewhere", "x", &[Message::user("rename Alpha to Gamma")])).unwrap_err();
    assert_eq!(error.kind, crate::error::ErrorKind::Configuration);
    assert_eq!(
        error.message,
        "request 1 in the format anthropic-messages is not the one in the cassette. They differ in \
         messages[0].content[0].text, character 17:\n  recorded: \"rename Alpha to Beta\"\n  now: \
         \"rename Alpha to Gamma\"\nRecord the cassette again if this change is intended."
    );
    let more = [Message::user("rename Alpha to Beta"), Message::assistant("Yes?")];
    let error = ask(&player, request("/elsewhere", "x", &more)).unwrap_err();
    assert!(error.message.contains("messages[1]:\n  recorded: nothing\n  now: {\"role\":\"assistant\""), "{error}");
    // A failed request does not advance the cassette.
    assert!(ask(&player, request("/elsewhere", "x", &more[..1])).is_ok());
}

#[test]
fn a_request_after_the_last_exchange_is_rejected() {
    let recorder = recorder(Scripted::new(vec![Ok(said("hi"))]));
    let hello = request(ROOT, "x", &[Message::user("hello")]);
    ask(&provider(recorder.clone()), hello.clone()).unwrap();
    let player = provider(player(&recorder.cassette()));
    ask(&player, request("/elsewhere", "y", &[Message::user("hello")])).unwrap();
    let error = ask(&player, hello).unwrap_err();
    assert_eq!(
        error.message,
        "the cassette has no response to request 2 in the format anthropic-messages: it holds 1. Record it again."
    );
}

/// Returns a response that streams `pieces` as one text and `json` as the pieces of the arguments of one call of `grep`.
fn streamed(pieces: &[&str], json: &[&str]) -> Vec<Result<String, TransportError>> {
    called("grep", pieces, json)
}

/// As [`streamed`], with a call of `tool`.
fn called(tool: &str, pieces: &[&str], json: &[&str]) -> Vec<Result<String, TransportError>> {
    let mut blocks = vec![
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_start", "index": 1, "content_block": {"type": "tool_use", "id": "t", "name": tool, "input": {}}}),
    ];
    for (text, json) in pieces.iter().zip(json) {
        blocks.push(json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}));
        let delta = json!({"type": "input_json_delta", "partial_json": json});
        blocks.push(json!({"type": "content_block_delta", "index": 1, "delta": delta}));
    }
    blocks.push(json!({"type": "content_block_stop", "index": 0}));
    blocks.push(json!({"type": "content_block_stop", "index": 1}));
    framed(blocks, "tool_use")
}

/// Returns a response that is one text.
fn said(text: &str) -> Vec<Result<String, TransportError>> {
    let blocks = vec![
        json!({"type": "content_block_start", "index": 0, "content_block": {"type": "text", "text": ""}}),
        json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": text}}),
        json!({"type": "content_block_stop", "index": 0}),
    ];
    framed(blocks, "end_turn")
}

fn framed(blocks: Vec<serde_json::Value>, stop_reason: &str) -> Vec<Result<String, TransportError>> {
    let mut events = vec![
        json!({"type": "message_start", "message": {"id": "m", "type": "message", "role": "assistant", "model": "x", "content": [],
            "usage": {"input_tokens": 1, "output_tokens": 1}}}),
    ];
    events.extend(blocks);
    events.push(json!({"type": "message_delta", "delta": {"stop_reason": stop_reason}, "usage": {"output_tokens": 3}}));
    events.push(json!({"type": "message_stop"}));
    let text: String =
        events.iter().map(|event| format!("event: {}\ndata: {event}\n\n", event["type"].as_str().unwrap())).collect();
    // Split without regard to events or characters.
    text.as_bytes().chunks(37).map(|chunk| Ok(String::from_utf8(chunk.to_vec()).unwrap())).collect()
}

#[test]
fn no_secret_and_no_path_enters_a_cassette() {
    let answer = streamed(
        &["The key is topsec", "ret-key-0123", "456789, also sk-abcdef", "ghijklmn; see /home/some", "one/project/x"],
        &["{\"pattern\": \"env-", "secret", "-value\", \"path\": \"", "/home/someone", "/project\"}"],
    );
    let recorder = recorder(Scripted::new(vec![Ok(answer)]));
    let mut asked = request(ROOT, "x", &[Message::user(format!("{KEY} in {ROOT}/.env: env-secret-value, {ROOT}s"))]);
    asked.metadata.insert("user_id".to_owned(), "someone".to_owned());
    let response = ask(&provider(recorder.clone()), asked).unwrap();
    // The run itself is not changed.
    assert_eq!(response.message.tool_calls()[0].arguments["path"], ROOT);
    let cassette = recorder.cassette();
    let json = cassette.to_json();
    for secret in [KEY, "env-secret", "-value", "abcdefghij", "session=", "someone", "topsec", "0123"] {
        assert!(!json.replace("/home/someone/projects", "").contains(secret), "{secret} in {json}");
    }
    let user = &cassette.exchanges[0].request.history.as_ref().unwrap().added[0];
    let text = "[redacted] in {{root}}/.env: [redacted], /home/someone/projects";
    assert_eq!(user["content"][0]["text"], text);

    // Played elsewhere, the model names the path that is valid there.
    let cassette = player(&cassette).cassette().clone();
    let secrets = vec!["env-secret-value".to_owned()];
    let player = Shared::new(Player::new(cassette, PlayerOptions { root: "C:\\new root\\".to_owned(), secrets }));
    let text = format!("{KEY} in C:\\new root/.env: env-secret-value, /home/someone/projects");
    let response = ask(&provider(player), request("C:\\new root", "y", &[Message::user(text)])).unwrap();
    assert_eq!(response.message.text(), "The key is [redacted], also [redacted]; see C:\\new root/x");
    assert_eq!(response.message.tool_calls()[0].arguments["pattern"], "[redacted]");
}

#[test]
fn a_secret_is_redacted_across_any_pieces() {
    let text = format!("a {KEY}, {ROOT}/x and {KEY}{KEY} b");
    proptest!(config(200), |(mut cuts in prop::collection::vec(0..text.len(), 0..12))| {
        cuts.extend([0, text.len()]);
        cuts.sort_unstable();
        let pieces: Vec<&str> = cuts.windows(2).map(|cut| &text[cut[0]..cut[1]]).collect();
        let json: Vec<&str> = pieces.iter().map(|_| "").collect();
        let recorder = recorder(Scripted::new(vec![Ok(streamed(&pieces, &json))]));
        let _ = ask(&provider(recorder.clone()), request(ROOT, "x", &[Message::user("a")])).unwrap();
        let cassette = recorder.cassette();
        let player = Shared::new(Player::new(cassette, PlayerOptions { root: "/r".to_owned(), secrets: Vec::new() }));
        let response = ask(&provider(player), request("/r", "x", &[Message::user("a")])).unwrap();
        prop_assert_eq!(response.message.text(), "a [redacted], /r/x and [redacted][redacted] b");
    });
}

#[test]
fn transport_errors_are_recorded_and_replayed() {
    let connect = TransportError::Connect { host: "h:1".to_owned(), reason: format!("refused, {KEY}") };
    let broken = TransportError::Interrupted { host: "h:1".to_owned(), reason: "reset".to_owned() };
    let mut half = streamed(&["a"], &["{}"]);
    half.truncate(5);
    half.push(Err(broken));
    let recorder = recorder(Scripted::new(vec![Err(connect), Ok(half)]));
    let messages = [Message::user("hello")];
    let errors = |transport: Shared<dyn Transport>, root: &str| {
        let provider = provider(transport);
        [0, 1].map(|_| ask(&provider, request(root, "x", &messages)).unwrap_err().message)
    };
    let recorded = errors(recorder.clone(), ROOT);
    let cassette = recorder.cassette();
    let played = errors(player(&cassette), "/elsewhere");
    assert_eq!(played, [recorded[0].replace(KEY, "[redacted]"), recorded[1].clone()]);
    let RecordedOutcome::Response(response) = &cassette.exchanges[1].answer else { panic!("no response") };
    assert_eq!(response.headers.keys().map(String::as_str).collect::<Vec<_>>(), ["content-type", "retry-after"]);
    assert!(response.chunks.len() >= 2);
}

#[test]
fn responses_that_are_not_event_streams_are_recorded_whole() {
    let body = json!({"error": {"message": format!("bad key {KEY}")}}).to_string();
    let recorder = recorder(Scripted::new(vec![Ok(vec![Ok(body)]), Ok(vec![Ok(format!("busy {KEY}"))])]));
    for _ in 0..2 {
        let _ = ask(&provider(recorder.clone()), request(ROOT, "x", &[Message::user("hello")]));
    }
    let chunks = recorder.cassette().exchanges.into_iter().map(|exchange| match exchange.answer {
        RecordedOutcome::Response(response) => response.chunks,
        RecordedOutcome::Failure(failure) => panic!("{failure:?}"),
    });
    let expected = [["{\"error\":{\"message\":\"bad key [redacted]\"}}"], ["busy [redacted]"]];
    assert_eq!(chunks.collect::<Vec<_>>(), expected);
}

#[test]
fn texts_that_are_not_cassettes_are_rejected() {
    assert_eq!(Cassette::from_json("{\"emend_cassette\": 2}"), Err(CassetteError::Version { found: 2 }));
    for text in ["", "[]", "{}", "{\"emend_cassette\": 1}"] {
        assert!(matches!(Cassette::from_json(text), Err(CassetteError::Malformed { .. })), "{text}");
    }
}

#[test]
fn secrets_are_found_by_the_names_of_variables() {
    let pair = |name: &str, value: &str| (name.to_owned(), value.to_owned());
    let variables = [
        pair("OPENAI_API_KEY", "value-one"),
        pair("github_token", "value-two"),
        pair("DB_PASSWORD_OLD", "value-three"),
        pair("AWS_CREDENTIALS", "value-four"),
        pair("KEYBOARD", "not-a-secret"),
        pair("PATH", "/usr/bin:/bin"),
        pair("SHORT_KEY", "x"),
    ];
    assert_eq!(secrets_of_environment(variables), ["value-one", "value-two", "value-three", "value-four"]);
}

#[test]
fn wire_formats_are_recognised_by_the_url() {
    let check = |url: &str, api: &str| {
        let request =
            HttpRequest { method: "POST", url: url.to_owned(), headers: Headers::default(), body: Vec::new() };
        assert_eq!(api_of(&request), api, "{url}");
    };
    check("https://api.anthropic.com/v1/messages", "anthropic-messages");
    check("https://h/v1/responses?x=1", "openai-responses");
    check("http://localhost:8080/v1/chat/completions", "openai-chat");
    check("https://h/v1beta/models/m:streamGenerateContent?alt=sse&key=k", "gemini");
    check("https://user:pass@h/other", "h/other");
    assert_eq!(public_address("https://user:pass@h/other?key=k#x"), "https://h/other");
}

#[test]
fn bodies_that_are_not_objects_are_compared() {
    let request = |body: &str| HttpRequest {
        method: "POST",
        url: "http://h/x".to_owned(),
        headers: Headers::default(),
        body: body.as_bytes().to_vec(),
    };
    let recorder = recorder(Scripted::new(vec![Ok(vec![Ok("a".to_owned())])]));
    let response = block_on(recorder.send(request("plain text"), CancelToken::new())).unwrap();
    let _: Vec<_> = block_on(response.body.collect());
    let player = player(&recorder.cassette());
    let error = block_on(player.send(request("other text"), CancelToken::new())).unwrap_err();
    assert!(error.to_string().contains("They differ in body, character 1"), "{error}");
    let mut response = block_on(player.send(request("plain text"), CancelToken::new())).unwrap();
    assert_eq!(block_on(response.body.next()), Some(Ok(b"a".to_vec())));
}
