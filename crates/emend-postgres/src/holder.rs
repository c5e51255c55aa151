//! The right of one server to run the jobs of a database.
//!
//! An advisory lock of one connection keeps a second server out. It ends with the connection, so a number fences the
//! first server: taking over increments it, and changes under an older number are refused in their own transaction.

use std::time::{Duration, Instant};

use tokio_postgres::Client;

use crate::database::Address;
use crate::error::OpenError;

/// Key of the advisory lock of servers.
const LOCK: i64 = 0x456d_6e65;

/// Time to wait for a server that was stopped or killed a moment ago.
const PATIENCE: Duration = Duration::from_secs(3);

const PAUSE: Duration = Duration::from_millis(50);

/// The right of this server.
pub(crate) struct Holder {
    /// Keeps the lock.
    _connection: Client,
    server: i64,
}

impl Holder {
    /// Takes the right if no other server holds it.
    pub(crate) async fn take(address: &Address) -> Result<Self, OpenError> {
        let connection = address.connect().await?;
        // The database notices a broken network after about a minute.
        connection
            .batch_execute(
                "SET tcp_keepalives_idle = 30; SET tcp_keepalives_interval = 10; SET tcp_keepalives_count = 3",
            )
            .await?;
        let begun = Instant::now();
        while !connection.query_one("SELECT pg_try_advisory_lock($1)", &[&LOCK]).await?.get::<_, bool>(0) {
            if begun.elapsed() > PATIENCE {
                return Err(OpenError::InUse);
            }
            tokio::time::sleep(PAUSE).await;
        }
        let server = connection.query_one("SELECT emend.take_over()", &[]).await?.get(0);
        Ok(Self { _connection: connection, server })
    }

    /// Returns the number of this server.
    pub(crate) fn server(&self) -> i64 {
        self.server
    }
}
