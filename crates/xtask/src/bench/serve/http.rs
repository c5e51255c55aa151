//! The client of both servers: one connection for each request, and the percentiles of times.

use std::io::{ErrorKind, Read as _, Write as _};
use std::net::TcpStream;
use std::process::Child;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread;
use std::time::{Duration, Instant};

use anyhow::{Context as _, Result, ensure};
use serde_json::Value;

/// The token of our server. The peer runs without a token and ignores the header.
pub(super) const TOKEN: &str = "token-of-the-bench";
/// Number of measured requests for one page, and for `/health`.
const N_SAMPLES: usize = 400;
/// Number of clients that ask for pages while `/health` is measured.
const N_LOADERS: usize = 4;
/// Time for one reply.
const PATIENCE: Duration = Duration::from_secs(60);

/// A running server; killed when it is dropped.
pub(super) struct Server {
    pub(super) child: Child,
    pub(super) address: String,
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.child.kill();
        let _ = self.child.wait();
    }
}

impl Server {
    /// Sends a request with further headers; each ends with a line break.
    pub(super) fn connect(&self, method: &str, path: &str, headers: &str, body: &str) -> Result<TcpStream> {
        let address = &self.address;
        let mut stream = TcpStream::connect(address).context("a connection; does `ulimit -n` permit 1,200 files?")?;
        stream.set_read_timeout(Some(PATIENCE))?;
        let length = body.len();
        let head = format!(
            "{method} {path} HTTP/1.1\r\nHost: {address}\r\nAuthorization: Bearer {TOKEN}\r\n{headers}\
             Content-Type: application/json\r\nContent-Length: {length}\r\n\r\n"
        );
        stream.write_all((head + body).as_bytes())?;
        Ok(stream)
    }

    /// Sends a request; returns the body of the reply.
    fn ask(&self, method: &str, path: &str, body: &str) -> Result<String> {
        let mut text = String::new();
        let mut stream = self.connect(method, path, "Connection: close\r\n", body)?;
        stream.read_to_string(&mut text).with_context(|| format!("{method} {path}"))?;
        let (head, body) = text.split_once("\r\n\r\n").context("a reply")?;
        ensure!(head.starts_with("HTTP/1.1 2"), "{method} {path}: {text}");
        Ok(body.to_owned())
    }

    /// Sends a request; returns the reply.
    pub(super) fn json(&self, method: &str, path: &str, body: &str) -> Result<Value> {
        Ok(serde_json::from_str(&self.ask(method, path, body)?)?)
    }

    /// Returns the 95th percentile of the time of a request in milliseconds.
    pub(super) fn p95(&self, path: &str) -> Result<f64> {
        p95_of(N_SAMPLES, || self.ask("GET", path, "").map(drop))
    }

    /// Measures a request while other clients send another one all the time.
    pub(super) fn p95_under_load(&self, path: &str, load: &str) -> Result<f64> {
        let is_over = AtomicBool::new(false);
        thread::scope(|scope| {
            for _ in 0..N_LOADERS {
                scope.spawn(|| {
                    while !is_over.load(Ordering::Relaxed) {
                        // A refusal is load, too.
                        let _ = self.ask("GET", load, "");
                    }
                });
            }
            let found = self.p95(path);
            is_over.store(true, Ordering::Relaxed);
            found
        })
    }

    /// Returns the memory of the server in MB, if the system tells.
    pub(super) fn memory(&self) -> Option<f64> {
        let status = std::fs::read_to_string(format!("/proc/{}/status", self.child.id())).ok()?;
        let line = status.lines().find_map(|line| line.strip_prefix("VmRSS:"))?;
        Some(line.split_whitespace().next()?.parse::<f64>().ok()? / 1024.0)
    }

    /// Opens streams and lets them idle. `is_open` tells from all bytes of a stream whether the server keeps it.
    pub(super) fn idle(
        &self,
        open: impl FnOnce() -> Result<Vec<Stream>>,
        is_open: impl Fn(&[u8]) -> bool,
    ) -> Result<Idle> {
        // A heartbeat of ours reaches each stream meanwhile.
        const IDLE: Duration = Duration::from_secs(12);
        let before = self.memory();
        let mut streams = open()?;
        thread::sleep(IDLE);
        let with = self.memory();
        let mut n_open = 0;
        for Stream { connection, bytes } in &mut streams {
            connection.set_nonblocking(true)?;
            // Without an end of the stream, the read ends because no bytes are there.
            let ended = connection.read_to_end(bytes);
            let waits = ended.is_err_and(|error| error.kind() == ErrorKind::WouldBlock);
            n_open += usize::from(waits && is_open(bytes));
        }
        Ok(Idle { memory: before.zip(with).map(<[f64; 2]>::from), n_open })
    }
}

/// A stream with the bytes that have come.
pub(super) struct Stream {
    pub(super) connection: TcpStream,
    pub(super) bytes: Vec<u8>,
}

/// The outcome of idle streams.
pub(super) struct Idle {
    /// Memory before the streams and with them, in MB, if the system tells.
    pub(super) memory: Option<[f64; 2]>,
    /// Number of streams that are open at the end.
    pub(super) n_open: usize,
}

/// Returns the 95th percentile of the time of an operation in milliseconds.
pub(super) fn p95_of(n: usize, mut operation: impl FnMut() -> Result<()>) -> Result<f64> {
    let mut times = Vec::new();
    for _ in 0..n {
        let began = Instant::now();
        operation()?;
        times.push(began.elapsed());
    }
    times.sort_unstable();
    Ok(times[n * 95 / 100].as_secs_f64() * 1e3)
}

/// Returns a value for a query.
pub(super) fn encoded(value: &str) -> String {
    let encode = |byte: u8| match byte {
        b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'~' => char::from(byte).to_string(),
        other => format!("%{other:02X}"),
    };
    value.bytes().map(encode).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_value_for_a_query_has_no_separators() {
        assert_eq!(encoded("2026-11-25T10:11:00.5+01:00&x=é"), "2026-11-25T10%3A11%3A00.5%2B01%3A00%26x%3D%C3%A9");
    }

    #[test]
    fn the_percentile_is_one_of_the_times() {
        let mut n = 0;
        let found = p95_of(20, || {
            n += 1;
            if n == 7 {
                thread::sleep(Duration::from_millis(20));
            }
            Ok(())
        });
        assert!(found.unwrap() >= 20.0);
        assert_eq!(n, 20);
    }
}
