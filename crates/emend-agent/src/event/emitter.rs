//! Adds the time to events, keeps them in the session's log, and wakes readers.

use std::future::poll_fn;
use std::pin::Pin;
use std::task::{Context, Poll, Waker};

use emend_llm::runtime::{Mutex, MutexGuard};
use emend_llm::{Clock, Shared};
use futures::Stream;

use super::kinds::{Event, EventKind};
use super::log::{EventLog, ReaderId, ResyncRequired};

/// The single source of events of a session.
pub(crate) struct Emitter {
    clock: Shared<dyn Clock>,
    state: Mutex<State>,
}

struct State {
    log: EventLog,
    /// Wakers of waiting readers.
    wakers: Vec<Waker>,
    /// Cursor up to which runs have read; the next run continues there.
    run_cursor: u64,
    ended: bool,
}

impl Emitter {
    pub(crate) fn new(session_id: String, clock: Shared<dyn Clock>, weight_max: usize) -> Self {
        let log = EventLog::new(session_id, weight_max);
        Self { clock, state: Mutex::new(State { log, wakers: Vec::new(), run_cursor: 0, ended: false }) }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    pub(crate) fn emit(&self, kind: EventKind) {
        let ts = self.clock.now_ms();
        let wakers = {
            let mut state = self.state();
            state.log.push(ts, kind);
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    /// Ends the streams of all readers after they have read the remaining events.
    pub(crate) fn end(&self) {
        let wakers = {
            let mut state = self.state();
            state.ended = true;
            std::mem::take(&mut state.wakers)
        };
        wakers.into_iter().for_each(Waker::wake);
    }

    pub(crate) fn cursor(&self) -> u64 {
        self.state().log.last()
    }

    pub(crate) fn read(&self, after: u64, n_max: usize) -> Result<Vec<Event>, ResyncRequired> {
        self.state().log.read(after, n_max)
    }

    /// Lets the reader take everything emitted so far: a run is polled only when no event is left.
    pub(crate) async fn yield_to_readers(&self) {
        let mut yielded = false;
        poll_fn(|context| {
            if std::mem::replace(&mut yielded, true) {
                return Poll::Ready(());
            }
            context.waker().wake_by_ref();
            Poll::Pending
        })
        .await;
    }
}

/// The events of a session after a cursor, also between runs. The stream ends with the session.
///
/// A slow reader does not delay the run: unread deltas of a text arrive as one.
pub struct Subscription {
    emitter: Shared<Emitter>,
    id: ReaderId,
    is_run: bool,
}

impl Subscription {
    pub(crate) fn new(emitter: &Shared<Emitter>, after: u64) -> Result<Self, ResyncRequired> {
        let id = emitter.state().log.add_reader(after)?;
        Ok(Self { emitter: Shared::clone(emitter), id, is_run: false })
    }

    /// Returns the reader of a run, which continues at the end of the run before.
    pub(crate) fn of_run(emitter: &Shared<Emitter>) -> Self {
        let id = {
            let mut state = emitter.state();
            let after = state.run_cursor;
            state.log.add_reader_from(after)
        };
        Self { emitter: Shared::clone(emitter), id, is_run: true }
    }
}

impl Stream for Subscription {
    type Item = Event;

    fn poll_next(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        let mut state = self.emitter.state();
        if let Some(event) = state.log.next(self.id) {
            if self.is_run {
                state.run_cursor = event.cursor;
            }
            return Poll::Ready(Some(event));
        }
        if state.ended {
            return Poll::Ready(None);
        }
        if !state.wakers.iter().any(|waker| waker.will_wake(context.waker())) {
            state.wakers.push(context.waker().clone());
        }
        Poll::Pending
    }
}

impl Drop for Subscription {
    fn drop(&mut self) {
        let mut state = self.emitter.state();
        state.log.remove_reader(self.id);
        if self.is_run {
            // Events that a dropped run did not read do not belong to the next run.
            state.run_cursor = state.log.last();
        }
    }
}
