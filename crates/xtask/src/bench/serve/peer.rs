//! The peer: `openhands-agent-server` from PyPI on 127.0.0.1, with a state directory of its own and without telemetry.
//!
//! Its conversations stand for sessions, and its WebSockets for streams. It has no stream of all conversations: a socket
//! shows one conversation, and at most 48 sockets may show the same. The client that reconnects follows one conversation,
//! and 1,000 idle sockets follow 21. A socket resumes by the time of the last event, so the peer sends the events of that
//! time again. No model is asked: the events are messages of the user.

use std::collections::BTreeSet;
use std::io::{ErrorKind, Read as _};
use std::net::TcpListener;
use std::path::Path;
use std::process::{Command, Stdio};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::breaks::{Breaks, N_RECONNECTS};
use super::figures::{Figures, List, N_IDLE, N_SESSIONS, Storm};
use super::http::{Server, Stream, encoded};
use super::python;
use super::websocket::{Message, UPGRADE, messages};
use crate::process::command;
use crate::progress::say;
use crate::repo::Repo;

/// Variable with a command that starts the peer; the bench adds `--port N`. Without it the bench starts the installed peer.
const PEER: &str = "OPENHANDS_AGENT_SERVER";
/// Number of messages that are sent to the conversation meanwhile.
const N_MESSAGES: usize = 110;
/// Number of sockets that may follow one conversation.
const SOCKETS_MAX: usize = 48;
/// Time for the start of the peer.
const START: Duration = Duration::from_secs(90);

/// Measures the peer; returns its name with its version.
pub(super) fn measure(repo: &Repo) -> Result<(String, Figures)> {
    const LIST: List =
        List { path: "/api/conversations/search?limit=100", after: "page_id", next: "next_page_id", items: "items" };
    let folder = repo.path("target/bench/serve-peer");
    let server = start(repo, &folder)?;
    let version = server.json("GET", "/server_info", "")?["version"].as_str().unwrap_or("unknown").to_owned();
    let mut conversations = Vec::new();
    for _ in 0..N_SESSIONS {
        conversations.push(conversation(&server, &folder)?);
    }
    let [page_ms, list_ms, health_ms] = LIST.measure(&server)?;
    let storm = storm(&server, &conversations[0]);
    let storm = storm.inspect_err(|error| say!("the peer does not get through the reconnects: {error:#}")).ok();
    // The conversation with the reconnects may be stuck.
    let idle = server.idle(|| idle_sockets(&server, &conversations[1..]), is_open)?;
    Ok((format!("openhands-agent-server {version}"), Figures { page_ms, list_ms, health_ms, storm, idle }))
}

fn start(repo: &Repo, folder: &Path) -> Result<Server> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder.join("work"))?;
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut peer = start_command(repo, folder)?;
    peer.args(["--port", &port.to_string()]).stdout(Stdio::null()).stderr(Stdio::null());
    let mut server = Server { child: peer.spawn()?, address: format!("127.0.0.1:{port}") };
    let until = Instant::now() + START;
    while server.json("GET", "/health", "").is_err() {
        ensure!(server.child.try_wait()?.is_none(), "the peer ended at its start");
        ensure!(Instant::now() < until, "the peer does not start");
        thread::sleep(Duration::from_millis(200));
    }
    Ok(server)
}

/// Returns the command of the variable, or that of an environment with the peer.
fn start_command(repo: &Repo, folder: &Path) -> Result<Command> {
    if let Ok(words) = std::env::var(PEER) {
        let mut words = words.split_whitespace();
        let mut peer = command(words.next().context(PEER)?, &folder.join("work"));
        peer.args(words);
        return Ok(peer);
    }
    let programs = python::programs(repo)?;
    let mut peer = command(programs.join("agent-server"), &folder.join("work"));
    // Keys and settings of the user must not reach the peer.
    peer.env_clear().env("PATH", std::env::var_os("PATH").unwrap_or_default());
    peer.env("HOME", folder.join("home")).env("TMPDIR", folder);
    let paths = [("CONVERSATIONS_PATH", "conversations"), ("WORKSPACE_PATH", "work"), ("BASH_EVENTS_DIR", "bash")];
    peer.envs(paths.map(|(name, path)| (format!("OH_{name}"), folder.join(path))));
    peer.envs(["OH_ENABLE_VSCODE", "OH_ENABLE_BROWSER", "OH_PRELOAD_TOOLS"].map(|name| (name, "false")));
    // No telemetry, and no download of a list of prices.
    peer.envs([("DO_NOT_TRACK", "1"), ("ANONYMIZED_TELEMETRY", "false"), ("LITELLM_LOCAL_MODEL_COST_MAP", "True")]);
    peer.args(["--host", "127.0.0.1"]);
    Ok(peer)
}

