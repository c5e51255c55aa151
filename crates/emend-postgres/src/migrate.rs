//! The schema `emend` and its versions.
//!
//! A migration runs in one transaction under a lock of the whole database, so several servers may start at once. A
//! released step is never changed.

use tokio_postgres::Client;

use crate::error::OpenError;

/// Steps from each version to the next.
const MIGRATIONS: [&str; 6] = [
    include_str!("sql/001-service.sql"),
    include_str!("sql/002-canvas.sql"),
    include_str!("sql/003-jobs.sql"),
    include_str!("sql/004-servers.sql"),
    include_str!("sql/005-job-runs.sql"),
    include_str!("sql/006-locks.sql"),
];

/// Version of Absurd, the engine of jobs.
const ABSURD_VERSION: &str = "0.5.1";

/// The SQL of Absurd with its licence, if this program was built with it.
#[cfg(absurd)]
const ABSURD: Option<&str> = Some(include_str!(env!("EMEND_ABSURD_SQL")));
#[cfg(not(absurd))]
const ABSURD: Option<&str> = None;

/// Key of the advisory lock of migrations: "Emnd".
const LOCK: i64 = 0x456d_6e64;

/// Creates the table of versions.
const VERSIONS: &str = "CREATE SCHEMA IF NOT EXISTS emend;
CREATE TABLE IF NOT EXISTS emend.versions (
    version int PRIMARY KEY,
    applied_at timestamptz NOT NULL DEFAULT clock_timestamp()
);";

/// The versions before and after a migration.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Migrated {
    /// Version before; 0 for a database without our tables.
    pub from: i32,
    /// Version after.
    pub to: i32,
    /// Whether the database has Absurd, the engine of jobs.
    pub has_jobs: bool,
}

/// Returns the newest version that this program knows.
#[must_use]
pub fn known_version() -> i32 {
    i32::try_from(MIGRATIONS.len()).unwrap_or(i32::MAX)
}

/// Returns the version of the database; 0 if our tables do not exist.
pub(crate) async fn version(client: &Client) -> Result<i32, OpenError> {
    let exists = client.query_one("SELECT to_regclass('emend.versions') IS NOT NULL", &[]).await?;
    if !exists.get::<_, bool>(0) {
        return Ok(0);
    }
    Ok(client.query_one("SELECT coalesce(max(version), 0) FROM emend.versions", &[]).await?.get(0))
}

/// Refuses a database whose version is not the known one.
pub(crate) async fn check(client: &Client) -> Result<(), OpenError> {
    let (found, known) = (version(client).await?, known_version());
    match found {
        found if found > known => Err(OpenError::Newer { found, known }),
        found if found < known => Err(OpenError::Older { found, known }),
        _ => Ok(()),
    }
}

/// Returns whether the database has the engine of jobs in the known version.
pub(crate) async fn has_jobs(client: &Client) -> Result<bool, OpenError> {
    let exists = client.query_one("SELECT to_regproc('absurd.get_schema_version') IS NOT NULL", &[]).await?;
    if !exists.get::<_, bool>(0) {
        return Ok(false);
    }
    let found: String = client.query_one("SELECT absurd.get_schema_version()", &[]).await?.get(0);
    if found == ABSURD_VERSION { Ok(true) } else { Err(OpenError::Absurd { found, known: ABSURD_VERSION }) }
}

/// Brings the database to the newest version.
pub(crate) async fn migrate(client: &mut Client) -> Result<Migrated, OpenError> {
    let transaction = client.transaction().await?;
    transaction.execute("SELECT pg_advisory_xact_lock($1)", &[&LOCK]).await?;
    let known = known_version();
    let from = version(transaction.client()).await?;
    if from > known {
        return Err(OpenError::Newer { found: from, known });
    }
    let has_jobs = migrate_absurd(transaction.client()).await?;
    transaction.batch_execute(VERSIONS).await?;
    for (number, step) in (1..).zip(MIGRATIONS).skip(usize::try_from(from).unwrap_or_default()) {
        transaction.batch_execute(step).await?;
        transaction.execute("INSERT INTO emend.versions (version) VALUES ($1)", &[&number]).await?;
    }
    transaction.commit().await?;
    Ok(Migrated { from, to: known, has_jobs })
}

/// Installs Absurd with the queue `emend`, and refuses another version of it. Returns whether the database has it.
async fn migrate_absurd(client: &Client) -> Result<bool, OpenError> {
    let exists = client.query_one("SELECT to_regproc('absurd.get_schema_version') IS NOT NULL", &[]).await?;
    if exists.get::<_, bool>(0) {
        let found: String = client.query_one("SELECT absurd.get_schema_version()", &[]).await?.get(0);
        if found != ABSURD_VERSION {
            return Err(OpenError::Absurd { found, known: ABSURD_VERSION });
        }
    } else if let Some(sql) = ABSURD {
        client.batch_execute(sql).await?;
    } else {
        return Ok(false);
    }
    client.execute("SELECT absurd.create_queue('emend')", &[]).await?;
    Ok(true)
}
