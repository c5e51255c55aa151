//! Recorded exchanges with a provider: what a test replays, what runs offline, what a bug report attaches.
//!
//! A [`Recorder`] wraps a transport and makes a [`Cassette`] of what passes; a [`Player`] answers from one. Keys never
//! enter a cassette, and neither does the absolute path of the project. Reading and writing the file is the host's
//! job, as is running on the recorded clock and seed.

mod compare;
mod play;
mod record;
mod scrub;
#[cfg(test)]
mod tests;

pub use play::{Player, PlayerOptions};
pub use record::{Recorder, RecorderOptions};
pub use scrub::secrets_of_environment;

use std::collections::BTreeMap;

use serde::{Deserialize, Serialize};
use serde_json::{Map, Value};

use crate::providers::Api;
use crate::transport::{HttpRequest, TransportError, public_address};

/// The version of the format that this library writes and reads.
pub const VERSION: u32 = 1;

/// What stands in a cassette for the project's absolute path.
pub const ROOT_ALIAS: &str = "{{root}}";

/// Recorded exchanges and what else a run depends on.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cassette {
    /// The format's version.
    pub emend_cassette: u32,
    /// The clock when recording began, in milliseconds since 1970.
    pub clock_ms: u64,
    /// The seed of the run's randomness.
    pub seed: u64,
    /// What stands for the project's absolute path.
    pub root: String,
    /// The exchanges, in the order they began.
    pub exchanges: Vec<Exchange>,
}

/// One request and its answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The wire format, e.g. `anthropic-messages`.
    pub api: String,
    /// How many requests of the same wire format came before.
    pub ordinal: usize,
    /// What was sent.
    pub request: RecordedRequest,
    /// What came back.
    pub answer: RecordedAnswer,
}

/// A request, told as the difference from the one before it (same wire format).
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// The address without its query.
    pub url: String,
    /// SHA-256 of the normalised body, as `sha256:` and hex digits.
    pub digest: String,
    /// Fields of the body that are as in the request before.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// The other fields of the body.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Value>,
    /// The conversation.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// A conversation as the difference from the one before.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// The body's field: `messages`, `input` or `contents`.
    pub field: String,
    /// How many messages from the start are as before.
    pub kept: usize,
    /// The messages that follow them.
    pub added: Vec<Value>,
}

/// What came back.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedAnswer {
    /// An HTTP answer.
    Response(RecordedResponse),
    /// No answer.
    Failure(RecordedFailure),
}

/// An HTTP answer.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedResponse {
    /// The status.
    pub status: u16,
    /// The headers that adapters read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body: one text for each server-sent event, or one for all of it.
    pub chunks: Vec<String>,
    /// How it broke off, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecordedFailure>,
}

/// Why an answer did not come or broke off.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecordedFailure {
    /// [`TransportError::Connect`].
    Connect {
        /// Host and port.
        host: String,
        /// What the host said.
        reason: String,
    },
    /// [`TransportError::Timeout`].
    Timeout {
        /// Host and port.
        host: String,
        /// The limit.
        after_ms: u64,
        /// `connect`, `idle` or `total`.
        phase: String,
    },
    /// [`TransportError::Interrupted`].
    Interrupted {
        /// Host and port.
        host: String,
        /// What the host said.
        reason: String,
    },
    /// [`TransportError::Cancelled`].
    Cancelled,
    /// [`TransportError::Unsendable`].
    Unsendable {
        /// What was wrong.
        reason: String,
    },
}

/// A cassette that cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// The text is not a cassette.
    #[error("this is not a cassette: {reason}")]
    Malformed {
        /// What is wrong with it.
        reason: String,
    },
    /// The cassette has another format.
    #[error("this cassette has format {found}, and only format {VERSION} can be read: record it anew")]
    Version {
        /// Its format.
        found: u32,
    },
}

impl CassetteError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(&self) -> &'static str {
        "configuration"
    }
}

impl Cassette {
    /// Reads a cassette.
    ///
    /// # Errors
    ///
    /// The text is no JSON of this form, or of another version of it.
    pub fn from_json(text: &str) -> Result<Self, CassetteError> {
        let malformed = |error: serde_json::Error| CassetteError::Malformed { reason: error.to_string() };
        let value: Value = serde_json::from_str(text).map_err(malformed)?;
        match value["emend_cassette"].as_u64() {
            Some(version) if version == u64::from(VERSION) => serde_json::from_value(value).map_err(malformed),
            Some(version) => Err(CassetteError::Version { found: u32::try_from(version).unwrap_or(u32::MAX) }),
            None => Err(CassetteError::Malformed { reason: "the field emend_cassette is missing".to_owned() }),
        }
    }

    /// Writes the cassette, indented for readers.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Everything in it is a JSON value with text keys, so there is nothing to fail on.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the exchange with these coordinates.
    fn exchange(&self, api: &str, ordinal: usize) -> Option<&Exchange> {
        self.exchanges.iter().find(|exchange| exchange.api == api && exchange.ordinal == ordinal)
    }
}

impl From<&TransportError> for RecordedFailure {
    fn from(error: &TransportError) -> Self {
        match error.clone() {
            TransportError::Connect { host, reason } => Self::Connect { host, reason },
            TransportError::Timeout { host, after_ms, phase } => {
                Self::Timeout { host, after_ms, phase: phase.to_owned() }
            }
            TransportError::Interrupted { host, reason } => Self::Interrupted { host, reason },
            TransportError::Cancelled => Self::Cancelled,
            TransportError::Unsendable { reason } => Self::Unsendable { reason },
        }
    }
}

impl From<&RecordedFailure> for TransportError {
    fn from(failure: &RecordedFailure) -> Self {
        match failure.clone() {
            RecordedFailure::Connect { host, reason } => Self::Connect { host, reason },
            RecordedFailure::Timeout { host, after_ms, phase } => {
                let phase = ["connect", "idle"].into_iter().find(|known| *known == phase).unwrap_or("total");
                Self::Timeout { host, after_ms, phase }
            }
            RecordedFailure::Interrupted { host, reason } => Self::Interrupted { host, reason },
            RecordedFailure::Cancelled => Self::Cancelled,
            RecordedFailure::Unsendable { reason } => Self::Unsendable { reason },
        }
    }
}

/// Returns the wire format that a request is in.
fn api_of(request: &HttpRequest) -> String {
    let address = public_address(&request.url);
    let path = address.trim_end_matches('/');
    let known = [
        ("/messages", Api::AnthropicMessages),
        ("/responses", Api::OpenAiResponses),
        ("/chat/completions", Api::OpenAiChat),
        (":streamGenerateContent", Api::Gemini),
        (":generateContent", Api::Gemini),
    ];
    match known.iter().find(|(end, _)| path.ends_with(end)) {
        Some((_, api)) => api.name().to_owned(),
        None => path.split_once("://").map_or(path, |(_, rest)| rest).to_owned(),
    }
}
