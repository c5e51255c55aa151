//! Every recorded response decodes to the result of the providers' own SDKs, however its bytes are split.
//!
//! The recordings are not part of the repository: `EMEND_WIRE` names their directory. Without it they are skipped.

use std::collections::BTreeMap;
use std::path::{Path, PathBuf};

use emend_llm::{Api, ContentPart, ErrorKind, Headers, LlmError, Message, StreamEvent, ToolCall};
use serde_json::{Value, json};

use crate::checklist::covers;

pub(crate) struct Case {
    pub(crate) id: String,
    pub(crate) api: Api,
    pub(crate) status: u16,
    pub(crate) headers: Headers,
    pub(crate) body: Vec<u8>,
    features: Vec<String>,
    expected: Value,
}

fn read_json(path: &Path) -> Value {
    let text = std::fs::read_to_string(path).unwrap_or_else(|error| panic!("{}: {error}", path.display()));
    serde_json::from_str(&text).unwrap_or_else(|error| panic!("{}: {error}", path.display()))
}

fn strings(value: &Value) -> Vec<String> {
    value.as_array().into_iter().flatten().filter_map(|item| item.as_str().map(str::to_owned)).collect()
}

pub(crate) fn load(dir: &Path) -> Vec<Case> {
    let mut expected = read_json(&dir.join("expected.json"));
    let mut paths: Vec<PathBuf> = ["recordings", "edge_fixtures"]
        .iter()
        .flat_map(|folder| std::fs::read_dir(dir.join(folder)).expect("the folder can be read"))
        .map(|entry| entry.expect("the entry can be read").path())
        .filter(|path| path.extension().is_some_and(|extension| extension == "json"))
        .collect();
    paths.sort();
    paths.iter().map(|path| case(&read_json(path), &mut expected)).collect()
}

fn case(recording: &Value, expected: &mut Value) -> Case {
    let id = recording["id"].as_str().expect("an id").to_owned();
    let response = &recording["response"];
    let body = match (&response["sse"], &response["body"]) {
        (Value::String(sse), _) => sse.clone(),
        (_, Value::String(text)) => text.clone(),
        (_, body) => body.to_string(),
    };
    let headers = response["headers"].as_object().into_iter().flatten();
    Case {
        api: Api::from_name(recording["api"].as_str().expect("an api")).expect("a known api"),
        status: response["status"].as_u64().expect("a status") as u16,
        headers: Headers(
            headers.map(|(name, value)| (name.clone(), value.as_str().unwrap_or("").to_owned())).collect(),
        ),
        body: body.into_bytes(),
        features: strings(&recording["features"]),
        expected: expected[&id].take(),
        id,
    }
}

type Decoded = (Vec<StreamEvent>, Result<(), LlmError>);

/// Splits `body` into pieces of 1 to 40 bytes; equal seeds give equal pieces.
fn cut(body: &[u8], seed: u64) -> Vec<&[u8]> {
    let mut state = seed.wrapping_mul(0x9E37_79B9_7F4A_7C15) | 1;
    let mut rest = body;
    let mut chunks = Vec::new();
    while !rest.is_empty() {
        state ^= state << 13;
        state ^= state >> 7;
        state ^= state << 17;
        let size = (state as usize % 40 + 1).min(rest.len());
        let (chunk, after) = rest.split_at(size);
        chunks.push(chunk);
        rest = after;
    }
    chunks
}

