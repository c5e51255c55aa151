//! A model on 127.0.0.1 in the format of Chat Completions: it appends the word of each instruction to a ledger file, after
//! 0.2 to 2 seconds for each response.

use std::collections::BTreeMap;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{SocketAddr, TcpListener, TcpStream};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::random::Seeded;

/// The model and its requests in flight.
pub(super) struct Model {
    pub(super) address: SocketAddr,
    state: Arc<State>,
}

struct State {
    latency_ms: (u64, u64),
    random: Seeded,
    /// Requests in flight by the number of the server.
    in_flight: Mutex<BTreeMap<usize, u64>>,
    n_requests: AtomicU64,
    /// The servers that got a response with a call, in order.
    called: Mutex<Vec<usize>>,
    /// The last message of the user in each request, in order.
    asked: Mutex<Vec<String>>,
    /// Requests in which a call has no result.
    open_calls: Mutex<Vec<Value>>,
}

impl Model {
    pub(super) fn start(seed: u64, latency_ms: (u64, u64)) -> Self {
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        let state = Arc::new(State {
            latency_ms,
            random: Seeded::new(seed),
            in_flight: Mutex::default(),
            n_requests: AtomicU64::new(0),
            called: Mutex::default(),
            asked: Mutex::default(),
            open_calls: Mutex::default(),
        });
        let shared = Arc::clone(&state);
        std::thread::spawn(move || {
            for stream in listener.incoming().flatten() {
                let state = Arc::clone(&shared);
                // A server that is killed breaks its connection.
                std::thread::spawn(move || drop(state.answer(stream)));
            }
        });
        Self { address, state }
    }

    /// Returns the servers with requests in flight.
    pub(super) fn busy(&self) -> Vec<usize> {
        let in_flight = self.state.in_flight.lock().unwrap();
        in_flight.iter().filter(|(_, n)| **n > 0).map(|(server, _)| *server).collect()
    }

    /// Waits for the next response with a call, and returns its server.
    pub(super) fn next_call(&self, patience: Duration) -> Option<usize> {
        let called = || self.state.called.lock().unwrap();
        let (n_before, until) = (called().len(), Instant::now() + patience);
        while Instant::now() < until {
            if let Some(server) = called().get(n_before) {
                return Some(*server);
            }
            std::thread::sleep(Duration::from_millis(1));
        }
        None
    }

    pub(super) fn n_requests(&self) -> u64 {
        self.state.n_requests.load(Ordering::Relaxed)
    }

    /// Returns the last message of the user in each request, in order.
    pub(super) fn asked(&self) -> Vec<String> {
        self.state.asked.lock().unwrap().clone()
    }

    /// Checks that each call in each request had a result, as providers demand.
    #[track_caller]
    pub(super) fn assert_calls_have_results(&self) {
        let open = self.state.open_calls.lock().unwrap();
        assert!(open.is_empty(), "{open:?}");
    }
}

impl State {
    fn answer(&self, stream: TcpStream) -> std::io::Result<()> {
        let mut reader = BufReader::new(stream);
        let mut line = String::new();
        reader.read_line(&mut line)?;
        let server: usize = line.split("/s").nth(1).and_then(|rest| rest.split('/').next()?.parse().ok()).unwrap_or(0);
        let mut n_bytes = 0;
        loop {
            let mut header = String::new();
            reader.read_line(&mut header)?;
            if header.trim().is_empty() {
                break;
            }
            if let Some(length) = header.to_lowercase().strip_prefix("content-length:") {
                n_bytes = length.trim().parse().unwrap();
            }
        }
        let mut body = vec![0; n_bytes];
        reader.read_exact(&mut body)?;
        let request: Value = serde_json::from_slice(&body)?;
        self.n_requests.fetch_add(1, Ordering::Relaxed);
        self.asked.lock().unwrap().push(last_of_user(&request));
        if has_open_call(&request) {
            self.open_calls.lock().unwrap().push(request["messages"].clone());
        }
        *self.in_flight.lock().unwrap().entry(server).or_default() += 1;
        let (least, most) = self.latency_ms;
        let is_asleep = request["messages"].to_string().contains("sleep for a minute");
        let latency_ms = if is_asleep { 60_000 } else { least + self.random.below(most - least + 1) };
        std::thread::sleep(Duration::from_millis(latency_ms));
        *self.in_flight.lock().unwrap().entry(server).or_default() -= 1;
        let chunks: String = response(&request).iter().map(|chunk| format!("data: {chunk}\n\n")).collect();
        let mut stream = reader.into_inner();
        write!(
            stream,
            "HTTP/1.1 200 OK\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n{chunks}data: [DONE]\n\n"
        )?;
        stream.flush()?;
        if chunks.contains(r#""finish_reason":"tool_calls""#) {
            self.called.lock().unwrap().push(server);
        }
        Ok(())
    }
}

