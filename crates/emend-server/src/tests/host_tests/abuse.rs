//! A server under attack: each wrong request gets its status, and the owner is served meanwhile.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use emend_agent::service::{ApiRequest, Method};
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;
use tokio::time::timeout;

use super::streams::{limits, start};
use super::wire::{Client, Stop};
use crate::ServerLimits;
use crate::tests::bench::{Bench, TOKEN};

/// Number of times that each attack is repeated.
const ROUNDS: usize = 40;

/// Sends bytes on a connection of their own; returns the status of the answer, 0 without one.
async fn status_of(address: SocketAddr, request: &[u8]) -> u16 {
    let mut stream = TcpStream::connect(address).await.unwrap();
    // The server may answer and close before it has read everything.
    let _ = stream.write_all(request).await;
    let mut head = [0; 12];
    match timeout(Duration::from_secs(20), stream.read_exact(&mut head)).await.expect("the server answers or closes") {
        Ok(_) => String::from_utf8_lossy(&head[9..]).parse().unwrap(),
        Err(_) => 0,
    }
}

/// Returns a request with the token, unless the headers name another.
fn request(address: SocketAddr, line: &str, headers: &[&str], body: &str) -> Vec<u8> {
    let has = |name: &str| headers.iter().any(|header| header.starts_with(name));
    let mut text = format!("{line} HTTP/1.1\r\n");
    if !has("Host") {
        text += &format!("Host: {address}\r\n");
    }
    if !has("Authorization") {
        text += &format!("Authorization: Bearer {TOKEN}\r\n");
    }
    if !has("Content-Length") && !has("Transfer-Encoding") {
        text += &format!("Content-Length: {}\r\n", body.len());
    }
    for header in headers {
        text += &format!("{header}\r\n");
    }
    (text + "Content-Type: application/json\r\nConnection: close\r\n\r\n" + body).into_bytes()
}