/// Returns the differences between a decoded response and the expected one.
fn differences(case: &Case, (events, outcome): &Decoded) -> Vec<String> {
    let expected = &case.expected;
    let mut wrong = Vec::new();
    let mut check = |what: &str, expected: &Value, found: &Value| {
        if expected != found {
            wrong.push(format!("{what}: expected {expected}, found {found}"));
        }
    };
    if let Some(error) = expected.get("error") {
        return match outcome {
            Ok(()) => vec!["expected an error".to_owned()],
            Err(found) => error_differences(error, found),
        };
    }
    let (Ok(()), Some(StreamEvent::Finish { response })) = (outcome, events.last()) else {
        return vec![format!("expected a response, found {outcome:?}")];
    };
    check("text", &expected["text"], &response.message.text().into());
    check("usage", &expected["usage"], &raw_usage(case.api, response.usage.raw.as_ref().unwrap_or(&Value::Null)));
    check("finish reason", &expected["finish_reason"], &json!(response.finish_reason.raw));
    let refusal = response.warnings.iter().find(|warning| warning.code.as_deref() == Some("refusal"));
    check("refusal", &expected["refusal"], &json!(refusal.map(|warning| &warning.message)));
    let (wanted, found) = (expected["tool_calls"].as_array().unwrap(), response.message.tool_calls());
    check("number of tool calls", &wanted.len().into(), &found.len().into());
    for (wanted, found) in wanted.iter().zip(found) {
        check("id", &wanted["id"], &json!(Some(&found.id).filter(|_| !found.has_local_id())));
        check("name", &wanted["name"], &json!(found.name));
        let arguments = received_arguments(found);
        check("arguments", &wanted["arguments"], arguments.as_ref().unwrap_or(&Value::Null));
        if wanted["arguments"].is_null() && arguments.is_none() {
            check(
                "raw arguments",
                &wanted["arguments_raw"],
                &json!(found.raw_arguments.as_deref().unwrap_or_default()),
            );
        }
    }
    let reasoning = reasoning_text(case.api, &response.message);
    // Reasoning may come without readable text. Gemini shows it in the token counts only.
    let present = reasoning.is_some() || case.api == Api::Gemini && response.usage.reasoning_tokens > Some(0);
    check("reasoning", &expected["reasoning_present"], &present.into());
    // The SDKs return summaries only. Where a model sends its reasoning itself, the decoder reads more.
    if !expected["reasoning_text"].is_null() {
        check("reasoning text", &expected["reasoning_text"], &json!(reasoning.filter(|text| !text.is_empty())));
    }
    wrong.extend(kept_differences(case, &response.message));
    wrong
}

/// Returns the arguments as they were received, parsed: none are an empty object, free text and truncated JSON are absent.
fn received_arguments(call: &ToolCall) -> Option<Value> {
    match call.raw_arguments.as_deref().unwrap_or_default().trim() {
        _ if call.custom => None,
        "" => Some(json!({})),
        raw => serde_json::from_str(raw).ok(),
    }
}

/// Returns the text of the reasoning. The parts of the Responses API are summaries, separated by a blank line.
fn reasoning_text(api: Api, message: &Message) -> Option<String> {
    let text = |part: &ContentPart| match part {
        ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => Some(thinking.text.clone()),
        _ => None,
    };
    let parts: Vec<String> = message.content.iter().filter_map(text).collect();
    (!parts.is_empty()).then(|| parts.join(if api == Api::OpenAiResponses { "\n\n" } else { "" }))
}

/// Returns the token counts as the provider sent them.
fn raw_usage(api: Api, raw: &Value) -> Value {
    let pointers = match api {
        Api::AnthropicMessages => [
            "/input_tokens",
            "/output_tokens",
            "/cache_read_input_tokens",
            "/cache_creation_input_tokens",
            "/output_tokens_details/thinking_tokens",
        ],
        Api::OpenAiResponses => [
            "/input_tokens",
            "/output_tokens",
            "/input_tokens_details/cached_tokens",
            "/input_tokens_details/cache_write_tokens",
            "/output_tokens_details/reasoning_tokens",
        ],
        Api::OpenAiChat => [
            "/prompt_tokens",
            "/completion_tokens",
            "/prompt_tokens_details/cached_tokens",
            "/prompt_tokens_details/cache_write_tokens",
            "/completion_tokens_details/reasoning_tokens",
        ],
        Api::Gemini => {
            ["/promptTokenCount", "/candidatesTokenCount", "/cachedContentTokenCount", "", "/thoughtsTokenCount"]
        }
    };
    let [input, output, cache_read, cache_write, reasoning] =
        pointers.map(|pointer| raw.pointer(pointer).filter(|count| count.is_u64()));
    json!({
        "input": input, "output": output, "cache_read": cache_read, "cache_write": cache_write, "reasoning": reasoning,
    })
}

