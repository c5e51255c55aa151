//! The moments at which a client of a stream disconnects: the same ones for both servers.

use std::io::Read as _;
use std::net::TcpStream;
use std::time::Duration;

use anyhow::Result;

/// Number of connections that break.
pub(super) const N_RECONNECTS: u64 = 100;
/// Seed of the moments.
const SEED: u64 = 20_261_123;
/// Time without an event after which the last connection has read everything.
const SILENCE: Duration = Duration::from_secs(3);

/// Connections of one client, each with its limits.
pub(super) struct Breaks {
    random: u64,
}

impl Breaks {
    pub(super) fn new() -> Self {
        Self { random: SEED }
    }

    fn below(&mut self, n: u64) -> u64 {
        self.random = self.random.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1_442_695_040_888_963_407);
        (self.random >> 33) % n
    }

    /// Reads a stream until the moment of connection `n`, from 0; the last one, [`N_RECONNECTS`], reads everything.
    pub(super) fn read(&mut self, n: u64, mut stream: TcpStream) -> Result<Vec<u8>> {
        let (time, bytes) = (Duration::from_millis(1 + self.below(60)), self.below(40_000));
        let (time, mut left) = if n == N_RECONNECTS { (SILENCE, u64::MAX) } else { (time, bytes) };
        stream.set_read_timeout(Some(time))?;
        let (mut text, mut buffer) = (Vec::new(), [0; 4096]);
        while left > 0 {
            let size = usize::try_from(left).unwrap_or(usize::MAX).min(buffer.len());
            let Ok(read @ 1..) = stream.read(&mut buffer[..size]) else { break };
            left -= read as u64;
            text.extend_from_slice(&buffer[..read]);
        }
        Ok(text)
    }
}
