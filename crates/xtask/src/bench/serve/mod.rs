//! `emend serve` beside `openhands-agent-server` from PyPI, in one run with one client: events after 100 reconnects, the
//! list of 2,000 sessions, `/health` under load, and the memory of 1,000 idle streams.
//!
//! `--peers` installs the peer. Without the peer, the rows have our figures only.

mod breaks;
mod emend;
mod figures;
mod http;
mod peer;
mod python;
mod websocket;

use anyhow::{Result, bail, ensure};

use self::breaks::N_RECONNECTS;
use self::figures::{Figures, N_IDLE, Storm};
use super::row::Row;
use crate::progress::say;
use crate::repo::Repo;

/// Memory that our server may use with idle clients, in MB.
const MEMORY_MAX: f64 = 200.0;

/// Installs the peer, if this machine has a Python for it.
pub(super) fn install_peer(repo: &Repo) {
    if let Err(error) = python::install(repo) {
        say!("skipped: the installation of openhands-agent-server: {error:#}");
    }
}

pub(super) fn run(repo: &Repo) -> Result<Vec<Row>> {
    let ours = emend::measure(repo)?;
    report("emend serve", &ours);
    let theirs = match peer::measure(repo) {
        Ok((name, figures)) => {
            report(&name, &figures);
            Some((name, figures))
        }
        Err(error) => {
            say!("skipped: openhands-agent-server: {error:#}");
            None
        }
    };
    let Some(storm) = &ours.storm else { bail!("no client reconnected") };
    ensure!(storm.n_read == storm.n_written, "{} of {} events came", storm.n_read, storm.n_written);
    ensure!(storm.n_doubles == 0, "{} events came twice", storm.n_doubles);
    ensure!(ours.idle.n_open == N_IDLE, "the server has closed {} of the idle streams", N_IDLE - ours.idle.n_open);
    if let Some([_, memory]) = ours.idle.memory {
        ensure!(memory <= MEMORY_MAX, "{memory:.0} MB with {N_IDLE} idle streams; the limit is {MEMORY_MAX} MB");
    }
    Ok(rows(&ours, theirs.as_ref()))
}

fn rows(ours: &Figures, theirs: Option<&(String, Figures)>) -> Vec<Row> {
    let row = |name: &str, unit: &str, figure: fn(&Figures) -> Option<f64>| {
        let own = figure(ours)?;
        let peer = theirs.and_then(|(peer, figures)| Some((peer, figure(figures)?)));
        Some(match peer {
            Some((peer, theirs)) => Row::beside(name, own, peer.clone(), theirs, unit),
            None => Row::alone(name, own, unit),
        })
    };
    let rows = [
        row("100 of 2,000 sessions, p95", "ms", |figures| Some(figures.page_ms)),
        row("2,000 sessions in pages of 100, p95", "ms", |figures| Some(figures.list_ms)),
        row("/health while 4 clients list, p95", "ms", |figures| Some(figures.health_ms)),
        row("events missing after 100 reconnects", "events", |figures| {
            figures.storm.as_ref().map(|storm| (storm.n_written - storm.n_read) as f64)
        }),
        row("events twice in 100 reconnects", "events", |figures| Some(figures.storm.as_ref()?.n_doubles as f64)),
        row("idle streams open after 12 s, of 1,000", "streams", |figures| Some(figures.idle.n_open as f64)),
        row("memory with 2,000 sessions", "MB", |figures| Some(figures.idle.memory?[0])),
        row("memory with 1,000 idle streams", "MB", |figures| Some(figures.idle.memory?[1])),
    ];
    rows.into_iter().flatten().collect()
}

/// Prints the figures that no row has.
fn report(name: &str, figures: &Figures) {
    let Some(Storm { n_written, n_read, n_doubles }) = figures.storm else { return };
    say!("{name}: {n_read} of {n_written} events in {N_RECONNECTS} reconnects, {n_doubles} of them again");
}
