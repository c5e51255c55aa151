//! Changes of files that are under way, also when the call that began them no longer waits.

use std::any::Any;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

/// Counts the changes of files that are under way in one environment. Clones share the count.
#[derive(Clone, Default)]
pub struct UnderWay(Arc<Mutex<State>>);

#[derive(Default)]
struct State {
    n_changes: usize,
    /// Dropped at the end of the last change.
    held: Vec<Box<dyn Any + Send>>,
}

/// One change, until it is dropped.
pub(crate) struct Change(UnderWay);

impl UnderWay {
    fn state(&self) -> MutexGuard<'_, State> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Counts a change until the returned value is dropped.
    pub(crate) fn begin(&self) -> Change {
        self.state().n_changes += 1;
        Change(self.clone())
    }

    /// Drops `guard` when no change is under way: now, or at the end of the last one.
    pub fn hold(&self, guard: impl Any + Send) {
        let mut state = self.state();
        if state.n_changes > 0 {
            state.held.push(Box::new(guard));
        } else {
            drop(state);
            drop(guard);
        }
    }
}

impl Drop for Change {
    fn drop(&mut self) {
        let ended = {
            let mut state = self.0.state();
            state.n_changes -= 1;
            if state.n_changes == 0 { std::mem::take(&mut state.held) } else { Vec::new() }
        };
        drop(ended);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_guard_is_held_until_the_last_change_has_ended() {
        let under_way = UnderWay::default();
        let guard = Arc::new(());
        let n_held = || Arc::strong_count(&guard) - 1;
        under_way.hold(Arc::clone(&guard));
        assert_eq!(n_held(), 0, "nothing is under way");
        let (first, second) = (under_way.begin(), under_way.clone().begin());
        under_way.hold(Arc::clone(&guard));
        drop(first);
        assert_eq!(n_held(), 1);
        drop(second);
        assert_eq!(n_held(), 0);
    }
}
