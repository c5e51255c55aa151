//! Text, media and tool choices in every wire format, written out by hand.
//!
//! The suite over all crates checks the same requests against the providers' schemas, where those are installed.

use serde_json::{Value, json};
#[cfg(target_family = "wasm")]
use wasm_bindgen_test::wasm_bindgen_test as test;

use super::{Api, Config};
use crate::error::{ErrorKind, LlmError};
use crate::model::{ContentPart, MediaData, Message, Request, Role, ToolCall, ToolChoice, ToolDefinition, ToolResult};
use crate::testing::covers;

/// Encodes a request. Returns the value at a JSON pointer of its body.
fn at(api: Api, request: &Request, pointer: &str) -> Result<Value, LlmError> {
    let adapter = api.adapter(Config { api_key: "key".into(), ..Config::default() });
    let http = adapter.encode(request, true)?;
    let body: Value = serde_json::from_slice(&http.body).unwrap();
    Ok(body.pointer(pointer).cloned().unwrap_or(Value::Null))
}

/// Returns the parts of the only message, or the reason of a refusal.
fn parts(api: Api, content: Vec<ContentPart>) -> Result<Value, String> {
    let pointer = match api {
        Api::AnthropicMessages | Api::OpenAiChat => "/messages/0/content",
        Api::OpenAiResponses => "/input/0/content",
        Api::Gemini => "/contents/0/parts",
    };
    let messages = vec![Message { role: Role::User, content: content.into(), name: None }];
    at(api, &Request { model: "m".into(), messages, ..Request::default() }, pointer).map_err(|error| {
        assert_eq!(error.kind, ErrorKind::InvalidRequest);
        error.message
    })
}

