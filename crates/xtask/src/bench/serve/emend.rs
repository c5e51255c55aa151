//! Our server: a release build over a scratch project, with the offline model and SQLite.

use std::collections::BTreeSet;
use std::io::{BufRead as _, BufReader, Read as _};
use std::net::TcpStream;
use std::path::{Path, PathBuf};
use std::process::Stdio;

use anyhow::{Context as _, Result, ensure};
use serde_json::json;

use super::breaks::{Breaks, N_RECONNECTS};
use super::figures::{Figures, List, N_IDLE, N_SESSIONS, Storm};
use super::http::{Server, Stream, TOKEN};
use crate::process::{command, run as run_program};
use crate::repo::Repo;

/// Variable with a program to measure instead of a new release build.
const PROGRAM: &str = "EMEND_BENCH_PROGRAM";

/// Measures the server.
pub(super) fn measure(repo: &Repo) -> Result<Figures> {
    const LIST: List = List { path: "/api/agent/sessions?limit=100", after: "after", next: "next", items: "sessions" };
    let server = start(&program(repo)?, &repo.path("target/bench/serve"))?;
    for n in 0..N_SESSIONS {
        server.json("POST", "/api/agent/sessions", &json!({ "title": format!("session {n}") }).to_string())?;
    }
    let [page_ms, list_ms, health_ms] = LIST.measure(&server)?;
    let storm = Some(storm(&server)?);
    let idle = server.idle(|| idle_streams(&server), |_| true)?;
    Ok(Figures { page_ms, list_ms, health_ms, storm, idle })
}

/// Returns the program of the variable, or builds one.
fn program(repo: &Repo) -> Result<PathBuf> {
    if let Some(program) = std::env::var_os(PROGRAM) {
        return Ok(PathBuf::from(program).canonicalize()?);
    }
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-cli"]))?;
    Ok(repo.path("target/release").join(format!("emend{}", std::env::consts::EXE_SUFFIX)))
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
    let server = Server { child, address };
    ensure!(!server.address.is_empty(), "the server does not start: {line}");
    Ok(server)
}

fn open(server: &Server, after: u64) -> Result<TcpStream> {
    server.connect("GET", &format!("/api/agent/stream?after={after}"), "", "")
}

/// Reads the stream of all sessions with 100 breaks while jobs run.
fn storm(server: &Server) -> Result<Storm> {
    let (_, before) = events_after(server, 0)?;
    let (mut after, mut numbers, mut n_doubles) = (before, BTreeSet::new(), 0);
    let mut breaks = Breaks::new();
    for n in 0..=N_RECONNECTS {
        if n % 10 == 0 {
            let session = server.json("POST", "/api/agent/sessions", "{}")?;
            let body = json!({ "session_id": session["session_id"], "instruction": "count the words of notes.md" });
            server.json("POST", "/api/agent/run", &body.to_string())?;
        }
        for id in ids(&breaks.read(n, open(server, after)?)?) {
            after = id;
            n_doubles += usize::from(!numbers.insert(id));
        }
    }
    let (n_written, _) = events_after(server, before)?;
    Ok(Storm { n_written, n_read: numbers.len(), n_doubles })
}

/// Returns the number of stored events after a number, and the last number.
fn events_after(server: &Server, after: u64) -> Result<(usize, u64)> {
    let (mut n_written, mut last) = (0, after);
    loop {
        let page = server.json("GET", &format!("/api/agent/events?limit=5000&after={last}"), "")?;
        let n_events = page["events"].as_array().map_or(0, Vec::len);
        if n_events == 0 {
            return Ok((n_written, last));
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

fn idle_streams(server: &Server) -> Result<Vec<Stream>> {
    let (_, last) = events_after(server, 0)?;
    let mut streams = Vec::new();
    for _ in 0..N_IDLE {
        let mut connection = open(server, last)?;
        let mut head = [0; 12];
        connection.read_exact(&mut head)?;
        ensure!(head.ends_with(b"200"), "{}", String::from_utf8_lossy(&head));
        streams.push(Stream { connection, bytes: head.to_vec() });
    }
    Ok(streams)
}
