//! Changes: each is one transaction.

use std::collections::HashMap;

use emend_agent::service::store::{Commit, Committed, Work, WorkChange, search_form};
use emend_agent::service::{EventRecord, JobRecord, SessionRecord, SessionStatus};
use rusqlite::{Connection, OptionalExtension as _, Transaction, TransactionBehavior, params};

use super::error::Failure;

/// Begins a transaction that no other writer can interleave.
pub(super) fn begin(connection: &mut Connection) -> Result<Transaction<'_>, Failure> {
    Ok(connection.transaction_with_behavior(TransactionBehavior::Immediate)?)
}

/// Returns the value of the column of a status.
pub(super) fn status_name(status: SessionStatus) -> &'static str {
    match status {
        SessionStatus::Active => "active",
        SessionStatus::Archived => "archived",
    }
}

/// A session in the transaction: number of its row, and its newest cursor.
struct Place {
    num: i64,
    cursor: u64,
}

/// Records steps of a job, or forgets them at the end of the work on it.
fn record(transaction: &Transaction<'_>, work: &Work) -> Result<(), Failure> {
    let Work { job_id, steps, change, .. } = work;
    if matches!(change, Some(WorkChange::End { .. })) {
        transaction.prepare_cached("DELETE FROM steps WHERE job_id = ?1")?.execute([job_id])?;
        return Ok(());
    }
    let sql = "INSERT INTO steps (job_id, name, result) VALUES (?1, ?2, ?3)
        ON CONFLICT (job_id, name) DO UPDATE SET result = excluded.result";
    for (name, result) in steps {
        transaction.prepare_cached(sql)?.execute(params![job_id, name, serde_json::to_string(result)?])?;
    }
    Ok(())
}

pub(super) fn commit(connection: &mut Connection, commit: Commit) -> Result<Committed, Failure> {
    let transaction = begin(connection)?;
    let Commit { at, mut session, jobs, events, text, purged_jobs, events_per_job_max, work } = commit;
    let place = place_of(&transaction, &session)?;
    session.cursor = place.cursor + events.len() as u64;
    put_session(&transaction, &place, &session)?;
    put_text(&transaction, &place, &text)?;
    let mut job_ids = Vec::with_capacity(jobs.len());
    for job in jobs {
        job_ids.push(put_job(&transaction, job)?);
    }
    let mut seq: u64 = transaction.prepare_cached("SELECT seq FROM counters")?.query_row([], |row| row.get(0))?;
    let mut stored = Vec::with_capacity(events.len());
    let mut jobs_of_events = JobsOfEvents::new();
    for (n, event) in (1..).zip(events) {
        seq += 1;
        let record = EventRecord {
            cursor: place.cursor + n,
            seq,
            kind: event.kind,
            ts: at,
            session_id: session.session_id.clone(),
            job_id: event.job_id,
            data: event.data,
        };
        put_event(&transaction, &place, &record, &mut jobs_of_events)?;
        stored.push(record);
    }
    count_events(&transaction, jobs_of_events)?;
    transaction.prepare_cached("UPDATE counters SET seq = ?1")?.execute([seq])?;
    for job_id in &purged_jobs {
        transaction.prepare_cached("DELETE FROM steps WHERE job_id = ?1")?.execute([job_id])?;
        drop_events(&transaction, &place, &session.session_id, job_id, 0)?;
        transaction
            .prepare_cached("DELETE FROM jobs WHERE id = ?1 AND session_id = ?2")?
            .execute([job_id, &session.session_id])?;
    }
    if events_per_job_max > 0 {
        for job_id in stored.iter().filter_map(|event| event.job_id.as_ref()) {
            drop_events(&transaction, &place, &session.session_id, job_id, events_per_job_max)?;
        }
    }
    let mut jobs = Vec::with_capacity(job_ids.len());
    for id in job_ids {
        jobs.extend(job(&transaction, &id)?);
    }
    if let Some(work) = work {
        record(&transaction, &work)?;
    }
    transaction.commit()?;
    Ok(Committed { session, jobs, events: stored })
}

