//! An SSH server for tests: Debian's package. The tests start servers of their own and do not use the package's.
//!
//! Tests that run as root need another user with a shell for these servers. The package of PostgreSQL, which the set-up
//! installs before, has one.

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::repo::Repo;

/// The program of Debian's package.
const SSHD: &str = "/usr/sbin/sshd";

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    if installed() {
        return Ok(Done::Skipped(SSHD.to_owned()));
    }
    debian::install(repo, &["openssh-server"])?;
    Ok(match installed() {
        true => Done::Installed(SSHD.to_owned()),
        false => Done::Missing(format!("{SSHD} does not exist; the tests of SSH are skipped")),
    })
}

fn installed() -> bool {
    std::path::Path::new(SSHD).exists()
}