/// Creates a conversation whose model is never asked; returns its id.
fn conversation(server: &Server, folder: &Path) -> Result<String> {
    let model =
        json!({ "model": "openai/none", "api_key": "none", "base_url": "http://127.0.0.1:1", "usage_id": "none" });
    let body = json!({
        "agent": { "kind": "Agent", "llm": model, "tools": [] },
        "workspace": { "kind": "LocalWorkspace", "working_dir": folder.join("work") },
    });
    let created = server.json("POST", "/api/conversations", &body.to_string())?;
    Ok(created["id"].as_str().context("the id of a conversation")?.to_owned())
}

/// Follows a conversation with 100 breaks while messages are sent to it.
fn storm(server: &Server, id: &str) -> Result<Storm> {
    let path = format!("/api/conversations/{id}/events");
    let message = json!({ "role": "user", "content": [{ "type": "text", "text": "A message." }], "run": false });
    let message = message.to_string();
    let (mut ids, mut n_doubles) = (BTreeSet::new(), 0);
    thread::scope(|scope| {
        let send = || server.json("POST", &path, &message);
        let writer = scope.spawn(move || (1..=N_MESSAGES).find_map(|n| Some((n, send().err()?))));
        let (mut breaks, mut last) = (Breaks::new(), None::<String>);
        for n in 0..N_RECONNECTS {
            n_doubles += follow(server, id, &mut breaks, n, &mut last, &mut ids)?;
        }
        let failed = writer.join().map_err(|_| anyhow::anyhow!("the writer panicked"))?;
        if let Some((n, error)) = failed {
            say!(
                "the peer has not answered message {n} of {N_MESSAGES} while a client reconnects ({error:#}); no more are sent"
            );
        }
        n_doubles += follow(server, id, &mut breaks, N_RECONNECTS, &mut last, &mut ids)?;
        anyhow::Ok(())
    })?;
    let stored = stored(server, &path)?;
    Ok(Storm { n_written: stored.len(), n_read: stored.intersection(&ids).count(), n_doubles })
}

/// Reads one connection. Adds the new events; returns the number of the others.
fn follow(
    server: &Server,
    id: &str,
    breaks: &mut Breaks,
    n: u64,
    last: &mut Option<String>,
    ids: &mut BTreeSet<String>,
) -> Result<usize> {
    let resume = match last {
        None => "resend_mode=all".to_owned(),
        Some(time) => format!("resend_mode=since&after_timestamp={}", encoded(time)),
    };
    let stream = server.connect("GET", &format!("/sockets/events/{id}?{resume}"), UPGRADE, "")?;
    let mut n_doubles = 0;
    for message in messages(&breaks.read(n, stream)?)? {
        let Message::Text(text) = message else { continue };
        let event: Value = serde_json::from_str(&text)?;
        // Each connection begins with the state of the conversation, which is not an event of the store.
        if event["key"] == "full_state" {
            continue;
        }
        let text = |name: &str| event[name].as_str().map(str::to_owned);
        *last = text("timestamp").or(last.take());
        n_doubles += usize::from(!ids.insert(text("id").context("the id of an event")?));
    }
    Ok(n_doubles)
}

/// Returns the ids of the events of the store.
fn stored(server: &Server, path: &str) -> Result<BTreeSet<String>> {
    let (mut ids, mut page_id) = (BTreeSet::new(), String::new());
    loop {
        let page = server.json("GET", &format!("{path}/search?limit=100{page_id}"), "")?;
        let events = page["items"].as_array().into_iter().flatten();
        ids.extend(events.filter_map(|event| event["id"].as_str().map(str::to_owned)));
        let Some(next) = page["next_page_id"].as_str() else { return Ok(ids) };
        page_id = format!("&page_id={}", encoded(next));
    }
}

/// Opens as many idle sockets as ours has streams.
fn idle_sockets(server: &Server, conversations: &[String]) -> Result<Vec<Stream>> {
    let mut streams = Vec::new();
    for id in conversations.iter().flat_map(|id| std::iter::repeat_n(id, SOCKETS_MAX)).take(N_IDLE) {
        streams.push(idle_socket(server, id)?);
    }
    let more = idle_socket(server, &conversations[0])?;
    if let Some(Message::Close(code)) = messages(&more.bytes)?.last() {
        say!("the peer closes socket {} of a conversation with the code {code}", SOCKETS_MAX + 1);
    }
    Ok(streams)
}

/// Opens a socket and reads its first message.
fn idle_socket(server: &Server, id: &str) -> Result<Stream> {
    let mut connection = server.connect("GET", &format!("/sockets/events/{id}"), UPGRADE, "")?;
    let (mut bytes, mut buffer) = (Vec::new(), [0; 4096]);
    loop {
        let length = match connection.read(&mut buffer) {
            Err(error) if error.kind() == ErrorKind::Interrupted => continue,
            length => length?,
        };
        ensure!(length > 0, "the peer closes a socket without a message");
        bytes.extend_from_slice(&buffer[..length]);
        if !messages(&bytes)?.is_empty() {
            return Ok(Stream { connection, bytes });
        }
    }
}

/// Returns whether the peer has not closed a socket.
fn is_open(bytes: &[u8]) -> bool {
    messages(bytes).is_ok_and(|found| !found.iter().any(|message| matches!(message, Message::Close(_))))
}
