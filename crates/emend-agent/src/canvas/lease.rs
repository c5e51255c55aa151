//! The canvas lease: one holder, a time to live, and an epoch that rejects late writes.
//!
//! The lease decides who may write the canvas and never holds text. `now_ms` is always an argument, so that a throttled
//! browser tab cannot lose a lease because a timer did not fire. The user needs no lease: every keystroke preempts.

#[cfg(not(target_family = "wasm"))]
use serde::Serialize;

use super::{GUARD_MS_MAX, LEASE_TTL_MS, LeaseError, Ticket};

/// Expiry time of a paused lease, which tells it from an expired one.
const PAUSED: u64 = 0;

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(Serialize, serde::Deserialize))]
struct Held {
    lease_id: u64,
    expires_at_ms: u64,
    // Start times of the calls in flight: at most a model call and a tool call.
    guard_began_at_ms: Option<u64>,
    n_guards: u32,
}

/// The lease of one canvas.
#[derive(Clone, Debug, PartialEq, Eq)]
#[cfg_attr(not(target_family = "wasm"), derive(Serialize, serde::Deserialize))]
pub struct Lease {
    ttl_ms: u64,
    epoch: u64,
    last_lease_id: u64,
    held: Option<Held>,
}

impl Default for Lease {
    fn default() -> Self {
        Self::new(LEASE_TTL_MS)
    }
}

impl Lease {
    /// Returns a free lease that lives for `ttl_ms` after each activity of its holder.
    #[must_use]
    pub fn new(ttl_ms: u64) -> Self {
        Self { ttl_ms, epoch: 0, last_lease_id: 0, held: None }
    }

    /// Returns the epoch, which only grows.
    #[must_use]
    pub fn epoch(&self) -> u64 {
        self.epoch
    }

    /// Returns whether the lease is held at `now_ms`, and its expiry time without renewal.
    #[must_use]
    pub fn held_until(&self, now_ms: u64) -> Option<u64> {
        let held = self.held.as_ref().filter(|held| is_live(held, now_ms))?;
        Some(held.guard_began_at_ms.map_or(held.expires_at_ms, |began| held.expires_at_ms.max(began + GUARD_MS_MAX)))
    }

    /// Gives the lease to a caller that knows `epoch`.
    ///
    /// # Errors
    ///
    /// Returns [`LeaseError::StaleEpoch`] if the user has preempted since, and [`LeaseError::NotAvailable`] while the
    /// lease is held.
    pub fn check_out(&mut self, epoch: u64, now_ms: u64) -> Result<Ticket, LeaseError> {
        if epoch != self.epoch {
            return Err(LeaseError::StaleEpoch);
        }
        if let Some(until) = self.held_until(now_ms) {
            return Err(LeaseError::NotAvailable { remaining_ms: until - now_ms });
        }
        self.last_lease_id += 1;
        self.held = Some(Held {
            lease_id: self.last_lease_id,
            expires_at_ms: now_ms + self.ttl_ms,
            guard_began_at_ms: None,
            n_guards: 0,
        });
        Ok(Ticket { lease_id: self.last_lease_id, epoch })
    }

    /// Checks that `ticket` is valid at `now_ms`. Every write checks it in the same step in which it is committed.
    ///
    /// # Errors
    ///
    /// Returns any [`LeaseError`] except `NotAvailable`.
    pub fn verify(&self, ticket: Ticket, now_ms: u64) -> Result<(), LeaseError> {
        if ticket.epoch != self.epoch {
            return Err(LeaseError::StaleEpoch);
        }
        match &self.held {
            Some(held) if held.lease_id == ticket.lease_id && is_live(held, now_ms) => Ok(()),
            Some(held) if held.lease_id == ticket.lease_id => Err(LeaseError::Expired),
            _ => Err(LeaseError::NotOwned),
        }
    }

    /// Renews the lease for another time to live; returns its expiry time. An expired lease stays expired.
    ///
    /// # Errors
    ///
    /// Same as [`verify`](Self::verify).
    pub fn renew(&mut self, ticket: Ticket, now_ms: u64) -> Result<u64, LeaseError> {
        self.verify(ticket, now_ms)?;
        let ttl_ms = self.ttl_ms;
        Ok(self.held.as_mut().map_or(now_ms, |held| {
            held.expires_at_ms = held.expires_at_ms.max(now_ms + ttl_ms);
            held.expires_at_ms
        }))
    }

