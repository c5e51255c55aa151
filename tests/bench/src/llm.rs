//! The model client: decoding of a long transcript, parsing of the arguments of a call while they arrive, encoding of a
//! further request of a long conversation.

use std::convert::Infallible;
use std::path::Path;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, bail, ensure};
use emend_llm::partial_json::PartialJson;
use emend_llm::{
    Adapter, Api, Config, ContentPart, Headers, Message, Request, Response, Role, Shared, StreamEvent, ToolCall,
    ToolResult,
};
use eventsource_stream::Eventsource;
use futures::StreamExt;
use futures::executor::block_on;
use serde_json::{Value, json};

use crate::measure::{self, Row};

/// The size of one chunk from the network, in bytes.
const CHUNK_BYTES: usize = 16 * 1024;
const TRANSCRIPT_BYTES: usize = 10_000_000;
/// The lengths of the arguments, in bytes; several, so that growth is visible.
const ARGUMENT_BYTES: [usize; 3] = [50_000, 100_000, 200_000];
/// The number of argument bytes in one event.
const DELTA_BYTES: usize = 24;
const TURNS: [usize; 3] = [10, 100, 1000];

/// Runs all measurements. The transcripts and their expected contents stay in `folder` for peers in Node.
pub(crate) fn rows(folder: &Path) -> Result<Vec<Row>> {
    std::fs::create_dir_all(folder).with_context(|| folder.display().to_string())?;
    let write = |name: &str, text: &str| std::fs::write(folder.join(name), text).with_context(|| name.to_owned());
    let (events, text, arguments) = transcript();
    write("transcript.sse", &events)?;
    write("transcript.json", &json!({"text": text, "arguments": arguments}).to_string())?;
    let mut rows = vec![read_transcript(&events, &text, &arguments)?];
    for length in ARGUMENT_BYTES {
        let (events, arguments) = call_of(length);
        let name = format!("arguments-{}", length / 1000);
        write(&format!("{name}.sse"), &events)?;
        write(&format!("{name}.json"), &arguments.to_string())?;
        rows.push(read_arguments(length, &events, &arguments)?);
    }
    for n_turns in TURNS {
        encode(n_turns, &mut rows)?;
    }
    Ok(rows)
}

/// Returns an event as Anthropic writes it.
fn event(text: &mut String, value: &Value) {
    let name = value["type"].as_str().unwrap_or_default();
    text.push_str(&format!("event: {name}\ndata: {value}\n\n"));
}

fn begin(text: &mut String) {
    let usage = json!({"input_tokens": 100, "output_tokens": 1});
    let message = json!({"id": "msg_1", "type": "message", "role": "assistant", "model": "claude-opus-4-6",
        "content": [], "stop_reason": null, "stop_sequence": null, "usage": usage});
    event(text, &json!({"type": "message_start", "message": message}));
}

fn end(text: &mut String) {
    let usage = json!({"output_tokens": 1000});
    event(text, &json!({"type": "message_delta", "delta": {"stop_reason": "tool_use"}, "usage": usage}));
    event(text, &json!({"type": "message_stop"}));
}

fn block(text: &mut String, index: usize, start: &Value, deltas: impl Iterator<Item = Value>) {
    event(text, &json!({"type": "content_block_start", "index": index, "content_block": start}));
    for delta in deltas {
        event(text, &json!({"type": "content_block_delta", "index": index, "delta": delta}));
    }
    event(text, &json!({"type": "content_block_stop", "index": index}));
}

/// Returns a whole response: a sentence and at most one call.
pub(crate) fn answer(sentence: &str, called: Option<(&str, Value)>) -> String {
    let mut text = String::new();
    begin(&mut text);
    let delta = json!({"type": "text_delta", "text": sentence});
    block(&mut text, 0, &json!({"type": "text", "text": ""}), [delta].into_iter());
    let Some((name, arguments)) = called else {
        event(&mut text, &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}));
        event(&mut text, &json!({"type": "message_stop"}));
        return text;
    };
    let start = json!({"type": "tool_use", "id": "toolu_1", "name": name, "input": {}});
    let delta = json!({"type": "input_json_delta", "partial_json": arguments.to_string()});
    block(&mut text, 1, &start, [delta].into_iter());
    end(&mut text);
    text
}

