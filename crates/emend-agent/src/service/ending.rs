//! The end of a job: its status, its error and its only terminal event.

use serde_json::{Value, json};

use super::api::ApiError;
use super::changes::Changes;
use super::records::{ErrorBody, JobRecord, JobStatus, SessionRecord};
use super::time::Timestamp;
use crate::error_code::Code;
use crate::event::EndReason;

/// Returns a limit of a job, or of its session, that is used up, with its value.
pub(super) fn used_limit(session: &SessionRecord, job: &JobRecord) -> Option<(&'static str, Value)> {
    let n_calls = job.n_tool_calls - job.n_tool_calls_before;
    if job.max_tool_calls > 0 && n_calls >= job.max_tool_calls {
        return Some(("tool_calls", json!(job.max_tool_calls)));
    }
    let budgets = [(&session.job_budget, &job.usage), (&session.budget, &session.spent)];
    let (budget, limit) =
        budgets.into_iter().find_map(|(budget, used)| budget.used_up(used).map(|limit| (budget, limit)))?;
    Some((limit, serde_json::to_value(budget).unwrap_or_default()[limit].take()))
}

/// Returns the reason of a job that ended with the service.
pub(super) fn shut_down() -> ErrorBody {
    let message = "the service shut down during this job; its edits so far are in review";
    ApiError::new(Code::Aborted, message).body()
}

pub(super) fn error_of(reason: EndReason) -> ErrorBody {
    let (code, message) = match reason {
        EndReason::TurnLimit => (Code::LimitReached, "the limit on rounds was reached"),
        EndReason::Budget => (Code::LimitReached, "the budget is used up"),
        EndReason::ContextLength => (Code::ContextLength, "the conversation exceeds the model's context window"),
        _ => (Code::Internal, "the run ended without a reason"),
    };
    ApiError::new(code, message).body()
}

/// Ends a job as completed.
pub(super) fn complete(job: &mut JobRecord, changes: &mut Changes, now: Timestamp) {
    end_with(job, changes, JobStatus::Completed, now, None);
}

/// Ends a job: sets its status and adds its only terminal event. A job that an undo reopened has had it.
pub(super) fn end_with(
    job: &mut JobRecord,
    changes: &mut Changes,
    status: JobStatus,
    now: Timestamp,
    error: Option<ErrorBody>,
) {
    if job.status.is_terminal() {
        return;
    }
    job.status = status;
    job.finished_at = Some(now);
    job.question = None;
    job.approvals.clear();
    let is_again = std::mem::replace(&mut job.control.has_ended, true);
    let mut data = json!({ "usage": job.usage, "answer": job.answer });
    if let Some(error) = &error {
        data["error"] = serde_json::to_value(error).unwrap_or_default();
    }
    job.error = error;
    if is_again {
        data["status"] = json!(status);
        changes.event(job, "job.settled", data);
    } else {
        changes.event(job, &format!("job.{}", status.name()), data);
    }
}
