//! The state that the operations of a service share.

use std::collections::BTreeMap;

use emend_llm::runtime::Mutex;
use emend_llm::{Clock, Random, Shared};

use super::api::{ApiError, ApiResult};
use super::events::Hub;
use super::host::ServiceHost;
use super::limits::ServiceLimits;
use super::records::{JobRecord, SessionRecord};
use super::slot::Slot;
use super::store::ServiceStore;
use super::time::Timestamp;
use crate::store::Store;
use crate::workspace::Workspace;

/// The parts of a service and what it keeps between requests.
pub(super) struct Inner {
    pub(super) workspace: Shared<Workspace>,
    pub(super) host: Shared<dyn ServiceHost>,
    pub(super) store: Shared<dyn ServiceStore>,
    pub(super) conversations: Shared<dyn Store>,
    pub(super) clock: Shared<dyn Clock>,
    pub(super) random: Shared<dyn Random>,
    pub(super) limits: ServiceLimits,
    pub(super) hub: Shared<Hub>,
    pub(super) slots: Mutex<BTreeMap<String, Shared<Slot>>>,
    /// Held while a decision is applied and its events are stored.
    pub(super) deciding: futures::lock::Mutex<()>,
    /// Number of running jobs.
    pub(super) n_running: Mutex<u64>,
    pub(super) is_closing: Mutex<bool>,
}

impl Inner {
    pub(super) fn now(&self) -> Timestamp {
        Timestamp(self.clock.now_ms())
    }

    /// Returns a new id with a prefix.
    pub(super) fn new_id(&self, prefix: &str) -> String {
        format!("{prefix}{}", crate::session::random_uuid(&*self.random))
    }

    pub(super) async fn session(&self, id: &str) -> ApiResult<SessionRecord> {
        self.store.session(id).await?.ok_or_else(|| ApiError::unknown("session", id))
    }

    pub(super) async fn job(&self, id: &str) -> ApiResult<JobRecord> {
        self.store.job(id).await?.ok_or_else(|| ApiError::unknown("job", id))
    }
}
