//! The file that is open in an editor, and its lease.
//!
//! Without the feature `canvas`, `none.rs` takes the place of this file.

use emend_llm::runtime::{Mutex, MutexGuard};
#[cfg(not(target_family = "wasm"))]
use serde::Serialize;

use super::CanvasState;
pub use super::lease::Lease;
use crate::environment::FilePath;

/// The file that is open in an editor, shared by session and host.
#[derive(Debug, Default)]
pub struct Canvas {
    inner: Mutex<Inner>,
}

#[derive(Debug, Default)]
struct Inner {
    path: Option<FilePath>,
    lease: Lease,
    /// Changes that other servers of the root do not know yet.
    #[cfg(not(target_family = "wasm"))]
    unsaved: Unsaved,
}

/// Counts of changes, and those of them that are saved.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Unsaved {
    n_changes: u64,
    n_changes_saved: u64,
    n_preempts: u64,
    n_preempts_saved: u64,
}

/// The canvas as the servers of a root share it.
#[cfg(not(target_family = "wasm"))]
#[derive(Clone, Debug, Serialize, serde::Deserialize)]
pub(crate) struct SavedCanvas {
    #[serde(skip_serializing_if = "Option::is_none", default)]
    path: Option<FilePath>,
    lease: Lease,
    #[serde(skip)]
    n_changes: u64,
    #[serde(skip)]
    n_preempts: u64,
}

impl Canvas {
    /// Returns a canvas without an open file.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Opens `path`, or closes the file. A change of the file preempts the lease, which belongs to the file on screen.
    pub fn open(&self, path: Option<FilePath>) {
        let mut inner = self.lock();
        if inner.path != path {
            inner.path = path;
            inner.preempt();
        }
    }

    /// Returns the path of the open file.
    #[must_use]
    pub fn path(&self) -> Option<FilePath> {
        self.lock().path.clone()
    }

    /// Returns the state for an editor.
    #[must_use]
    pub fn state(&self, now_ms: u64) -> CanvasState {
        let inner = self.lock();
        let expires_at = inner.lease.held_until(now_ms);
        CanvasState { path: inner.path.clone(), held: expires_at.is_some(), epoch: inner.lease.epoch(), expires_at }
    }

    /// Preempts the lease for the user: on a keystroke, Esc, a new message or a cancelled run.
    pub fn take_back(&self) -> u64 {
        self.lock().preempt()
    }

    /// Runs `step` on the lease without interruption.
    pub fn with_lease<T>(&self, step: impl FnOnce(&mut Lease) -> T) -> T {
        let mut inner = self.lock();
        #[cfg(not(target_family = "wasm"))]
        let before = inner.lease.clone();
        let done = step(&mut inner.lease);
        #[cfg(not(target_family = "wasm"))]
        if inner.lease != before {
            inner.unsaved.n_changes += 1;
        }
        done
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock()
    }
}

impl Inner {
    fn preempt(&mut self) -> u64 {
        #[cfg(not(target_family = "wasm"))]
        {
            self.unsaved.n_changes += 1;
            self.unsaved.n_preempts += 1;
        }
        self.lease.preempt()
    }
}

/// The canvas of a root that several servers share. A change outside a turn of the root is saved at the end of the next one.
#[cfg(not(target_family = "wasm"))]
impl Canvas {
    /// Returns the canvas to save.
    pub(crate) fn saved(&self) -> Option<SavedCanvas> {
        let inner = self.lock();
        let Unsaved { n_changes, n_preempts, .. } = inner.unsaved;
        Some(SavedCanvas { path: inner.path.clone(), lease: inner.lease.clone(), n_changes, n_preempts })
    }

    /// Records that a canvas was saved.
    pub(crate) fn note_saved(&self, saved: &SavedCanvas) {
        let unsaved = &mut self.lock().unsaved;
        (unsaved.n_changes_saved, unsaved.n_preempts_saved) = (saved.n_changes, saved.n_preempts);
    }

    /// Returns whether other servers know all changes.
    pub(crate) fn is_saved(&self) -> bool {
        let unsaved = self.lock().unsaved;
        unsaved.n_changes == unsaved.n_changes_saved
    }

    /// Takes in the canvas that another server has saved.
    pub(crate) fn take_in(&self, SavedCanvas { path, lease, .. }: SavedCanvas) {
        let mut inner = self.lock();
        let Unsaved { n_changes, n_changes_saved, n_preempts, n_preempts_saved } = inner.unsaved;
        let has_changes = n_changes != n_changes_saved;
        inner.lease.take_in(lease, has_changes, n_preempts - n_preempts_saved);
        inner.path = path;
    }
}

#[cfg(test)]
#[cfg(not(target_family = "wasm"))]
mod host_tests {
    use super::*;
    use crate::canvas::{LEASE_TTL_MS, LeaseError};
    use crate::test_support::covers;

