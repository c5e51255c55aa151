//! The figures of one server, and the list of its sessions, which both servers have in the same form.

use anyhow::{Result, ensure};

use super::http::{self, Idle, Server};

/// Number of sessions of each server.
pub(super) const N_SESSIONS: usize = 2_000;
pub(super) const N_IDLE: usize = 1_000;
/// Number of measured reads of the whole list.
const N_LISTS: usize = 20;

/// The figures of one server.
pub(super) struct Figures {
    /// Time of the first page of the list, 95th percentile in milliseconds.
    pub(super) page_ms: f64,
    /// Time of all pages of the list, 95th percentile in milliseconds.
    pub(super) list_ms: f64,
    /// Time of `/health` while clients ask for pages, 95th percentile in milliseconds.
    pub(super) health_ms: f64,
    /// Absent if the server did not get through it.
    pub(super) storm: Option<Storm>,
    pub(super) idle: Idle,
}

/// The events of a client that reconnects.
pub(super) struct Storm {
    /// Number of events in the store.
    pub(super) n_written: usize,
    /// Number of those that the client has.
    pub(super) n_read: usize,
    /// Number of events that came again.
    pub(super) n_doubles: usize,
}

/// The list of a server.
pub(super) struct List {
    /// Path of the first page of 100 sessions, the most that the peer returns.
    pub(super) path: &'static str,
    /// Parameter for the position of the next page.
    pub(super) after: &'static str,
    /// Field with that position.
    pub(super) next: &'static str,
    /// Field with the sessions.
    pub(super) items: &'static str,
}

impl List {
    /// Measures the first page, all pages, and `/health` while other clients ask for the first page.
    pub(super) fn measure(&self, server: &Server) -> Result<[f64; 3]> {
        let n_sessions = self.read(server)?;
        ensure!(n_sessions == N_SESSIONS, "the list has {n_sessions} sessions");
        let page_ms = server.p95(self.path)?;
        let list_ms = http::p95_of(N_LISTS, || self.read(server).map(drop))?;
        Ok([page_ms, list_ms, server.p95_under_load("/health", self.path)?])
    }

    /// Reads all pages; returns the number of sessions.
    fn read(&self, server: &Server) -> Result<usize> {
        let (mut path, mut n_sessions) = (self.path.to_owned(), 0);
        loop {
            let page = server.json("GET", &path, "")?;
            n_sessions += page[self.items].as_array().map_or(0, Vec::len);
            let Some(next) = page[self.next].as_str() else { return Ok(n_sessions) };
            path = format!("{}&{}={}", self.path, self.after, http::encoded(next));
        }
    }
}
