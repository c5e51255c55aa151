//! Jobs: run, read, events, questions, approvals, steering, trace.

use emend_llm::Shared;
use serde_json::Value;

use crate::approval::Approval;
use crate::error_code::Code;
use crate::service::api::{ApiError, ApiRequest, ApiResult, body, page_limit, parameter};
use crate::service::bodies::{
    ApproveDecision, ApproveRequest, ClarifyRequest, Done, EventList, JobEvents, JobList, JobState, JobTrace,
    OutputBody, RunReply, RunRequest, TextRequest, TraceStep,
};
use crate::service::driver::{self, JobOrigin, NewJob};
use crate::service::events::continues;
use crate::service::inner::Inner;
use crate::service::records::{JobDecision, JobRecord, JobStatus};
use crate::service::steering::{keep, not_running};
use crate::service::store::{EventPage, EventScope};

/// Default and maximum number of events of a reply.
const EVENTS: u64 = 500;
const EVENTS_MAX: u64 = 5_000;

pub(super) async fn run(inner: &Shared<Inner>, request: &ApiRequest) -> ApiResult<RunReply> {
    let wanted: RunRequest = body(request)?;
    let cursor = inner.session(&wanted.session_id).await?.cursor;
    let new = NewJob {
        session_id: &wanted.session_id,
        instruction: &wanted.instruction,
        context_rows: wanted.context_rows,
        tool_config: wanted.tool_config,
        draft_hash: wanted.draft_hash.as_deref(),
        origin: JobOrigin::Request,
    };
    let job = driver::start(inner, new).await?;
    Ok(RunReply { job_id: job.job_id, status: job.status, cursor })
}

pub(super) async fn get(inner: &Inner, id: &str) -> ApiResult<JobState> {
    let job = inner.job(id).await?;
    driver::heal(inner, &job.session_id).await?;
    let job = inner.job(id).await?;
    let diff_bundle = if inner.is_in_review(&job) { inner.diff_bundle(&job)? } else { Value::Null };
    Ok(JobState { proposed_edits: inner.proposed_edits(&job)?, diff_bundle, job: job.shown() })
}

pub(super) async fn list(inner: &Inner, session_id: &str) -> ApiResult<JobList> {
    inner.session(session_id).await?;
    Ok(JobList { jobs: inner.store.jobs(session_id).await?.into_iter().map(JobRecord::shown).collect() })
}

