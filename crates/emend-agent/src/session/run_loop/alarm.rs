//! The alarm of a run: it rings when the time limit is over. Time in which a user is asked does not count, if the approver
//! says so.

use std::task::Context;

use emend_llm::BoxFuture;

use crate::session::core::Core;

/// Pause between two looks at a question that outlasts the limit.
const LOOK_MS: u64 = 250;

pub(super) struct Alarm<'a> {
    core: &'a Core,
    sleep: BoxFuture<'static, ()>,
    /// Milliseconds of waits by which the limit was extended.
    n_extended_ms: u64,
}

impl<'a> Alarm<'a> {
    pub(super) fn new(core: &'a Core, limit_ms: u64) -> Self {
        Self { core, sleep: core.clock.sleep(limit_ms), n_extended_ms: 0 }
    }

    /// Returns whether the time is over. Wakes the task when it may be.
    pub(super) fn rings(&mut self, context: &mut Context<'_>) -> bool {
        if self.sleep.as_mut().poll(context).is_pending() {
            return false;
        }
        if cfg!(target_family = "wasm") {
            return true;
        }
        let (waited_ms, is_open) = self.core.approvals.waited(self.core.clock.now_ms());
        let more_ms = waited_ms.saturating_sub(self.n_extended_ms);
        // The rest of a look beyond the answer is taken off the next extension.
        let more_ms = if is_open { more_ms.max(LOOK_MS) } else { more_ms };
        if more_ms == 0 {
            return true;
        }
        self.n_extended_ms += more_ms;
        self.sleep = self.core.clock.sleep(more_ms);
        // The new sleep is polled once, so that its end wakes the task.
        context.waker().wake_by_ref();
        false
    }
}
