//! The canvas: the workspace file that an editor shows, and the lease under which the agent may write it.
//!
//! The text of the canvas lives in the workspace like that of any file. This module holds the path and the lease. A build without
//! the feature `canvas` has neither: no file is ever open, so sessions, tools and the service do what they do for a closed canvas.

#[cfg(feature = "canvas")]
mod lease;
#[cfg_attr(not(feature = "canvas"), path = "none.rs")]
mod open_file;

use serde::Serialize;

#[cfg(not(target_family = "wasm"))]
pub(crate) use open_file::SavedCanvas;
pub use open_file::{Canvas, Lease};

use crate::environment::FilePath;
use crate::error_code::Code;

/// Whether this build has the canvas.
pub const IS_BUILT_IN: bool = cfg!(feature = "canvas");

/// Time to live of a lease without activity, in milliseconds.
pub const LEASE_TTL_MS: u64 = 15_000;
/// Maximum time for which a call in flight keeps a lease alive, in milliseconds.
pub const GUARD_MS_MAX: u64 = 120_000;

/// Proof of a check-out, presented with each use of the lease. Two check-outs never return equal tickets.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize)]
pub struct Ticket {
    /// Number of the lease.
    pub lease_id: u64,
    /// Epoch of the check-out.
    pub epoch: u64,
}

/// Why the lease refused a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum LeaseError {
    /// Another holder has the lease.
    #[error("the canvas is checked out for {remaining_ms} ms more")]
    NotAvailable {
        /// Milliseconds until the present lease expires without renewal.
        remaining_ms: u64,
    },
    /// The ticket does not belong to the holder.
    #[error("this lease is not the one in force; check the canvas out first")]
    NotOwned,
    /// The lease expired before this use.
    #[error("the lease expired; check the canvas out and read it again")]
    Expired,
    /// The user preempted the lease after the check-out.
    #[error("the user took the canvas back; do not edit it again before the user's next message")]
    StaleEpoch,
}

impl LeaseError {
    /// Returns the stable code.
    #[must_use]
    pub fn code(self) -> Code {
        match self {
            Self::NotAvailable { .. } => Code::LockNotAvailable,
            Self::NotOwned => Code::LockNotOwned,
            Self::Expired => Code::LeaseExpired,
            Self::StaleEpoch => Code::StaleEpoch,
        }
    }
}

/// State of the canvas for an editor.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CanvasState {
    /// Path of the open file, if any.
    pub path: Option<FilePath>,
    /// Whether the agent holds the lease now.
    pub held: bool,
    /// Incremented whenever the user preempts.
    pub epoch: u64,
    /// Expiry of the lease without renewal, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}
