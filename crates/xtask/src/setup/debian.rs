//! Installs Debian packages, if apt exists and may be used.

use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use anyhow::{Result, bail};

use crate::process::{command, run, succeeds, which};
use crate::repo::Repo;

/// Held while apt-get works: it allows one caller at a time, and parts of the set-up run side by side.
static APT: Mutex<()> = Mutex::new(());

/// Updates the package lists and installs `packages`.
///
/// # Errors
/// apt is missing, may not be used, or fails; the message names the packages to install by hand.
pub(crate) fn install(repo: &Repo, packages: &[&str]) -> Result<()> {
    let by_hand = format!("install by hand: {}", packages.join(" "));
    if which("apt-get").is_none() {
        bail!("there is no apt-get here; {by_hand}");
    }
    let as_root = match (apt_allowed(repo, &[]), apt_allowed(repo, &["sudo", "-n"])) {
        (true, _) => Vec::new(),
        (false, true) => vec!["sudo", "-n"],
        (false, false) => bail!("apt-get needs root here; {by_hand}"),
    };
    let _one = APT.lock().unwrap_or_else(PoisonError::into_inner);
    apt(repo, &as_root, &["update", "-qq"])?;
    let options = ["install", "-y", "-qq", "--no-install-recommends", "-o", "Dpkg::Use-Pty=0"];
    apt(repo, &as_root, &[&options[..], packages].concat())
}

/// Tests the write permission instead of the user id: root in a container may lack it.
fn apt_allowed(repo: &Repo, prefix: &[&str]) -> bool {
    let words = [prefix, &["test", "-w", "/var/lib/dpkg"]].concat();
    succeeds(command(words[0], repo.root()).args(&words[1..]), Duration::from_secs(10))
}

fn apt(repo: &Repo, prefix: &[&str], arguments: &[&str]) -> Result<()> {
    let words = [prefix, &["apt-get"], arguments].concat();
    let mut apt = command(words[0], repo.root());
    // Otherwise a package may wait for the answer to a question.
    apt.env("DEBIAN_FRONTEND", "noninteractive").stdout(std::process::Stdio::null());
    run(apt.args(&words[1..]))
}
