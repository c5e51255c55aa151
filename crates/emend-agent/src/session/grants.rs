//! The permissions that the user gave in a session, and the queue of approval requests.

use std::sync::{Mutex, PoisonError};

use serde_json::Value;

/// A permission for the rest of the session: for a command in a directory, for a tool on some files, or for all calls of
/// a tool without commands.
#[derive(PartialEq, Eq)]
pub(in crate::session) struct Grant {
    pub(in crate::session) tool: String,
    pub(in crate::session) command: Option<String>,
    /// The directory of the command; or the files, if the rule that asks is about some files only: the user saw these and
    /// no others.
    pub(in crate::session) scope: Value,
}

/// The queue of approval requests and the permissions of the user. A session shares it with its subagents, because they
/// have one user.
#[derive(Default)]
pub(in crate::session) struct Approvals {
    /// Held while the user is asked.
    pub(in crate::session) asking: futures::lock::Mutex<()>,
    grants: Mutex<Vec<Grant>>,
}

impl Approvals {
    pub(in crate::session) fn is_granted(&self, grant: &Grant) -> bool {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).contains(grant)
    }

    pub(in crate::session) fn add(&self, grant: Grant) {
        self.grants.lock().unwrap_or_else(PoisonError::into_inner).push(grant);
    }
}
