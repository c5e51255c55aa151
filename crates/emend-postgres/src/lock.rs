//! Advisory locks of the database on one connection, for changes that several servers make in turn.
//!
//! The locks end with the connection. After that, the fence and the cursor of a session still refuse a late change.

use std::sync::Arc;
use std::time::{Duration, Instant};

use emend_agent::store::StoreError;
use tokio::sync::{Mutex, oneshot};
use tokio_postgres::Client;

use crate::database::Address;
use crate::error::{Failure, OpenError};

/// Time for which a connection is tried again while the database cannot be reached.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two tries to connect.
const PAUSE: Duration = Duration::from_millis(100);

/// Time between two tries of a lock that another server holds: at first, and at most.
const TRY: (Duration, Duration) = (Duration::from_millis(2), Duration::from_millis(20));

/// The locks of one process. Callers of one process must not wait for each other here.
#[derive(Clone)]
pub(crate) struct Locks {
    address: Address,
    connection: Arc<Mutex<Option<Arc<Client>>>>,
}

/// A lock, until it is dropped.
pub(crate) struct Lock {
    client: Arc<Client>,
    key: String,
}

impl Drop for Lock {
    fn drop(&mut self) {
        let (client, key) = (Arc::clone(&self.client), std::mem::take(&mut self.key));
        // Without a runtime the process ends, and the connection with it.
        if let Ok(runtime) = tokio::runtime::Handle::try_current() {
            runtime.spawn(async move {
                let _ = client.query("SELECT pg_advisory_unlock(hashtextextended($1, 0))", &[&key]).await;
            });
        }
    }
}

impl Locks {
    pub(crate) fn new(address: &Address) -> Self {
        Self { address: address.clone(), connection: Arc::default() }
    }

    async fn client(&self) -> Result<Arc<Client>, OpenError> {
        let mut connection = self.connection.lock().await;
        if let Some(client) = connection.as_ref().filter(|client| !client.is_closed()) {
            return Ok(Arc::clone(client));
        }
        let client = Arc::new(self.address.connect().await?);
        *connection = Some(Arc::clone(&client));
        Ok(client)
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
        let ended = || StoreError::Io { name: self.address.to_string(), reason: "the server is ending".to_owned() };
        taken.await.unwrap_or_else(|_| Err(ended()))
    }

    async fn take_for(
        &self,
        caller: &oneshot::Sender<Result<Lock, StoreError>>,
        key: &str,
    ) -> Result<Lock, StoreError> {
        let begun = Instant::now();
        let failed = |reason: String| StoreError::Io { name: self.address.to_string(), reason };
        let mut pause = TRY.0;
        loop {
            let outcome = match self.client().await {
                Ok(client) => {
                    let sql = "SELECT pg_try_advisory_lock(hashtextextended($1, 0))";
                    client
                        .query_one(sql, &[&key])
                        .await
                        .map(|row| (client, row.get::<_, bool>(0)))
                        .map_err(Failure::from)
                }
                Err(error) => Err(Failure::Connect(error.to_string())),
            };
            match outcome {
                Ok((client, true)) => return Ok(Lock { client, key: key.to_owned() }),
                Ok((_, false)) if caller.is_closed() => return Err(failed("nothing waits for it".to_owned())),
                Ok((_, false)) => {
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(TRY.1);
                }
                Err(failure) if failure.is_passing() && begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
                Err(failure) => return Err(failed(failure.into_store_error("lock").to_string())),
            }
        }
    }
}
