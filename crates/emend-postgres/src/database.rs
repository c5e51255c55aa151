//! A database: its address, a pool of connections, and tries that outlast a restart of the server.

use std::path::PathBuf;
use std::time::{Duration, Instant};

use deadpool_postgres::{Manager, ManagerConfig, Pool, RecyclingMethod, Runtime};
use serde::de::DeserializeOwned;
use tokio::io::{AsyncRead, AsyncWrite};
use tokio::sync::mpsc::{UnboundedReceiver, UnboundedSender, unbounded_channel};
use tokio_postgres::config::{Host, SslMode};
use tokio_postgres::types::ToSql;
use tokio_postgres::{AsyncMessage, Client, Config, Connection, NoTls, Notification, Row};

use crate::error::{Failure, OpenError};
use crate::migrate::{self, Migrated};
use crate::tls::Tls;

/// Maximum number of connections of one server.
pub const CONNECTIONS_MAX: usize = 8;

/// Time for which an operation is tried again while the database cannot be reached.
const PATIENCE: Duration = Duration::from_secs(20);

/// Time between two tries.
const PAUSE: Duration = Duration::from_millis(100);

const CONNECT_TIMEOUT: Duration = Duration::from_secs(10);

/// The address of a database. Its display form has no password.
#[derive(Clone)]
pub struct Address {
    config: Config,
    root_file: Option<PathBuf>,
}

impl std::fmt::Debug for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        write!(f, "{self}")
    }
}

impl std::fmt::Display for Address {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let host = match self.config.get_hosts().first() {
            Some(Host::Tcp(name)) => name.clone(),
            #[cfg(unix)]
            Some(Host::Unix(path)) => path.display().to_string(),
            None => String::new(),
        };
        let port = self.config.get_ports().first().map(|port| format!(":{port}")).unwrap_or_default();
        write!(f, "postgres://{host}{port}/{}", self.config.get_dbname().unwrap_or_default())
    }
}

impl Address {
    /// Reads a `postgres://` URL or a list of `key=value`, as `psql` takes them.
    ///
    /// Connections are encrypted and the certificate is verified, except to this computer or with `sslmode=disable`.
    /// `sslrootcert` names a file with the certificates to trust instead of the system's.
    ///
    /// # Errors
    ///
    /// [`OpenError::Address`]; the message does not repeat the text.
    pub fn parse(text: &str) -> Result<Self, OpenError> {
        let (text, root_file) = take_root_file(text);
        let mut config: Config = text.parse().map_err(|error: tokio_postgres::Error| {
            // The message names a key or the kind of the mistake and no value.
            OpenError::Address { reason: crate::error::reason(&error) }
        })?;
        if config.get_hosts().is_empty() {
            return Err(OpenError::Address { reason: "it names no host".to_owned() });
        }
        if config.get_ssl_mode() == SslMode::Prefer {
            // Without encryption only where no network is involved; never as a fallback.
            let is_local = root_file.is_none() && config.get_hosts().iter().all(is_local);
            config.ssl_mode(if is_local { SslMode::Disable } else { SslMode::Require });
        }
        config.connect_timeout(CONNECT_TIMEOUT);
        if config.get_application_name().is_none() {
            config.application_name("emend");
        }
        Ok(Self { config, root_file })
    }

    pub(crate) async fn connect(&self) -> Result<Client, OpenError> {
        if self.config.get_ssl_mode() == SslMode::Disable {
            let (client, connection) = self.config.connect(NoTls).await?;
            drive(connection);
            return Ok(client);
        }
        let (client, connection) = self.config.connect(Tls::new(self.root_file.as_deref())?).await?;
        drive(connection);
        Ok(client)
    }

    /// Opens a connection for notifications, and returns them until it breaks.
    pub(crate) async fn listen(&self, sql: &str) -> Result<(Client, UnboundedReceiver<Notification>), OpenError> {
        let (sender, notifications) = unbounded_channel();
        let client = if self.config.get_ssl_mode() == SslMode::Disable {
            let (client, connection) = self.config.connect(NoTls).await?;
            forward(connection, sender);
            client
        } else {
            let (client, connection) = self.config.connect(Tls::new(self.root_file.as_deref())?).await?;
            forward(connection, sender);
            client
        };
        client.batch_execute(sql).await?;
        Ok((client, notifications))
    }

    fn pool(&self) -> Result<Pool, OpenError> {
        let how = ManagerConfig { recycling_method: RecyclingMethod::Fast };
        let manager = match self.config.get_ssl_mode() {
            SslMode::Disable => Manager::from_config(self.config.clone(), NoTls, how),
            _ => Manager::from_config(self.config.clone(), Tls::new(self.root_file.as_deref())?, how),
        };
        let builder = Pool::builder(manager).max_size(CONNECTIONS_MAX).runtime(Runtime::Tokio1);
        let failed = |error: deadpool_postgres::BuildError| OpenError::Database { reason: error.to_string() };
        builder.wait_timeout(Some(PATIENCE)).create_timeout(Some(CONNECT_TIMEOUT)).build().map_err(failed)
    }
}

/// Runs a connection until its client is dropped. A failure is reported by the next statement.
fn drive(connection: impl Future<Output = Result<(), tokio_postgres::Error>> + Send + 'static) {
    tokio::spawn(async move {
        let _ = connection.await;
    });
}

