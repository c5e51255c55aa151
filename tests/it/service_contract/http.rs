//! A client of the contract over HTTP: sockets to a server with the service of [`Bench`].

use std::net::SocketAddr;
use std::pin::pin;
use std::time::Duration;

use emend_llm::{Clock, Random, Shared};
use emend_server::{ServerConfig, ServerLimits, ServerParts, ServerState, Token, serve};
use emend_tests::chance::Ticks;
use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::timeout;

use super::Client;
use super::host::Bench;

const TOKEN: &str = "token-of-the-contract";
/// Time for one reply. It never passes unless the server hangs.
const PATIENCE: Duration = Duration::from_secs(30);

/// Time after which jobs advance while a reply is awaited.
const SHORT: Duration = Duration::from_millis(10);

/// A bench with a server. It ends with the runtime of the test.
pub(super) struct HttpClient {
    bench: Bench,
    address: SocketAddr,
}

impl HttpClient {
    /// Starts a server over a bench.
    pub(super) async fn start(bench: Bench) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        let ticks: Shared<Ticks> = Shared::default();
        let state = ServerState::new(ServerParts {
            service: bench.service(),
            clock: Shared::clone(&ticks) as Shared<dyn Clock>,
            random: ticks as Shared<dyn Random>,
            config: ServerConfig {
                token: Token::parse(TOKEN).unwrap(),
                address,
                allowed_hosts: Vec::new(),
                allowed_origins: Vec::new(),
                web: None,
                limits: ServerLimits { requests_per_second: 0, ..ServerLimits::default() },
            },
        });
        tokio::spawn(serve(state, listener, std::future::pending()));
        Self { bench, address }
    }

    /// Sends a request on a connection of its own and returns it.
    async fn connect(&self, method: &str, path: &str, body: &Value) -> TcpStream {
        let mut stream = TcpStream::connect(self.address).await.unwrap();
        let body = if body.is_null() { String::new() } else { body.to_string() };
        let (address, length) = (self.address, body.len());
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n\
             Content-Type: application/json\r\nContent-Length: {length}\r\nConnection: close\r\n\r\n"
        );
        stream.write_all((head + &body).as_bytes()).await.unwrap();
        stream
    }
}

impl Client for HttpClient {
    async fn send(&self, method: &str, path: &str, body: Value) -> (u16, Value) {
        let mut stream = self.connect(method, path, &body).await;
        let mut bytes = Vec::new();
        let mut reading = pin!(timeout(PATIENCE, stream.read_to_end(&mut bytes)));
        // Some replies wait for a job.
        while timeout(SHORT, &mut reading).await.map(|read| read.unwrap().unwrap()).is_err() {
            self.bench.pause().await;
        }
        let text = String::from_utf8(bytes).unwrap();
        let (head, body) = text.split_once("\r\n\r\n").unwrap();
        (status(head), serde_json::from_str(body).unwrap())
    }

    async fn stream(&self, path: &str, n: usize) -> (u16, Value) {
        let mut stream = self.connect("GET", path, &Value::Null).await;
        let mut text = String::new();
        let mut buffer = vec![0; 65_536];
        loop {
            let length = timeout(PATIENCE, stream.read(&mut buffer)).await.unwrap().unwrap();
            text += std::str::from_utf8(&buffer[..length]).unwrap();
            let Some((head, body)) = text.split_once("\r\n\r\n") else { continue };
            if !head.contains("text/event-stream") {
                if length > 0 {
                    continue;
                }
                return (status(head), serde_json::from_str(body).unwrap());
            }
            let found = messages(body);
            if found.len() >= n || length == 0 {
                return (status(head), found.into_iter().take(n).collect());
            }
        }
    }

    async fn pause(&self) {
        self.bench.pause().await;
        tokio::task::yield_now().await;
    }

    fn write_to_disk(&self, path: &str, text: &str) {
        self.bench.write_to_disk(path, text);
    }
}

fn status(head: &str) -> u16 {
    head.split(' ').nth(1).unwrap().parse().unwrap()
}

/// Returns the complete messages without heartbeats. Each is one line, and sizes of chunks stand on other lines.
fn messages(body: &str) -> Vec<Value> {
    let complete = body.rsplit_once("\n\n").map_or("", |(complete, _)| complete);
    let data = complete.lines().filter_map(|line| line.strip_prefix("data: "));
    let values = data.map(|data| serde_json::from_str::<Value>(data).unwrap());
    values.filter(|value| value["type"] != "heartbeat").collect()
}