/// Returns the opaque values that must be echoed and were lost.
fn kept_differences(case: &Case, message: &Message) -> Vec<String> {
    let mut wrong = Vec::new();
    let mut signatures = Vec::new();
    let mut blocks = Vec::new();
    let mut thought_signatures = 0;
    for part in &message.content {
        match part {
            ContentPart::Thinking(thinking) | ContentPart::RedactedThinking(thinking) => {
                signatures.extend(thinking.signature.clone());
                thought_signatures += usize::from(thinking.signature.is_some());
            }
            ContentPart::Provider { data, .. } => {
                blocks.extend(data["type"].as_str().map(str::to_owned));
                let annotated = data.get("annotates").unwrap_or(data);
                thought_signatures += usize::from(annotated["thoughtSignature"].is_string());
            }
            ContentPart::ToolCall(call) => {
                let data = call.provider_data.as_ref().map(Value::to_string).unwrap_or_default();
                thought_signatures += data.matches("thoughtSignature").count();
            }
            _ => {}
        }
    }
    let expected = &case.expected;
    if expected["signatures"].is_array() && strings(&expected["signatures"]) != signatures {
        wrong.push(format!("signatures: expected {}, found {signatures:?}", expected["signatures"]));
    }
    if case.api == Api::AnthropicMessages && strings(&expected["server_blocks"]) != blocks {
        wrong.push(format!("server blocks: expected {}, found {blocks:?}", expected["server_blocks"]));
    }
    if let Some(count) = expected["thought_signatures"].as_u64()
        && count != thought_signatures as u64
    {
        wrong.push(format!("thought signatures: expected {count}, found {thought_signatures}"));
    }
    wrong
}

/// Returns the error kinds for an exception class of the SDKs. A kind may be narrower than the class.
fn classes(sdk_exception: &str) -> &'static [ErrorKind] {
    use ErrorKind::*;
    match sdk_exception {
        "AuthenticationError" => &[Authentication],
        "NotFoundError" => &[NotFound],
        "RateLimitError" => &[RateLimit, QuotaExceeded],
        "InternalServerError" | "OverloadedError" | "APIStatusError" => &[Server, InvalidRequest],
        "BadRequestError" => &[InvalidRequest, ContextLength, NotFound, ContentFilter, Authentication],
        _ => &[InvalidRequest, ContextLength, NotFound, Authentication, RateLimit, QuotaExceeded, Server],
    }
}

fn error_differences(expected: &Value, found: &LlmError) -> Vec<String> {
    let mut wrong = Vec::new();
    let status = found.status_code.unwrap_or(200);
    if expected["status"] != status {
        wrong.push(format!("status: expected {}, found {status}", expected["status"]));
    }
    if !classes(expected["sdk_exception"].as_str().unwrap()).contains(&found.kind) {
        wrong.push(format!("class: expected {}, found {:?}", expected["sdk_exception"], found.kind));
    }
    // Keys are never quoted, not even masked ones.
    let message = expected["message"].as_str().unwrap_or_default();
    if !message.contains("sk-") && !found.message.contains(message) {
        wrong.push(format!("message: expected {message}, found {}", found.message));
    }
    wrong
}

#[test]
fn recorded_responses_decode_as_in_the_sdks() {
    let Some(dir) = std::env::var_os("EMEND_WIRE").map(PathBuf::from) else {
        println!("skipped: 308 recorded answers (set EMEND_WIRE to their directory)");
        return;
    };
    covers("adapter.response adapter.stream parity.usage.* stream.chunking message.reasoning_round_trip");
    covers("stream.incomplete recorded.decode usage.normalized");
    let cases = load(&dir);
    let mut failed = 0;
    let mut table: BTreeMap<(Api, String), (usize, usize)> = BTreeMap::new();
    for case in &cases {
        let decode = |chunks: Vec<&[u8]>| case.api.decode(case.status, &case.headers, chunks);
        let whole = decode(vec![&case.body]);
        let mut wrong = differences(case, &whole);
        if decode(case.body.chunks(1).collect()) != whole {
            wrong.push("byte by byte differs from whole".to_owned());
        }
        for seed in 1..=8 {
            if decode(cut(&case.body, seed)) != whole {
                wrong.push(format!("random chunks (seed {seed}) differ from whole"));
            }
        }
        let kind = if case.expected.get("error").is_some() { "error" } else { "answer" };
        for feature in case.features.iter().map(String::as_str).chain([kind, "all"]) {
            let (right, all) = table.entry((case.api, feature.to_owned())).or_default();
            *all += 1;
            *right += usize::from(wrong.is_empty());
        }
        if !wrong.is_empty() {
            failed += 1;
            println!("{}\n  {}", case.id, wrong.join("\n  "));
        }
    }
    for ((api, feature), (right, all)) in &table {
        println!("{:20} {feature:40} {right:4} of {all:4}", api.name());
    }
    assert!(cases.len() >= 308, "only {} recordings", cases.len());
    assert_eq!(failed, 0, "{failed} of {} answers decode wrongly", cases.len());
}
