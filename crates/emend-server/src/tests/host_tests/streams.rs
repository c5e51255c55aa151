//! Streams over sockets: reconnects, slow readers and bad proxies. Every client gets every event once.

use std::collections::BTreeMap;
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use serde_json::Value;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpListener, TcpStream};
use tokio::time::{sleep, timeout};

use super::wire::{Client, Stop};
use crate::tests::bench::{Bench, FIXTURE};
use crate::{ServerLimits, serve};

pub(super) const HEARTBEAT: Duration = Duration::from_millis(40);

pub(super) fn limits() -> ServerLimits {
    let stall_timeout = Duration::from_millis(500);
    ServerLimits { requests_per_second: 0, heartbeat: HEARTBEAT, stall_timeout, ..ServerLimits::default() }
}

/// Starts a server; it ends with the returned sender.
pub(super) async fn start(limits: ServerLimits) -> (Bench, SocketAddr, futures::channel::oneshot::Sender<()>) {
    let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
    let address = listener.local_addr().unwrap();
    let bench = Bench::bound(limits, None, address, FIXTURE);
    let (sender, stop) = futures::channel::oneshot::channel::<()>();
    let state = bench.state.clone();
    let stopped = async move {
        let _ = stop.await;
    };
    tokio::spawn(serve(state, listener, stopped));
    (bench, address, sender)
}

