//! The jobs of `emend serve` on Absurd: claims for several servers, wake-up by `NOTIFY` with polls as fallback, and locks.

use std::collections::BTreeSet;
use std::time::Duration;

use emend_agent::service::jobs::{Claim, Held, Jobs, Untold, Woken};
use emend_agent::store::StoreError;
use emend_llm::BoxFuture;
use serde_json::Value;
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};

use super::{ATTEMPTS, ClaimError, PostgresJobs};
use crate::database::{Address, Database};
use crate::error::OpenError;
use crate::lock::{Lock, Locks};
use crate::migrate;

/// Time after which the queue is looked at without a notification.
const POLL: Duration = Duration::from_secs(1);

/// Time between two tries to listen.
const PAUSE: Duration = Duration::from_millis(200);

/// Settings of a server.
#[derive(Clone, Debug)]
pub struct ServerOptions {
    /// Name of the server in the queue.
    pub name: String,
    /// Seconds for which a job is claimed. The server renews claims three times in this time.
    pub lease_s: i32,
}

/// The jobs of one server.
pub struct ServerJobs {
    jobs: PostgresJobs,
    options: ServerOptions,
    locks: Locks,
    notices: tokio::sync::Mutex<UnboundedReceiver<Notice>>,
}

enum Notice {
    Session(String),
    Work,
    Untold,
    /// Notifications may have been lost.
    Gap,
}

/// The right to change the files of the root.
pub struct RootLock {
    lock: Lock,
}

impl RootLock {
    /// Returns whether no other server can have the right.
    #[must_use]
    pub fn is_held(&self) -> bool {
        self.lock.is_held()
    }
}

struct SessionLock {
    lock: Lock,
}

impl Held for SessionLock {
    fn proof(&self) -> String {
        self.lock.proof()
    }
}

impl ServerJobs {
    /// Opens a migrated database for a server, beside other servers.
    ///
    /// # Errors
    ///
    /// [`OpenError`].
    pub async fn open(address: &Address, options: ServerOptions) -> Result<Self, OpenError> {
        let database = Database::open(address).await?;
        if !migrate::has_jobs(&address.connect().await?).await? {
            return Err(OpenError::NoJobs);
        }
        let (sender, notices) = unbounded_channel();
        tokio::spawn(listen(address.clone(), sender));
        let time = Duration::from_secs(u64::try_from(options.lease_s).unwrap_or(1).max(1));
        let locks = Locks::new(&database, time).map_err(|reason| OpenError::Database { reason })?;
        Ok(Self { jobs: PostgresJobs { database }, options, locks, notices: tokio::sync::Mutex::new(notices) })
    }

    /// Refuses the database of another project. `project` is the same for all servers of one project.
    ///
    /// # Errors
    ///
    /// [`OpenError::OtherProject`]; [`OpenError::Database`].
    pub async fn belongs_to(&self, project: &str) -> Result<(), OpenError> {
        let rows = self.jobs.database.rows("SELECT emend.belongs_to($1)", &[&project]).await;
        let rows =
            rows.map_err(|failure| OpenError::Database { reason: failure.into_store_error("jobs").to_string() })?;
        let is_ours = rows.first().is_some_and(|row| row.get(0));
        if is_ours { Ok(()) } else { Err(OpenError::OtherProject) }
    }

    /// Waits until no other server changes the files of the root, and checks a claim if there is one. The caller takes
    /// the lock once at a time.
    ///
    /// # Errors
    ///
    /// [`StoreError::Conflict`] if the claim is lost; others.
    pub async fn lock_root(&self, claim: Option<&str>) -> Result<RootLock, StoreError> {
        let lock = self.locks.take("emend root").await?;
        if let Some(run) = claim {
            self.rows("SELECT emend.fence($1::text::uuid)", run).await?;
        }
        Ok(RootLock { lock })
    }

    async fn rows(&self, sql: &str, run: &str) -> Result<(), StoreError> {
        let database = &self.jobs.database;
        let done = database.rows(sql, &[&run]).await;
        done.map(drop).map_err(|failure| failure.into_store_error(database.name()))
    }
}

fn into_store_error(error: ClaimError) -> StoreError {
    match error {
        ClaimError::Lost { .. } => StoreError::Conflict { name: "job".to_owned() },
        ClaimError::Store(error) => error,
    }
}

impl Jobs for ServerJobs {
    fn recorded<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<Vec<(String, Value)>, StoreError>> {
        Box::pin(async move {
            let claim = super::Claim {
                task_id: claim.task_id.clone(),
                run_id: claim.id.clone(),
                attempt: 0,
                params: Value::Null,
            };
            self.jobs.recorded(&claim).await.map_err(into_store_error)
        })
    }

