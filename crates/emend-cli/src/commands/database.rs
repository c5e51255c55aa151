//! `emend db`, and the store of `emend serve` in PostgreSQL.

use std::process::ExitCode;

use emend_agent::service::ServiceStore;
use emend_llm::Shared;

use crate::args::DatabaseUrl;
use crate::failure::Failure;

#[cfg(feature = "postgres")]
mod with_postgres {
    use std::io::Write as _;

    use emend_postgres::{Address, OpenError, PostgresServiceStore};

    use super::*;
    use crate::visible;

    fn failed(error: OpenError) -> Failure {
        Failure::new(error.code(), format!("--store: {error}"))
    }

    pub(crate) async fn migrate(url: &DatabaseUrl) -> Result<ExitCode, Failure> {
        let address = Address::parse(&url.0).map_err(failed)?;
        let done = emend_postgres::migrate(&address).await.map_err(failed)?;
        let mut stdout = visible::stdout();
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

    pub(crate) async fn open(url: &DatabaseUrl) -> Result<Shared<dyn ServiceStore>, Failure> {
        let address = Address::parse(&url.0).map_err(failed)?;
        Ok(Shared::new(PostgresServiceStore::open_for_server(&address).await.map_err(failed)?))
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

    pub(crate) async fn open(_: &DatabaseUrl) -> Result<Shared<dyn ServiceStore>, Failure> {
        absent()
    }
}

#[cfg(feature = "postgres")]
pub(crate) use with_postgres::{migrate, open};
#[cfg(not(feature = "postgres"))]
pub(crate) use without_postgres::{migrate, open};
