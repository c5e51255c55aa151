//! Settings of the server: the token, the accepted hosts and origins, and the limits of HTTP.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use emend_llm::Random;
use sha2::{Digest as _, Sha256};
use subtle::ConstantTimeEq as _;

/// A secret that gives access to the service. `Debug` does not show it.
#[derive(Clone)]
pub struct Token(String);

impl Token {
    /// Minimum length of a token in bytes.
    pub const BYTES_MIN: usize = 16;

    /// Returns a token with this text. It has at least [`BYTES_MIN`](Self::BYTES_MIN) visible ASCII characters, none of
    /// which separates fields of a header or a URL.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        let is_fit = |byte: u8| byte.is_ascii_alphanumeric() || b"-._~".contains(&byte);
        (text.len() >= Self::BYTES_MIN && text.bytes().all(is_fit)).then(|| Self(text.to_owned()))
    }

    /// Returns a new token of 256 random bits.
    #[must_use]
    pub fn random(random: &dyn Random) -> Self {
        Self((0..4).map(|_| format!("{:016x}", random.next_u64())).collect())
    }

    /// Returns the secret of the cookie of pages: it follows from the token, which does not follow from it. A server that is
    /// started again with the same token accepts the pages of the former one.
    #[must_use]
    pub(crate) fn of_pages(&self) -> Self {
        let hash = Sha256::digest(format!("emend cookie of pages\n{}", self.0));
        Self(hash.iter().map(|byte| format!("{byte:02x}")).collect())
    }

    /// Returns the text, for the user who starts the server.
    #[must_use]
    pub fn reveal(&self) -> &str {
        &self.0
    }

    /// Returns whether a text is the token, in a time that does not depend on the position of the first difference.
    #[must_use]
    pub fn is(&self, given: &str) -> bool {
        self.0.as_bytes().ct_eq(given.as_bytes()).into()
    }
}

impl fmt::Debug for Token {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("Token(…)")
    }
}

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerConfig {
    /// Secret of the clients.
    pub token: Token,
    /// Address of the listener.
    pub address: SocketAddr,
    /// Further values of the header `Host`: names without port, or with the only accepted port.
    pub allowed_hosts: Vec<String>,
    /// Origins of pages on other hosts that may call the service, for example `https://editor.example`.
    pub allowed_origins: Vec<String>,
    /// Directory of the web app.
    pub web: Option<PathBuf>,
    /// Limits.
    pub limits: ServerLimits,
}

/// Limits of HTTP. Those of sessions and jobs belong to the service.
#[derive(Clone, Debug, PartialEq)]
pub struct ServerLimits {
    /// Maximum size of the body of a request in bytes.
    pub body_bytes_max: usize,
    /// Requests per second of one client in the long run; 0 means unlimited.
    pub requests_per_second: u32,
    /// Number of requests that a client may send at once.
    pub requests_at_once: u32,
    /// Maximum number of open streams.
    pub streams_max: usize,
    /// Maximum number of open connections.
    pub connections_max: usize,
    /// Time for the head of a request.
    pub head_timeout: Duration,
    /// Time for the body of a request.
    pub body_timeout: Duration,
    /// Time after which a connection ends whose client accepts no bytes.
    pub stall_timeout: Duration,
    /// Time between two messages of an idle stream.
    pub heartbeat: Duration,
    /// Time for the end of open requests at shutdown.
    pub shutdown_timeout: Duration,
}

impl Default for ServerLimits {
    fn default() -> Self {
        Self {
            body_bytes_max: 8 * 1024 * 1024,
            requests_per_second: 100,
            requests_at_once: 200,
            streams_max: 1_024,
            connections_max: 1_536,
            head_timeout: Duration::from_secs(10),
            body_timeout: Duration::from_secs(30),
            stall_timeout: Duration::from_secs(60),
            heartbeat: Duration::from_secs(10),
            shutdown_timeout: Duration::from_secs(10),
        }
    }
}
