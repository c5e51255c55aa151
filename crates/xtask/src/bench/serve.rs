//! `emend serve` under load: reconnects, the list of 2,000 sessions, `/health`, and the memory of 1,000 idle streams.
//!
//! The peer is `openhands-agent-server` from PyPI, which needs Python 3.12. It is measured if the variable
//! `OPENHANDS_AGENT_SERVER` has a command that starts it; the bench adds `--port N`.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::{Path, PathBuf};
use std::process::{Child, Stdio};
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::{Value, json};

use super::row::Row;
use crate::process::{command, run as run_program};
use crate::progress::say;
use crate::repo::Repo;

const TOKEN: &str = "token-of-the-bench";
/// Variable with a program to measure instead of a new release build.
const PROGRAM: &str = "EMEND_BENCH_PROGRAM";
const PEER: &str = "OPENHANDS_AGENT_SERVER";
const N_SESSIONS: usize = 2_000;
const N_RECONNECTS: u64 = 100;
const N_IDLE: usize = 1_000;
/// Memory that the server may use with idle clients, in MB.
const MEMORY_MAX: f64 = 200.0;
/// Number of measured requests.
const N_SAMPLES: usize = 400;
/// Number of clients that ask for lists while `/health` is measured.
const N_LOADERS: usize = 4;

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let server = start(&program(repo)?, &repo.path("target/bench/serve"))?;
    for n in 0..N_SESSIONS {
        server.json("POST", "/api/agent/sessions", &json!({ "title": format!("session {n}") }).to_string())?;
    }
    let page = server.p95("/api/agent/sessions?limit=50", N_SAMPLES)?;
    let largest = server.p95("/api/agent/sessions?limit=500", N_SAMPLES)?;
    let health = server.health_under_load("/health", "/api/agent/sessions?limit=50")?;
    let (n_read, n_written) = reconnects(&server)?;
    ensure!(n_read == n_written, "{n_read} of {n_written} events came");
    say!("{n_read} events in {N_RECONNECTS} reconnects, none twice");
    let before = memory(server.child.id());
    let idle = idle_streams(&server)?;
    let after = memory(server.child.id());
    drop(idle);
    let mut rows = vec![
        Row::alone("first page of 2,000 sessions, p95", page, "ms"),
        Row::alone("page of 500 of 2,000 sessions, p95", largest, "ms"),
        Row::alone("events read once in 100 reconnects, of all", n_read as f64 / n_written as f64, "share"),
    ];
    if let (Some(before), Some(after)) = (before, after) {
        ensure!(after <= MEMORY_MAX, "{after:.0} MB with {N_IDLE} idle streams; the limit is {MEMORY_MAX} MB");
        rows.push(Row::alone("memory before the streams", before, "MB"));
        rows.push(Row::alone("memory with 1,000 idle streams", after, "MB"));
    }
    let peer = peer().unwrap_or_else(|error| {
        say!("skipped: openhands-agent-server: {error}");
        None
    });
    rows.push(match peer {
        Some(peer) => Row::beside("/health under load, p95", health, "openhands-agent-server".to_owned(), peer, "ms"),
        None => Row::alone("/health under load, p95", health, "ms"),
    });
    Ok(rows)
}

/// Returns the program of the variable, or builds one.
fn program(repo: &Repo) -> Result<PathBuf> {
    if let Some(program) = std::env::var_os(PROGRAM) {
        return Ok(PathBuf::from(program).canonicalize()?);
    }
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-cli"]))?;
    Ok(repo.path("target/release").join(format!("emend{}", std::env::consts::EXE_SUFFIX)))
}

/// A running server; killed when it is dropped.
struct Server {
    child: Child,
    address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

fn start(program: &Path, folder: &Path) -> Result<Server> {
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(folder.join("project"))?;
    std::fs::write(folder.join("project/notes.md"), "The colour of the sky.\n")?;
    let mut serve = command(program, &folder.join("project"));
    serve.args(["serve", "--port", "0", "--model", "offline", "--log", "none", "--rate-limit", "0"]);
    serve.env("EMEND_TOKEN", TOKEN).env("EMEND_MAX_SESSIONS", "0").env("EMEND_MAX_RUNNING_JOBS", "0");
    serve.env("XDG_STATE_HOME", folder.join("state")).env("XDG_CONFIG_HOME", folder.join("config"));
    let mut child = serve.stdout(Stdio::piped()).stderr(Stdio::null()).spawn()?;
    let mut line = String::new();
    BufReader::new(child.stdout.as_mut().context("its output")?).read_line(&mut line)?;
    let address = line.trim_end().trim_end_matches('/').rsplit("http://").next().unwrap_or_default().to_owned();
    ensure!(!address.is_empty(), "the server does not start: {line}");
    Ok(Server { child, address })
}

fn connect(address: &str, method: &str, path: &str, body: &str) -> Result<TcpStream> {
    let mut stream = TcpStream::connect(address).context("a connection; does `ulimit -n` permit 1,200 files?")?;
    stream.set_read_timeout(Some(Duration::from_secs(60)))?;
    let length = body.len();
    let head = format!(
        "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\nConnection: close\r\n\
         Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
    );
    stream.write_all((head + body).as_bytes())?;
    Ok(stream)
}

/// Sends a request; returns the body of the reply.
fn ask(address: &str, method: &str, path: &str, body: &str) -> Result<String> {
    let mut text = String::new();
    connect(address, method, path, body)?.read_to_string(&mut text)?;
    let (head, body) = text.split_once("\r\n\r\n").context("a reply")?;
    ensure!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {text}");
    Ok(body.to_owned())
}

impl Server {
    fn json(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        Ok(serde_json::from_str(&ask(&self.address, method, path, body)?)?)
    }