/// Runs a connection until its client is dropped, and passes its notifications on.
fn forward<S, T>(mut connection: Connection<S, T>, sender: UnboundedSender<Notification>)
where
    S: AsyncRead + AsyncWrite + Unpin + Send + 'static,
    T: AsyncRead + AsyncWrite + Unpin + Send + 'static,
{
    tokio::spawn(async move {
        while let Some(Ok(message)) = std::future::poll_fn(|context| connection.poll_message(context)).await {
            if let AsyncMessage::Notification(notification) = message
                && sender.send(notification).is_err()
            {
                return;
            }
        }
    });
}

fn is_local(host: &Host) -> bool {
    match host {
        Host::Tcp(name) => ["localhost", "127.0.0.1", "::1", "[::1]"].contains(&name.as_str()),
        #[cfg(unix)]
        Host::Unix(_) => true,
    }
}

/// Splits `sslrootcert=FILE` off a URL; the client library does not know it.
fn take_root_file(text: &str) -> (String, Option<PathBuf>) {
    let Some((address, query)) = text.split_once('?') else { return (text.to_owned(), None) };
    let mut file = None;
    let rest: Vec<&str> = query
        .split('&')
        .filter(|part| match part.strip_prefix("sslrootcert=") {
            Some(path) => {
                file = Some(PathBuf::from(path));
                false
            }
            None => true,
        })
        .collect();
    let query = if rest.is_empty() { String::new() } else { format!("?{}", rest.join("&")) };
    (format!("{address}{query}"), file)
}

/// Brings a database to the version of this program. Creates the schema `emend` if it does not exist.
///
/// # Errors
///
/// [`OpenError`]; the database is unchanged then.
pub async fn migrate(address: &Address) -> Result<Migrated, OpenError> {
    migrate::migrate(&mut address.connect().await?).await
}

/// A migrated database.
#[derive(Clone)]
pub(crate) struct Database {
    pool: Pool,
    name: String,
}

impl Database {
    /// Opens a database of the present version.
    pub(crate) async fn open(address: &Address) -> Result<Self, OpenError> {
        migrate::check(&address.connect().await?).await?;
        Ok(Self { pool: address.pool()?, name: address.to_string() })
    }

    /// Returns the address without the password.
    pub(crate) fn name(&self) -> &str {
        &self.name
    }

    pub(crate) async fn try_rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        let connection = self.pool.get().await?;
        let statement = connection.prepare_cached(sql).await?;
        Ok(connection.query(&statement, params).await?)
    }

    /// Runs a statement and returns its rows. A statement whose connection broke runs again, so a change must bear
    /// being repeated.
    pub(crate) async fn rows(&self, sql: &str, params: &[&(dyn ToSql + Sync)]) -> Result<Vec<Row>, Failure> {
        let begun = Instant::now();
        loop {
            match self.try_rows(sql, params).await {
                Err(failure) if failure.is_passing() && begun.elapsed() < PATIENCE => tokio::time::sleep(PAUSE).await,
                outcome => return outcome,
            }
        }
    }

    /// Runs a change that answers with JSON in one row and column.
    pub(crate) async fn call<T: DeserializeOwned>(
        &self,
        sql: &str,
        params: &[&(dyn ToSql + Sync)],
    ) -> Result<T, Failure> {
        let rows = self.rows(sql, params).await?;
        let answer = rows.first().map_or("null", |row| row.get(0));
        Ok(serde_json::from_str(answer)?)
    }
}

/// Returns a new random number for a change, in the form of a UUID.
pub(crate) fn change_id() -> Result<String, String> {
    let mut bytes = [0; 16];
    getrandom::fill(&mut bytes).map_err(|error| format!("the system has no random numbers: {error}"))?;
    Ok(bytes.iter().map(|byte| format!("{byte:02x}")).collect())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn addresses_show_no_password() {
        let table = [
            ("postgres://u:secret@db.example:5433/emend", "postgres://db.example:5433/emend", SslMode::Require),
            ("postgresql://u:secret@127.0.0.1/emend", "postgres://127.0.0.1:5432/emend", SslMode::Disable),
            ("postgres://u:secret@db.example/e?sslmode=disable", "postgres://db.example:5432/e", SslMode::Disable),
            ("postgres://u@localhost/e?sslmode=require", "postgres://localhost:5432/e", SslMode::Require),
            ("postgres://u@localhost/e?sslrootcert=ca.pem", "postgres://localhost:5432/e", SslMode::Require),
            ("host=/run/postgresql user=u password=secret dbname=e", "postgres:///run/postgresql/e", SslMode::Disable),
        ];
        for (text, shown, mode) in table {
            let address = Address::parse(text).unwrap();
            assert_eq!((address.to_string(), address.config.get_ssl_mode()), (shown.to_owned(), mode), "{text}");
            assert_eq!(format!("{address:?}"), shown);
        }
        for text in ["", "postgres://", "postgres://u:secret@h:secret/x", "postgres://u:secret@h/x?sslmode=secret"] {
            let error = Address::parse(text).unwrap_err();
            assert_eq!(error.code().as_str(), "configuration", "{text}");
            assert!(!error.to_string().contains("secret"), "{text}: {error}");
        }
    }
}