/// Returns the place of a session; creates its row if there is none.
fn place_of(transaction: &Transaction<'_>, session: &SessionRecord) -> Result<Place, Failure> {
    let place = |row: &rusqlite::Row<'_>| Ok(Place { num: row.get(0)?, cursor: row.get(1)? });
    let found = transaction
        .prepare_cached("SELECT num, cursor FROM sessions WHERE id = ?1")?
        .query_row([&session.session_id], place)
        .optional()?;
    if let Some(place) = found {
        return Ok(place);
    }
    let sql =
        "INSERT INTO sessions (id, updated_at, status, title, cursor, floor, body) VALUES (?1, 0, '', '', 0, 0, '')";
    transaction.prepare_cached(sql)?.execute([&session.session_id])?;
    Ok(Place { num: transaction.last_insert_rowid(), cursor: 0 })
}

fn put_session(transaction: &Transaction<'_>, place: &Place, session: &SessionRecord) -> Result<(), Failure> {
    let sql = "UPDATE sessions SET updated_at = ?2, status = ?3, title = ?4, cursor = ?5, body = ?6 WHERE num = ?1";
    transaction.prepare_cached(sql)?.execute(params![
        place.num,
        session.updated_at.0,
        status_name(session.status),
        search_form(&session.title),
        session.cursor,
        serde_json::to_string(session)?,
    ])?;
    Ok(())
}

fn put_text(transaction: &Transaction<'_>, place: &Place, text: &str) -> Result<(), Failure> {
    if text.is_empty() {
        return Ok(());
    }
    let text = search_form(text);
    let sql = "INSERT INTO texts (session, body) VALUES (?1, ?2)";
    transaction.prepare_cached(sql)?.execute(params![place.num, text])?;
    let num = transaction.last_insert_rowid();
    transaction.prepare_cached("INSERT INTO texts_index (rowid, body) VALUES (?1, ?2)")?.execute(params![num, text])?;
    Ok(())
}

/// Stores a job, and returns its id.
fn put_job(transaction: &Transaction<'_>, mut record: JobRecord) -> Result<String, Failure> {
    if let Some(former) = job(transaction, &record.job_id)? {
        record.cursor = former.cursor;
    }
    let sql = "INSERT INTO jobs (id, session_id, is_open, n_events, last, floor, body) VALUES (?1, ?2, ?3, 0, 0, 0, ?4)
        ON CONFLICT (id) DO UPDATE SET session_id = ?2, is_open = ?3, body = ?4";
    let is_open = !record.status.is_terminal();
    let body = serde_json::to_string(&record)?;
    transaction.prepare_cached(sql)?.execute(params![record.job_id, record.session_id, is_open, body])?;
    Ok(record.job_id)
}

fn job(transaction: &Transaction<'_>, id: &str) -> Result<Option<JobRecord>, Failure> {
    let body: Option<String> = transaction
        .prepare_cached("SELECT body FROM jobs WHERE id = ?1")?
        .query_row([id], |row| row.get(0))
        .optional()?;
    Ok(body.map(|body| serde_json::from_str(&body)).transpose()?)
}

/// The new events of a job of the session.
struct NewOfJob {
    num: i64,
    record: JobRecord,
    n_events: u64,
}

/// Jobs of the session by the ids that events name; `None` for an id that is not one of them.
type JobsOfEvents = HashMap<String, Option<NewOfJob>>;

/// Stores an event, and notes it for its job.
fn put_event(
    transaction: &Transaction<'_>,
    place: &Place,
    event: &EventRecord,
    jobs: &mut JobsOfEvents,
) -> Result<(), Failure> {
    let mut job_num = None;
    if let Some(job_id) = &event.job_id {
        if !jobs.contains_key(job_id) {
            jobs.insert(job_id.clone(), job_of(transaction, &event.session_id, job_id)?);
        }
        if let Some(Some(job)) = jobs.get_mut(job_id) {
            job.n_events += 1;
            job.record.cursor = event.cursor;
            job_num = Some(job.num);
        }
    }
    let sql = "INSERT INTO events (seq, session, cursor, job, body) VALUES (?1, ?2, ?3, ?4, ?5)";
    let body = serde_json::to_string(event)?;
    transaction.prepare_cached(sql)?.execute(params![event.seq, place.num, event.cursor, job_num, body])?;
    Ok(())
}

