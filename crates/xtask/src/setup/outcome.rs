//! The outcome of one part of the set-up, and the line that reports it.

use std::time::Instant;

use anyhow::Result;

use crate::progress::say;

/// The outcome of one part of the set-up.
pub(crate) enum Done {
    /// The part was there already; its place or version.
    Skipped(String),
    /// The part was missing and was installed; its place or version.
    Installed(String),
    /// The part cannot be installed here; advice for the user.
    Missing(String),
}

/// Runs one part and reports its outcome and its seconds. A failure does not stop the other parts.
pub(super) fn part(name: &str, set_up: impl FnOnce() -> Result<Done>) {
    let started = Instant::now();
    let outcome = set_up();
    let seconds = started.elapsed().as_secs_f64();
    match outcome {
        Ok(Done::Skipped(what)) => say!("{name}: skipped, have {what} ({seconds:.1} s)"),
        Ok(Done::Installed(what)) => say!("{name}: installed {what} ({seconds:.1} s)"),
        Ok(Done::Missing(what)) => say!("{name}: MISSING, {what} ({seconds:.1} s)"),
        Err(error) => say!("{name}: FAILED, {error:#} ({seconds:.1} s)"),
    }
}
