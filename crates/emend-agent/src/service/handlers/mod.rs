//! The operations: each turns a request into a reply.

mod apply;
#[cfg_attr(not(feature = "canvas"), path = "no_canvas.rs")]
mod canvas;
mod change_log;
mod checkpoints;
mod comments;
mod files;
mod follow_ups;
mod jobs;
mod permissions;
mod review;
mod rewind;
mod sessions;

use emend_llm::Shared;
use serde_json::{Value, json};

use super::api::{ApiError, ApiRequest, ApiResponse, ApiResult, Operation, OperationInfo, check_query, reply, route};
use super::inner::Inner;
use super::store::EventScope;
use crate::error_code::Code;

/// Carries out a request.
pub(super) async fn handle(inner: &Shared<Inner>, request: &ApiRequest) -> ApiResult<ApiResponse> {
    let (info, ids) = route(request.method, &request.path)?;
    check_query(info, &request.query, &[])?;
    let id = ids.first().map(String::as_str).unwrap_or_default();
    let second = ids.get(1).map(String::as_str).unwrap_or_default();
    if inner.shared_jobs().is_some() && shows_files(info.operation) {
        inner.workspace.refresh().await?;
    }
    let done = carry_out(inner, info, (id, second), request).await;
    match info.path.contains("/canvas") {
        true => canvas::with_hashes(inner, done).await,
        false => done,
    }
}

async fn carry_out(
    inner: &Shared<Inner>,
    info: &OperationInfo,
    (id, second): (&str, &str),
    request: &ApiRequest,
) -> ApiResult<ApiResponse> {
    match info.operation {
        Operation::CreateSession => reply(info, &sessions::create(inner, request).await?),
        Operation::ListSessions => reply(info, &sessions::list(inner, request).await?),
        Operation::GetSession => reply(info, &sessions::get(inner, id, request).await?),
        Operation::UpdateSession => reply(info, &sessions::update(inner, id, request).await?),
        Operation::DeleteSession => reply(info, &sessions::remove(inner, id).await?),
        Operation::Run => reply(info, &jobs::run(inner, request).await?),
        Operation::GetJob => reply(info, &jobs::get(inner, id).await?),
        Operation::ListJobs => reply(info, &jobs::list(inner, id).await?),
        Operation::JobEvents => reply(info, &jobs::events(inner, id, request).await?),
        Operation::AllEvents => reply(info, &jobs::all_events(inner, request).await?),
        Operation::JobStream | Operation::AllStream => {
            Err(ApiError::new(Code::Unsupported, "this operation is a stream; read it as server-sent events"))
        }
        Operation::Clarify => reply(info, &jobs::clarify(inner, id, request).await?),
        Operation::Approve => reply(info, &jobs::approve(inner, id, request).await?),
        Operation::Cancel => reply(info, &super::driver::cancel(inner, id).await?),
        Operation::Steer => reply(info, &jobs::steer(inner, id, request).await?),
        Operation::JobTrace => reply(info, &jobs::trace(inner, id).await?),
        Operation::GetOutput => reply(info, &jobs::output(inner, id, second).await?),
        Operation::Apply => reply(info, &apply::apply(inner, request).await?),
        Operation::GetReview => reply(info, &review::get(inner, request).await?),
        Operation::Decide => reply(info, &review::decide(inner, request).await?),
        Operation::PreviewDecision => reply(info, &review::preview(inner, request).await?),
        Operation::Split => reply(info, &review::split(inner, request).await?),
        Operation::EditHunk => reply(info, &review::edit_hunk(inner, request).await?),
        Operation::ChangeLog => reply(info, &change_log::get(inner, request).await?),
        Operation::Undo => reply(info, &review::step(inner, false, request).await?),
        Operation::Redo => reply(info, &review::step(inner, true, request).await?),
        Operation::Save => reply(info, &review::save(inner, request).await?),
        Operation::ListFiles => reply(info, &files::list(inner, request).await?),
        Operation::SearchFiles => reply(info, &files::search(inner, request).await?),
        Operation::GetBuffer => reply(info, &review::buffer(inner, request).await?),
        Operation::UserEdit => reply(info, &review::user_edit(inner, request).await?),
        Operation::ListFollowUps => reply(info, &follow_ups::list(inner, id).await?),
        Operation::AddFollowUp => reply(info, &follow_ups::add(inner, id, request).await?),
        Operation::EditFollowUp => reply(info, &follow_ups::edit(inner, id, second, request).await?),
        Operation::WithdrawFollowUp => reply(info, &follow_ups::withdraw(inner, id, second).await?),
        Operation::SendFollowUp => reply(info, &follow_ups::send(inner, id, second).await?),
        Operation::ListPermissions => reply(info, &permissions::list(inner, id).await?),
        Operation::WithdrawPermission => reply(info, &permissions::withdraw(inner, id, second).await?),
        Operation::AddComment => reply(info, &comments::add(inner, id, request).await?),
        Operation::ListComments => reply(info, &comments::list(inner, id).await?),
        Operation::RemoveComment => reply(info, &comments::remove(inner, id, second).await?),
        Operation::SendComments => reply(info, &comments::send(inner, id).await?),
        Operation::ListCheckpoints => reply(info, &checkpoints::list(inner, request).await?),
        Operation::GetCheckpoint => reply(info, &checkpoints::get(inner, id).await?),
        Operation::Diff3 => reply(info, &checkpoints::diff3(inner, id, request).await?),
        Operation::RollBack => reply(info, &checkpoints::roll_back(inner, id, request).await?),
        Operation::Rewind => reply(info, &rewind::rewind(inner, id, request).await?),
        Operation::UndoRewind => reply(info, &rewind::undo(inner, id, request).await?),
        Operation::GetCanvas
        | Operation::CanvasOpen
        | Operation::CanvasCheckOut
        | Operation::CanvasRenewLease
        | Operation::CanvasCheckIn
        | Operation::CanvasGrep
        | Operation::CanvasReadLines
        | Operation::CanvasReadAll
        | Operation::CanvasApplyPatch
        | Operation::CanvasEditLines
        | Operation::CanvasTakeBack
        | Operation::CanvasUserEdit
        | Operation::CanvasPromote => canvas::handle(inner, info, id, request).await,
        Operation::GetSettings => reply(info, &inner.limits),
    }
}

