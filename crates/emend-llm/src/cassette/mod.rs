//! Recorded exchanges with a provider, for tests, offline runs and bug reports.
//!
//! A [`Recorder`] wraps a transport and records a [`Cassette`]; a [`Player`] responds from one. Keys and the absolute
//! path of the project never enter a cassette. The host reads and writes the file, and runs on the recorded clock and
//! seed.

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

/// The version of the format that this library reads and writes.
pub const VERSION: u32 = 1;

/// The placeholder of the project's absolute path.
pub const ROOT_ALIAS: &str = "{{root}}";

/// Recorded exchanges and the other inputs of a run.
///
/// # Examples
///
/// ```
/// use emend_llm::cassette::Cassette;
///
/// let text = r#"{"emend_cassette": 1, "clock_ms": 7, "seed": 9, "root": "{{root}}", "exchanges": []}"#;
/// let cassette = Cassette::from_json(text)?;
/// assert_eq!((cassette.clock_ms, cassette.seed, cassette.exchanges.len()), (7, 9, 0));
/// assert_eq!(Cassette::from_json(&cassette.to_json())?, cassette);
/// # Ok::<(), emend_llm::cassette::CassetteError>(())
/// ```
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Cassette {
    /// Version of the format.
    pub emend_cassette: u32,
    /// The clock at the start of the recording, in milliseconds since 1970.
    pub clock_ms: u64,
    /// The seed of the run's randomness.
    pub seed: u64,
    /// The placeholder of the project's absolute path.
    pub root: String,
    /// The exchanges, in the order in which they began.
    pub exchanges: Vec<Exchange>,
}

/// One request and its response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct Exchange {
    /// The wire format, e.g. `anthropic-messages`.
    pub api: String,
    /// The number of earlier requests in the same wire format.
    pub ordinal: usize,
    /// The request.
    pub request: RecordedRequest,
    /// The response, or the reason why none came.
    pub answer: RecordedOutcome,
}

/// A request, as the difference from the previous request in the same wire format.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedRequest {
    /// The URL without its query.
    pub url: String,
    /// SHA-256 of the normalised body, as `sha256:` and hex digits.
    pub digest: String,
    /// Names of the fields with the same value as in the previous request.
    #[serde(default, skip_serializing_if = "Vec::is_empty")]
    pub unchanged: Vec<String>,
    /// The other fields of the body.
    #[serde(default, skip_serializing_if = "Map::is_empty")]
    pub body: Map<String, Value>,
    /// The conversation, as a difference.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub history: Option<History>,
}

/// A conversation, as the difference from the previous one.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct History {
    /// Name of the body's field: `messages`, `input` or `contents`.
    pub field: String,
    /// The number of messages, from the start, that are the same as before.
    pub kept: usize,
    /// The messages after those.
    pub added: Vec<Value>,
}

/// The outcome of a request.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub enum RecordedOutcome {
    /// An HTTP response.
    Response(RecordedResponse),
    /// No response.
    Failure(RecordedFailure),
}

/// An HTTP response.
#[derive(Clone, Debug, PartialEq, Serialize, Deserialize)]
pub struct RecordedResponse {
    /// HTTP status code.
    pub status: u16,
    /// The headers that adapters read.
    #[serde(default, skip_serializing_if = "BTreeMap::is_empty")]
    pub headers: BTreeMap<String, String>,
    /// The body: one text for each server-sent event, or one text for all of it.
    pub chunks: Vec<String>,
    /// The reason why the body ended early, if it did.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub failure: Option<RecordedFailure>,
}

/// The reason why a response did not come or ended early.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum RecordedFailure {
    /// [`TransportError::Connect`].
    Connect {
        /// Host and port.
        host: String,
        /// The reason that the network stack reported.
        reason: String,
    },
    /// [`TransportError::Timeout`].
    Timeout {
        /// Host and port.
        host: String,
        /// The limit, in milliseconds.
        after_ms: u64,
        /// `connect`, `idle` or `total`.
        phase: String,
    },
    /// [`TransportError::Interrupted`].
    Interrupted {
        /// Host and port.
        host: String,
        /// The reason that the network stack reported.
        reason: String,
    },
    /// [`TransportError::Cancelled`].
    Cancelled,
    /// [`TransportError::Unsendable`].
    Unsendable {
        /// The problem and the next step.
        reason: String,
    },
}

/// The reason why a cassette cannot be used.
#[derive(Clone, Debug, PartialEq, Eq, thiserror::Error)]
pub enum CassetteError {
    /// The text is not a cassette.
    #[error("this is not a cassette: {reason}")]
    Malformed {
        /// The syntax error.
        reason: String,
    },
    /// The cassette has another version of the format.
    #[error("this cassette has format {found}, and only format {VERSION} can be read: record it anew")]
    Version {
        /// Version of the cassette.
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
    /// Parses a cassette.
    ///
    /// # Errors
    ///
    /// [`CassetteError`] if the text is not JSON of this form, or has another version.
    pub fn from_json(text: &str) -> Result<Self, CassetteError> {
        let malformed = |error: serde_json::Error| CassetteError::Malformed { reason: error.to_string() };
        let value: Value = serde_json::from_str(text).map_err(malformed)?;
        match value["emend_cassette"].as_u64() {
            Some(version) if version == u64::from(VERSION) => serde_json::from_value(value).map_err(malformed),
            Some(version) => Err(CassetteError::Version { found: u32::try_from(version).unwrap_or(u32::MAX) }),
            None => Err(CassetteError::Malformed { reason: "the field emend_cassette is missing".to_owned() }),
        }
    }

    /// Returns the cassette as indented JSON.
    #[must_use]
    pub fn to_json(&self) -> String {
        // Every value is JSON with text keys, so serialisation cannot fail.
        serde_json::to_string_pretty(self).unwrap_or_default()
    }

    /// Returns the exchange of this wire format and number.
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

/// Returns the wire format of a request.
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