fn job_of(transaction: &Transaction<'_>, session_id: &str, job_id: &str) -> Result<Option<NewOfJob>, Failure> {
    let found: Option<(i64, String)> = transaction
        .prepare_cached("SELECT num, body FROM jobs WHERE id = ?1 AND session_id = ?2")?
        .query_row([job_id, session_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((num, body)) = found else { return Ok(None) };
    Ok(Some(NewOfJob { num, record: serde_json::from_str(&body)?, n_events: 0 }))
}

/// Stores the numbers of new events in their jobs.
fn count_events(transaction: &Transaction<'_>, jobs: JobsOfEvents) -> Result<(), Failure> {
    for job in jobs.into_values().flatten() {
        transaction
            .prepare_cached("UPDATE jobs SET n_events = n_events + ?2, last = ?3, body = ?4 WHERE num = ?1")?
            .execute(params![job.num, job.n_events, job.record.cursor, serde_json::to_string(&job.record)?])?;
    }
    Ok(())
}

/// Drops the oldest events of a job of the session, all but `keep`.
fn drop_events(
    transaction: &Transaction<'_>,
    place: &Place,
    session_id: &str,
    job_id: &str,
    keep: u64,
) -> Result<(), Failure> {
    let found: Option<(i64, u64)> = transaction
        .prepare_cached("SELECT num, n_events FROM jobs WHERE id = ?1 AND session_id = ?2")?
        .query_row([job_id, session_id], |row| Ok((row.get(0)?, row.get(1)?)))
        .optional()?;
    let Some((job, n_events)) = found.filter(|(_, n_events)| *n_events > keep) else { return Ok(()) };
    let newest: (u64, u64) = transaction
        .prepare_cached("SELECT cursor, seq FROM events WHERE job = ?1 ORDER BY cursor LIMIT 1 OFFSET ?2")?
        .query_row(params![job, n_events - keep - 1], |row| Ok((row.get(0)?, row.get(1)?)))?;
    transaction
        .prepare_cached("DELETE FROM events WHERE job = ?1 AND cursor <= ?2")?
        .execute(params![job, newest.0])?;
    transaction
        .prepare_cached("UPDATE jobs SET n_events = ?2, floor = ?3 WHERE num = ?1")?
        .execute(params![job, keep, newest.0])?;
    transaction
        .prepare_cached("UPDATE sessions SET floor = max(floor, ?2) WHERE num = ?1")?
        .execute(params![place.num, newest.0])?;
    transaction.prepare_cached("UPDATE counters SET floor = max(floor, ?1)")?.execute([newest.1])?;
    Ok(())
}

pub(super) fn remove_session(connection: &mut Connection, id: &str) -> Result<bool, Failure> {
    let transaction = begin(connection)?;
    let found: Option<i64> =
        transaction.query_row("SELECT num FROM sessions WHERE id = ?1", [id], |row| row.get(0)).optional()?;
    let Some(num) = found else { return Ok(false) };
    let sql = "INSERT INTO removed SELECT first, last FROM
        (SELECT min(seq) AS first, max(seq) AS last FROM events WHERE session = ?1) WHERE first IS NOT NULL";
    transaction.execute(sql, [num])?;
    transaction.execute("DELETE FROM removed WHERE last <= (SELECT floor FROM counters)", [])?;
    transaction.execute("DELETE FROM events WHERE session = ?1", [num])?;
    let sql = "DELETE FROM texts_index WHERE rowid IN (SELECT num FROM texts WHERE session = ?1)";
    transaction.execute(sql, [num])?;
    transaction.execute("DELETE FROM texts WHERE session = ?1", [num])?;
    let sql = "DELETE FROM steps WHERE job_id IN (SELECT id FROM jobs WHERE session_id = ?1)";
    transaction.execute(sql, [id])?;
    transaction.execute("DELETE FROM jobs WHERE session_id = ?1", [id])?;
    transaction.execute("DELETE FROM sessions WHERE num = ?1", [num])?;
    transaction.commit()?;
    Ok(true)
}