/// Returns whether a reply shows files or edits, which another server may have changed.
fn shows_files(operation: Operation) -> bool {
    !matches!(
        operation,
        Operation::CreateSession
            | Operation::ListSessions
            | Operation::UpdateSession
            | Operation::Run
            | Operation::ListJobs
            | Operation::JobEvents
            | Operation::AllEvents
            | Operation::Clarify
            | Operation::Approve
            | Operation::Cancel
            | Operation::Steer
            | Operation::JobTrace
            | Operation::GetOutput
            | Operation::GetSettings
    )
}

/// Returns the first message of a stream: state that a client needs although its event may be long past.
pub(super) async fn attached(inner: &Inner, scope: &EventScope) -> ApiResult<Value> {
    let jobs = match scope {
        EventScope::All => inner.store.open_jobs().await?,
        EventScope::Session(id) => {
            inner.store.jobs(id).await?.into_iter().filter(|job| !job.status.is_terminal()).collect()
        }
        EventScope::Job(id) => vec![inner.job(id).await?],
    };
    let last = inner.store.events(scope, u64::MAX, 0).await?.last;
    let open: Vec<Value> = jobs
        .iter()
        .map(|job| {
            json!({
                "job_id": job.job_id,
                "session_id": job.session_id,
                "status": job.status,
                "question": job.question,
                "approvals": job.approvals,
            })
        })
        .collect();
    let state = inner.hub.announced();
    Ok(json!({ "type": "attached", "ts": inner.now(), "last": last, "state": state, "jobs": open }))
}
