//! The canvas: the workspace file that an editor shows, and the lease under which the agent may write it.
//!
//! The text of the canvas lives in the workspace like that of any file. This module holds the path and the lease.

mod lease;

use emend_llm::runtime::{Mutex, MutexGuard};
use serde::Serialize;

pub use lease::{GUARD_MS_MAX, LEASE_TTL_MS, Lease, LeaseError, Ticket};

use crate::environment::FilePath;

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

/// The file that is open in an editor, shared by session and host.
#[derive(Debug, Default)]
pub struct Canvas {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    path: Option<FilePath>,
    lease: Lease,
}

impl Canvas {
    /// Returns a canvas without an open file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens `path`, or closes the file. A change of the file preempts the lease, which belongs to the file on screen.
    pub fn open(&self, path: Option<FilePath>) {
        let mut inner = self.lock();
        if inner.path != path {
            inner.path = path;
            inner.lease.preempt();
        }
    }

    /// Returns the path of the open file.
    #[must_use]
    pub fn path(&self) -> Option<FilePath> {
        self.lock().path.clone()
    }

    /// Returns the state for an editor.
    #[must_use]
    pub fn state(&self, now_ms: u64) -> CanvasState {
        let inner = self.lock();
        let expires_at = inner.lease.held_until(now_ms);
        CanvasState { path: inner.path.clone(), held: expires_at.is_some(), epoch: inner.lease.epoch(), expires_at }
    }

    /// Preempts the lease for the user: on a keystroke, Esc, a new message or a cancelled run.
    pub fn take_back(&self) -> u64 {
        self.lock().lease.preempt()
    }

    /// Runs `step` on the lease without interruption.
    pub fn with_lease<T>(&self, step: impl FnOnce(&mut Lease) -> T) -> T {
        step(&mut self.lock().lease)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}