pub(super) async fn events(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<JobEvents> {
    let job = inner.job(id).await?;
    let after = cursor(request, "cursor");
    let limit = page_limit(request, EVENTS, EVENTS_MAX)?;
    let page = inner.store.events(&EventScope::Job(id.to_owned()), after, limit).await?;
    // The events of a job are a part of those of its session, so a cursor beyond the last one can be valid.
    let last = inner.session(&job.session_id).await?.cursor;
    continues(&EventPage { last: last.max(page.last), ..page.clone() }, after)?;
    let next_cursor = page.events.last().map_or(after, |event| event.cursor);
    Ok(JobEvents { job_id: job.job_id, status: job.status, next_cursor, events: page.events })
}

pub(super) async fn all_events(inner: &Inner, request: &ApiRequest) -> ApiResult<EventList> {
    let after = cursor(request, "after");
    let limit = page_limit(request, EVENTS, EVENTS_MAX)?;
    let page = inner.store.events(&EventScope::All, after, limit).await?;
    continues(&page, after)?;
    // The newest events may be those of a deleted session, which are gone.
    let is_whole = page.events.len() < limit;
    let next = page.events.last().filter(|_| !is_whole).map_or(page.last, |event| event.seq);
    Ok(EventList { next, events: page.events })
}

/// Returns the number of the event after which a page starts. A malformed one is answered as one that is no longer kept:
/// the client reads the state again.
fn cursor(request: &ApiRequest, name: &str) -> u64 {
    parameter(request, name).map_or(0, |text| text.trim().parse().unwrap_or(u64::MAX))
}

pub(super) async fn clarify(inner: &Shared<Inner>, id: &str, request: &ApiRequest) -> ApiResult<JobRecord> {
    let ClarifyRequest { question_id, answer } = body(request)?;
    driver::clarify(inner, id, &question_id, &answer).await
}

pub(super) async fn approve(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<JobRecord> {
    let wanted: ApproveRequest = body(request)?;
    let job = inner.job(id).await?;
    let is_shared = inner.shared_jobs().is_some();
    let agent = inner.slot(&job.session_id).agent.lock().clone();
    if agent.is_none() && !is_shared {
        return Err(ApiError::new(Code::Conflict, "the job is not running"));
    }
    let decision = match wanted.decision {
        ApproveDecision::Allow => JobDecision::Allow,
        ApproveDecision::AllowAlways => JobDecision::AllowAlways,
        ApproveDecision::Deny => JobDecision::Deny(wanted.reason.clone()),
    };
    // Only the first of several decisions finds the request.
    let (_, committed) = inner
        .change_job(id, |_, job, changes| {
            let n_open = job.approvals.len();
            job.approvals.retain(|open| open.tool_call_id != wanted.tool_call_id);
            if job.approvals.len() == n_open {
                let message = format!("no tool call {:?} of the job waits for approval", wanted.tool_call_id);
                return Err(ApiError::new(Code::Conflict, message));
            }
            if job.approvals.is_empty() {
                job.status = JobStatus::Running;
            }
            if is_shared {
                // The server that goes on with the job finds it there.
                job.control.decisions.insert(wanted.tool_call_id.clone(), decision);
                changes.wake(job);
            }
            Ok(())
        })
        .await?;
    let approval = match wanted.decision {
        ApproveDecision::Allow => Approval::Allow,
        ApproveDecision::AllowAlways => Approval::AllowAlways,
        ApproveDecision::Deny => Approval::Deny { reason: wanted.reason },
    };
    if let Some(agent) = agent {
        agent.desk.answer(&wanted.tool_call_id, approval);
    }
    Ok(committed.jobs.into_iter().next().unwrap_or(job).shown())
}

pub(super) async fn steer(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<Done> {
    let TextRequest { text } = body(request)?;
    inner.check_text(&text)?;
    let job = inner.job(id).await?;
    let slot = inner.slot(&job.session_id);
    let running = slot.running.lock().clone().filter(|running| running.job_id == id);
    let agent = slot.agent.lock().clone();
    let here = running.zip(agent);
    if here.is_none() && inner.shared_jobs().is_none() {
        return Err(not_running());
    }
    inner.change_job(id, |_, job, changes| keep(job, changes, &text)).await?;
    if let Some((running, agent)) = here {
        running.passed.pass_on(&agent, &inner.job(id).await?);
    }
    Ok(Done { ok: true })
}

pub(super) async fn trace(inner: &Inner, id: &str) -> ApiResult<JobTrace> {
    let job = inner.job(id).await?;
    let scope = EventScope::Job(id.to_owned());
    let (mut steps, mut after, mut began) = (Vec::new(), 0, None);
    loop {
        let page = inner.store.events(&scope, after, EVENTS_MAX as usize).await?;
        let Some(last) = page.events.last() else { break };
        after = last.cursor;
        for event in page.events.into_iter().filter(|event| !event.kind.ends_with(".delta")) {
            let began = *began.get_or_insert(event.ts);
            let at_ms = event.ts.0.saturating_sub(began.0);
            let summary = summary(&event.data);
            steps.push(TraceStep { cursor: event.cursor, kind: event.kind, ts: event.ts, at_ms, summary });
        }
    }
    Ok(JobTrace { job_id: job.job_id, steps })
}

pub(super) async fn output(inner: &Inner, id: &str, output_ref: &str) -> ApiResult<OutputBody> {
    let job = inner.job(id).await?;
    let unknown = || ApiError::unknown("output", output_ref);
    // Outputs are named after their session: other documents have other names.
    let suffix =
        output_ref.strip_prefix(&job.session_id).and_then(|rest| rest.strip_prefix('.')).ok_or_else(unknown)?;
    if suffix.len() != 16 || !suffix.bytes().all(|byte| byte.is_ascii_hexdigit()) {
        return Err(unknown());
    }
    let output = inner.conversations.load(output_ref).await?.ok_or_else(unknown)?;
    Ok(OutputBody { output_ref: output_ref.to_owned(), output })
}

/// Returns the fields of an event's data in one line.
fn summary(data: &Value) -> String {
    const FIELD_CHARS_MAX: usize = 120;
    let Value::Object(fields) = data else { return data.to_string() };
    let field = |(name, value): (&String, &Value)| {
        let text = value.as_str().map_or_else(|| value.to_string(), str::to_owned);
        let line = text.replace('\n', " ");
        let cut = line.char_indices().nth(FIELD_CHARS_MAX).map(|(at, _)| format!("{}…", &line[..at]));
        format!("{name}={}", cut.unwrap_or(line))
    };
    fields.iter().filter(|(_, value)| !value.is_null()).map(field).collect::<Vec<_>>().join(" ")
}