    fn p95(&self, path: &str, n: usize) -> Result<f64> {
        p95_of(&self.address, path, n)
    }

    fn health_under_load(&self, health: &str, load: &str) -> Result<f64> {
        under_load(&self.address, health, load)
    }
}

/// Returns the 95th percentile of the time of a request in milliseconds.
fn p95_of(address: &str, path: &str, n: usize) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..n {
        let began = Instant::now();
        ask(address, "GET", path, "")?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[n * 95 / 100].as_secs_f64() * 1e3)
}

/// Measures a request while other clients send another one all the time.
fn under_load(address: &str, health: &str, load: &str) -> Result<f64> {
    let is_over = AtomicBool::new(false);
    thread::scope(|scope| {
        for _ in 0..N_LOADERS {
            scope.spawn(|| {
                while !is_over.load(Ordering::Relaxed) {
                    // A refusal is load, too.
                    let _ = ask(address, "GET", load, "");
                }
            });
        }
        let found = p95_of(address, health, N_SAMPLES);
        is_over.store(true, Ordering::Relaxed);
        found
    })
}

/// Reads the stream with 100 breaks at random moments while jobs run. Returns the numbers of events read and written.
fn reconnects(server: &Server) -> Result<(usize, usize)> {
    let mut random = 20_261_123_u64;
    say!("seed of the reconnects: {random}");
    let mut below = |n: u64| {
        random = random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (random >> 33) % n
    };
    let (mut after, mut numbers) = (0, BTreeSet::new());
    let mut n_doubles = 0;
    for n in 0..=N_RECONNECTS {
        if n % 10 == 0 {
            let session = server.json("POST", "/api/agent/sessions", "{}")?;
            let body = json!({ "session_id": session["session_id"], "instruction": "count the words of notes.md" });
            server.json("POST", "/api/agent/run", &body.to_string())?;
        }
        let is_last = n == N_RECONNECTS;
        let mut stream = connect(&server.address, "GET", &format!("/api/agent/stream?after={after}"), "")?;
        stream.set_read_timeout(Some(Duration::from_millis(if is_last { 3_000 } else { 1 + below(60) })))?;
        let mut left = if is_last { u64::MAX } else { below(40_000) };
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let Ok(read @ 1..) = stream.read(&mut buffer[..size]) else { break };
            left -= read as u64;
            text.extend_from_slice(&buffer[..read]);
        }
        for id in ids(&text) {
            after = id;
            n_doubles += usize::from(!numbers.insert(id));
        }
    }
    ensure!(n_doubles == 0, "{n_doubles} events came twice");
    let mut n_written = 0;
    let mut last = 0;
    loop {
        let page = server.json("GET", &format!("/api/agent/events?limit=5000&after={last}"), "")?;
        let n_events = page["events"].as_array().map_or(0, Vec::len);
        if n_events == 0 {
            return Ok((numbers.len(), n_written));
        }
        n_written += n_events;
        last = page["next"].as_u64().context("next")?;
    }
}

/// Returns the numbers of the complete messages of a stream.
fn ids(text: &[u8]) -> Vec<u64> {
    let text = String::from_utf8_lossy(text);
    let complete = text.rsplit_once("\n\n").map_or("", |(complete, _)| complete);
    complete.lines().filter_map(|line| line.strip_prefix("id: ")?.parse().ok()).collect()
}

fn idle_streams(server: &Server) -> Result<Vec<TcpStream>> {
    let last = server.json("GET", "/api/agent/events?limit=1", "")?["next"].as_u64().unwrap_or_default();
    let path = format!("/api/agent/stream?after={}", last.max(1));
    let mut streams = Vec::new();
    for _ in 0..N_IDLE {
        let mut stream = connect(&server.address, "GET", &path, "")?;
        let mut head = [0; 12];
        stream.read_exact(&mut head)?;
        ensure!(head.ends_with(b"200"), "{}", String::from_utf8_lossy(&head));
        streams.push(stream);
    }
    // One heartbeat reaches each stream meanwhile.
    thread::sleep(Duration::from_secs(12));
    Ok(streams)
}

/// Returns the memory of a process in MB, if the system tells.
fn memory(process: u32) -> Option<f64> {
    let status = std::fs::read_to_string(format!("/proc/{process}/status")).ok()?;
    let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
    Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
}

/// Returns the 95th percentile of `/health` of the peer under the same load.
fn peer() -> Result<Option<f64>> {
    let Ok(words) = std::env::var(PEER) else {
        say!("skipped: {PEER} has no command that starts openhands-agent-server, which needs Python 3.12");
        return Ok(None);
    };
    let port = TcpListener::bind("127.0.0.1:0")?.local_addr()?.port();
    let mut words = words.split_whitespace();
    let mut peer = command(words.next().context(PEER)?, Path::new("."));
    peer.args(words).arg("--port").arg(port.to_string()).stdout(Stdio::null()).stderr(Stdio::null());
    let server = Server { child: peer.spawn()?, address: format!("127.0.0.1:{port}") };
    let until = Instant::now() + Duration::from_secs(90);
    while ask(&server.address, "GET", "/health", "").is_err() {
        ensure!(Instant::now() < until, "the peer does not start");
        thread::sleep(Duration::from_millis(200));
    }
    if let Some(memory) = memory(server.child.id()) {
        say!("memory of the peer after its start: {memory:.0} MB");
    }
    Ok(Some(server.health_under_load("/health", "/api/conversations/search")?))
}
