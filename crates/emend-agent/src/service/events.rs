//! Readers of events: each reads the store and waits for the next commit.
//!
//! A reader holds only a number, so a slow reader costs no memory, and a reader that reconnects misses nothing.

use emend_llm::Shared;
use emend_llm::runtime::Mutex;
use event_listener::{Event, EventListener};
use serde::Serialize;
use serde_json::{Value, json};

use super::api::{ApiError, ApiResult};
use super::records::EventRecord;
use super::store::{EventPage, EventScope, ServiceStore};
use crate::error_code::Code;

/// Tells readers about commits.
#[derive(Default)]
pub(super) struct Hub {
    event: Event,
    closed: Mutex<bool>,
    announced: Mutex<Announced>,
}

/// The state of the service after changes that no event tells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize)]
pub struct Announced {
    /// Workspace revision after the last such change of files.
    pub revision: u64,
    /// Number of sessions that were deleted since the start of the service.
    pub n_deleted_sessions: u64,
}

impl Hub {
    /// Wakes all readers.
    pub(super) fn notify(&self) {
        self.event.notify(usize::MAX);
    }

    /// Tells readers about a change that has no event.
    pub(super) fn announce(&self, change: impl FnOnce(&mut Announced)) {
        change(&mut self.announced.lock());
        self.notify();
    }

    /// Returns the state after the changes that were announced so far.
    pub(super) fn announced(&self) -> Announced {
        *self.announced.lock()
    }

    /// Ends all readers after they have read the remaining events.
    pub(super) fn close(&self) {
        *self.closed.lock() = true;
        self.notify();
    }

    fn is_closed(&self) -> bool {
        *self.closed.lock()
    }

    pub(super) fn listen(&self) -> EventListener {
        self.event.listen()
    }
}

/// Returns the number of an event within a scope.
#[must_use]
pub fn number_of(scope: &EventScope, event: &EventRecord) -> u64 {
    match scope {
        EventScope::All => event.seq,
        EventScope::Session(_) | EventScope::Job(_) => event.cursor,
    }
}

/// Checks that a page continues after `after`.
///
/// # Errors
///
/// [`Code::ResyncRequired`] if events after the number were dropped, or if the number is beyond the newest event.
pub(super) fn continues(page: &EventPage, after: u64) -> ApiResult<()> {
    if after >= page.floor && after <= page.last {
        return Ok(());
    }
    let kept = match page.floor >= page.last {
        _ if after == u64::MAX => "no event with this malformed number".to_owned(),
        true => "no events".to_owned(),
        false => format!("the events from {} to {} only", page.floor + 1, page.last),
    };
    let message = format!("the service has {kept}; read the state again and go on from {}", page.last);
    let data = json!({"floor": page.floor, "last": page.last});
    Err(ApiError::new(Code::ResyncRequired, message).with_data(data))
}

/// Reads the events of a scope in order, present and future.
pub struct EventReader {
    store: Shared<dyn ServiceStore>,
    hub: Shared<Hub>,
    scope: EventScope,
    after: u64,
    /// The last state that was announced to this reader.
    announced: Announced,
    is_over: bool,
}

/// The result of a read.
#[derive(Clone, Debug, PartialEq)]
pub enum Reading {
    /// The next events.
    Events(Vec<EventRecord>),
    /// The events after the number of the reader are gone. The reader goes on after the newest event; the client reads
    /// the state again. The value is the error.
    Resync(Value),
    /// The user changed files or deleted a session, and no event says so. Several such changes become one.
    Changed(Announced),
    /// The scope has ended.
    End,
}

impl EventReader {
    pub(super) fn new(store: Shared<dyn ServiceStore>, hub: Shared<Hub>, scope: EventScope, after: u64) -> Self {
        let announced = hub.announced();
        Self { store, hub, scope, after, announced, is_over: false }
    }

    /// Returns the scope.
    #[must_use]
    pub fn scope(&self) -> &EventScope {
        &self.scope
    }

    /// Returns the number of the last event that was read.
    #[must_use]
    pub fn position(&self) -> u64 {
        self.after
    }

    /// Waits for the next events, at most `limit`. A reader of a job ends after its terminal event.
    ///
    /// # Errors
    ///
    /// The store cannot be read.
    pub async fn next(&mut self, limit: usize) -> ApiResult<Reading> {
        loop {
            // Listening begins before the read, so no commit between read and wait is missed.
            let listener = self.hub.listen();
            let is_closed = self.hub.is_closed();
            let page = self.store.events(&self.scope, self.after, limit).await?;
            if let Err(error) = continues(&page, self.after)
                && !self.is_within_session(&page).await?
            {
                self.after = page.last;
                return Ok(Reading::Resync(serde_json::to_value(error.body()).unwrap_or_default()));
            }
            if let Some(last) = page.events.last() {
                self.after = number_of(&self.scope, last);
                // An undo may have reopened the job.
                self.is_over = self.ends_with(last);
                return Ok(Reading::Events(page.events));
            }
            if self.is_over || is_closed || self.job_is_over().await? {
                return Ok(Reading::End);
            }
            let announced = self.hub.announced();
            if std::mem::replace(&mut self.announced, announced) != announced {
                return Ok(Reading::Changed(announced));
            }
            listener.await;
        }
    }

    /// Returns whether the number is beyond the last event of the job, and not of its session: the events of a job are a part
    /// of those of the session.
    async fn is_within_session(&self, page: &EventPage) -> ApiResult<bool> {
        let EventScope::Job(id) = &self.scope else { return Ok(false) };
        let Some(job) = self.store.job(id).await?.filter(|_| self.after > page.last) else { return Ok(false) };
        let session = self.store.session(&job.session_id).await?;
        Ok(session.is_some_and(|session| self.after <= session.cursor))
    }

    fn ends_with(&self, event: &EventRecord) -> bool {
        matches!(self.scope, EventScope::Job(_)) && is_terminal(&event.kind)
    }

    /// Returns whether the scope is a job that has ended: a client that has its last event waits for nothing.
    async fn job_is_over(&self) -> ApiResult<bool> {
        let EventScope::Job(id) = &self.scope else { return Ok(false) };
        let job = self.store.job(id).await?;
        Ok(job.is_none_or(|job| job.status.is_terminal() && job.cursor <= self.after))
    }
}

/// Returns whether an event is the last of its job.
fn is_terminal(kind: &str) -> bool {
    matches!(kind, "job.completed" | "job.failed" | "job.cancelled")
}
