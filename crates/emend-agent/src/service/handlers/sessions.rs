//! Sessions: create, list, search, change, remove.

use emend_llm::{ContentPart, Shared};
use serde_json::{Value, json};

use crate::error_code::Code;
use crate::history::{HistoryEntry, HistoryEntryKind};
use crate::service::api::{ApiError, ApiRequest, ApiResult, body, page_limit, parameter};
use crate::service::bodies::{ChatMessage, CreateSession, Done, SessionList, SessionSnapshot, UpdateSession};
use crate::service::canvas_bodies::CanvasFlags;
use crate::service::changes::Changes;
use crate::service::driver;
use crate::service::inner::Inner;
use crate::service::records::{JobRecord, SessionRecord, SessionStatus};
use crate::service::store::{EventScope, SessionQuery};
use crate::service::text::of_rows;
use crate::service::time::Timestamp;
use crate::store::{read_document, remove_session};

/// Default and maximum number of sessions of a page.
const PAGE: u64 = 50;
const PAGE_MAX: u64 = 500;

pub(super) async fn create(inner: &Shared<Inner>, request: &ApiRequest) -> ApiResult<SessionRecord> {
    let wanted: CreateSession = body(request)?;
    check_canvas(inner, wanted.canvas)?;
    let _creating = inner.creating.lock().await;
    inner.check_session_limit().await?;
    let title = wanted.title.unwrap_or_default();
    inner.check_text(&title)?;
    check_budgets(&[wanted.budget.cost_usd, wanted.job_budget.cost_usd])?;
    let now = inner.now();
    let session = SessionRecord {
        session_id: inner.new_id(""),
        title: title.trim().to_owned(),
        created_at: now,
        updated_at: now,
        mode: wanted.mode,
        tools: wanted.tools,
        canvas: wanted.canvas,
        model: wanted.model.unwrap_or_else(|| inner.host.default_model()),
        agent_mode: wanted.agent_mode,
        confirm_before_edits: wanted.confirm_before_edits,
        context_rows: wanted.context_rows,
        budget: wanted.budget.within(&inner.host.session_budget()),
        job_budget: wanted.job_budget.within(&inner.host.job_budget()),
        ..SessionRecord::default()
    };
    // A model that cannot be opened is refused here and not by the first job.
    inner.check_model(&session)?;
    let mut changes = Changes { text: of_rows(&session.context_rows), ..Changes::default() };
    changes.session_event("session.created", json!({ "title": session.title, "mode": session.mode }));
    Ok(inner.add_session(session, changes).await?.session)
}

/// Refuses the canvas tools if the host has no canvas.
fn check_canvas(inner: &Inner, wanted: CanvasFlags) -> ApiResult<()> {
    match wanted.tools {
        true => inner.check_canvas().map_err(|error| ApiError::new(Code::Configuration, error.message)),
        false => Ok(()),
    }
}

fn check_budgets(costs: &[f64]) -> ApiResult<()> {
    match costs.iter().all(|cost| cost.is_finite() && *cost >= 0.0) {
        true => Ok(()),
        false => Err(ApiError::new(Code::InvalidArgument, "cost_usd is a number of dollars, at least 0")),
    }
}

pub(super) async fn list(inner: &Inner, request: &ApiRequest) -> ApiResult<SessionList> {
    let status = match parameter(request, "status") {
        None => None,
        Some("active") => Some(SessionStatus::Active),
        Some("archived") => Some(SessionStatus::Archived),
        Some(other) => {
            let message = format!("status={other}: the status is active or archived");
            return Err(ApiError::new(Code::InvalidArgument, message));
        }
    };
    let after = parameter(request, "after").map(|text| {
        let parsed = text.split_once('_').and_then(|(time, id)| Some((Timestamp::parse(time)?, id.to_owned())));
        parsed.ok_or_else(|| ApiError::new(Code::InvalidArgument, "after is the `next` of the page before"))
    });
    let query = SessionQuery {
        text: parameter(request, "query").unwrap_or_default().trim().to_owned(),
        status,
        after: after.transpose()?,
        limit: page_limit(request, PAGE, PAGE_MAX)?,
    };
    let page = inner.store.sessions(&query).await?;
    let next = page.next.map(|(time, id)| format!("{time}_{id}"));
    Ok(SessionList { sessions: page.sessions.into_iter().map(SessionRecord::shown).collect(), next, total: page.total })
}

pub(super) async fn get(inner: &Inner, id: &str, request: &ApiRequest) -> ApiResult<SessionSnapshot> {
    let has_hidden = match parameter(request, "hidden") {
        None | Some("false") => false,
        Some("true") => true,
        Some(_) => return Err(ApiError::new(Code::InvalidArgument, "hidden is true or false")),
    };
    // First: a client that goes on after this number may read an event whose effect it has seen, but misses none.
    let seq = inner.store.events(&EventScope::All, u64::MAX, 0).await?.last;
    let session = inner.session(id).await?;
    let job = match &session.last_job_id {
        Some(id) => inner.store.job(id).await?,
        None => None,
    };
    let runs = inner.store.jobs(id).await?.into_iter().flat_map(|job| job.runs);
    let runs: Vec<u64> = runs.chain(session.runs_without_job()).collect();
    let files = inner.pending_files(&runs);
    let pending_review =
        if files.is_empty() { Value::Null } else { json!({ "files": files, "revision": inner.workspace.revision() }) };
    Ok(SessionSnapshot {
        chat: chat(inner, id, has_hidden).await?,
        session: session.shown(),
        job: job.map(JobRecord::shown),
        pending_review,
        seq,
    })
}