/// Checks the encoding of one part after a text, for Messages, Responses, Chat Completions and Gemini.
#[track_caller]
fn check(part: &ContentPart, expected: [Result<Value, &str>; 4]) {
    const TEXTS: [(Api, &str); 4] = [
        (Api::AnthropicMessages, r#"{"type": "text", "text": "look"}"#),
        (Api::OpenAiResponses, r#"{"type": "input_text", "text": "look"}"#),
        (Api::OpenAiChat, r#"{"type": "text", "text": "look"}"#),
        (Api::Gemini, r#"{"text": "look"}"#),
    ];
    for ((api, text), expected) in TEXTS.into_iter().zip(expected) {
        let mut found = parts(api, vec![ContentPart::Text { text: "look".into() }, part.clone()]);
        if let Ok(parts) = &mut found {
            // The mark of the prompt cache is not part of the content.
            parts[1].as_object_mut().map(|part| part.remove("cache_control"));
        }
        let text: Value = serde_json::from_str(text).unwrap();
        let expected = expected.map(|part| json!([text, part])).map_err(str::to_owned);
        assert_eq!(found, expected, "{}", api.name());
    }
}

fn data(media_type: &str, file_name: Option<&str>) -> MediaData {
    MediaData {
        data: Some("aGk=".into()),
        media_type: Some(media_type.into()),
        file_name: file_name.map(str::to_owned),
        ..MediaData::default()
    }
}

fn url(url: &str) -> MediaData {
    MediaData { url: Some(url.into()), ..MediaData::default() }
}

#[test]
fn every_role_has_its_place_in_each_format() {
    covers("adapter.roles adapter.system");
    let call = ToolCall {
        id: "call_1".into(),
        name: "read".into(),
        arguments: json!({}),
        raw_arguments: None,
        custom: false,
        provider_data: None,
    };
    let result = ToolResult {
        tool_call_id: "call_1".into(),
        name: "read".into(),
        content: json!("found"),
        is_error: false,
        image: None,
    };
    let request = Request {
        model: "m".into(),
        messages: vec![
            Message::system("system"),
            Message::text_of(Role::Developer, "developer"),
            Message::user("user"),
            Message { role: Role::Assistant, content: vec![ContentPart::ToolCall(call)].into(), name: None },
            Message::tool_results(vec![result]),
        ],
        ..Request::default()
    };
    // Where instructions stand, and the role or type of each message.
    let tables = [
        (Api::AnthropicMessages, "/system", ["system", "developer"], "/messages", &["user", "assistant", "user"][..]),
        (Api::Gemini, "/systemInstruction", ["system", "developer"], "/contents", &["user", "model", "user"]),
        (
            Api::OpenAiResponses,
            "/instructions",
            ["system", ""],
            "/input",
            &["developer", "user", "function_call", "function_call_output"],
        ),
        (Api::OpenAiChat, "/none", ["", ""], "/messages", &["system", "developer", "user", "assistant", "tool"]),
    ];
    for (api, pointer, instructions, messages, roles) in tables {
        let found = at(api, &request, pointer).unwrap().to_string();
        for (role, expected) in ["system", "developer"].into_iter().zip(instructions) {
            assert_eq!(found.contains(&format!("{role}\"")), !expected.is_empty(), "{}: {role} in {found}", api.name());
        }
        let found = at(api, &request, messages).unwrap();
        let role_of = |message: &Value| {
            let name = message.get("role").or_else(|| message.get("type")).and_then(Value::as_str);
            name.unwrap_or_default().to_owned()
        };
        let found: Vec<String> = found.as_array().unwrap().iter().map(role_of).collect();
        assert_eq!(found, roles, "{}", api.name());
    }
}

#[test]
fn texts_and_images_share_a_message() {
    covers("message.text message.image message.mixed");
    let address = "https://example.com/a.png";
    check(
        &ContentPart::Image(url(address)),
        [
            Ok(json!({"type": "image", "source": {"type": "url", "url": address}})),
            Ok(json!({"type": "input_image", "image_url": address, "detail": "auto"})),
            Ok(json!({"type": "image_url", "image_url": {"url": address}})),
            Ok(json!({"fileData": {"mimeType": "image/png", "fileUri": address}})),
        ],
    );
    let inline = "data:image/jpeg;base64,aGk=";
    check(
        &ContentPart::Image(MediaData { detail: Some("low".into()), ..data("image/jpeg", None) }),
        [
            Ok(json!({"type": "image", "source": {"type": "base64", "media_type": "image/jpeg", "data": "aGk="}})),
            Ok(json!({"type": "input_image", "image_url": inline, "detail": "low"})),
            Ok(json!({"type": "image_url", "image_url": {"url": inline, "detail": "low"}})),
            Ok(json!({"inlineData": {"mimeType": "image/jpeg", "data": "aGk="}})),
        ],
    );
}

#[test]
fn documents_and_audio_are_sent_or_refused() {
    covers("message.media");
    let inline = "data:application/pdf;base64,aGk=";
    check(
        &ContentPart::Document(data("application/pdf", Some("a.pdf"))),
        [
            Ok(json!({"type": "document", "title": "a.pdf",
                "source": {"type": "base64", "media_type": "application/pdf", "data": "aGk="}})),
            Ok(json!({"type": "input_file", "filename": "a.pdf", "file_data": inline})),
            Ok(json!({"type": "file", "file": {"filename": "a.pdf", "file_data": inline}})),
            Ok(json!({"inlineData": {"mimeType": "application/pdf", "data": "aGk="}})),
        ],
    );
    let address = "https://example.com/a.pdf";
    check(
        &ContentPart::Document(url(address)),
        [
            Ok(json!({"type": "document", "source": {"type": "url", "url": address}})),
            Ok(json!({"type": "input_file", "file_url": address})),
            Err("a document must be passed as `data`: this API takes no address"),
            Ok(json!({"fileData": {"mimeType": "application/pdf", "fileUri": address}})),
        ],
    );
    let no_audio = [
        "Claude models take no audio: send text instead",
        "the Responses API takes no audio: use the Chat Completions adapter",
    ];
    for (media_type, format) in [("audio/wav", "wav"), ("audio/mpeg", "mp3")] {
        check(
            &ContentPart::Audio(data(media_type, None)),
            [
                Err(no_audio[0]),
                Err(no_audio[1]),
                Ok(json!({"type": "input_audio", "input_audio": {"data": "aGk=", "format": format}})),
                Ok(json!({"inlineData": {"mimeType": media_type, "data": "aGk="}})),
            ],
        );
    }
    let address = "https://example.com/a.wav";
    check(
        &ContentPart::Audio(url(address)),
        [
            Err(no_audio[0]),
            Err(no_audio[1]),
            Err("audio must be passed as `data`: this API takes no address"),
            Ok(json!({"fileData": {"mimeType": "audio/wav", "fileUri": address}})),
        ],
    );
}

#[test]
fn every_tool_choice_has_its_own_form_in_each_format() {
    covers("tool_loop.choice");
    let named = || ToolChoice::Named { tool_name: "read".into() };
    let function = json!({"type": "function", "function": {"name": "read"}});
    let tables = [
        (
            Api::AnthropicMessages,
            "/tool_choice",
            [
                json!({"type": "auto"}),
                json!({"type": "none"}),
                json!({"type": "any"}),
                json!({"type": "tool", "name": "read"}),
            ],
        ),
        (
            Api::OpenAiResponses,
            "/tool_choice",
            [json!("auto"), json!("none"), json!("required"), json!({"type": "function", "name": "read"})],
        ),
        (Api::OpenAiChat, "/tool_choice", [json!("auto"), json!("none"), json!("required"), function]),
        (
            Api::Gemini,
            "/toolConfig/functionCallingConfig",
            [
                json!({"mode": "AUTO"}),
                json!({"mode": "NONE"}),
                json!({"mode": "ANY"}),
                json!({"mode": "ANY", "allowedFunctionNames": ["read"]}),
            ],
        ),
    ];
    for (api, pointer, expected) in tables {
        let choices = [ToolChoice::Auto, ToolChoice::None, ToolChoice::Required, named()];
        for (choice, expected) in choices.into_iter().zip(expected) {
            let parameters = json!({"type": "object", "properties": {}});
            let request = Request {
                model: "m".into(),
                messages: vec![Message::user("u")],
                tools: vec![ToolDefinition { name: "read".into(), description: "Reads.".into(), parameters }],
                tool_choice: Some(choice.clone()),
                ..Request::default()
            };
            assert_eq!(at(api, &request, pointer), Ok(expected), "{} {choice:?}", api.name());
        }
    }
}
