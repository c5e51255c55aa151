//! The state of a session, as events and hosts see it.

use serde::{Deserialize, Serialize};

/// What a session is doing.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionState {
    /// It waits for the user.
    Idle,
    /// A turn runs.
    Processing,
    /// The model asked the user something; the next message is the answer.
    AwaitingInput,
    /// It has ended and takes no more messages.
    Closed,
}