/// Returns a response whose text arrives in `n_pieces` events.
pub(crate) fn answer_in_pieces(n_pieces: usize) -> String {
    let mut text = String::new();
    begin(&mut text);
    let deltas = (0..n_pieces).map(|_| json!({"type": "text_delta", "text": "word "}));
    block(&mut text, 0, &json!({"type": "text", "text": ""}), deltas);
    event(&mut text, &json!({"type": "message_delta", "delta": {"stop_reason": "end_turn"}, "usage": {}}));
    event(&mut text, &json!({"type": "message_stop"}));
    text
}

/// Returns a tool call whose arguments arrive in small pieces.
fn call(text: &mut String, index: usize, arguments: &Value) {
    let whole = arguments.to_string();
    // The arguments are ASCII, so they can be split at any byte.
    let pieces = whole
        .as_bytes()
        .chunks(DELTA_BYTES)
        .map(|piece| json!({"type": "input_json_delta", "partial_json": String::from_utf8_lossy(piece)}));
    block(text, index, &json!({"type": "tool_use", "id": "toolu_1", "name": "write_file", "input": {}}), pieces);
}

fn lines(length: usize) -> String {
    "    let value = \"a line\\tof code\";\n".chars().cycle().take(length).collect()
}

/// Returns ten megabytes of events, three parts of text and one of arguments, with their contents.
fn transcript() -> (String, String, Value) {
    let piece = "The answer – with “quotes”,\n\tlines and 🦀 – ";
    let mut text = String::new();
    begin(&mut text);
    let mut probe = String::new();
    event(
        &mut probe,
        &json!({"type": "content_block_delta", "index": 0, "delta": {"type": "text_delta", "text": piece}}),
    );
    let n_pieces = TRANSCRIPT_BYTES / 4 * 3 / probe.len();
    let deltas = (0..n_pieces).map(|_| json!({"type": "text_delta", "text": piece}));
    block(&mut text, 0, &json!({"type": "text", "text": ""}), deltas);
    // An event is about six times as long as the piece it carries.
    let arguments = json!({"path": "src/lib.rs", "content": lines(TRANSCRIPT_BYTES / 4 / 7)});
    call(&mut text, 1, &arguments);
    end(&mut text);
    (text, piece.repeat(n_pieces), arguments)
}

fn call_of(length: usize) -> (String, Value) {
    let arguments = json!({"path": "src/lib.rs", "content": lines(length)});
    let mut text = String::new();
    begin(&mut text);
    call(&mut text, 0, &arguments);
    end(&mut text);
    (text, arguments)
}

fn decode(events: &str) -> Result<Response> {
    let chunks = events.as_bytes().chunks(CHUNK_BYTES);
    let (mut events, outcome) = Api::AnthropicMessages.decode(200, &Headers::default(), chunks);
    outcome?;
    match events.pop() {
        Some(StreamEvent::Finish { response }) => Ok(response),
        other => bail!("the last event is {other:?}"),
    }
}

/// A peer made of these two libraries alone: it collects text and arguments.
fn decode_with_peer(events: &str) -> Result<(String, Value)> {
    let chunks = events.as_bytes().chunks(CHUNK_BYTES).map(|chunk| Ok::<_, Infallible>(chunk.to_vec()));
    let mut stream = futures::stream::iter(chunks).eventsource();
    let (mut text, mut arguments) = (String::new(), String::new());
    while let Some(event) = block_on(stream.next()) {
        let value: Value = serde_json::from_str(&event?.data)?;
        text.push_str(value["delta"]["text"].as_str().unwrap_or_default());
        arguments.push_str(value["delta"]["partial_json"].as_str().unwrap_or_default());
    }
    Ok((text, serde_json::from_str(&arguments)?))
}

fn read_transcript(events: &str, text: &str, arguments: &Value) -> Result<Row> {
    let response = decode(events)?;
    let calls = response.message.tool_calls();
    ensure!(
        response.message.text() == text && calls.len() == 1 && calls[0].arguments == *arguments,
        "we read it wrong"
    );
    ensure!(decode_with_peer(events)? == (text.to_owned(), arguments.clone()), "the peer reads it wrong");
    let times = measure::pair(|| decode(events), || decode_with_peer(events));
    let peer = format!("eventsource-stream {} + serde_json {}", locked("eventsource-stream"), locked("serde_json"));
    let name = format!("{:.1} MB of events, to a whole answer", events.len() as f64 / 1e6);
    Ok(Row::beside(name, times, &peer))
}

