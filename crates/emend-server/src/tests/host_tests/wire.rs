//! A client of streams that counts what it gets, and disconnects on request.

use std::net::SocketAddr;
use std::time::Duration;

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::{Instant, sleep, timeout_at};

use crate::tests::bench::TOKEN;

/// The moment at which a client disconnects.
#[derive(Clone, Copy)]
pub(super) enum Stop {
    AfterBytes(u64),
    AfterTime(Duration),
    AtEvent(u64),
    AtEventOrSilence(u64, Duration),
    AtEnd,
}

/// A client of one stream.
pub(super) struct Client {
    address: SocketAddr,
    pub(super) connect_to: SocketAddr,
    pub(super) path: String,
    /// Number of the last event.
    pub(super) after: u64,
    /// Header in place of the number.
    pub(super) last_event_id: Option<String>,
    /// Numbers of all events.
    pub(super) numbers: Vec<u64>,
    /// Types of all messages.
    pub(super) kinds: Vec<String>,
    /// Pause after each small read.
    pub(super) pause: Duration,
}

impl Client {
    pub(super) fn new(address: SocketAddr) -> Self {
        Self {
            address,
            connect_to: address,
            path: "/api/agent/stream".to_owned(),
            after: 0,
            last_event_id: None,
            numbers: Vec::new(),
            kinds: Vec::new(),
            pause: Duration::ZERO,
        }
    }

    pub(super) fn request(address: SocketAddr, path: &str, last: Option<&str>) -> String {
        let last = last.map(|last| format!("Last-Event-ID: {last}\r\n")).unwrap_or_default();
        format!("GET {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n{last}\r\n")
    }

    async fn open(&self) -> TcpStream {
        let mut stream = TcpStream::connect(self.connect_to).await.unwrap();
        let number = self.after.to_string();
        let last = self.last_event_id.as_deref().or((self.after > 0).then_some(number.as_str()));
        stream.write_all(Self::request(self.address, &self.path, last).as_bytes()).await.unwrap();
        stream
    }

    /// Returns the status of a request.
    pub(super) async fn status_now(&self) -> u16 {
        let mut stream = self.open().await;
        let mut head = [0; 12];
        stream.read_exact(&mut head).await.unwrap();
        String::from_utf8_lossy(&head)[9..].parse().unwrap()
    }

    /// Reads until a moment; returns the number of events.
    pub(super) async fn read(&mut self, stop: Stop) -> usize {
        let mut stream = self.open().await;
        let (mut raw, mut body, mut n_bytes) = (Vec::new(), None, 0);
        let before = self.numbers.len();
        let mut deadline = Instant::now() + Duration::from_secs(60);
        match stop {
            Stop::AfterTime(time) => deadline = Instant::now() + time,
            Stop::AfterBytes(_) => deadline = Instant::now() + Duration::from_millis(60),
            _ => {}
        }
        let mut buffer = vec![0; if self.pause.is_zero() { 4096 } else { 200 }];
        loop {
            if let Stop::AtEventOrSilence(_, silence) = stop {
                deadline = Instant::now() + silence;
            }
            let room = match stop {
                Stop::AfterBytes(max) => buffer.len().min((max - n_bytes) as usize),
                _ => buffer.len(),
            };
            if room == 0 {
                break;
            }
            let Ok(Ok(n)) = timeout_at(deadline, stream.read(&mut buffer[..room])).await else { break };
            if n == 0 {
                break;
            }
            n_bytes += n as u64;
            raw.extend_from_slice(&buffer[..n]);
            if self.take(&mut raw, &mut body) {
                break;
            }
            if matches!(stop, Stop::AtEvent(last) | Stop::AtEventOrSilence(last, _) if self.after >= last) {
                break;
            }
            if !self.pause.is_zero() {
                sleep(self.pause).await;
            }
        }
        self.numbers.len() - before
    }

    /// Takes the head and chunks from the bytes, and complete messages from the chunks. Returns whether the last chunk
    /// has come.
    fn take(&mut self, raw: &mut Vec<u8>, body: &mut Option<Body>) -> bool {
        if body.is_none() {
            let Some(end) = find(raw, b"\r\n\r\n") else { return false };
            let head = String::from_utf8(raw.drain(..end + 4).collect()).unwrap();
            assert!(head.starts_with("HTTP/1.1 200 "), "{head}");
            assert!(head.contains("content-type: text/event-stream"), "{head}");
            *body = Some(Body::default());
        }
        let Some(body) = body else { return false };
        let is_over = body.take(raw);
        while let Some(end) = find(&body.text, b"\n\n") {
            let message = String::from_utf8(body.text.drain(..end + 2).collect()).unwrap();
            self.message(&message);
        }
        is_over
    }

    fn message(&mut self, message: &str) {
        let field = |name: &str| message.lines().find_map(|line| line.strip_prefix(name));
        let data: Value = serde_json::from_str(field("data: ").unwrap()).unwrap();
        let kind = data["type"].as_str().unwrap().to_owned();
        if let Some(id) = field("id: ") {
            self.after = id.parse().unwrap();
            if kind != "resync_required" {
                self.numbers.push(self.after);
            }
        }
        self.kinds.push(kind);
    }
}

/// The body of a response in chunks.
#[derive(Default)]
struct Body {
    /// Bytes of the present chunk that have not come.
    missing: usize,
    /// Text that is not a complete message.
    text: Vec<u8>,
}

impl Body {
    fn take(&mut self, raw: &mut Vec<u8>) -> bool {
        loop {
            let n = self.missing.min(raw.len());
            self.text.extend(raw.drain(..n));
            self.missing -= n;
            // A line break ends the former chunk.
            let start = if raw.starts_with(b"\r\n") { 2 } else { 0 };
            let Some(end) = find(&raw[start..], b"\r\n").filter(|_| self.missing == 0) else { return false };
            let size = std::str::from_utf8(&raw[start..start + end]).unwrap();
            self.missing = usize::from_str_radix(size, 16).unwrap();
            raw.drain(..start + end + 2);
            if self.missing == 0 {
                return true;
            }
        }
    }
}

fn find(bytes: &[u8], part: &[u8]) -> Option<usize> {
    bytes.windows(part.len()).position(|window| window == part)
}
