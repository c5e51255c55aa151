//! PostgreSQL for tests: Debian's package. The tests start servers of their own and do not use the package's.

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::repo::Repo;

/// Directory of Debian's packages, one directory for each version.
const VERSIONS: &str = "/usr/lib/postgresql";

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    if let Some(found) = installed() {
        return Ok(Done::Skipped(found));
    }
    debian::install(repo, &["postgresql"])?;
    Ok(match installed() {
        Some(found) => Done::Installed(found),
        None => Done::Missing(format!("{VERSIONS} has no initdb; the tests of PostgreSQL are skipped")),
    })
}

/// Returns the path of `initdb`.
fn installed() -> Option<String> {
    let versions = std::fs::read_dir(VERSIONS).ok()?;
    let mut found: Vec<_> = versions.flatten().map(|version| version.path().join("bin/initdb")).collect();
    found.retain(|path| path.exists());
    found.pop().map(|path| path.display().to_string())
}
