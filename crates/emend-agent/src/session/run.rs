//! A run in progress: the stream that drives it, and its end or drop.

use std::pin::Pin;
use std::task::{Context, Poll};

use emend_llm::{BoxFuture, CancelToken, Shared};
use futures::Stream;

use super::core::{Core, Start};
use super::run_loop;
use crate::event::{Event, Subscription};
use run_loop::running::Running;

/// A run in progress, as a stream of its events in order. Ends after `PROCESSING_END`.
#[must_use = "a turn does nothing unless its events are polled"]
pub struct Run {
    // Dropped before the events: the end of a dropped run is one of its events.
    driver: Option<BoxFuture<'static, ()>>,
    events: Subscription,
    cancel: CancelToken,
}

impl Run {
    pub(super) fn start(core: &Shared<Core>, start: Start, cancel: CancelToken) -> Self {
        let events = Subscription::of_run(&core.emitter);
        let running = Running::new(core);
        let driver = Box::pin(run_loop::drive(running, start, cancel.clone()));
        Self { driver: Some(driver), events, cancel }
    }
}

impl Stream for Run {
    type Item = Event;

    /// Returns ready events before the run continues: a slow reader slows the run down.
    fn poll_next(mut self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Option<Event>> {
        loop {
            if let Poll::Ready(Some(event)) = Pin::new(&mut self.events).poll_next(context) {
                return Poll::Ready(Some(event));
            }
            let Some(driver) = &mut self.driver else { return Poll::Ready(None) };
            if driver.as_mut().poll(context).is_ready() {
                self.driver = None;
                continue;
            }
            return match Pin::new(&mut self.events).poll_next(context) {
                Poll::Ready(Some(event)) => Poll::Ready(Some(event)),
                _ => Poll::Pending,
            };
        }
    }
}

impl Drop for Run {
    fn drop(&mut self) {
        // Work outside the run's future (a browser request, a child process) is cancelled with it.
        if self.driver.is_some() {
            self.cancel.cancel();
        }
    }
}