    fn is_shared(&self) -> bool {
        true
    }

    fn renewal_ms(&self) -> u64 {
        u64::try_from(self.options.lease_s).unwrap_or(1).max(1) * 1_000 / 3
    }

    fn claim(&self, n: usize) -> BoxFuture<'_, Result<Vec<Claim>, StoreError>> {
        Box::pin(async move {
            let n = i32::try_from(n).unwrap_or(ATTEMPTS);
            let claims = self.jobs.claim(&self.options.name, n, self.options.lease_s).await;
            let claims = claims.map_err(into_store_error)?.into_iter().map(|claim| Claim {
                id: claim.run_id,
                task_id: claim.task_id,
                params: claim.params,
                attempt: u64::try_from(claim.attempt).unwrap_or(1),
            });
            Ok(claims.collect())
        })
    }

    fn renew<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let database = &self.jobs.database;
            let sql = "SELECT emend.renew_claim($1::text::uuid, $2)";
            let done = database.rows(sql, &[&claim.id, &self.options.lease_s]).await;
            done.map(drop).map_err(|failure| failure.into_store_error(database.name()))
        })
    }

    fn release<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(self.rows("SELECT emend.release_claim($1::text::uuid)", &claim.id))
    }

    fn refuse<'a>(&'a self, claim: &'a Claim, result: Value) -> BoxFuture<'a, Result<(), StoreError>> {
        Box::pin(async move {
            let database = &self.jobs.database;
            let sql = "SELECT emend.end_job($1::text::uuid, $2::text::jsonb)";
            let done = database.rows(sql, &[&claim.id, &super::encoded(&result)]).await;
            done.map(drop).map_err(|failure| failure.into_store_error(database.name()))
        })
    }

    fn woken(&self) -> BoxFuture<'_, Woken> {
        Box::pin(async move {
            let mut notices = self.notices.lock().await;
            let Ok(Some(first)) = tokio::time::timeout(POLL, notices.recv()).await else {
                return Woken { sessions: None, has_work: true, has_untold: true };
            };
            let mut woken = Woken { sessions: Some(Vec::new()), ..Woken::default() };
            let (mut named, mut next) = (BTreeSet::new(), Some(first));
            while let Some(notice) = next {
                match notice {
                    Notice::Session(id) => {
                        named.insert(id);
                    }
                    Notice::Work => woken.has_work = true,
                    Notice::Untold => woken.has_untold = true,
                    Notice::Gap => return Woken { sessions: None, has_work: true, has_untold: true },
                }
                next = notices.try_recv().ok();
            }
            woken.sessions = Some(named.into_iter().collect());
            woken
        })
    }

    fn tell_edit(&self) -> BoxFuture<'_, Result<(), StoreError>> {
        Box::pin(async move {
            let database = &self.jobs.database;
            let done = database.rows("SELECT emend.tell_edit()", &[]).await;
            done.map(drop).map_err(|failure| failure.into_store_error(database.name()))
        })
    }

    fn untold(&self) -> BoxFuture<'_, Result<Untold, StoreError>> {
        Box::pin(async move {
            let database = &self.jobs.database;
            let rows = database.rows("SELECT n_edits, n_removed FROM emend.untold", &[]).await;
            let rows = rows.map_err(|failure| failure.into_store_error(database.name()))?;
            let count = |row: &tokio_postgres::Row, at: usize| u64::try_from(row.get::<_, i64>(at)).unwrap_or_default();
            let read = |row| Untold { n_edits: count(row, 0), n_removed: count(row, 1) };
            Ok(rows.first().map(read).unwrap_or_default())
        })
    }

    fn lock<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Option<Box<dyn Held>>, StoreError>> {
        Box::pin(async move {
            let lock = self.locks.take(&format!("emend session {session_id}")).await?;
            Ok(Some(Box::new(SessionLock { lock }) as Box<dyn Held>))
        })
    }
}

/// Passes notifications on until the receiver is dropped. A connection that breaks is made anew.
async fn listen(address: Address, sender: UnboundedSender<Notice>) {
    while !sender.is_closed() {
        // The client keeps the connection.
        if let Ok((_client, mut messages)) =
            address.listen("LISTEN emend_commits; LISTEN emend_jobs; LISTEN emend_untold").await
        {
            // Notifications before this were lost.
            let mut notice = Notice::Gap;
            loop {
                if sender.send(notice).is_err() {
                    return;
                }
                let Some(found) = messages.recv().await else { break };
                notice = match found.channel() {
                    "emend_jobs" => Notice::Work,
                    "emend_untold" => Notice::Untold,
                    _ => Notice::Session(found.payload().to_owned()),
                };
            }
        }
        tokio::time::sleep(PAUSE).await;
    }
}
