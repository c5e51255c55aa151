//! Changes: each is one call of a function of the database.

use std::collections::BTreeMap;

use emend_agent::service::store::{Commit, Committed, Work, WorkChange, search_form};
use emend_agent::service::{EventRecord, JobRecord, SessionStatus};
use emend_agent::store::StoreError;
use serde::Deserialize;
use tokio_postgres::types::ToSql;

use super::read::{bigint, no_nul};
use crate::database::{Database, change_id};
use crate::error::Failure;
use crate::jobs::encoded;
use crate::lock::proof_of;

const COMMIT_WORK: &str = "SELECT CASE WHEN emend.check_lock($8::text::uuid, $26, $27::text::uuid, $28) THEN
    emend.commit_work($1, $2::text::uuid, $3, $4, $5, $6, $7::text::jsonb, $8::text::uuid,
    $9, $10, $11, $12, $13, $14::text::json, $15, $16, $17, $18, $19, $20::text[]::json[], $21, $22,
    $23::text[]::json[], $24, $25)::text END";

const REMOVE: &str = "SELECT emend.remove_session($1::text::uuid, $2, $3)::text";

/// Returns the value of the column of a status.
pub(super) fn status_name(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "active",
        SessionStatus::Archived => "archived",
    }
}

/// The numbers before the events of a commit.
#[derive(Deserialize)]
struct CommitAnswer {
    cursor: u64,
    seq: u64,
    /// Cursors of the jobs that still exist.
    jobs: BTreeMap<String, u64>,
}

#[derive(Deserialize)]
struct RemoveAnswer {
    existed: bool,
}

/// A commit as the columns of the function's parameters.
struct Columns {
    session: String,
    title: String,
    text: String,
    jobs: Vec<String>,
    job_sessions: Vec<String>,
    job_open: Vec<bool>,
    job_cursors: Vec<i64>,
    job_bodies: Vec<String>,
    kinds: Vec<String>,
    event_jobs: Vec<Option<String>>,
    data: Vec<String>,
}

impl Columns {
    fn of(commit: &Commit) -> Result<Self, serde_json::Error> {
        let Commit { session, jobs, events, text, .. } = commit;
        Ok(Self {
            session: serde_json::to_string(session)?,
            title: search_form(&session.title),
            text: search_form(text),
            jobs: jobs.iter().map(|job| job.job_id.clone()).collect(),
            job_sessions: jobs.iter().map(|job| job.session_id.clone()).collect(),
            job_open: jobs.iter().map(|job| !job.status.is_terminal()).collect(),
            job_cursors: jobs.iter().map(|job| bigint(job.cursor)).collect(),
            job_bodies: jobs.iter().map(serde_json::to_string).collect::<Result<_, _>>()?,
            kinds: events.iter().map(|event| event.kind.clone()).collect(),
            event_jobs: events.iter().map(|event| event.job_id.clone()).collect(),
            data: events.iter().map(|event| serde_json::to_string(&event.data)).collect::<Result<_, _>>()?,
        })
    }
}

/// Returns an error for a commit with an id that the database cannot hold.
fn check_ids(database: &Database, commit: &Commit) -> Result<(), StoreError> {
    let events = commit.events.iter();
    let ids = commit.jobs.iter().flat_map(|job| [&job.job_id, &job.session_id]);
    let ids = ids.chain([&commit.session.session_id]).chain(&commit.purged_jobs);
    let mut ids = ids.chain(events.clone().map(|event| &event.kind)).chain(events.filter_map(|e| e.job_id.as_ref()));
    match ids.find(|id| !no_nul(id)) {
        Some(id) => {
            let reason = format!("{id:?} contains a NUL, which the database cannot hold");
            Err(StoreError::Io { name: database.name().to_owned(), reason })
        }
        None => Ok(()),
    }
}

/// The change of the queue as the columns of the function's parameters.
#[derive(Default)]
struct WorkColumns {
    run: Option<String>,
    steps: Vec<String>,
    results: Vec<String>,
    kind: &'static str,
    key: String,
    payload: Option<String>,
}

