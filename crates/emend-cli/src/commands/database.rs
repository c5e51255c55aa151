//! `emend db`, and the store of `emend serve` in PostgreSQL.

use std::process::ExitCode;

use crate::args::DatabaseUrl;
use crate::failure::Failure;

#[cfg(feature = "postgres")]
mod with_postgres {
    use std::io::Write as _;

    #[cfg(unix)]
    use emend_agent::environment::EnvError;
    use emend_agent::service::ServiceStore;
    #[cfg(unix)]
    use emend_llm::BoxFuture;
    use emend_llm::Shared;
    #[cfg(unix)]
    use emend_postgres::RootLock;
    use emend_postgres::{Address, OpenError, PostgresServiceStore, ServerJobs, ServerOptions};

    use super::*;
    #[cfg(unix)]
    use crate::shared_root::{TakeTurns, TurnOfRoot};
    use crate::visible;

    fn failed(error: OpenError) -> Failure {
        Failure::new(error.code(), format!("--store: {error}"))
    }

    pub(crate) async fn migrate(url: &DatabaseUrl) -> Result<ExitCode, Failure> {
        let address = Address::parse(&url.0).map_err(failed)?;
        let done = emend_postgres::migrate(&address).await.map_err(failed)?;
        let mut stdout = visible::listing();
        match done.from {
            from if from == done.to => writeln!(stdout, "{address} has version {} already", done.to)?,
            0 => writeln!(stdout, "{address} has version {} now", done.to)?,
            from => writeln!(stdout, "{address} has version {} now; it had version {from}", done.to)?,
        }
        if !done.has_jobs {
            writeln!(stdout, "without Absurd: run `cargo xtask setup` before the build, or `absurdctl init`")?;
        }
        Ok(ExitCode::SUCCESS)
    }

    /// A database with the jobs that servers share.
    pub(crate) struct Opened {
        pub(crate) store: Shared<dyn ServiceStore>,
        pub(crate) jobs: Shared<ServerJobs>,
    }

    pub(crate) async fn open(url: &DatabaseUrl, lease_s: u32) -> Result<Opened, Failure> {
        let address = Address::parse(&url.0).map_err(failed)?;
        let lease_s = i32::try_from(lease_s).unwrap_or(i32::MAX).max(1);
        let options = ServerOptions { name: server_name(), lease_s };
        let jobs = Shared::new(ServerJobs::open(&address, options).await.map_err(failed)?);
        Ok(Opened { store: Shared::new(PostgresServiceStore::open(&address).await.map_err(failed)?), jobs })
    }

    pub(crate) async fn check_project(jobs: &ServerJobs, name: &str) -> Result<(), Failure> {
        jobs.belongs_to(name).await.map_err(failed)
    }

    /// Returns the name of this server for people who look into the queue.
    fn server_name() -> String {
        let host = std::fs::read_to_string("/etc/hostname").unwrap_or_default();
        format!("emend serve {} on {}", std::process::id(), host.trim())
    }

    #[cfg(unix)]
    struct Turn(RootLock);

    #[cfg(unix)]
    impl TurnOfRoot for Turn {
        fn is_held(&self) -> bool {
            self.0.is_held()
        }
    }

    #[cfg(unix)]
    impl TakeTurns for ServerJobs {
        fn turn<'a>(&'a self, claim: Option<&'a str>) -> BoxFuture<'a, Result<Box<dyn TurnOfRoot>, EnvError>> {
            Box::pin(async move {
                let turn = self.lock_root(claim).await;
                let turn =
                    turn.map_err(|error| EnvError::Io { path: "the project".to_owned(), reason: error.to_string() });
                Ok(Box::new(Turn(turn?)) as Box<dyn TurnOfRoot>)
            })
        }
    }
}

#[cfg(not(feature = "postgres"))]
mod without_postgres {
    use emend_agent::error_code::Code;

    use super::*;

    fn absent<T>() -> Result<T, Failure> {
        let message = "this build of emend has no PostgreSQL; build it with the feature `postgres`";
        Err(Failure::new(Code::Unsupported, message))
    }

    pub(crate) async fn migrate(_: &DatabaseUrl) -> Result<ExitCode, Failure> {
        absent()
    }
}

#[cfg(feature = "postgres")]
pub(crate) use with_postgres::{Opened, check_project, migrate, open};
#[cfg(not(feature = "postgres"))]
pub(crate) use without_postgres::migrate;
