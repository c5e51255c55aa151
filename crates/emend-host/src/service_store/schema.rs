//! The file: its tables, their versions, and the checks before the first use.

use std::fs::OpenOptions;
use std::io::Read as _;
use std::path::Path;
use std::time::Duration;

use rusqlite::{Connection, OpenFlags, TransactionBehavior};

use super::error::OpenStoreError;

/// Marks files of Emend in the header: "Emnd".
const APPLICATION_ID: i64 = 0x456d_6e64;

/// Begins each database.
const HEADER: &[u8; 16] = b"SQLite format 3\0";

/// Time to wait for a commit of another process.
const PATIENCE: Duration = Duration::from_secs(20);

/// Steps from each version to the next. A step is never changed once it was released.
const MIGRATIONS: [&str; 4] = [
    "
    -- Numbers of the newest event and of the newest dropped event of the whole store.
    CREATE TABLE counters (id INTEGER PRIMARY KEY CHECK (id = 1), seq INTEGER NOT NULL, floor INTEGER NOT NULL);
    INSERT INTO counters VALUES (1, 0, 0);

    -- Titles and texts are in the form in which they are searched.
    CREATE TABLE sessions (
        num INTEGER PRIMARY KEY,
        id TEXT NOT NULL UNIQUE,
        updated_at INTEGER NOT NULL,
        status TEXT NOT NULL,
        title TEXT NOT NULL,
        cursor INTEGER NOT NULL,
        floor INTEGER NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX sessions_by_time ON sessions (updated_at DESC, id, status);
    CREATE INDEX sessions_by_status ON sessions (status, updated_at DESC, id);

    -- The number of a job is its place in the order of creation.
    CREATE TABLE jobs (
        num INTEGER PRIMARY KEY AUTOINCREMENT,
        id TEXT NOT NULL UNIQUE,
        session_id TEXT NOT NULL,
        is_open INTEGER NOT NULL,
        n_events INTEGER NOT NULL,
        last INTEGER NOT NULL,
        floor INTEGER NOT NULL,
        body TEXT NOT NULL
    );
    CREATE INDEX jobs_by_session ON jobs (session_id, num);
    CREATE INDEX jobs_open ON jobs (num) WHERE is_open;

    CREATE TABLE events (
        seq INTEGER PRIMARY KEY,
        session INTEGER NOT NULL,
        cursor INTEGER NOT NULL,
        job INTEGER,
        body TEXT NOT NULL
    );
    CREATE UNIQUE INDEX events_by_session ON events (session, cursor);
    CREATE INDEX events_by_job ON events (job, cursor) WHERE job IS NOT NULL;

    CREATE TABLE texts (num INTEGER PRIMARY KEY, session INTEGER NOT NULL, body TEXT NOT NULL);
    CREATE INDEX texts_by_session ON texts (session);
    -- Texts are in lower case by the rules of Rust, so the index folds nothing.
    CREATE VIRTUAL TABLE texts_index USING fts5 (
        body, content = '', contentless_delete = 1, tokenize = 'trigram case_sensitive 1'
    );

    CREATE TABLE documents (
        num INTEGER PRIMARY KEY,
        name TEXT NOT NULL UNIQUE,
        n_bytes INTEGER NOT NULL,
        is_whole INTEGER NOT NULL
    );
    CREATE TABLE document_parts (
        document INTEGER NOT NULL,
        part INTEGER NOT NULL,
        lines TEXT NOT NULL,
        PRIMARY KEY (document, part)
    ) WITHOUT ROWID;
",
    "
    -- Recorded steps of jobs on which the work has not ended.
    CREATE TABLE steps (
        job_id TEXT NOT NULL,
        name TEXT NOT NULL,
        result TEXT NOT NULL,
        PRIMARY KEY (job_id, name)
    ) WITHOUT ROWID;
",
    "
    -- The workspace runs of each job, as its body names them.
    CREATE TABLE job_runs (job INTEGER NOT NULL, run INTEGER NOT NULL, PRIMARY KEY (job, run)) WITHOUT ROWID;
    CREATE INDEX job_runs_by_run ON job_runs (run);
    INSERT INTO job_runs SELECT DISTINCT jobs.num, runs.value FROM jobs, json_each(jobs.body, '$.runs') AS runs;
    CREATE TRIGGER job_runs_new AFTER INSERT ON jobs BEGIN
        INSERT INTO job_runs SELECT DISTINCT new.num, value FROM json_each(new.body, '$.runs');
    END;
    CREATE TRIGGER job_runs_changed AFTER UPDATE OF body ON jobs
        WHEN old.body -> '$.runs' IS NOT new.body -> '$.runs' BEGIN
        DELETE FROM job_runs WHERE job = new.num;
        INSERT INTO job_runs SELECT DISTINCT new.num, value FROM json_each(new.body, '$.runs');
    END;
    CREATE TRIGGER job_runs_gone AFTER DELETE ON jobs BEGIN
        DELETE FROM job_runs WHERE job = old.num;
    END;
",
    "
    -- The first and the last event of each removed session: a reader that has read some of them misses the others.
    CREATE TABLE removed (first INTEGER NOT NULL, last INTEGER NOT NULL);
    CREATE INDEX removed_by_first ON removed (first, last);
",
];

/// Opens the connection that writes. Creates the file if it does not exist.
pub(super) fn open_writer(path: &Path) -> Result<Connection, OpenStoreError> {
    let has_header = create(path).map_err(|error| OpenStoreError::io(path, &error))?;
    if !has_header {
        let reason = "file is not a database".to_owned();
        return Err(OpenStoreError::Damaged { path: path.to_owned(), reason });
    }
    let failed = |error: rusqlite::Error| OpenStoreError::of(path, &error);
    let mut connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    // Nothing is written before the file is known to be one of ours.
    let found = version(path, &connection)?;
    connection.pragma_update(None, "journal_mode", "wal").map_err(failed)?;
    connection.pragma_update(None, "synchronous", "full").map_err(failed)?;
    connection.pragma_update(None, "journal_size_limit", 64 << 20).map_err(failed)?;
    if found < MIGRATIONS.len() as i64 {
        migrate(path, &mut connection)?;
    }
    Ok(connection)
}

/// Opens a connection that reads.
pub(super) fn open_reader(path: &Path) -> Result<Connection, OpenStoreError> {
    let failed = |error: rusqlite::Error| OpenStoreError::of(path, &error);
    // A reader of a write-ahead log writes to its shared memory.
    let connection = connect(path, OpenFlags::SQLITE_OPEN_READ_WRITE).map_err(failed)?;
    connection.pragma_update(None, "query_only", true).map_err(failed)?;
    Ok(connection)
}

/// Creates the file for this user only. SQLite gives its other files the same mode.
///
/// Returns whether the file is empty or begins as a database does. SQLite would overwrite a file of a few bytes.
fn create(path: &Path) -> std::io::Result<bool> {
    if let Some(directory) = path.parent().filter(|directory| !directory.as_os_str().is_empty()) {
        crate::state::create_private(directory)?;
    }
    let mut options = OpenOptions::new();
    options.create(true).truncate(false).read(true).write(true);
    #[cfg(unix)]
    std::os::unix::fs::OpenOptionsExt::mode(&mut options, 0o600);
    let mut start = Vec::new();
    options.open(path)?.take(HEADER.len() as u64).read_to_end(&mut start)?;
    Ok(start.is_empty() || start == HEADER)
}

fn connect(path: &Path, access: OpenFlags) -> rusqlite::Result<Connection> {
    let connection = Connection::open_with_flags(path, access | OpenFlags::SQLITE_OPEN_NO_MUTEX)?;
    connection.busy_timeout(PATIENCE)?;
    connection.set_prepared_statement_cache_capacity(64);
    Ok(connection)
}

fn pragma(connection: &Connection, name: &str) -> rusqlite::Result<i64> {
    connection.pragma_query_value(None, name, |row| row.get(0))
}

/// Returns the version of a file that is one of ours; 0 for an empty file.
fn version(path: &Path, connection: &Connection) -> Result<i64, OpenStoreError> {
    let failed = |error: rusqlite::Error| OpenStoreError::of(path, &error);
    let n_tables: i64 =
        connection.query_row("SELECT count(*) FROM sqlite_schema", [], |row| row.get(0)).map_err(failed)?;
    let id = pragma(connection, "application_id").map_err(failed)?;
    let found = pragma(connection, "user_version").map_err(failed)?;
    let is_new = n_tables == 0 && id == 0 && found == 0;
    if !is_new && id != APPLICATION_ID {
        return Err(OpenStoreError::Foreign { path: path.to_owned() });
    }
    let known = MIGRATIONS.len() as i64;
    if found > known {
        return Err(OpenStoreError::Newer { path: path.to_owned(), found, known });
    }
    Ok(found)
}

/// Brings the file to the newest version, in one transaction.
fn migrate(path: &Path, connection: &mut Connection) -> Result<(), OpenStoreError> {
    let failed = |error: rusqlite::Error| OpenStoreError::of(path, &error);
    let transaction = connection.transaction_with_behavior(TransactionBehavior::Immediate).map_err(failed)?;
    // Another process may have been faster.
    let found = version(path, &transaction)?;
    for step in MIGRATIONS.iter().skip(usize::try_from(found).unwrap_or_default()) {
        transaction.execute_batch(step).map_err(failed)?;
    }
    transaction.pragma_update(None, "application_id", APPLICATION_ID).map_err(failed)?;
    transaction.pragma_update(None, "user_version", MIGRATIONS.len() as i64).map_err(failed)?;
    transaction.commit().map_err(failed)
}
