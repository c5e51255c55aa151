//! One result of a bench: our figure, a peer's, and their ratio.

use serde::{Deserialize, Serialize};

/// One figure of ours, beside a peer's.
#[derive(Serialize, Deserialize)]
pub(crate) struct Row {
    /// The measured operation and its input.
    pub(crate) name: String,
    pub(crate) ours: f64,
    /// The peer and its version.
    pub(crate) peer_name: Option<String>,
    pub(crate) peer: Option<f64>,
    /// Ours divided by the peer's.
    pub(crate) ratio: Option<f64>,
    pub(crate) unit: String,
}

impl Row {
    /// A row beside a peer's figure.
    pub(crate) fn beside(name: &str, ours: f64, peer_name: String, peer: f64, unit: &str) -> Self {
        Self {
            name: name.to_owned(),
            ours,
            peer_name: Some(peer_name),
            peer: Some(peer),
            // A ratio to nothing is not a number.
            ratio: (peer != 0.0).then(|| ours / peer),
            unit: unit.to_owned(),
        }
    }

    /// A row without a peer.
    pub(crate) fn alone(name: &str, ours: f64, unit: &str) -> Self {
        Self { name: name.to_owned(), ours, peer_name: None, peer: None, ratio: None, unit: unit.to_owned() }
    }
}
