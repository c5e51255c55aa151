//! Firefox and its driver, for a second run of the browser tests. Only `test --all` and `test --only firefox` install them.

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::process::{command, run, stdout_of, which};
use crate::repo::Repo;

/// Names of the browser on PATH, the preferred one first.
const NAMES: [&str; 2] = ["firefox-esr", "firefox"];
/// Debian's package of the browser.
const PACKAGE: &str = "firefox-esr";
/// Version of the driver. Debian has no package of it in every release. The lock file of the package is used: newer packages
/// may need a newer compiler.
const GECKODRIVER: &str = "0.37.1";

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    let browser = || NAMES.into_iter().find_map(which);
    let is_installed = browser().is_some();
    if !is_installed {
        debian::install(repo, &[PACKAGE])?;
    }
    let Some(firefox) = browser() else {
        return Ok(Done::Missing(format!("apt-get installed {PACKAGE}, yet the browser is not on PATH")));
    };
    let both = format!("{} and geckodriver {GECKODRIVER}", firefox.display());
    let mut probe = command(repo.tools().join("bin/geckodriver"), repo.root());
    let wanted = format!("geckodriver {GECKODRIVER} ");
    if stdout_of(probe.arg("--version")).is_ok_and(|printed| printed.starts_with(&wanted)) {
        return Ok(if is_installed { Done::Skipped(both) } else { Done::Installed(both) });
    }
    let mut install = command("cargo", repo.root());
    // It passes messages on, so it need not be fast.
    install.env("CARGO_PROFILE_RELEASE_OPT_LEVEL", "0");
    install.args(["install", "--quiet", "geckodriver", "--locked", "--version"]);
    run(install.arg(format!("={GECKODRIVER}")).arg("--root").arg(repo.tools()))?;
    Ok(Done::Installed(both))
}