impl WorkColumns {
    fn of(work: Option<&Work>) -> Self {
        let Some(Work { job_id, claim, lock: _, steps, change }) = work else { return Self::default() };
        let (kind, key, payload) = match change {
            None => ("", String::new(), None),
            Some(WorkChange::Submit { key }) => {
                ("submit", key.clone(), Some(encoded(&serde_json::json!({ "job_id": job_id }))))
            }
            Some(WorkChange::Answer { answer }) => ("answer", answer.clone(), Some("null".to_owned())),
            Some(WorkChange::Wait { answer }) => ("wait", answer.clone(), None),
            Some(WorkChange::End { result }) => ("end", String::new(), Some(encoded(result))),
        };
        Self {
            run: claim.clone(),
            steps: steps.iter().map(|(name, _)| name.clone()).collect(),
            results: steps.iter().map(|(_, result)| encoded(result)).collect(),
            kind,
            key,
            payload,
        }
    }
}

pub(super) async fn commit(database: &Database, commit: Commit) -> Result<Committed, StoreError> {
    check_ids(database, &commit)?;
    let failed = |error: serde_json::Error| Failure::from(error).into_store_error(database.name());
    let columns = Columns::of(&commit).map_err(failed)?;
    let work = WorkColumns::of(commit.work.as_deref());
    let change = change_id().map_err(|reason| StoreError::Io { name: database.name().to_owned(), reason })?;
    let session = &commit.session;
    // A commit without work is one of a caller that orders its changes itself.
    let cursor = commit.work.as_ref().map(|_| bigint(session.cursor));
    let lock = commit.work.as_ref().and_then(|work| work.lock.as_deref()).and_then(proof_of);
    let (key, holder, number) = match lock {
        Some((key, holder, number)) => (Some(key), Some(holder), Some(number)),
        None => (None, None, None),
    };
    let params: [&(dyn ToSql + Sync); 28] = [
        &cursor,
        &work.run,
        &work.steps,
        &work.results,
        &work.kind,
        &work.key,
        &work.payload,
        &change,
        &bigint(commit.at.0),
        &session.session_id,
        &bigint(session.updated_at.0),
        &status_name(session.status),
        &columns.title,
        &columns.session,
        &columns.text,
        &columns.jobs,
        &columns.job_sessions,
        &columns.job_open,
        &columns.job_cursors,
        &columns.job_bodies,
        &columns.kinds,
        &columns.event_jobs,
        &columns.data,
        &commit.purged_jobs,
        &bigint(commit.events_per_job_max),
        &key,
        &holder,
        &number,
    ];
    let answer = database.call(COMMIT_WORK, &params).await;
    let answer = answer.map_err(|failure| failure.into_store_error(database.name()))?;
    Ok(committed(commit, &answer))
}

/// Returns the records as stored.
fn committed(commit: Commit, answer: &CommitAnswer) -> Committed {
    let Commit { at, mut session, jobs, events, .. } = commit;
    session.cursor = answer.cursor + events.len() as u64;
    let mut newest: BTreeMap<&str, &JobRecord> = BTreeMap::new();
    for job in &jobs {
        newest.insert(&job.job_id, job);
    }
    let stored = jobs.iter().filter_map(|job| {
        let cursor = *answer.jobs.get(&job.job_id)?;
        Some(JobRecord { cursor, ..(*newest.get(job.job_id.as_str())?).clone() })
    });
    let jobs = stored.collect();
    let session_id = session.session_id.clone();
    let numbered = (1..).zip(events).map(|(n, event)| EventRecord {
        cursor: answer.cursor + n,
        seq: answer.seq + n,
        kind: event.kind,
        ts: at,
        session_id: session_id.clone(),
        job_id: event.job_id,
        data: event.data,
    });
    Committed { jobs, events: numbered.collect(), session }
}

pub(super) async fn remove_session(database: &Database, id: &str) -> Result<bool, StoreError> {
    if !no_nul(id) {
        return Ok(false);
    }
    let change = change_id().map_err(|reason| StoreError::Io { name: database.name().to_owned(), reason })?;
    let answer = database.call::<RemoveAnswer>(REMOVE, &[&change, &None::<i64>, &id]).await;
    Ok(answer.map_err(|failure| failure.into_store_error(database.name()))?.existed)
}
