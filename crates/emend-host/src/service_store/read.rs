//! Reads: each sees one state of the file.

use emend_agent::service::store::{EventPage, EventScope, SessionPage, SessionQuery, search_form};
use emend_agent::service::{JobRecord, SessionRecord};
use rusqlite::{Connection, OptionalExtension as _, Params, ToSql, Transaction, params};
use serde::de::DeserializeOwned;
use serde_json::Value;

use super::error::Failure;
use super::write::status_name;

/// Number of characters of a query that the index looks up. The texts that it finds are compared with the whole query.
const INDEXED_CHARS: usize = 64;

/// Returns the records in the first column of the rows.
fn records<T: DeserializeOwned>(connection: &Connection, sql: &str, params: impl Params) -> Result<Vec<T>, Failure> {
    let mut statement = connection.prepare_cached(sql)?;
    let mut rows = statement.query(params)?;
    let mut found = Vec::new();
    while let Some(row) = rows.next()? {
        found.push(serde_json::from_str(row.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?)?);
    }
    Ok(found)
}

pub(super) fn session(connection: &Connection, id: &str) -> Result<Option<SessionRecord>, Failure> {
    Ok(records(connection, "SELECT body FROM sessions WHERE id = ?1", [id])?.pop())
}

pub(super) fn job(connection: &Connection, id: &str) -> Result<Option<JobRecord>, Failure> {
    Ok(records(connection, "SELECT body FROM jobs WHERE id = ?1", [id])?.pop())
}

pub(super) fn jobs(connection: &Connection, session_id: &str) -> Result<Vec<JobRecord>, Failure> {
    records(connection, "SELECT body FROM jobs WHERE session_id = ?1 ORDER BY num", [session_id])
}

pub(super) fn open_jobs(connection: &Connection) -> Result<Vec<JobRecord>, Failure> {
    records(connection, "SELECT body FROM jobs WHERE is_open ORDER BY num", [])
}

pub(super) fn jobs_of_runs(connection: &Connection, runs: &[u64]) -> Result<Vec<JobRecord>, Failure> {
    let sql = "SELECT body FROM jobs WHERE num IN
        (SELECT job FROM job_runs WHERE run IN (SELECT value FROM json_each(?1))) ORDER BY num";
    records(connection, sql, [serde_json::to_string(runs)?])
}

/// Returns the query of the index that finds texts with `text`, or `None` if the text is too short for it.
fn index_query(text: &str) -> Option<String> {
    let start: String = text.chars().take(INDEXED_CHARS).collect();
    // A phrase: only the quote has a meaning in it.
    (start.chars().count() >= 3).then(|| format!("\"{}\"", start.replace('"', "\"\"")))
}

pub(super) fn sessions(connection: &mut Connection, query: &SessionQuery) -> Result<SessionPage, Failure> {
    let transaction = connection.transaction()?;
    let text = search_form(&query.text);
    let status = query.status.map(status_name);
    let index = index_query(&text);
    let mut conditions: Vec<&str> = Vec::new();
    let mut values: Vec<(&str, &dyn ToSql)> = Vec::new();
    if let Some(status) = &status {
        conditions.push("status = :status");
        values.push((":status", status));
    }
    if let Some(index) = &index {
        conditions.push(
            "(instr(title, :text) > 0 OR num IN (SELECT session FROM texts WHERE num IN
                (SELECT rowid FROM texts_index WHERE texts_index MATCH :index) AND instr(body, :text) > 0))",
        );
        values.extend([(":text", &text as &dyn ToSql), (":index", index)]);
    } else if !text.is_empty() {
        conditions.push("(instr(title, :text) > 0 OR num IN (SELECT session FROM texts WHERE instr(body, :text) > 0))");
        values.push((":text", &text));
    }
    let total = count(&transaction, &conditions, &values)?;
    let (time, id) = query.after.as_ref().map_or((0, ""), |(time, id)| (time.0, id.as_str()));
    if query.after.is_some() {
        conditions.push("updated_at <= :time AND (updated_at < :time OR id > :id)");
        values.extend([(":time", &time as &dyn ToSql), (":id", &id)]);
    }
    // One more tells whether another page follows.
    let limit = i64::try_from(query.limit).unwrap_or(i64::MAX).saturating_add(1);
    values.push((":limit", &limit));
    let sql = format!("SELECT body FROM sessions {} ORDER BY updated_at DESC, id LIMIT :limit", where_all(&conditions));
    let mut sessions: Vec<SessionRecord> = records(&transaction, &sql, &values[..])?;
    let is_last = sessions.len() <= query.limit;
    sessions.truncate(query.limit);
    let next = sessions.last().filter(|_| !is_last).map(|last| (last.updated_at, last.session_id.clone()));
    Ok(SessionPage { sessions, next, total })
}

fn where_all(conditions: &[&str]) -> String {
    if conditions.is_empty() { String::new() } else { format!("WHERE {}", conditions.join(" AND ")) }
}

fn count(transaction: &Transaction<'_>, conditions: &[&str], values: &[(&str, &dyn ToSql)]) -> Result<u64, Failure> {
    let sql = format!("SELECT count(*) FROM sessions {}", where_all(conditions));
    Ok(transaction.prepare_cached(&sql)?.query_row(values, |row| row.get(0))?)
}

pub(super) fn events(
    connection: &mut Connection,
    scope: &EventScope,
    after: u64,
    limit: usize,
) -> Result<EventPage, Failure> {
    // SQLite's numbers are signed; none of ours is as large.
    let after = i64::try_from(after).unwrap_or(i64::MAX);
    let limit = i64::try_from(limit).unwrap_or(i64::MAX);
    let transaction = connection.transaction()?;
    let range = |sql: &str, params: &[&dyn ToSql]| -> Result<Option<(i64, u64, u64)>, Failure> {
        let read = |row: &rusqlite::Row<'_>| Ok((row.get(0)?, row.get(1)?, row.get(2)?));
        Ok(transaction.prepare_cached(sql)?.query_row(params, read).optional()?)
    };
    let (found, sql) = match scope {
        EventScope::All => (
            range(
                "SELECT id, max(floor, coalesce((SELECT max(last) FROM removed WHERE first <= ?1), 0)), seq FROM counters",
                &[&after],
            )?,
            // The first condition uses the parameter that the other scopes need.
            "SELECT body FROM events WHERE ?1 > 0 AND seq > ?2 ORDER BY seq LIMIT ?3",
        ),
        EventScope::Session(id) => (
            range("SELECT num, floor, cursor FROM sessions WHERE id = ?1", &[id])?,
            "SELECT body FROM events WHERE session = ?1 AND cursor > ?2 ORDER BY cursor LIMIT ?3",
        ),
        EventScope::Job(id) => (
            range("SELECT num, floor, last FROM jobs WHERE id = ?1", &[id])?,
            "SELECT body FROM events WHERE job = ?1 AND cursor > ?2 ORDER BY cursor LIMIT ?3",
        ),
    };
    let Some((num, floor, last)) = found else { return Ok(EventPage::default()) };
    Ok(EventPage { events: records(&transaction, sql, params![num, after, limit])?, floor, last })
}

pub(super) fn steps(connection: &Connection, job_id: &str) -> Result<Vec<(String, Value)>, Failure> {
    let mut statement = connection.prepare_cached("SELECT name, result FROM steps WHERE job_id = ?1")?;
    let rows = statement.query_map([job_id], |row| Ok((row.get(0)?, row.get::<_, String>(1)?)))?;
    rows.map(|row| {
        let (name, result) = row?;
        Ok((name, serde_json::from_str(&result)?))
    })
    .collect()
}
