//! Follow-ups: instructions that wait for the end of the current job.

use emend_llm::Shared;
use serde_json::json;

use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body};
use crate::service::bodies::{FollowUpList, TextRequest, ToolConfig};
use crate::service::driver::{self, JobOrigin, NewJob};
use crate::service::inner::Inner;
use crate::service::records::{FollowUp, SessionRecord, SessionStatus};
use crate::service::steering::keep;
use crate::service::store::Committed;

fn listed(session: SessionRecord) -> FollowUpList {
    FollowUpList { follow_ups: session.follow_ups, started_job_id: None }
}

pub(super) async fn list(inner: &Inner, id: &str) -> ApiResult<FollowUpList> {
    Ok(listed(inner.session(id).await?))
}

fn text_of(inner: &Inner, request: &ApiRequest) -> ApiResult<String> {
    let TextRequest { text } = body(request)?;
    inner.check_text(&text)?;
    match text.trim() {
        "" => Err(ApiError::new(Code::InvalidArgument, "the instruction is empty; say what to do")),
        text => Ok(text.to_owned()),
    }
}

pub(super) async fn add(inner: &Shared<Inner>, id: &str, request: &ApiRequest) -> ApiResult<FollowUpList> {
    let text = text_of(inner, request)?;
    let max = inner.limits.max_follow_ups;
    let follow_up = FollowUp { follow_up_id: inner.new_id("fu_"), text, created_at: inner.now() };
    inner
        .change(id, |session, changes| {
            if session.status == SessionStatus::Archived {
                return Err(ApiError::new(Code::Conflict, "the session is archived; make it active first"));
            }
            if max > 0 && session.follow_ups.len() as u64 >= max {
                let message = format!("{max} follow-ups wait, which is the limit; withdraw one");
                return Err(ApiError::new(Code::LimitReached, message));
            }
            changes.session_event("follow_up.queued", json!({ "follow_up": follow_up }));
            session.follow_ups.push(follow_up);
            Ok(())
        })
        .await?;
    driver::heal(inner, id).await?;
    // The instruction is queued, whatever keeps it from starting now.
    let started_job_id = driver::go_on(inner, id).await;
    Ok(FollowUpList { started_job_id, ..listed(inner.session(id).await?) })
}

pub(super) async fn edit(inner: &Inner, id: &str, follow_up_id: &str, request: &ApiRequest) -> ApiResult<FollowUpList> {
    let text = text_of(inner, request)?;
    let (_, committed) = inner
        .change(id, |session, changes| {
            let found = session.follow_ups.iter_mut().find(|follow_up| follow_up.follow_up_id == follow_up_id);
            let found = found.ok_or_else(|| ApiError::unknown("follow-up", follow_up_id))?;
            found.text = text;
            changes.session_event("follow_up.changed", json!({ "follow_up": found }));
            Ok(())
        })
        .await?;
    Ok(listed(committed.session))
}

/// Returns the job of a session on which another server works.
#[cfg(not(target_family = "wasm"))]
pub(super) async fn job_elsewhere(inner: &Inner, session: &SessionRecord) -> ApiResult<Option<String>> {
    let Some(id) = session.last_job_id.as_ref().filter(|_| inner.shared_jobs().is_some()) else { return Ok(None) };
    let job = inner.store.job(id).await?;
    Ok(job.filter(|job| job.status.holds_slot() && job.question.is_none()).map(|job| job.job_id))
}

/// Turns a follow-up into a message to a running job.
async fn keep_for(inner: &Inner, job_id: &str, found: &FollowUp) -> ApiResult<Committed> {
    let id = &found.follow_up_id;
    let (_, committed) = inner
        .change_job(job_id, |session, job, changes| {
            keep(job, changes, &found.text)?;
            session.follow_ups.retain(|follow_up| follow_up.follow_up_id != *id);
            changes.session_event("follow_up.sent", json!({ "follow_up_id": id }));
            Ok(())
        })
        .await?;
    Ok(committed)
}

pub(super) async fn withdraw(inner: &Inner, id: &str, follow_up_id: &str) -> ApiResult<FollowUpList> {
    let (_, committed) = inner
        .change(id, |session, changes| {
            let before = session.follow_ups.len();
            session.follow_ups.retain(|follow_up| follow_up.follow_up_id != follow_up_id);
            if session.follow_ups.len() == before {
                return Err(ApiError::unknown("follow-up", follow_up_id));
            }
            changes.session_event("follow_up.withdrawn", json!({ "follow_up_id": follow_up_id }));
            Ok(())
        })
        .await?;
    Ok(listed(committed.session))
}

/// Gives a queued instruction to the running job; an idle session starts it.
pub(super) async fn send(inner: &Shared<Inner>, id: &str, follow_up_id: &str) -> ApiResult<FollowUpList> {
    let session = inner.session(id).await?;
    let found = session.follow_ups.iter().find(|follow_up| follow_up.follow_up_id == follow_up_id);
    let found = found.ok_or_else(|| ApiError::unknown("follow-up", follow_up_id))?.clone();
    let slot = inner.slot(id);
    let running = slot.running.lock().clone();
    let agent = slot.agent.lock().clone();
    let Some((agent, running)) = agent.zip(running) else {
        #[cfg(not(target_family = "wasm"))]
        if let Some(job_id) = job_elsewhere(inner, &session).await? {
            // The server that works on the job passes the message on.
            return Ok(listed(keep_for(inner, &job_id, &found).await?.session));
        }
        let new = NewJob {
            session_id: id,
            instruction: &found.text,
            context_rows: Vec::new(),
            tool_config: ToolConfig::default(),
            draft_hash: None,
            origin: JobOrigin::SentFollowUp(found.follow_up_id.clone()),
        };
        let started_job_id = Some(driver::start(inner, new).await?.job_id);
        return Ok(FollowUpList { started_job_id, ..listed(inner.session(id).await?) });
    };
    let committed = keep_for(inner, &running.job_id, &found).await?;
    running.passed.pass_on(&agent, &inner.job(&running.job_id).await?);
    Ok(listed(committed.session))
}
