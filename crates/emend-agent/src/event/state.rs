//! The state of a session, for events and hosts.

use serde::{Deserialize, Serialize};

/// The state of a session.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "openapi", derive(utoipa::ToSchema))]
#[serde(rename_all = "SCREAMING_SNAKE_CASE")]
pub enum SessionState {
    /// The session waits for the user.
    Idle,
    /// A run is in progress.
    Processing,
    /// The model asked the user a question; the next message is the answer.
    AwaitingInput,
    /// The session is closed and accepts no messages.
    Closed,
}