    /// Releases the lease. Returns whether `ticket` still held it; a second release has no effect.
    pub fn check_in(&mut self, ticket: Ticket) -> bool {
        let owned = ticket.epoch == self.epoch && self.held.is_some_and(|held| held.lease_id == ticket.lease_id);
        if owned {
            self.held = None;
        }
        owned
    }

    /// Keeps the lease alive while a call of the model or a tool is in flight, for at most [`GUARD_MS_MAX`].
    ///
    /// # Errors
    ///
    /// Same as [`verify`](Self::verify).
    pub fn begin_guard(&mut self, ticket: Ticket, now_ms: u64) -> Result<(), LeaseError> {
        self.verify(ticket, now_ms)?;
        if let Some(held) = &mut self.held {
            held.guard_began_at_ms.get_or_insert(now_ms);
            held.n_guards += 1;
        }
        Ok(())
    }

    /// Ends the guard of [`begin_guard`](Self::begin_guard). The end counts as activity if the lease is still alive.
    pub fn end_guard(&mut self, ticket: Ticket, now_ms: u64) {
        let alive = self.verify(ticket, now_ms).is_ok();
        let ttl_ms = self.ttl_ms;
        let Some(held) = self.held.as_mut().filter(|held| held.lease_id == ticket.lease_id) else { return };
        held.n_guards = held.n_guards.saturating_sub(1);
        if held.n_guards == 0 {
            held.guard_began_at_ms = None;
        }
        if alive {
            held.expires_at_ms = held.expires_at_ms.max(now_ms + ttl_ms);
        }
    }

    /// Pauses the lease while the user decides about a call of its holder, and returns whether it is paused. A paused lease is
    /// free for others. A call in flight keeps the lease in force.
    pub fn pause(&mut self, ticket: Ticket, now_ms: u64) -> bool {
        let is_owned = self.verify(ticket, now_ms).is_ok();
        let Some(held) = self.held.as_mut().filter(|held| is_owned && held.n_guards == 0) else { return false };
        held.expires_at_ms = PAUSED;
        true
    }

    /// Ends a pause and returns whether the lease is in force again. It is not if the user preempted, or if another caller
    /// took the lease meanwhile.
    pub fn resume(&mut self, ticket: Ticket, now_ms: u64) -> bool {
        let is_paused = |held: &&mut Held| held.lease_id == ticket.lease_id && held.expires_at_ms == PAUSED;
        let ttl_ms = self.ttl_ms;
        let Some(held) = self.held.as_mut().filter(is_paused) else { return false };
        held.expires_at_ms = now_ms + ttl_ms;
        true
    }

    /// Preempts the lease for the user and returns the new epoch. Tickets of older epochs become invalid.
    pub fn preempt(&mut self) -> u64 {
        self.held = None;
        self.epoch += 1;
        self.epoch
    }
}

#[cfg(not(target_family = "wasm"))]
impl Lease {
    /// Replaces this lease by the one that the servers of a root share. `has_changes` tells whether this server has changed
    /// its own lease since it was saved, and `n_preempts` how often its users have preempted since. They win in any case.
    pub(super) fn take_in(&mut self, shared: Self, has_changes: bool, n_preempts: u64) {
        let id = |lease: &Self| lease.held.map(|held| held.lease_id);
        // Its holder has renewed it, or has checked it in.
        let is_own =
            has_changes && shared.epoch + n_preempts == self.epoch && shared.last_lease_id == self.last_lease_id;
        let held = match shared.held {
            _ if n_preempts > 0 => None,
            held if is_own && (id(self).is_none() || id(self) == held.map(|held| held.lease_id)) => self.held,
            held => held,
        };
        let last_lease_id = self.last_lease_id.max(shared.last_lease_id);
        *self = Self { ttl_ms: self.ttl_ms, epoch: shared.epoch + n_preempts, last_lease_id, held };
    }
}

