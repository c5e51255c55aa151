//! The permissions that the user gave in a session, and the queue of approval requests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::approval::Grant;

/// The queue of approval requests and the permissions of the user. A session shares it with its subagents, because they
/// have one user.
#[derive(Default)]
pub(in crate::session) struct Approvals {
    /// Held while the user is asked.
    pub(in crate::session) asking: futures::lock::Mutex<()>,
    grants: Mutex<Vec<Grant>>,
    waits: Mutex<Waits>,
}

/// The time in which the questions of a run wait for a user.
#[derive(Clone, Copy, Default)]
struct Waits {
    /// Milliseconds of the answered ones.
    total_ms: u64,
    /// Time at which the open one was asked.
    since_ms: Option<u64>,
}

impl Approvals {
    pub(in crate::session) fn grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn is_granted(&self, grant: &Grant) -> bool {
        self.grants().contains(grant)
    }

    pub(in crate::session) fn add(&self, grant: Grant) {
        self.grants().push(grant);
    }

    fn waits(&self) -> MutexGuard<'_, Waits> {
        self.waits.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Forgets the waits of the run before.
    pub(in crate::session) fn begin_run(&self) {
        *self.waits() = Waits::default();
    }

    /// Begins the wait for an answer.
    pub(in crate::session) fn begin_wait(&self, now_ms: u64) {
        self.waits().since_ms = Some(now_ms);
    }

    /// Ends the wait for an answer.
    pub(in crate::session) fn end_wait(&self, now_ms: u64) {
        let mut waits = self.waits();
        let since_ms = waits.since_ms.take().unwrap_or(now_ms);
        waits.total_ms += now_ms.saturating_sub(since_ms);
    }

    /// Returns the milliseconds of all waits of the run, and whether one lasts.
    pub(in crate::session) fn waited(&self, now_ms: u64) -> (u64, bool) {
        let Waits { total_ms, since_ms } = *self.waits();
        let open_ms = since_ms.map_or(0, |since_ms| now_ms.saturating_sub(since_ms));
        (total_ms + open_ms, since_ms.is_some())
    }
}