/// The attacks with the statuses that they may get; 0 stands for a closed connection.
fn attacks(address: SocketAddr) -> Vec<(&'static str, Vec<u8>, &'static [u16])> {
    let sessions = "POST /api/agent/sessions";
    let ask = |line: &str, headers: &[&str], body: &str| request(address, line, headers, body);
    let host = format!("Host: {address}");
    let deep = "[".repeat(200_000);
    let huge = format!("{{\"title\": \"{}\"}}", "x".repeat(9 << 20));
    let chunked = "Transfer-Encoding: chunked";
    vec![
        ("body that is not JSON", ask(sessions, &[], "{"), &[400]),
        ("deep body", ask(sessions, &[], &deep), &[400]),
        ("bytes that are not UTF-8", [ask(sessions, &["Content-Length: 2"], ""), vec![0xff, 0xfe]].concat(), &[400]),
        // The server answers before it has read the body; the reset can be faster than the answer.
        ("huge body", ask(sessions, &[], &huge), &[413, 0]),
        ("announced huge body", ask(sessions, &["Content-Length: 99999999999"], ""), &[413]),
        ("length that is not a number", ask(sessions, &["Content-Length: x"], "{}"), &[400]),
        ("two lengths", ask(sessions, &["Content-Length: 2", "Content-Length: 3"], "{}"), &[400]),
        ("chunk without a size", ask(sessions, &[chunked], "zz\r\n"), &[400]),
        ("wrong token", ask("GET /api/agent/sessions", &["Authorization: Bearer wrong"], ""), &[401]),
        ("foreign Host", ask("GET /api/agent/sessions", &["Host: evil.example"], ""), &[403]),
        ("Host twice", ask("GET /api/agent/sessions", &[&host, "Host: evil.example"], ""), &[400]),
        ("foreign Origin", ask("GET /api/agent/sessions", &["Origin: https://evil.example"], ""), &[403]),
        ("path with dots", ask("GET /../../etc/passwd", &[], ""), &[404]),
        ("path with encoded dots", ask("GET /%2e%2e/%2e%2e/etc/passwd", &[], ""), &[404]),
        ("path with an encoded slash", ask("GET /api/agent/sessions/..%2f..%2fx", &[], ""), &[404]),
        ("path with NUL", ask("GET /api/agent/sessions/%00", &[], ""), &[404]),
        ("file outside", ask("GET /api/agent/buffer?file_path=..%2F..%2Fetc%2Fpasswd", &[], ""), &[403]),
        ("long path", ask(&format!("GET /{}", "a/".repeat(20_000)), &[], ""), &[404, 414]),
        ("many headers", ask("GET /health", &["X-A: 1"; 500], ""), &[431]),
        ("method that does not exist", ask("BREW /api/agent/sessions", &[], ""), &[405]),
        ("bytes that are not HTTP", vec![0x16, 3, 1, 2, 0, 1, 0, 1], &[400, 0]),
    ]
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn attacks_get_their_status_and_the_owner_is_served() {
    let (_bench, address, _stop) = start(ServerLimits { head_timeout: Duration::from_secs(2), ..limits() }).await;
    let begun = Instant::now();
    let mut counts: BTreeMap<(&str, u16), usize> = BTreeMap::new();
    let mut times = Vec::new();
    let owner = async {
        for _ in 0..200 {
            let began = Instant::now();
            assert_eq!(status_of(address, &request(address, "GET /api/agent/sessions", &[], "")).await, 200);
            times.push(began.elapsed());
        }
    };
    let attackers = async {
        for round in 0..ROUNDS {
            // Some megabytes each: a few are enough.
            let attacks = attacks(address).into_iter().filter(|(name, _, _)| round < 4 || *name != "huge body");
            let tasks = attacks.map(|(name, bytes, expected)| async move {
                let status = status_of(address, &bytes).await;
                assert!(expected.contains(&status), "{name}: {status}");
                (name, status)
            });
            for found in futures::future::join_all(tasks).await {
                *counts.entry(found).or_default() += 1;
            }
        }
    };
    tokio::join!(owner, attackers);
    times.sort_unstable();
    let p95 = times[times.len() * 95 / 100];
    let n_attacks: usize = counts.values().sum();
    println!("{n_attacks} attacks in {:?}; p95 of the owner's requests {p95:?}: {counts:?}", begun.elapsed());
    assert!(p95 < Duration::from_secs(1), "{p95:?}");
    assert_eq!(status_of(address, &request(address, "GET /health", &[], "")).await, 200);
}

async fn rename(bench: &Bench, path: &str, n: usize) {
    let request = ApiRequest::new(Method::Patch, path, json!({ "title": format!("title {n}") }));
    assert_eq!(bench.state.service().handle(request).await.status, 200);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn ten_thousand_events_reach_every_stream_while_other_requests_get_their_status() {
    const N_EVENTS: u64 = 10_000;
    const N_STREAMS: usize = 3;
    let (bench, address, _stop) = start(ServerLimits { head_timeout: Duration::from_secs(2), ..limits() }).await;
    let session = bench.send("POST", "/api/agent/sessions", json!({})).await.json();
    let path = format!("/api/agent/sessions/{}", session["session_id"].as_str().unwrap());
    let begun = Instant::now();
    let readers = (0..N_STREAMS).map(|_| async move {
        let mut client = Client::new(address);
        client.read(Stop::AtEvent(N_EVENTS)).await;
        client.numbers
    });
    let writer = async {
        for n in 1..N_EVENTS as usize {
            rename(&bench, &path, n).await;
            if n % 100 == 0 {
                tokio::task::yield_now().await;
            }
        }
        begun.elapsed()
    };
    let is_over = AtomicBool::new(false);
    let events = async {
        let found = tokio::join!(futures::future::join_all(readers), writer);
        is_over.store(true, Ordering::Relaxed);
        (found, begun.elapsed())
    };
    let others = async {
        let mut counts: BTreeMap<u16, usize> = BTreeMap::new();
        let read = request(address, &format!("GET {path}"), &[], "");
        // At least once each.
        loop {
            let owners = [("health", request(address, "GET /health", &[], "")), ("read", read.clone())];
            let owners = owners.into_iter().map(|(name, bytes)| (name, bytes, &[200_u16] as &[u16]));
            // That one sends some megabytes.
            let attacks = attacks(address).into_iter().filter(|(name, _, _)| *name != "huge body");
            for (name, bytes, expected) in owners.chain(attacks) {
                let status = status_of(address, &bytes).await;
                assert!(expected.contains(&status), "{name}: {status}");
                *counts.entry(status).or_default() += 1;
            }
            if is_over.load(Ordering::Relaxed) {
                return counts;
            }
        }
    };
    let (((found, written), read), counts) = tokio::join!(events, others);
    let rate = |time: Duration| N_EVENTS as f64 / time.as_secs_f64();
    println!(
        "{N_EVENTS} events written in {written:.2?} ({:.0}/s), read by each of {N_STREAMS} streams in {read:.2?} ({:.0}/s); \
         other requests meanwhile by status: {counts:?}",
        rate(written),
        rate(read)
    );
    assert_eq!(found.len(), N_STREAMS);
    for numbers in found {
        assert_eq!(numbers, (1..=N_EVENTS).collect::<Vec<_>>(), "in order, without a gap");
    }
    let last = bench.send("GET", &path, Value::Null).await;
    assert_eq!((last.status, &last.json()["title"]), (200, &json!(format!("title {}", N_EVENTS - 1))));
}
