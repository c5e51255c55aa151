//! Podman and the programs of a container for tests: Debian's packages. The tests start containers of their own.
//!
//! An installed Podman may still run no container, because of the kernel or the rights here; the tests say so.

use std::path::Path;

use anyhow::Result;

use super::debian;
use super::outcome::Done;
use crate::process::which;
use crate::repo::Repo;

/// The program of the package `busybox-static`.
const BUSYBOX: &str = "/bin/busybox";

pub(super) fn set_up(repo: &Repo) -> Result<Done> {
    let have = format!("podman and {BUSYBOX}");
    if installed() {
        return Ok(Done::Skipped(have));
    }
    // runc supports kernels that the other runtime does not.
    debian::install(repo, &["podman", "runc", "busybox-static"])?;
    Ok(match installed() {
        true => Done::Installed(have),
        false => Done::Missing(format!("{have} are not all there; the tests of containers are skipped")),
    })
}

fn installed() -> bool {
    which("podman").is_some() && Path::new(BUSYBOX).exists()
}