/// Runs jobs until the service has some hundred events; returns their numbers.
async fn fill(bench: &Bench, n_jobs: usize) -> Vec<u64> {
    for _ in 0..n_jobs {
        let (_, job) = bench.job("count the words of a.txt").await;
        bench.wait(&job).await;
    }
    let all = bench.send("GET", "/api/agent/events?limit=5000", Value::Null).await.json();
    all["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect()
}

/// Returns the seed of the test.
fn seed() -> u64 {
    std::env::var("EMEND_SEED").ok().and_then(|seed| seed.parse().ok()).unwrap_or(20_261_123)
}

/// A generator with a seed, so that a failure can be repeated.
struct Seeded(u64);

impl Seeded {
    fn below(&mut self, n: u64) -> u64 {
        self.0 = self.0.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.0 >> 33) % n
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_hundred_reconnects_lose_and_repeat_nothing() {
    let (bench, address, _stop) = start(limits()).await;
    let seed = seed();
    println!("seed {seed}");
    let mut random = Seeded(seed);
    let mut client = Client::new(address);
    let mut histogram: BTreeMap<usize, usize> = BTreeMap::new();
    let writer = async {
        fill(&bench, 12).await;
    };
    let reader = async {
        for _ in 0..100 {
            // The connection breaks after a random number of bytes, also inside of a message.
            let bytes = random.below(6_000);
            let n = client.read(Stop::AfterBytes(bytes)).await;
            *histogram.entry(n.min(20)).or_default() += 1;
        }
    };
    tokio::join!(writer, reader);
    let expected: Vec<u64> = fill(&bench, 0).await;
    client.read(Stop::AtEvent(*expected.last().unwrap())).await;
    println!("events for each connection (20 stands for more): {histogram:?}");
    assert!(histogram.len() > 5, "the moments of the breaks differ: {histogram:?}");
    assert_eq!(client.numbers, expected);
    assert!(expected.len() > 150, "{}", expected.len());
}

/// Reads with 100 breaks at random moments behind a proxy, then to the last event that exists.
async fn storm(address: SocketAddr, proxy: Proxy, seed: u64) -> Client {
    let mut random = Seeded(seed);
    let mut client = Client::new(address);
    client.connect_to = proxy.start(address).await;
    if matches!(proxy, Proxy::Slow) {
        client.pause = Duration::from_millis(1);
    }
    for _ in 0..100 {
        client.read(Stop::AfterBytes(random.below(14_000))).await;
    }
    client
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn every_client_ends_a_storm_of_reconnects_with_the_same_events() {
    let (bench, address, _stop) = start(limits()).await;
    let seed = seed();
    let proxies = [Proxy::Honest, Proxy::Buffers, Proxy::Drops, Proxy::Slow];
    let storms = proxies.iter().zip(seed..).map(|(proxy, seed)| storm(address, *proxy, seed));
    let (mut clients, _) = tokio::join!(futures::future::join_all(storms), fill(&bench, 12));
    let expected = fill(&bench, 0).await;
    let last = *expected.last().unwrap();
    for (proxy, client) in proxies.iter().zip(&mut clients) {
        let in_storm = client.numbers.len();
        let mut n_more = 0;
        while client.after < last {
            n_more += 1;
            assert!(n_more < 50, "{proxy:?}: {} of {}", client.numbers.len(), expected.len());
            client.read(Stop::AtEventOrSilence(last, HEARTBEAT * 12)).await;
        }
        println!(
            "seed {seed}, {proxy:?}: {in_storm} of {} events in 100 connections, the rest in {n_more} more",
            expected.len()
        );
        assert_eq!(client.numbers, expected, "{proxy:?}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn clients_behind_bad_proxies_get_every_event_once() {
    let (bench, address, _stop) = start(limits()).await;
    let expected = fill(&bench, 6).await;
    let last = *expected.last().unwrap();
    for (name, proxy) in [("buffers", Proxy::Buffers), ("drops", Proxy::Drops), ("honest", Proxy::Honest)] {
        let front = proxy.start(address).await;
        let mut client = Client::new(address);
        client.connect_to = front;
        let mut n_connections = 0;
        while client.after < last {
            n_connections += 1;
            assert!(n_connections < 50, "{name}: {:?}", client.numbers.len());
            // Without a heartbeat the client takes the connection for dead.
            client.read(Stop::AtEventOrSilence(last, HEARTBEAT * 12)).await;
        }
        assert_eq!(client.numbers, expected, "{name}");
        assert_eq!(n_connections > 1, name == "drops", "{name}: {n_connections}");
    }
}

#[derive(Clone, Copy, Debug)]
enum Proxy {
    Honest,
    /// Honest, for a client that reads slowly.
    Slow,
    /// Holds bytes back until many have come, or for some time.
    Buffers,
    /// Stops to forward after some bytes and keeps the connection open.
    Drops,
}

impl Proxy {
    async fn start(self, server: SocketAddr) -> SocketAddr {
        let listener = TcpListener::bind("127.0.0.1:0").await.unwrap();
        let address = listener.local_addr().unwrap();
        tokio::spawn(async move {
            while let Ok((client, _)) = listener.accept().await {
                tokio::spawn(self.forward(client, server));
            }
        });
        address
    }

    async fn forward(self, client: TcpStream, server: SocketAddr) {
        let server = TcpStream::connect(server).await.unwrap();
        let ((mut from_client, mut to_client), (mut from_server, mut to_server)) =
            (client.into_split(), server.into_split());
        tokio::spawn(async move { tokio::io::copy(&mut from_client, &mut to_server).await });
        let (mut bytes, mut held, mut n_forwarded) = (vec![0; 4096], Vec::new(), 0);
        let mut forwarded_at = Instant::now();
        loop {
            let read = timeout(Duration::from_millis(20), from_server.read(&mut bytes)).await;
            match read {
                Ok(Ok(0) | Err(_)) => break,
                Ok(Ok(n)) => held.extend_from_slice(&bytes[..n]),
                Err(_) => {}
            }
            match self {
                Self::Buffers if held.len() < 16_384 && forwarded_at.elapsed() < HEARTBEAT * 4 => continue,
                Self::Drops if n_forwarded > 12_000 => {
                    // The client hears nothing, not even the end.
                    sleep(Duration::from_secs(60)).await;
                }
                _ => {}
            }
            forwarded_at = Instant::now();
            n_forwarded += held.len();
            if to_client.write_all(&held).await.is_err() {
                return;
            }
            held.clear();
        }
        // The rest reaches the client.
        let _ = to_client.write_all(&held).await;
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_reader_delays_nobody_and_misses_nothing() {
    let (bench, address, _stop) = start(limits()).await;
    let mut slow = Client::new(address);
    slow.pause = Duration::from_millis(1);
    let mut fast = Client::new(address);
    let expected = fill(&bench, 8).await;
    let last = *expected.last().unwrap();
    let slow_reading = tokio::spawn(async move {
        slow.read(Stop::AtEvent(last)).await;
        slow.numbers
    });
    timeout(Duration::from_secs(5), fast.read(Stop::AtEvent(last))).await.unwrap();
    assert_eq!(fast.numbers, expected);
    assert_eq!(slow_reading.await.unwrap(), expected);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_client_that_never_reads_is_disconnected() {
    let bench_limits = ServerLimits { streams_max: 1, ..limits() };
    let (bench, address, _stop) = start(bench_limits).await;
    fill(&bench, 1).await;
    let mut dead = TcpStream::connect(address).await.unwrap();
    // A body that overflows the buffers of both sockets: many metrics requests on one connection.
    let request = Client::request(address, "/api/openapi.json", None);
    let flood = async {
        loop {
            dead.write_all(request.as_bytes()).await?;
        }
        #[expect(unreachable_code, reason = "gives the block its type")]
        std::io::Result::Ok(())
    };
    let outcome = timeout(Duration::from_secs(20), flood).await.expect("the server closes the connection");
    assert!(outcome.is_err());
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn streams_begin_with_the_state_and_heartbeats_are_data() {
    let (bench, address, _stop) = start(limits()).await;
    let expected = fill(&bench, 1).await;
    let mut client = Client::new(address);
    client.after = *expected.last().unwrap();
    client.read(Stop::AfterTime(HEARTBEAT * 5)).await;
    assert_eq!(client.kinds.first().unwrap(), "attached");
    assert!(client.kinds[1..].iter().filter(|kind| *kind == "heartbeat").count() >= 2, "{:?}", client.kinds);
    // A number from the future and one that is malformed are answered, not met with silence.
    for after in ["999999", "abc", "-1"] {
        let mut client = Client::new(address);
        client.last_event_id = Some(after.to_owned());
        client.read(Stop::AfterTime(HEARTBEAT * 3)).await;
        assert_eq!(client.kinds[..2], ["attached", "resync_required"], "{after}");
        assert_eq!(client.after, *expected.last().unwrap(), "{after}");
    }
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn the_stream_of_a_job_ends_with_its_terminal_event() {
    let (bench, address, _stop) = start(limits()).await;
    let (_, job) = bench.job("count the words of a.txt").await;
    let mut client = Client::new(address);
    client.path = format!("/api/agent/jobs/{job}/events/stream");
    timeout(Duration::from_secs(10), client.read(Stop::AtEnd)).await.unwrap();
    assert_eq!(client.kinds.last().unwrap(), "job.completed");
    // EventSource reconnects after the end; this status stops it.
    assert_eq!(client.status_now().await, 204);
    let mut late = Client::new(address);
    late.path = client.path.clone();
    timeout(Duration::from_secs(5), late.read(Stop::AtEnd)).await.unwrap();
    assert_eq!(late.numbers, client.numbers);
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn shutdown_ends_streams_and_stores_the_ends_of_jobs() {
    let (bench, address, stop) = start(limits()).await;
    let (_, job) = bench.asking_job("rename alpha to gamma in a.txt").await;
    let mut client = Client::new(address);
    let reading = tokio::spawn(async move {
        client.read(Stop::AtEnd).await;
        client
    });
    sleep(HEARTBEAT).await;
    drop(stop);
    let client = timeout(Duration::from_secs(10), reading).await.unwrap().unwrap();
    let stored = bench.state.service().store().job(&job).await.unwrap().unwrap();
    // A job that the user did not cancel has a reason.
    assert_eq!((stored.status.name(), stored.error.unwrap().code.as_str()), ("cancelled", "aborted"));
    assert!(!client.numbers.is_empty());
    sleep(Duration::from_millis(50)).await;
    assert!(TcpStream::connect(address).await.is_err(), "the server accepts no more connections");
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_slow_head_is_cut_off_and_the_server_still_answers() {
    let head_timeout = Duration::from_millis(150);
    let (_bench, address, _stop) = start(ServerLimits { head_timeout, ..limits() }).await;
    let mut slow = TcpStream::connect(address).await.unwrap();
    slow.write_all(b"GET /health HTTP/1.1\r\nHost: ").await.unwrap();
    let mut answer = Vec::new();
    // The server may reset the connection instead of closing it.
    let _ = timeout(Duration::from_secs(5), slow.read_to_end(&mut answer)).await.unwrap();
    for garbage in [&b"\x00\x01\x02\r\n\r\n"[..], b"GET / HTTP/9.9\r\n\r\n", b"GET\r\n\r\n", &[b'a'; 200_000]] {
        let mut stream = TcpStream::connect(address).await.unwrap();
        let _ = stream.write_all(garbage).await;
        let _ = timeout(Duration::from_secs(5), stream.read_to_end(&mut answer)).await.unwrap();
    }
    let mut client = Client::new(address);
    client.path = "/health".to_owned();
    assert_eq!(client.status_now().await, 200);
}
