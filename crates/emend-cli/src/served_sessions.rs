//! Sessions of `emend serve` in a project that no server has open: their number is limited, and they can be archived.

use std::path::Path;

use emend_agent::error_code::Code;
use emend_agent::service::store::{Commit, NewEvent, SessionQuery};
use emend_agent::service::{ServiceStore, SessionRecord, SessionStatus, Timestamp};
use emend_host::SqliteServiceStore;
use serde_json::json;

use crate::failure::Failure;
use crate::visible::visible;

/// Name of the store in the project's state directory.
pub(super) const STORE: &str = "service.sqlite";

/// Sessions that the failure at the limit names.
const NAMED: usize = 5;

/// The command that archives a session while no server runs.
const COMMAND: &str = "emend sessions archive";

/// The command that does it in a conversation, which holds the project.
pub(super) const IN_CONVERSATION: &str = "/serve archive";

/// Opens the store of a state directory, `None` if no server has run yet.
pub(crate) fn open(directory: &Path) -> Result<Option<SqliteServiceStore>, Failure> {
    let file = directory.join(STORE);
    if !file.is_file() {
        return Ok(None);
    }
    let opened = SqliteServiceStore::open(&file);
    opened.map(Some).map_err(|error| Failure::new(Code::IoError, format!("cannot open {}: {error}", file.display())))
}

/// Returns a failure if the session `id` cannot become active, because `max` others are; 0 = unlimited. It names sessions
/// that `command` would archive.
pub(crate) async fn check_room(store: &dyn ServiceStore, max: u64, id: &str, command: &str) -> Result<(), Failure> {
    let is_active = store.session(id).await?.is_some_and(|session| session.status == SessionStatus::Active);
    if max == 0 || is_active {
        return Ok(());
    }
    let query = SessionQuery { status: Some(SessionStatus::Active), limit: max as usize, ..SessionQuery::default() };
    let page = store.sessions(&query).await?;
    if page.total < max {
        return Ok(());
    }
    let named = |session: &SessionRecord| {
        let title = if session.title.is_empty() { "no title".to_owned() } else { visible(&session.title) };
        format!("{command} {}   ({title})", session.session_id)
    };
    let message = format!("the limit of active sessions of this project's server is {max}; archive one of them first");
    let mut failure = Failure::new(Code::LimitReached, message);
    failure.suggestions = page.sessions.iter().rev().take(NAMED).map(named).collect();
    Err(failure)
}

/// Withdraws a permission of a session.
pub(crate) async fn withdraw(
    store: &dyn ServiceStore,
    mut session: SessionRecord,
    permission_id: &str,
    at: Timestamp,
) -> Result<SessionRecord, Failure> {
    let before = session.grants.len();
    session.grants.retain(|grant| grant.id() != permission_id);
    if session.grants.len() == before {
        return Err(Failure::new(Code::NotFound, format!("the session has no permission {permission_id}")));
    }
    session.updated_at = at;
    let data = json!({ "permission_id": permission_id });
    let events = vec![NewEvent { kind: "permission.withdrawn".to_owned(), job_id: None, data }];
    store.commit(Commit { at, session: session.clone(), events, ..Commit::default() }).await?;
    Ok(session)
}

/// Archives a session, or makes it active again. Returns whether the store has it.
pub(crate) async fn set_status(
    store: &dyn ServiceStore,
    id: &str,
    (status, max): (SessionStatus, u64),
    at: Timestamp,
) -> Result<bool, Failure> {
    let Some(session) = store.session(id).await? else { return Ok(false) };
    if session.status == status {
        return Ok(true);
    }
    if status == SessionStatus::Active {
        check_room(store, max, id, COMMAND).await?;
    }
    let jobs = store.jobs(id).await?;
    if jobs.iter().any(|job| job.status.holds_slot()) {
        let message = format!("session {id} has a job that has not ended; the next start of a server goes on with it");
        return Err(Failure::new(Code::Busy, message));
    }
    let session = SessionRecord { status, updated_at: at, ..session };
    let data = json!({ "title": session.title, "status": session.status, "mode": session.mode });
    let events = vec![NewEvent { kind: "session.updated".to_owned(), job_id: None, data }];
    store.commit(Commit { at, session, events, ..Commit::default() }).await?;
    Ok(true)
}
