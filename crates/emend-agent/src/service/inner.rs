//! The state that the operations of a service share.

use std::collections::{BTreeMap, BTreeSet};

use emend_llm::runtime::Mutex;
use emend_llm::{Clock, Random, Shared};
use event_listener::Event;

use super::api::{ApiError, ApiResult};
use super::events::Hub;
use super::host::ServiceHost;
use super::jobs::Jobs;
use super::limits::ServiceLimits;
use super::records::{JobRecord, SessionRecord};
use super::slot::Slot;
use super::store::ServiceStore;
use super::time::Timestamp;
use crate::canvas;
use crate::error_code::Code;
use crate::store::Store;
use crate::workspace::Workspace;

/// Whether jobs can be recorded and shared. In a browser they are not, and the constant keeps the code out of the module.
const MAY_RECORD: bool = cfg!(not(target_family = "wasm"));

/// The parts of a service and what it keeps between requests.
pub(super) struct Inner {
    pub(super) workspace: Shared<Workspace>,
    pub(super) host: Shared<dyn ServiceHost>,
    pub(super) store: Shared<dyn ServiceStore>,
    pub(super) conversations: Shared<dyn Store>,
    pub(super) clock: Shared<dyn Clock>,
    pub(super) random: Shared<dyn Random>,
    pub(super) limits: ServiceLimits,
    /// Records the steps of jobs, and shares jobs among servers.
    pub(super) jobs: Option<Shared<dyn Jobs>>,
    /// Tells the queue that a job of this process has ended.
    pub(super) freed: Event,
    pub(super) hub: Shared<Hub>,
    pub(super) slots: Mutex<BTreeMap<String, Shared<Slot>>>,
    /// Held while a decision is applied and its events are stored.
    pub(super) deciding: futures::lock::Mutex<()>,
    /// Held while a session becomes active, so that the limit on sessions holds.
    pub(super) creating: futures::lock::Mutex<()>,
    /// Time of the last purge of all sessions, in milliseconds.
    pub(super) purged_at: Mutex<u64>,
    /// Id of the session of the purged job that was asked for last.
    pub(super) last_purged_in: Mutex<String>,
    /// Number of running jobs.
    pub(super) n_running: Mutex<u64>,
    pub(super) is_closing: Mutex<bool>,
    /// Sessions whose next instruction a limit keeps from starting.
    pub(super) held_back: Mutex<BTreeSet<String>>,
}

/// The reason why a build without the feature `canvas` refuses it.
pub(super) const NO_CANVAS: &str = "this build has no canvas";

impl Inner {
    /// Returns the jobs, if their steps are recorded.
    pub(super) fn recorded_jobs(&self) -> Option<&Shared<dyn Jobs>> {
        if MAY_RECORD { self.jobs.as_ref() } else { None }
    }

    /// Returns the jobs, if other servers share them.
    pub(super) fn shared_jobs(&self) -> Option<&Shared<dyn Jobs>> {
        if MAY_RECORD { self.jobs.as_ref().filter(|jobs| jobs.is_shared()) } else { None }
    }

    /// Refuses the canvas if the host has none.
    pub(super) fn check_canvas(&self) -> ApiResult<()> {
        let refusal = if canvas::IS_BUILT_IN { self.host.canvas_refusal() } else { Some(NO_CANVAS) };
        match refusal {
            Some(why) => Err(ApiError::new(Code::Unsupported, why)),
            None => Ok(()),
        }
    }

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
