//! Locks in the database, for changes that several servers make in turn.
//!
//! A lock ends with its time on the database's clock, and a server renews it for as long as it has it. So a server that is
//! paused or cut off does not stop the others. Its later changes are refused: a commit proves its lock in the database, and
//! a change of files asks [`Lock::is_held`] first.

use std::sync::Arc;
use std::sync::atomic::{AtomicI64, Ordering};
use std::time::{Duration, Instant};

use emend_agent::store::StoreError;
use tokio::sync::oneshot;
use tokio::task::AbortHandle;

use crate::database::{Database, change_id};

/// Time between two tries of a lock that another server holds: at first, and at most.
const TRY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(20));

/// Separates the parts of a proof. No key has it.
const SEPARATOR: char = '\n';

/// The locks of one process. Callers of one process must not wait for each other here.
#[derive(Clone)]
pub(crate) struct Locks {
    database: Database,
    holder: Arc<str>,
    number: Arc<AtomicI64>,
    time: Duration,
}

/// A lock, until it is dropped.
pub(crate) struct Lock {
    locks: Locks,
    key: String,
    number: i64,
    /// Until when the lock is certain to be held, as this process measures time.
    until: Arc<std::sync::Mutex<Instant>>,
    renewal: AbortHandle,
}

impl Drop for Lock {
    fn drop(&mut self) {
        self.renewal.abort();
        let (locks, key, number) = (self.locks.clone(), std::mem::take(&mut self.key), self.number);
        // Without a runtime the process ends, and the lock ends with its time.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let sql = "SELECT emend.drop_lock($1, $2::text::uuid, $3)";
                drop(locks.database.rows(sql, &[&key, &&*locks.holder, &number]).await);
            });
        }
    }
}

impl Lock {
    /// Returns whether no other process can have the lock.
    pub(crate) fn is_held(&self) -> bool {
        Instant::now() < *self.until.lock().unwrap_or_else(std::sync::PoisonError::into_inner)
    }

    /// Returns the lock in the form that [`proof_of`] reads.
    pub(crate) fn proof(&self) -> String {
        format!("{}{SEPARATOR}{}{SEPARATOR}{}", self.key, self.locks.holder, self.number)
    }
}

/// Returns key, holder and number of a proof.
pub(crate) fn proof_of(text: &str) -> Option<(String, String, i64)> {
    let mut parts = text.rsplitn(3, SEPARATOR);
    let (number, holder, key) = (parts.next()?.parse().ok()?, parts.next()?, parts.next()?);
    Some((key.to_owned(), holder.to_owned(), number))
}

impl Locks {
    /// Returns locks that others can take over after `time` without a renewal.
    pub(crate) fn new(database: &Database, time: Duration) -> Result<Self, String> {
        Ok(Self { database: database.clone(), holder: change_id()?.into(), number: Arc::default(), time })
    }

    /// Waits until no other server holds the lock.
    pub(crate) async fn take(&self, key: &str) -> Result<Lock, StoreError> {
        let (locks, key) = (self.clone(), key.to_owned());
        let (given, taken) = oneshot::channel();
        // A task of its own: if the caller stops waiting while the database grants the lock, the task gives it back.
        tokio::spawn(async move {
            let outcome = locks.take_for(&given, &key).await;
            drop(given.send(outcome));
        });
        taken.await.unwrap_or_else(|_| Err(self.failed("the server is ending")))
    }

    fn failed(&self, reason: &str) -> StoreError {
        StoreError::Io { name: self.database.name().to_owned(), reason: reason.to_owned() }
    }

    async fn ask(&self, sql: &str, key: &str, number: i64) -> Result<bool, StoreError> {
        let rows = self.database.rows(sql, &[&key, &&*self.holder, &number, &self.time.as_secs_f64()]).await;
        let rows = rows.map_err(|failure| self.failed(&failure.into_store_error("lock").to_string()))?;
        Ok(rows.first().is_some_and(|row| row.get(0)))
    }

    async fn take_for(
        &self,
        caller: &oneshot::Sender<Result<Lock, StoreError>>,
        key: &str,
    ) -> Result<Lock, StoreError> {
        let number = self.number.fetch_add(1, Ordering::Relaxed);
        let mut pause = TRY.0;
        loop {
            // The time of the database begins later, so the lock lasts longer there than here.
            let begun = Instant::now();
            if self.ask("SELECT emend.take_lock($1, $2::text::uuid, $3, $4)", key, number).await? {
                let until = Arc::new(std::sync::Mutex::new(begun + self.time));
                let renewed = self.clone().renew(key.to_owned(), number, Arc::clone(&until));
                let renewal = tokio::spawn(renewed).abort_handle();
                return Ok(Lock { locks: self.clone(), key: key.to_owned(), number, until, renewal });
            }
            if caller.is_closed() {
                return Err(self.failed("nothing waits for it"));
            }
            tokio::time::sleep(pause).await;
            pause = (pause * 2).min(TRY.1);
        }
    }

    /// Prolongs a lock until it is taken over.
    async fn renew(self, key: String, number: i64, until: Arc<std::sync::Mutex<Instant>>) {
        loop {
            tokio::time::sleep(self.time / 3).await;
            let begun = Instant::now();
            match self.ask("SELECT emend.renew_lock($1, $2::text::uuid, $3, $4)", &key, number).await {
                Ok(true) => *until.lock().unwrap_or_else(std::sync::PoisonError::into_inner) = begun + self.time,
                Ok(false) => return,
                // The lock lasts for some time yet.
                Err(_) => {}
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_proof_is_read_as_it_was_written() {
        for key in ["emend root", "emend session a\nb"] {
            let text = format!("{key}{SEPARATOR}0a{SEPARATOR}7");
            assert_eq!(proof_of(&text), Some((key.to_owned(), "0a".to_owned(), 7)));
        }
        assert_eq!(proof_of("x"), None);
    }
}
