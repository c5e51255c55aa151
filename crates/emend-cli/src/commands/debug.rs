//! `emend debug`: decodes a recorded response, or encodes a request without sending it.

use std::io::{Read, Write};
use std::path::Path;
use std::process::ExitCode;

use emend_agent::error_code::Code;
use emend_llm::{Config, Headers, LlmError, MediaData, Request, is_harmless_header};
use serde_json::{Map, Value, json};

use crate::args::{DecodeArgs, EncodeArgs};
use crate::commands::response_summary::summary;
use crate::failure::Failure;
use crate::visible;

/// Prints the content of a response. An error of the provider counts as a response.
pub(crate) fn decode(args: &DecodeArgs) -> Result<ExitCode, Failure> {
    let body = read(Some(&args.file))?;
    let chunks = body.chunks(args.chunk.map_or_else(|| body.len().max(1), std::num::NonZeroUsize::get));
    let (events, outcome) = args.api.decode(args.status, &Headers::default(), chunks);
    print(&summary(args.api, &events, &outcome))
}

/// Prints the HTTP request for a request. Nothing is sent, and no API key is needed or printed.
pub(crate) fn encode(args: &EncodeArgs) -> Result<ExitCode, Failure> {
    let text = String::from_utf8(read(args.file.as_deref())?)
        .map_err(|_| Failure::new(Code::InvalidArgument, "the request is not UTF-8"))?;
    let mut request: Request = serde_json::from_str(&text).map_err(|error| {
        let example = r#"{"model": "m", "messages": [{"role": "user", "content": [{"kind": "text", "text": "hi"}]}]}"#;
        Failure::new(Code::InvalidArgument, format!("the request cannot be read: {error}; e.g. {example}"))
    })?;
    for media in request.local_media() {
        let url = media.url.clone().unwrap_or_default();
        let path = url.strip_prefix("file://").unwrap_or(&url);
        let bytes = read(Some(Path::new(path)))?;
        *media = MediaData { detail: media.detail.take(), ..MediaData::from_file(path, &bytes) };
    }
    let config = Config { api_key: "none".to_owned(), ..Config::default() };
    let adapter = args.api.adapter(config);
    let http = adapter.encode(&request, !args.whole).map_err(|error| refused(&error))?;
    for warning in adapter.warnings(&request) {
        // If standard error is closed the warning is lost. The request is printed all the same.
        let _ = writeln!(visible::stderr(), "emend: warning: {}", warning.message);
    }
    let headers: Map<String, Value> = http
        .headers
        .0
        .into_iter()
        .map(|(name, value)| {
            let shown = if is_harmless_header(&name) { value } else { "[key]".to_owned() };
            (name, Value::from(shown))
        })
        .collect();
    let body: Value = serde_json::from_slice(&http.body)
        .map_err(|error| Failure::new(Code::Internal, format!("the encoded body is not JSON: {error}")))?;
    print(&json!({"method": http.method, "url": http.url, "headers": headers, "body": body}))
}

/// Returns the failure for a request that the wire format cannot represent. For this command it is invalid usage.
fn refused(error: &LlmError) -> Failure {
    Failure::new(Code::InvalidArgument, format!("the request cannot be encoded: {error}"))
}

/// Reads a file, or standard input for no file and for `-`.
fn read(file: Option<&Path>) -> Result<Vec<u8>, Failure> {
    match file.filter(|file| *file != Path::new("-")) {
        Some(file) => std::fs::read(file).map_err(|error| {
            let code = match error.kind() {
                std::io::ErrorKind::NotFound => Code::NotFound,
                std::io::ErrorKind::PermissionDenied => Code::PermissionDenied,
                _ => Code::IoError,
            };
            Failure::new(code, format!("cannot read {}: {error}", file.display()))
        }),
        None => {
            let mut bytes = Vec::new();
            std::io::stdin().read_to_end(&mut bytes)?;
            Ok(bytes)
        }
    }
}

fn print(value: &Value) -> Result<ExitCode, Failure> {
    visible::stdout().write_json(&value.to_string())?;
    Ok(ExitCode::SUCCESS)
}
