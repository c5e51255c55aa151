//! Documents of conversations: each append is a row, so that a long document costs no more than a short one.

use std::collections::HashMap;

use rusqlite::{Connection, OptionalExtension as _, Transaction, params};

use super::error::Failure;
use super::write::begin;

/// Lengths of documents in bytes, as this store has last read or written them. A document that does not exist has 0.
#[derive(Debug, Default)]
pub(super) struct KnownLengths(HashMap<String, u64>);

struct Row {
    num: i64,
    n_bytes: u64,
    is_whole: bool,
}

fn row(transaction: &Transaction<'_>, name: &str) -> Result<Option<Row>, Failure> {
    let read = |row: &rusqlite::Row<'_>| Ok(Row { num: row.get(0)?, n_bytes: row.get(1)?, is_whole: row.get(2)? });
    let sql = "SELECT num, n_bytes, is_whole FROM documents WHERE name = ?1";
    Ok(transaction.prepare_cached(sql)?.query_row([name], read).optional()?)
}

pub(super) fn append(
    connection: &mut Connection,
    known: &mut KnownLengths,
    name: &str,
    lines: &str,
) -> Result<(), Failure> {
    let transaction = begin(connection)?;
    let found = row(&transaction, name)?;
    let n_bytes = found.as_ref().map_or(0, |row| row.n_bytes);
    if known.0.get(name).is_some_and(|known| *known != n_bytes) {
        return Err(Failure::Conflict);
    }
    let num = match &found {
        Some(row) => row.num,
        None => {
            let sql = "INSERT INTO documents (name, n_bytes, is_whole) VALUES (?1, 0, 1)";
            transaction.prepare_cached(sql)?.execute([name])?;
            transaction.last_insert_rowid()
        }
    };
    let is_whole = found.is_none_or(|row| row.is_whole);
    let lines = if is_whole { lines.to_owned() } else { format!("\n{lines}") };
    let after = n_bytes + lines.len() as u64;
    let ends_whole = if lines.is_empty() { is_whole } else { lines.ends_with('\n') };
    let sql = "INSERT INTO document_parts (document, part, lines)
        SELECT ?1, coalesce(max(part), 0) + 1, ?2 FROM document_parts WHERE document = ?1";
    transaction.prepare_cached(sql)?.execute(params![num, lines])?;
    transaction
        .prepare_cached("UPDATE documents SET n_bytes = ?2, is_whole = ?3 WHERE num = ?1")?
        .execute(params![num, after, ends_whole])?;
    transaction.commit()?;
    known.0.insert(name.to_owned(), after);
    Ok(())
}

pub(super) fn load(
    connection: &mut Connection,
    known: &mut KnownLengths,
    name: &str,
) -> Result<Option<String>, Failure> {
    let transaction = connection.transaction()?;
    let Some(row) = row(&transaction, name)? else {
        known.0.insert(name.to_owned(), 0);
        return Ok(None);
    };
    let mut text = String::with_capacity(usize::try_from(row.n_bytes).unwrap_or_default());
    let mut statement =
        transaction.prepare_cached("SELECT lines FROM document_parts WHERE document = ?1 ORDER BY part")?;
    let mut parts = statement.query([row.num])?;
    while let Some(part) = parts.next()? {
        text.push_str(part.get_ref(0)?.as_str().map_err(rusqlite::Error::from)?);
    }
    known.0.insert(name.to_owned(), row.n_bytes);
    Ok(Some(text))
}

pub(super) fn names(connection: &Connection) -> Result<Vec<String>, Failure> {
    let mut statement = connection.prepare_cached("SELECT name FROM documents ORDER BY name")?;
    let names = statement.query_map([], |row| row.get(0))?.collect::<rusqlite::Result<_>>()?;
    Ok(names)
}

pub(super) fn remove(connection: &mut Connection, known: &mut KnownLengths, name: &str) -> Result<bool, Failure> {
    let transaction = begin(connection)?;
    let found = row(&transaction, name)?;
    if let Some(row) = &found {
        transaction.execute("DELETE FROM document_parts WHERE document = ?1", [row.num])?;
        transaction.execute("DELETE FROM documents WHERE num = ?1", [row.num])?;
        transaction.commit()?;
    }
    known.0.remove(name);
    Ok(found.is_some())
}
