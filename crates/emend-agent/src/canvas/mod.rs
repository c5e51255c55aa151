//! The canvas: the one workspace file that an editor shows, and the lease under which the agent may touch it.
//!
//! Its text lives in the workspace like any file's; this module only says which file it is and who may write now.

mod lease;

use std::sync::{Mutex, MutexGuard, PoisonError};

use serde::Serialize;

pub use lease::{GUARD_MS_MAX, LEASE_TTL_MS, Lease, LeaseError, Ticket};

use crate::environment::FilePath;

/// What an editor shows of the lease.
#[derive(Clone, Debug, PartialEq, Eq, Serialize)]
#[serde(rename_all = "camelCase")]
pub struct CanvasState {
    /// The file, if one is open.
    pub path: Option<FilePath>,
    /// Whether the agent holds the lease now.
    pub held: bool,
    /// Grows by one whenever the user takes over.
    pub epoch: u64,
    /// When the lease ends if nothing renews it, in milliseconds since 1970.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub expires_at: Option<u64>,
}

/// The file that is open in an editor. Shared by the session and the host.
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
    /// Returns a canvas with no file open.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Shows `path`, or no file. Switching files preempts: a lease is on what the user looks at.
    pub fn open(&self, path: Option<FilePath>) {
        let mut inner = self.lock();
        if inner.path != path {
            inner.path = path;
            inner.lease.preempt();
        }
    }

    /// Returns which file is open.
    #[must_use]
    pub fn path(&self) -> Option<FilePath> {
        self.lock().path.clone()
    }

    /// Returns what an editor shows.
    #[must_use]
    pub fn state(&self, now_ms: u64) -> CanvasState {
        let inner = self.lock();
        let expires_at = inner.lease.held_until(now_ms);
        CanvasState { path: inner.path.clone(), held: expires_at.is_some(), epoch: inner.lease.epoch(), expires_at }
    }

    /// Takes the canvas back for the user, at once: a keystroke, Esc, a new message.
    pub fn take_back(&self) -> u64 {
        self.lock().lease.preempt()
    }

    /// Runs `step` on the lease, without interruption.
    pub fn with_lease<T>(&self, step: impl FnOnce(&mut Lease) -> T) -> T {
        step(&mut self.lock().lease)
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }
}
