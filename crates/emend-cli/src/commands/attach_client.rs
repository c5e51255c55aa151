//! A client of the service: requests with JSON, and the stream of events, which reconnects without gaps.

use std::time::Duration;

use emend_agent::error_code::Code;
use emend_host::{ReqwestTransport, Timeouts};
use emend_llm::{BoxStream, CancelToken, Headers, HttpRequest, HttpResponse, Transport, TransportError};
use futures::StreamExt as _;
use serde_json::{Value, json};

use crate::failure::Failure;
use crate::visible::visible;

/// Time without data after which a stream is taken for dead. Heartbeats come more often.
const SILENCE_MS: u64 = 30_000;

/// Pause before a reconnect.
const PAUSE: Duration = Duration::from_secs(1);

/// Largest message of a stream; a larger one is not from an Emend server.
const MESSAGE_BYTES_MAX: usize = 64 << 20;

/// A client of one server.
pub(super) struct Client {
    /// Address without a slash at the end.
    base: String,
    token: String,
    transport: ReqwestTransport,
}

/// Returns a text as a part of a query.
pub(super) fn encoded(text: &str) -> String {
    let is_plain = |byte: &u8| byte.is_ascii_alphanumeric() || b"-_.~".contains(byte);
    let byte = |byte: u8| if is_plain(&byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") };
    text.bytes().map(byte).collect()
}

impl Client {
    pub(super) fn new(base: &str, token: &str) -> Self {
        let timeouts = Timeouts { idle_ms: SILENCE_MS, total_ms: u64::from(u32::MAX), ..Timeouts::default() };
        let transport = ReqwestTransport::new(timeouts);
        Self { base: base.trim_end_matches('/').to_owned(), token: token.to_owned(), transport }
    }

    async fn request(&self, method: &'static str, path: &str, body: Option<Value>) -> Result<HttpResponse, Failure> {
        let mut headers = Headers::default();
        headers.set("authorization", format!("Bearer {}", self.token));
        let body = body.map(|body| body.to_string()).unwrap_or_default().into_bytes();
        if !body.is_empty() {
            headers.set("content-type", "application/json");
        }
        let request = HttpRequest { method, url: format!("{}{path}", self.base), headers, body };
        self.transport.send(request, CancelToken::new()).await.map_err(unreachable)
    }

    /// Sends a request and returns the reply. Failures of the service keep their code and message.
    async fn exchange(&self, method: &'static str, path: &str, body: Option<Value>) -> Result<Value, Failure> {
        let mut response = self.request(method, path, body).await?;
        let mut bytes = Vec::new();
        while let Some(part) = response.body.next().await {
            bytes.extend(part.map_err(unreachable)?);
        }
        let reply: Value = serde_json::from_slice(&bytes).map_err(|_| {
            let message = format!("{} answers with status {}, and not as an Emend server", self.base, response.status);
            Failure::new(Code::InvalidArgument, message)
        })?;
        match response.status {
            200..=299 => Ok(reply),
            _ => Err(failure_of(&reply, &self.base)),
        }
    }

    pub(super) async fn get(&self, path: &str) -> Result<Value, Failure> {
        self.exchange("GET", path, None).await
    }

    pub(super) async fn post(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.exchange("POST", path, Some(body)).await
    }

    pub(super) async fn patch(&self, path: &str, body: Value) -> Result<Value, Failure> {
        self.exchange("PATCH", path, Some(body)).await
    }

    pub(super) async fn delete(&self, path: &str) -> Result<Value, Failure> {
        self.exchange("DELETE", path, None).await
    }

    /// Returns the reader of all events after a number.
    pub(super) fn events(&self, after: u64) -> Events<'_> {
        Events { client: self, after, open: None, buffer: Vec::new(), is_lost: false }
    }
}

fn unreachable(error: TransportError) -> Failure {
    Failure::new(Code::Network, error.to_string())
}

/// Returns the failure that a reply of the server at `base` describes. Sessions to close become commands that archive them.
fn failure_of(reply: &Value, base: &str) -> Failure {
    let error = &reply["error"];
    let code = error["code"].as_str().and_then(Code::from_name).unwrap_or(Code::Internal);
    let mut failure = Failure::new(code, error["message"].as_str().unwrap_or("the server refused the request"));
    let list = |value: &Value| value.as_array().cloned().unwrap_or_default();
    failure.suggestions = list(&error["suggestions"]).iter().filter_map(Value::as_str).map(str::to_owned).collect();
    failure.suggestions.extend(list(&error["data"]["close"]).iter().filter_map(|session| {
        let id = session["session_id"].as_str()?;
        let title = session["title"].as_str().filter(|title| !title.is_empty()).unwrap_or("no title");
        Some(format!("emend sessions archive {id} --server {base}   ({})", visible(title)))
    }));
    failure
}

