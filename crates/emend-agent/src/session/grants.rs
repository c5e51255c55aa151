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
}