    /// Canvases of two servers, each of which has taken in the same open file.
    fn servers() -> [Canvas; 2] {
        let [a, b] = [Canvas::new(), Canvas::new()];
        a.open(FilePath::clean("notes.md"));
        exchange(&a, &b);
        assert_eq!(b.state(0), a.state(0));
        [a, b]
    }

    /// Saves the canvas of one server in a turn, and lets the other one take it in.
    fn exchange(from: &Canvas, to: &Canvas) {
        let saved = from.saved().unwrap();
        from.note_saved(&saved);
        let saved = serde_json::to_string(&saved).unwrap();
        to.take_in(serde_json::from_str(&saved).unwrap());
    }

    #[test]
    fn a_lease_of_one_server_is_held_on_the_others() {
        covers("canvas.exclusive");
        let [a, b] = servers();
        let ticket = a.with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap();
        exchange(&a, &b);
        let refused = b.with_lease(|lease| lease.check_out(lease.epoch(), 1)).unwrap_err();
        assert!(matches!(refused, LeaseError::NotAvailable { .. }), "{refused}");
        assert_eq!(b.with_lease(|lease| lease.verify(ticket, 1)), Ok(()));
        // Its end is known there, too.
        assert!(a.with_lease(|lease| lease.check_in(ticket)));
        exchange(&a, &b);
        let next = b.with_lease(|lease| lease.check_out(lease.epoch(), 2)).unwrap();
        assert_ne!(next.lease_id, ticket.lease_id);
        exchange(&b, &a);
        assert_eq!(a.with_lease(|lease| lease.verify(ticket, 2)), Err(LeaseError::NotOwned));
    }

    #[test]
    fn a_user_of_one_server_preempts_a_lease_of_another() {
        covers("canvas.preempt");
        let [a, b] = servers();
        let ticket = a.with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap();
        exchange(&a, &b);
        let epoch = b.take_back();
        exchange(&b, &a);
        assert_eq!(a.with_lease(|lease| lease.verify(ticket, 0)), Err(LeaseError::StaleEpoch));
        assert_eq!(a.state(0), b.state(0));
        assert_eq!(a.with_lease(|lease| lease.check_out(epoch, 0)).map(|ticket| ticket.epoch), Ok(epoch));
    }

    #[test]
    fn users_of_two_servers_who_preempt_at_once_both_win() {
        covers("canvas.preempt");
        let [a, b] = servers();
        let of_user = a.take_back();
        // A run on the other server begins in the epoch of its own message and takes the lease.
        b.take_back();
        let ticket = b.with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap();
        assert_eq!(ticket.epoch, of_user, "the servers count alike");
        exchange(&b, &a);
        assert!(!a.is_saved());
        exchange(&a, &b);
        assert_eq!(b.with_lease(|lease| lease.verify(ticket, 0)), Err(LeaseError::StaleEpoch));
        assert!(a.is_saved());
        // A saved preemption does not count again.
        let epoch = a.state(0).epoch;
        exchange(&b, &a);
        assert_eq!(a.state(0).epoch, epoch);
    }

    #[test]
    fn a_holder_renews_outside_a_turn_and_keeps_the_lease() {
        covers("canvas.exclusive");
        let [a, b] = servers();
        let ticket = a.with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap();
        exchange(&a, &b);
        a.with_lease(|lease| lease.begin_guard(ticket, 1)).unwrap();
        // Another change of the other server comes first.
        exchange(&b, &a);
        assert_eq!(a.with_lease(|lease| lease.verify(ticket, LEASE_TTL_MS * 4)), Ok(()));
        exchange(&a, &b);
        assert!(b.with_lease(|lease| lease.check_out(lease.epoch(), LEASE_TTL_MS * 4)).is_err());
        // A lease that the other server gave since is not taken from its holder.
        a.with_lease(|lease| lease.end_guard(ticket, LEASE_TTL_MS * 5));
        let later = LEASE_TTL_MS * 100;
        let next = b.with_lease(|lease| lease.check_out(lease.epoch(), later)).unwrap();
        exchange(&b, &a);
        assert_eq!(a.with_lease(|lease| lease.verify(next, later)), Ok(()));
        assert_eq!(a.with_lease(|lease| lease.verify(ticket, later)), Err(LeaseError::NotOwned));
    }

    #[test]
    fn a_file_that_one_server_opens_is_open_on_the_others() {
        let [a, b] = servers();
        let ticket = b.with_lease(|lease| lease.check_out(lease.epoch(), 0)).unwrap();
        exchange(&b, &a);
        a.open(FilePath::clean("other.md"));
        exchange(&a, &b);
        assert_eq!(b.path(), FilePath::clean("other.md"));
        assert_eq!(b.with_lease(|lease| lease.verify(ticket, 0)), Err(LeaseError::StaleEpoch));
    }
}