fn is_live(held: &Held, now_ms: u64) -> bool {
    now_ms < held.expires_at_ms || held.guard_began_at_ms.is_some_and(|began| now_ms < began + GUARD_MS_MAX)
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;
    use crate::test_support::covers;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    /// All actions on a lease, for two callers.
    #[derive(Clone, Copy, Debug)]
    enum Action {
        CheckOut(usize),
        Renew(usize),
        CheckIn(usize),
        BeginGuard(usize),
        EndGuard(usize),
        Pause(usize),
        Resume(usize),
        Write(usize),
        LearnEpoch(usize),
        Preempt,
        Wait(u64),
    }

    #[derive(Clone)]
    struct World {
        lease: Lease,
        now_ms: u64,
        known_epoch: [u64; 2],
        ticket: [Option<Ticket>; 2],
        // The model, independent of the lease: the holder by the rules, the start of its guard, and its expiry.
        holder: Option<(usize, u64, Option<u64>, u32)>,
        // The caller whose lease waits for a decision. A check-out by any caller and the user end that.
        paused: Option<usize>,
        epoch: u64,
    }

    impl World {
        fn holder_is_live(&self) -> bool {
            self.holder.is_some_and(|(_, until, guard, _)| {
                self.now_ms < until || guard.is_some_and(|began| self.now_ms < began + GUARD_MS_MAX)
            })
        }

        fn may(&self, caller: usize) -> bool {
            self.holder_is_live()
                && self.holder.is_some_and(|(holder, ..)| holder == caller)
                && self.ticket[caller].is_some_and(|ticket| ticket.epoch == self.epoch)
        }

        fn step(&mut self, action: Action) {
            let before = self.lease.epoch();
            match action {
                Action::CheckOut(caller) => {
                    let free = !self.holder_is_live() && self.known_epoch[caller] == self.epoch;
                    let result = self.lease.check_out(self.known_epoch[caller], self.now_ms);
                    assert_eq!(result.is_ok(), free, "{action:?}: at most one holder, and no stale epoch gets in");
                    if let Ok(ticket) = result {
                        self.ticket[caller] = Some(ticket);
                        self.paused = None;
                        self.holder = Some((caller, self.now_ms + LEASE_TTL_MS, None, 0));
                    }
                }
                Action::Renew(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    let may = self.may(caller);
                    assert_eq!(
                        self.lease.renew(ticket, self.now_ms).is_ok(),
                        may,
                        "{action:?}: renewing never revives"
                    );
                    if may && let Some(holder) = &mut self.holder {
                        holder.1 = holder.1.max(self.now_ms + LEASE_TTL_MS);
                    }
                }
                Action::CheckIn(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    let owned = self.lease.check_in(ticket);
                    assert!(!self.lease.check_in(ticket), "{action:?}: giving back is idempotent");
                    if owned {
                        assert_eq!(self.holder.map(|(holder, ..)| holder).or(self.paused), Some(caller));
                        (self.holder, self.paused) = (None, None);
                    }
                }
                Action::BeginGuard(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    let may = self.may(caller);
                    assert_eq!(self.lease.begin_guard(ticket, self.now_ms).is_ok(), may);
                    if may && let Some(holder) = &mut self.holder {
                        holder.2.get_or_insert(self.now_ms);
                        holder.3 += 1;
                    }
                }
                Action::EndGuard(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    let (may, now_ms) = (self.may(caller), self.now_ms);
                    self.lease.end_guard(ticket, now_ms);
                    if let Some(holder) = self.holder.as_mut().filter(|holder| holder.0 == caller) {
                        holder.3 = holder.3.saturating_sub(1);
                        if holder.3 == 0 {
                            holder.2 = None;
                        }
                        if may {
                            holder.1 = holder.1.max(now_ms + LEASE_TTL_MS);
                        }
                    }
                }
                Action::Pause(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    let may = self.may(caller) && self.holder.is_some_and(|(.., n_guards)| n_guards == 0);
                    assert_eq!(self.lease.pause(ticket, self.now_ms), may, "{action:?}: a call in flight goes on");
                    if may {
                        (self.holder, self.paused) = (None, Some(caller));
                    }
                }
                Action::Resume(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    let may = self.paused == Some(caller);
                    assert_eq!(self.lease.resume(ticket, self.now_ms), may, "{action:?}: only a pause ends so");
                    if may {
                        (self.holder, self.paused) = (Some((caller, self.now_ms + LEASE_TTL_MS, None, 0)), None);
                    }
                }
                Action::Write(caller) => {
                    let Some(ticket) = self.ticket[caller] else { return };
                    assert_eq!(
                        self.lease.verify(ticket, self.now_ms).is_ok(),
                        self.may(caller),
                        "{action:?}: a write lands only for the live holder of the present epoch"
                    );
                }
                Action::LearnEpoch(caller) => self.known_epoch[caller] = self.lease.epoch(),
                Action::Preempt => {
                    self.epoch = self.lease.preempt();
                    (self.holder, self.paused) = (None, None);
                    assert!(self.lease.held_until(self.now_ms).is_none(), "preempting is immediate");
                }
                Action::Wait(ms) => self.now_ms += ms,
            }
            assert!(self.lease.epoch() >= before, "the epoch never decreases");
            assert_eq!(self.lease.held_until(self.now_ms).is_some(), self.holder_is_live());
        }
    }

    /// Runs every sequence of actions up to a depth and merges equal states.
    #[test]
    fn every_short_history_obeys_the_rules() {
        covers("canvas.exclusive canvas.preempt");
        let mut actions = vec![Action::Preempt, Action::Wait(LEASE_TTL_MS), Action::Wait(GUARD_MS_MAX - 1)];
        for caller in 0..2 {
            actions.extend([
                Action::CheckOut(caller),
                Action::Renew(caller),
                Action::CheckIn(caller),
                Action::BeginGuard(caller),
                Action::EndGuard(caller),
                Action::Pause(caller),
                Action::Resume(caller),
                Action::Write(caller),
                Action::LearnEpoch(caller),
            ]);
        }
        let start = World {
            lease: Lease::default(),
            now_ms: 0,
            known_epoch: [0; 2],
            ticket: [None; 2],
            holder: None,
            paused: None,
            epoch: 0,
        };
        let mut frontier = vec![start];
        let (mut seen, mut n_states) = (HashSet::new(), 0);
        for _depth in 0..8 {
            let mut next = Vec::new();
            for world in &frontier {
                for &action in &actions {
                    let mut world = world.clone();
                    world.step(action);
                    let key = format!("{:?}{}{:?}{:?}", world.lease, world.now_ms, world.known_epoch, world.ticket);
                    if seen.insert(key) {
                        n_states += 1;
                        next.push(world);
                    }
                }
            }
            frontier = next;
        }
        assert!(n_states > 10_000, "only {n_states} states were reached");
    }

    #[test]
    fn a_slow_call_keeps_the_lease_but_not_for_ever() {
        covers("canvas.expiry");
        let mut lease = Lease::default();
        assert_eq!(LEASE_TTL_MS, 15_000);
        let ticket = lease.check_out(0, 0).unwrap();
        assert_eq!(lease.verify(ticket, 14_999), Ok(()));
        assert_eq!(lease.verify(ticket, 15_000), Err(LeaseError::Expired));
        lease.begin_guard(ticket, 1_000).unwrap();
        assert_eq!(lease.verify(ticket, 60_000), Ok(()));
        assert_eq!(lease.verify(ticket, 1_000 + GUARD_MS_MAX), Err(LeaseError::Expired));
    }

    #[test]
    fn an_old_ticket_is_void_after_the_user_typed() {
        covers("canvas.preempt");
        let mut lease = Lease::default();
        let ticket = lease.check_out(0, 0).unwrap();
        assert_eq!(lease.preempt(), 1);
        assert_eq!(lease.verify(ticket, 1), Err(LeaseError::StaleEpoch));
        assert_eq!(lease.check_out(0, 1), Err(LeaseError::StaleEpoch));
        assert_eq!(lease.check_out(1, 1).map(|ticket| ticket.lease_id), Ok(2));
    }
}