/// Returns the conversation: of the open agent, or as saved.
async fn chat(inner: &Inner, id: &str, has_hidden: bool) -> ApiResult<Vec<ChatMessage>> {
    let agent = inner.slot(id).agent.lock().clone();
    let entries = match agent {
        Some(agent) => agent.session.entries(),
        None => match inner.conversations.load(id).await? {
            Some(text) => {
                let document = read_document(&text);
                document.map_err(|error| ApiError::new(error.code(), error.to_string()))?.entries
            }
            None => Vec::new(),
        },
    };
    let is_shown = |entry: &&HistoryEntry| has_hidden || entry.kind != HistoryEntryKind::Hidden;
    Ok(entries.iter().filter(is_shown).filter_map(message).collect())
}

fn message(entry: &HistoryEntry) -> Option<ChatMessage> {
    let role = match entry.kind {
        HistoryEntryKind::User => "user",
        HistoryEntryKind::Assistant => "assistant",
        HistoryEntryKind::Steering => "steering",
        HistoryEntryKind::ToolResults => "tool",
        HistoryEntryKind::Hidden => "hidden",
        HistoryEntryKind::System => return None,
    };
    let mut tools = Vec::new();
    let mut results = Vec::new();
    for part in &entry.message.content {
        match part {
            ContentPart::ToolCall(call) => tools.push(call.name.clone()),
            ContentPart::ToolResult(result) => {
                results.push(format!("{}: {}", result.tool_call_id, if result.is_error { "failed" } else { "done" }));
            }
            _ => {}
        }
    }
    let text = if role == "tool" { results.join(", ") } else { entry.message.text() };
    Some(ChatMessage { role: role.to_owned(), text, at: Timestamp(entry.at_ms), tools })
}

pub(super) async fn update(inner: &Shared<Inner>, id: &str, request: &ApiRequest) -> ApiResult<SessionRecord> {
    let wanted: UpdateSession = body(request)?;
    if let Some(title) = &wanted.title {
        inner.check_text(title)?;
    }
    check_budgets(&[wanted.budget.unwrap_or_default().cost_usd, wanted.job_budget.unwrap_or_default().cost_usd])?;
    check_canvas(inner, wanted.canvas.unwrap_or_default())?;
    let slot = inner.slot(id);
    // No job starts in between.
    let starting = slot.starting.lock().await;
    let creating = inner.creating.lock().await;
    let before = inner.session(id).await?;
    let is_running = inner.is_at_work(&before).await?;
    let mode_before = before.mode;
    let has_model = wanted.model.is_some() || wanted.agent_mode.is_some();
    let needs_idle =
        wanted.mode.is_some() || wanted.canvas.is_some() || has_model || wanted.status == Some(SessionStatus::Archived);
    if is_running && needs_idle {
        return Err(ApiError::new(Code::Busy, "a job runs; wait for it or cancel it"));
    }
    if wanted.status == Some(SessionStatus::Active) && before.status == SessionStatus::Archived {
        inner.check_session_limit().await?;
    }
    let model = wanted.model.clone().unwrap_or_else(|| before.model.clone());
    let agent_mode = wanted.agent_mode.or(before.agent_mode);
    if has_model {
        inner.check_model(&SessionRecord { model: model.clone(), agent_mode, ..before })?;
    }
    let lifts_limits = wanted.budget.is_some() || wanted.job_budget.is_some() || wanted.status.is_some();
    let (_, committed) = inner
        .change(id, |session, changes| {
            let UpdateSession { title, status, mode, canvas, confirm_before_edits, budget, job_budget, .. } = wanted;
            if let Some(title) = title {
                session.title = title.trim().to_owned();
            }
            session.status = status.unwrap_or(session.status);
            let mode = mode.unwrap_or(session.mode);
            if mode != session.mode {
                // They were given for another way to work: the mode `ask` would not ask.
                session.grants.clear();
            }
            session.mode = mode;
            session.canvas = canvas.unwrap_or(session.canvas);
            session.confirm_before_edits = confirm_before_edits.unwrap_or(session.confirm_before_edits);
            session.budget = budget.unwrap_or(session.budget);
            session.job_budget = job_budget.unwrap_or(session.job_budget).within(&inner.host.job_budget());
            (session.model, session.agent_mode) = (model, agent_mode);
            if let Some(rows) = wanted.context_rows {
                changes.text = of_rows(&rows);
                session.context_rows = rows;
            }
            let data = json!({ "title": session.title, "status": session.status, "mode": session.mode });
            changes.session_event("session.updated", data);
            Ok(())
        })
        .await?;
    if mode_before != committed.session.mode {
        // The open agent knows the permissions, too.
        *slot.agent.lock() = None;
    }
    drop((starting, creating));
    // Instructions may have waited for it.
    if lifts_limits && !is_running && !driver::is_stopped(inner, &committed.session).await? {
        driver::go_on(inner, id).await;
    }
    Ok(committed.session.shown())
}

pub(super) async fn remove(inner: &Inner, id: &str) -> ApiResult<Done> {
    let slot = inner.slot(id);
    // No job starts in between, and no change brings the session back.
    let _starting = slot.starting.lock().await;
    let _order = slot.order.lock().await;
    let session = inner.session(id).await?;
    if inner.is_at_work(&session).await? {
        return Err(ApiError::new(Code::Busy, "a job runs; wait for it or cancel it"));
    }
    inner.store.remove_session(id).await?;
    remove_session(&*inner.conversations, id).await?;
    inner.slots.lock().remove(id);
    if inner.shared_jobs().is_none() {
        // Servers that share jobs hear of it from the database, this one too.
        inner.hub.announce(|state| state.n_deleted_sessions += 1);
    }
    Ok(Done { ok: true })
}