/// Decodes a call and parses its arguments after every event, as a program that shows them would.
fn follow(events: &str) -> Result<(Value, usize)> {
    let adapter = Api::AnthropicMessages.adapter(Config::default());
    let mut decoder = adapter.decoder(&Headers::default());
    let mut partial = PartialJson::new();
    let (mut ready, mut n_shown) = (Vec::new(), 0);
    for chunk in events.as_bytes().chunks(CHUNK_BYTES) {
        decoder.push(chunk, &mut ready)?;
        for event in ready.drain(..) {
            if let StreamEvent::ToolCallDelta { delta, .. } = event {
                partial.push(&delta)?;
                n_shown += usize::from(partial.value().is_object());
            }
        }
    }
    decoder.finish(&mut ready)?;
    Ok((partial.value().clone(), n_shown))
}

fn read_arguments(length: usize, events: &str, arguments: &Value) -> Result<Row> {
    let (found, n_shown) = follow(events)?;
    ensure!(found == *arguments && n_shown > length / DELTA_BYTES, "we read it wrong");
    let taken = measure::alone(|| follow(events));
    Ok(Row::alone(argument_row(length), measure::millis(taken), "ms"))
}

fn argument_row(length: usize) -> String {
    format!("{} KB of arguments in {DELTA_BYTES}-byte deltas", length / 1000)
}

/// Returns a conversation in which every round reads a file.
pub(crate) fn conversation(n_turns: usize) -> Vec<Message> {
    let mut messages = vec![Message::system("You edit files."), Message::user("Begin.")];
    for turn in 0..n_turns {
        let id = format!("call_{turn}");
        let call = ToolCall {
            id: id.clone(),
            name: "read_file".to_owned(),
            arguments: json!({"file_path": format!("src/file_{turn}.rs")}),
            raw_arguments: None,
            custom: false,
            provider_data: None,
        };
        let text = ContentPart::Text { text: format!("Now I read the file number {turn}.") };
        let content = vec![text, ContentPart::ToolCall(call)];
        messages.push(Message { role: Role::Assistant, content: content.into(), name: None });
        let (name, content) = ("read_file".to_owned(), Value::from(lines(2000)));
        messages.push(Message::tool_results(vec![ToolResult {
            tool_call_id: id,
            name,
            content,
            is_error: false,
            image: None,
        }]));
    }
    messages
}

fn adapter(api: Api) -> Shared<dyn Adapter> {
    api.adapter(Config { api_key: "k".to_owned(), ..Config::default() })
}

/// Encodes the next request of a conversation with an adapter that has encoded the earlier ones, and with a new
/// adapter.
fn encode(n_turns: usize, rows: &mut Vec<Row>) -> Result<()> {
    for api in [Api::AnthropicMessages, Api::OpenAiResponses] {
        let request = |n_turns| Request {
            model: "claude-opus-4-6".to_owned(),
            messages: conversation(n_turns),
            ..Request::default()
        };
        let (before, now) = (request(n_turns - 1), request(n_turns));
        let incremental = || -> Result<(Vec<u8>, Duration)> {
            let adapter = adapter(api);
            adapter.encode(&before, true)?;
            let begun = Instant::now();
            let body = adapter.encode(&now, true)?.body;
            Ok((body, begun.elapsed()))
        };
        let whole = || -> Result<(Vec<u8>, Duration)> {
            let adapter = adapter(api);
            let begun = Instant::now();
            let body = adapter.encode(&now, true)?.body;
            Ok((body, begun.elapsed()))
        };
        ensure!(incremental()?.0 == whole()?.0, "what is remembered changes the request");
        let mut best = (Duration::MAX, Duration::MAX);
        for _ in 0..20 {
            best = (best.0.min(incremental()?.1), best.1.min(whole()?.1));
        }
        let name = format!("encode turn {n_turns} for {}, incremental", api.name());
        rows.push(Row::beside(name, best, "the whole history encoded anew"));
    }
    Ok(())
}

/// Returns the version of a package in the lock file.
fn locked(package: &str) -> &'static str {
    let lock = include_str!("../../../Cargo.lock");
    let entry = lock.split_once(&format!("name = \"{package}\"\nversion = \"")).map(|(_, rest)| rest);
    entry.and_then(|rest| rest.split('"').next()).unwrap_or("?")
}
