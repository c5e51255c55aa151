//! Whether a session may start a job: it is active and idle, and its budget is not used up.

use serde_json::json;

use super::api::{ApiError, ApiResult};
use super::inner::Inner;
use super::records::{SessionRecord, SessionStatus};
use crate::error_code::Code;

/// Checks that a session is idle and may start a job.
pub(super) async fn check_can_start(inner: &Inner, session: &SessionRecord) -> ApiResult<()> {
    if session.status == SessionStatus::Archived {
        return Err(ApiError::new(Code::Conflict, "the session is archived; make it active first"));
    }
    // In a browser one service works, and completes a rewind before it starts a job.
    #[cfg(not(target_family = "wasm"))]
    if session.rewinding.is_some() {
        return Err(ApiError::new(Code::Busy, "the session goes back to an earlier job; try again"));
    }
    if let Some(id) = &session.last_job_id
        && let Some(job) = inner.store.job(id).await?
        && job.status.holds_slot()
    {
        let message = "the session works on another job; wait for it, cancel it, or queue a follow-up";
        return Err(ApiError::new(Code::Busy, message).with_data(json!({ "job_id": job.job_id, "status": job.status })));
    }
    if let Some(limit) = session.budget.used_up(&session.spent) {
        let message = format!("the budget of the session is used up: {limit}; raise it to go on");
        return Err(ApiError::new(Code::LimitReached, message).with_data(json!({ "limit": limit })));
    }
    Ok(())
}
