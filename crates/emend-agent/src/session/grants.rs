//! The permissions that the user gave in a session, and the queue of approval requests.

use std::sync::{Mutex, MutexGuard, PoisonError};

use crate::approval::Grant;
use crate::session::Session;

/// The queue of approval requests and the permissions of the user. A session shares it with its subagents, because they
/// have one user.
#[derive(Default)]
pub(in crate::session) struct Approvals {
    /// Held while the user is asked.
    pub(in crate::session) asking: futures::lock::Mutex<()>,
    grants: Mutex<Vec<Grant>>,
}

impl Approvals {
    fn grants(&self) -> MutexGuard<'_, Vec<Grant>> {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner)
    }

    pub(in crate::session) fn is_granted(&self, grant: &Grant) -> bool {
        self.grants().contains(grant)
    }

    pub(in crate::session) fn add(&self, grant: Grant) {
        self.grants().push(grant);
    }
}

/// For hosts that keep a session in a store of their own.
impl Session {
    /// Returns the permissions that the user gave for the rest of the session, oldest first.
    #[must_use]
    pub fn grants(&self) -> Vec<Grant> {
        self.core.approvals.grants().clone()
    }

    /// Gives the session the permissions that the user gave to it in another process.
    pub fn restore_grants(&self, known: Vec<Grant>) {
        *self.core.approvals.grants() = known;
    }
}