/// Type of the message that the server cannot be reached. It is not from the server.
pub(super) const LOST: &str = "connection.lost";

/// Type of the message that the server is reached again.
pub(super) const RESTORED: &str = "connection.restored";

/// The events of all sessions. A lost connection is opened again after the last event.
pub(super) struct Events<'a> {
    client: &'a Client,
    after: u64,
    open: Option<BoxStream<'static, Result<Vec<u8>, TransportError>>>,
    buffer: Vec<u8>,
    /// Whether [`LOST`] was the last notice.
    is_lost: bool,
}

impl Events<'_> {
    /// Waits for the next message: an event, another message of the stream, or a notice about the connection. May be
    /// dropped while it waits.
    ///
    /// A connection that is open again at once causes no notice, since no event is missing.
    ///
    /// # Errors
    ///
    /// The server refuses the stream.
    pub(super) async fn next(&mut self) -> Result<Value, Failure> {
        loop {
            if let Some(message) = self.take() {
                return Ok(message);
            }
            let Some(body) = &mut self.open else {
                let is_open = self.connect().await?;
                if is_open == self.is_lost {
                    self.is_lost = !is_open;
                    return Ok(json!({ "type": if is_open { RESTORED } else { LOST } }));
                }
                if !is_open {
                    tokio::time::sleep(PAUSE).await;
                }
                continue;
            };
            match body.next().await {
                Some(Ok(bytes)) if self.buffer.len() < MESSAGE_BYTES_MAX => self.buffer.extend(bytes),
                _ => {
                    self.open = None;
                    self.buffer.clear();
                    tokio::time::sleep(PAUSE).await;
                }
            }
        }
    }

    /// Opens the stream. Returns whether it is open; the server may be away, or have too many streams.
    async fn connect(&mut self) -> Result<bool, Failure> {
        let path = format!("/api/agent/stream?after={}", self.after);
        match self.client.request("GET", &path, None).await {
            Ok(response) if response.status == 200 => {
                self.open = Some(response.body);
                Ok(true)
            }
            // Too many streams, or a proxy whose server restarts.
            Ok(response) if response.status == 429 || response.status >= 500 => Ok(false),
            Ok(response) => {
                let message = format!("the server refuses the stream with status {}", response.status);
                Err(Failure::new(Code::PermissionDenied, message))
            }
            Err(_) => Ok(false),
        }
    }

    /// Takes the first complete message from the buffer.
    fn take(&mut self) -> Option<Value> {
        loop {
            let end = self.buffer.windows(2).position(|pair| pair == b"\n\n")?;
            let message: Vec<u8> = self.buffer.drain(..end + 2).collect();
            let text = String::from_utf8_lossy(&message);
            let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
            if let Some(id) = field("id: ").and_then(|id| id.parse().ok()) {
                self.after = id;
            }
            if let Some(data) = field("data: ") {
                return Some(serde_json::from_str(data).unwrap_or(json!({})));
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_limit_on_sessions_names_the_commands_that_close_one() {
        let close = json!([{ "session_id": "s1", "title": "a\n" }, { "session_id": "s2", "title": "" }]);
        let error =
            json!({ "code": "limit_reached", "message": "full", "suggestions": ["x"], "data": { "close": close } });
        let failure = failure_of(&json!({ "error": error }), "http://h");
        assert_eq!((failure.code, failure.message.as_str()), (Code::LimitReached, "full"));
        let expected = [
            "x",
            "emend sessions archive s1 --server http://h   (a\\n)",
            "emend sessions archive s2 --server http://h   (no title)",
        ];
        assert_eq!(failure.suggestions, expected);
    }

    #[test]
    fn messages_are_taken_when_they_are_complete() {
        let client = Client::new("http://127.0.0.1:1/", "t");
        let mut events = client.events(3);
        let stream =
            "retry: 1000\ndata: {\"type\":\"attached\"}\n\n: comment\n\nid: 4\ndata: {\"type\":\"a\"}\n\nid: 5\n";
        let mut found = Vec::new();
        for byte in stream.bytes() {
            events.buffer.push(byte);
            found.extend(events.take());
        }
        assert_eq!(found, [json!({"type": "attached"}), json!({"type": "a"})]);
        assert_eq!((events.after, client.base.as_str()), (4, "http://127.0.0.1:1"));
    }
}