/// Returns the last message of the user.
fn last_of_user(request: &Value) -> String {
    let messages = request["messages"].as_array().unwrap();
    let instruction = messages.iter().rev().find(|message| message["role"] == "user").unwrap();
    instruction["content"].as_str().map_or_else(|| instruction["content"].to_string(), str::to_owned)
}

fn has_open_call(request: &Value) -> bool {
    let messages = request["messages"].as_array().unwrap();
    let calls = messages.iter().flat_map(|message| message["tool_calls"].as_array().into_iter().flatten()).count();
    calls != messages.iter().filter(|message| message["role"] == "tool").count()
}

/// Returns the chunks of the response to the last message of the user: a call for `append WORD to FILE` or `ask me`, and a
/// text after the result of a call or for an answer. `check and append …` has a command before, and `delegate: append …` has
/// a subagent that appends.
fn response(request: &Value) -> Vec<Value> {
    let messages = request["messages"].as_array().unwrap();
    let text = last_of_user(request);
    let n_results = messages.iter().rev().take_while(|message| message["role"] != "user").count() / 2;
    let task = text.split_once("delegate: ").map(|(_, task)| task);
    let n_calls = 1 + usize::from(text.contains("check and ") || task.is_some());
    let is_new = n_results < n_calls;
    let word = text.split("append ").nth(1).and_then(|rest| rest.split(' ').next()).unwrap_or("ask");
    let chunk = |delta: Value, finish: Option<&str>| {
        json!({
            "id": format!("chat-{word}"), "object": "chat.completion.chunk", "model": "m", "created": 1,
            "choices": [{ "index": 0, "delta": delta, "finish_reason": finish }],
        })
    };
    let call = |name: &str, arguments: Value| {
        let function = json!({ "name": name, "arguments": arguments.to_string() });
        let id = format!("call_{word}_{}{n_results}", if task.is_some() { "of_parent_" } else { "" });
        let call = json!({ "index": 0, "id": id, "type": "function", "function": function });
        chunk(json!({ "role": "assistant", "content": null, "tool_calls": [call] }), None)
    };
    let say = |text: String| chunk(json!({ "role": "assistant", "content": text }), None);
    let is_call = is_new && (word != "ask" || text.contains("ask me"));
    let first = match word {
        _ if is_call && task.is_some() && n_results == 0 => call("spawn_agent", json!({ "task": task })),
        _ if is_call && task.is_some() => call("wait", json!({ "agent_id": "agent_1" })),
        _ if is_call && n_results + 1 < n_calls => call("shell", json!({ "command": "true" })),
        "ask" if is_call => call("clarify_user", json!({ "question": "Which colour" })),
        "ask" => say(format!("the answer was {}", text.trim())),
        _ if is_call => {
            let file = text.rsplit(' ').next().unwrap().trim();
            call("edit_file", json!({ "file_path": file, "old_string": "END", "new_string": format!("{word}\nEND") }))
        }
        _ => say(format!("appended {word}")),
    };
    let usage = json!({
        "id": "u", "object": "chat.completion.chunk", "model": "m", "created": 1, "choices": [],
        "usage": { "prompt_tokens": 10, "completion_tokens": 5, "total_tokens": 15 },
    });
    vec![first, chunk(json!({}), Some(if is_call { "tool_calls" } else { "stop" })), usage]
}
