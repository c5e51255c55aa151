//! The time from the start of the command line to the first byte of its request to the model, beside Node doing nothing
//! and Node sending a request.

use std::io::{Read as _, Write as _};
use std::net::{TcpListener, TcpStream};
use std::path::Path;
use std::process::{Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};

use super::row::Row;
use crate::process::{command, run as run_program, stdout_of};
use crate::repo::Repo;

/// Number of starts of each program. They alternate, so that other load affects all alike.
const N_STARTS: usize = 40;

/// The response of the model.
const ANSWER: &str = "HTTP/1.1 200 OK\r\ncontent-type: text/event-stream\r\nconnection: close\r\n\r\n\
    data: {\"choices\":[{\"index\":0,\"delta\":{\"content\":\"Hi.\"},\"finish_reason\":\"stop\"}]}\n\ndata: [DONE]\n\n";

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    run_program(command("cargo", repo.root()).args(["build", "--quiet", "--release", "--package", "emend-cli"]))?;
    let program = repo.path("target/release").join(format!("emend{}", std::env::consts::EXE_SUFFIX));
    let folder = repo.path("target/bench/cli");
    prepare(&folder)?;
    let node_version = stdout_of(command("node", &folder).arg("--version"))?.trim().to_owned();
    let (address, heard) = listen()?;
    let send = format!("require('http').request('{address}', {{method: 'POST'}}).end('{{}}')");
    let mut ours = Vec::new();
    let mut sends = Vec::new();
    let mut nothings = Vec::new();
    // The first round only fills the file cache.
    for round in 0..=N_STARTS {
        let mut emend = command(&program, &folder.join("project"));
        emend.args(["run", "say hello", "--model", "openai_compatible:m"]);
        emend.env("OPENAI_COMPATIBLE_BASE_URL", &address).env("XDG_STATE_HOME", folder.join("state"));
        emend.env("XDG_CONFIG_HOME", folder.join("config"));
        let mut node = command("node", &folder);
        let taken = [
            until_heard(&mut emend, &heard)?,
            until_heard(node.args(["-e", &send]), &heard)?,
            until_ended(command("node", &folder).args(["-e", "0"]))?,
        ];
        if round > 0 {
            for (times, time) in [&mut ours, &mut sends, &mut nothings].into_iter().zip(taken) {
                times.push(time);
            }
        }
    }
    let (ours, sends, nothings) = (median_ms(ours), median_ms(sends), median_ms(nothings));
    Ok(vec![
        Row::beside("start to first byte sent", ours, format!("node {node_version} that sends a request"), sends, "ms"),
        Row::beside("the same, beside doing nothing", ours, format!("node {node_version} -e 0, whole"), nothings, "ms"),
    ])
}

/// Creates a small project in its own repository, without saved state.
fn prepare(folder: &Path) -> Result<()> {
    let project = folder.join("project");
    if folder.exists() {
        std::fs::remove_dir_all(folder)?;
    }
    std::fs::create_dir_all(project.join("src"))?;
    for number in 0..50 {
        std::fs::write(project.join(format!("src/file{number}.rs")), "pub fn alpha() {}\n")?;
    }
    std::fs::write(project.join("AGENTS.md"), "Write short sentences.\n")?;
    run_program(command("git", &project).args(["init", "--quiet"]))
}

/// Answers every request; returns the address and a channel with the arrival time of each first byte.
fn listen() -> Result<(String, Receiver<Instant>)> {
    let listener = TcpListener::bind("127.0.0.1:0").context("a port to listen on")?;
    let address = format!("http://{}", listener.local_addr()?);
    let (sender, heard) = channel();
    std::thread::spawn(move || {
        for stream in listener.incoming() {
            // The receiver reports a request that never arrives.
            let Ok(came) = stream.and_then(|mut stream| answer(&mut stream)) else { continue };
            if sender.send(came).is_err() {
                return;
            }
        }
    });
    Ok((address, heard))
}

fn answer(stream: &mut TcpStream) -> std::io::Result<Instant> {
    let mut request = vec![0; 1 << 20];
    let _ = stream.read(&mut request[..1])?;
    let came = Instant::now();
    stream.set_read_timeout(Some(Duration::from_millis(20)))?;
    while stream.read(&mut request).is_ok_and(|n_bytes| n_bytes > 0) {}
    stream.write_all(ANSWER.as_bytes())?;
    Ok(came)
}

fn until_heard(command: &mut Command, heard: &Receiver<Instant>) -> Result<Duration> {
    let begun = Instant::now();
    let mut child = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).spawn()?;
    let came = heard.recv_timeout(Duration::from_secs(60)).context("no request came")?;
    let status = child.wait()?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(came - begun)
}

/// Returns the time of a program that must succeed.
pub(super) fn until_ended(command: &mut Command) -> Result<Duration> {
    let begun = Instant::now();
    let status = command.stdin(Stdio::null()).stdout(Stdio::null()).stderr(Stdio::null()).status()?;
    ensure!(status.success(), "{command:?} ended with {status}");
    Ok(begun.elapsed())
}

pub(super) fn median_ms(mut times: Vec<Duration>) -> f64 {
    times.sort_unstable();
    times.get(times.len() / 2).map_or(0.0, |time| time.as_secs_f64() * 1e3)
}
