//! The canvas of a build without the feature `canvas`: no file is open, and nobody has a lease.

#[cfg(not(target_family = "wasm"))]
use serde::{Deserialize, Serialize};

use super::{CanvasState, LeaseError, Ticket};
use crate::environment::FilePath;

/// No canvas.
#[derive(Debug, Default)]
pub struct Canvas;

impl Canvas {
    /// Returns no canvas.
    #[must_use]
    pub fn new() -> Self {
        Self
    }

    /// Opens nothing.
    pub fn open(&self, _path: Option<FilePath>) {}

    /// Returns that no file is open.
    #[must_use]
    pub fn path(&self) -> Option<FilePath> {
        None
    }

    /// Returns the state of a closed canvas.
    #[must_use]
    pub fn state(&self, _now_ms: u64) -> CanvasState {
        CanvasState { path: None, held: false, epoch: 0, expires_at: None }
    }

    /// Takes nothing back. The epoch stays 0.
    pub fn take_back(&self) -> u64 {
        0
    }

    /// Runs `step` on a lease that refuses everything.
    pub fn with_lease<T>(&self, step: impl FnOnce(&mut Lease) -> T) -> T {
        step(&mut Lease)
    }
}

/// The canvas as other servers of a root share it. This one neither reads nor saves it.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Debug, Serialize, Deserialize)]
pub(crate) struct SavedCanvas {}

#[cfg(not(target_family = "wasm"))]
impl Canvas {
    pub(crate) fn saved(&self) -> Option<SavedCanvas> {
        None
    }

    pub(crate) fn note_saved(&self, _saved: &SavedCanvas) {}

    pub(crate) fn is_saved(&self) -> bool {
        true
    }

    pub(crate) fn take_in(&self, _saved: SavedCanvas) {}
}

/// A lease that nobody gets.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Lease;

impl Lease {
    /// Returns the epoch, which stays 0.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        0
    }

    /// Refuses a check-out.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn check_out(&mut self, _epoch: u64, _now_ms: u64) -> Result<Ticket, LeaseError> {
        Err(LeaseError::NotOwned)
    }

    /// Refuses a ticket.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn verify(&self, _ticket: Ticket, _now_ms: u64) -> Result<(), LeaseError> {
        Err(LeaseError::NotOwned)
    }

    /// Refuses to renew a lease.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn renew(&mut self, _ticket: Ticket, _now_ms: u64) -> Result<u64, LeaseError> {
        Err(LeaseError::NotOwned)
    }

    /// Releases nothing.
    pub fn check_in(&mut self, _ticket: Ticket) -> bool {
        false
    }

    /// Refuses a guard.
    ///
    /// # Errors
    ///
    /// Always.
    pub fn begin_guard(&mut self, _ticket: Ticket, _now_ms: u64) -> Result<(), LeaseError> {
        Err(LeaseError::NotOwned)
    }

    /// Ends nothing.
    pub fn end_guard(&mut self, _ticket: Ticket, _now_ms: u64) {}

    /// Pauses nothing.
    pub fn pause(&mut self, _ticket: Ticket, _now_ms: u64) -> bool {
        false
    }

    /// Resumes nothing.
    pub fn resume(&mut self, _ticket: Ticket, _now_ms: u64) -> bool {
        false
    }
}
