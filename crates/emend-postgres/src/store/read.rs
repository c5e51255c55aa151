//! Reads: each is one statement, so it sees one state of the database.

use emend_agent::service::store::{EventPage, EventScope, SessionPage, SessionQuery, search_form};
use emend_agent::service::{EventRecord, JobRecord, SessionRecord, Timestamp};
use emend_agent::store::StoreError;
use tokio_postgres::Row;
use tokio_postgres::types::ToSql;

use super::commit::status_name;
use crate::database::Database;
use crate::error::Failure;

/// Returns a number as the database has it; none of ours exceeds its range.
pub(super) fn bigint(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

fn unsigned(number: i64) -> u64 {
    u64::try_from(number).unwrap_or_default()
}

/// Returns whether the database can hold a text. It has no record under another id.
pub(super) fn no_nul(text: &str) -> bool {
    !text.contains('\0')
}

async fn rows(database: &Database, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, StoreError> {
    database.rows(sql, params).await.map_err(|failure| failure.into_store_error(database.name()))
}

fn record<T: serde::de::DeserializeOwned>(database: &Database, body: &str) -> Result<T, StoreError> {
    serde_json::from_str(body).map_err(|error| Failure::from(error).into_store_error(database.name()))
}

/// Reads the columns `body` and `cursor` at the given place.
fn session_of(database: &Database, row: &Row, at: usize) -> Result<SessionRecord, StoreError> {
    let mut session: SessionRecord = record(database, row.get(at))?;
    session.cursor = unsigned(row.get(at + 1));
    Ok(session)
}

fn job_of(database: &Database, row: &Row) -> Result<JobRecord, StoreError> {
    let mut job: JobRecord = record(database, row.get(0))?;
    job.cursor = unsigned(row.get(1));
    Ok(job)
}

pub(super) async fn session(database: &Database, id: &str) -> Result<Option<SessionRecord>, StoreError> {
    if !no_nul(id) {
        return Ok(None);
    }
    let found = rows(database, "SELECT body::text, cursor FROM emend.sessions WHERE id = $1", &[&id]).await?;
    found.first().map(|row| session_of(database, row, 0)).transpose()
}

pub(super) async fn job(database: &Database, id: &str) -> Result<Option<JobRecord>, StoreError> {
    if !no_nul(id) {
        return Ok(None);
    }
    let found = rows(database, "SELECT body::text, cursor FROM emend.jobs WHERE id = $1", &[&id]).await?;
    found.first().map(|row| job_of(database, row)).transpose()
}

pub(super) async fn jobs(database: &Database, session_id: &str) -> Result<Vec<JobRecord>, StoreError> {
    if !no_nul(session_id) {
        return Ok(Vec::new());
    }
    let sql = "SELECT body::text, cursor FROM emend.jobs WHERE session_id = $1 ORDER BY num";
    rows(database, sql, &[&session_id]).await?.iter().map(|row| job_of(database, row)).collect()
}

pub(super) async fn open_jobs(database: &Database) -> Result<Vec<JobRecord>, StoreError> {
    let sql = "SELECT body::text, cursor FROM emend.jobs WHERE is_open ORDER BY num";
    rows(database, sql, &[]).await?.iter().map(|row| job_of(database, row)).collect()
}

pub(super) async fn jobs_of_runs(database: &Database, runs: &[u64]) -> Result<Vec<JobRecord>, StoreError> {
    let runs: Vec<i64> = runs.iter().filter_map(|run| i64::try_from(*run).ok()).collect();
    let sql = "SELECT body::text, cursor FROM emend.jobs
        WHERE num IN (SELECT job FROM emend.job_runs WHERE run = ANY ($1)) ORDER BY num";
    rows(database, sql, &[&runs]).await?.iter().map(|row| job_of(database, row)).collect()
}

/// Returns a pattern of LIKE that finds texts with `text`.
fn pattern(text: &str) -> String {
    let mut pattern = String::from("%");
    for c in text.chars() {
        if matches!(c, '%' | '_' | '\\') {
            pattern.push('\\');
        }
        pattern.push(c);
    }
    pattern.push('%');
    pattern
}

/// Returns the statement for the conditions of a query. The parameters are always the same six.
fn sessions_sql(query: &SessionQuery) -> String {
    let mut hits = vec!["($1::text IS NULL OR true)"];
    if query.status.is_some() {
        hits.push("status = $1");
    }
    let by_text = "(title LIKE $2 OR num IN (SELECT session FROM emend.texts WHERE body LIKE $2))";
    hits.push(if query.text.is_empty() { "($2::text IS NULL OR true)" } else { by_text });
    let after = match query.after {
        Some(_) => "updated_at <= $3 AND (updated_at < $3 OR id > $4)",
        None => "($3::bigint IS NULL OR $4::text IS NULL OR true)",
    };
    let hits = hits.join(" AND ");
    format!(
        "SELECT (SELECT count(*) FROM emend.sessions WHERE {hits}), page.body::text, page.cursor
            FROM (VALUES (1)) AS one
            LEFT JOIN LATERAL (SELECT * FROM emend.sessions WHERE {hits} AND {after}
                ORDER BY updated_at DESC, id LIMIT $5) AS page ON true
            ORDER BY page.updated_at DESC, page.id"
    )
}

pub(super) async fn sessions(database: &Database, query: &SessionQuery) -> Result<SessionPage, StoreError> {
    let text = pattern(&search_form(&query.text));
    let status = query.status.map(status_name);
    let (time, id) = query.after.as_ref().map_or((0, ""), |(time, id)| (bigint(time.0), id.as_str()));
    let id = id.replace('\0', " ");
    // One more tells whether another page follows.
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
    let found = rows(database, &sessions_sql(query), &[&status, &text, &time, &id, &limit]).await?;
    let total = found.first().map_or(0, |row| unsigned(row.get(0)));
    let is_session = |row: &&Row| row.get::<_, Option<&str>>(1).is_some();
    let sessions = found.iter().filter(is_session).map(|row| session_of(database, row, 1));
    let mut sessions: Vec<SessionRecord> = sessions.collect::<Result<_, _>>()?;
    let is_last = sessions.len() <= query.limit;
    sessions.truncate(query.limit);
    let next = sessions.last().filter(|_| !is_last).map(|last| (last.updated_at, last.session_id.clone()));
    Ok(SessionPage { sessions, next, total })
}

/// Columns of an event after those of its range.
const EVENT: &str = "e.seq, e.cursor, s.id, e.job_id, e.kind, e.ts, e.data::text";

pub(super) async fn events(
    database: &Database,
    scope: &EventScope,
    after: u64,
    limit: usize,
) -> Result<EventPage, StoreError> {
    let (after, limit) = (bigint(after), i64::try_from(limit).unwrap_or(i64::MAX));
    let found = match scope {
        EventScope::All => {
            let sql = format!(
                "SELECT greatest(c.floor, (SELECT max(last) FROM emend.removed WHERE first <= $1)), c.seq, {EVENT} FROM emend.counters c LEFT JOIN LATERAL
                    (SELECT * FROM emend.events WHERE seq > $1 ORDER BY seq LIMIT $2) AS e ON true
                    LEFT JOIN emend.sessions s ON s.num = e.session ORDER BY e.seq"
            );
            rows(database, &sql, &[&after, &limit]).await?
        }
        EventScope::Session(id) | EventScope::Job(id) if !no_nul(id) => Vec::new(),
        EventScope::Session(id) => {
            let sql = format!(
                "SELECT s.floor, s.cursor, {EVENT} FROM emend.sessions s LEFT JOIN LATERAL
                    (SELECT * FROM emend.events WHERE session = s.num AND cursor > $2 ORDER BY cursor LIMIT $3) AS e
                    ON true WHERE s.id = $1 ORDER BY e.cursor"
            );
            rows(database, &sql, &[&id, &after, &limit]).await?
        }
        EventScope::Job(id) => {
            let sql = format!(
                "SELECT j.floor, j.last, {EVENT} FROM emend.jobs j LEFT JOIN LATERAL
                    (SELECT * FROM emend.events WHERE job = j.num AND cursor > $2 ORDER BY cursor LIMIT $3) AS e
                    ON true LEFT JOIN emend.sessions s ON s.num = e.session WHERE j.id = $1 ORDER BY e.cursor"
            );
            rows(database, &sql, &[&id, &after, &limit]).await?
        }
    };
    let Some(first) = found.first() else { return Ok(EventPage::default()) };
    let (floor, last) = (unsigned(first.get(0)), unsigned(first.get(1)));
    let is_event = |row: &&Row| row.get::<_, Option<i64>>(2).is_some();
    let events = found.iter().filter(is_event).map(|row| event_of(database, row)).collect::<Result<_, _>>()?;
    Ok(EventPage { events, floor, last })
}

fn event_of(database: &Database, row: &Row) -> Result<EventRecord, StoreError> {
    Ok(EventRecord {
        seq: unsigned(row.get(2)),
        cursor: unsigned(row.get(3)),
        session_id: row.get(4),
        job_id: row.get(5),
        kind: row.get(6),
        ts: Timestamp(unsigned(row.get(7))),
        data: record(database, row.get(8))?,
    })
}
