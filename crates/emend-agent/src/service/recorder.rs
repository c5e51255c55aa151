//! Records the steps of a run together with its events: a step waits until the driver has stored it.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::task::{Context, Poll};

use emend_llm::BoxFuture;
use emend_llm::runtime::Mutex;
use futures::Stream;
use futures::channel::oneshot;
use serde_json::Value;

use crate::event::Event;
use crate::session::{Run, StepKeeper};

/// Maximum number of events of the agent in one commit.
const EVENTS_PER_COMMIT: usize = 128;

/// The steps of a job.
#[derive(Default)]
pub(super) struct Recorder {
    known: Mutex<BTreeMap<String, Value>>,
    waiting: Mutex<Vec<Waiting>>,
}

/// A step that is not stored yet.
pub(super) struct Waiting {
    pub(super) step: String,
    pub(super) result: Value,
    stored: oneshot::Sender<()>,
}

impl Recorder {
    pub(super) fn new(known: impl IntoIterator<Item = (String, Value)>) -> Self {
        Self { known: Mutex::new(known.into_iter().collect()), waiting: Mutex::default() }
    }

    /// Adds a step that is stored.
    pub(super) fn know(&self, step: String, result: Value) {
        self.known.lock().insert(step, result);
    }

    /// Tells the run that its steps are stored.
    pub(super) fn stored(&self, steps: Vec<Waiting>) {
        for Waiting { step, result, stored } in steps {
            self.know(step, result);
            // The run may have ended.
            let _ = stored.send(());
        }
    }

    /// Returns the next events of a run and the steps that it waits for; `None` after its end. A step comes with the
    /// events before it.
    pub(super) async fn next_batch(&self, run: &mut Run) -> Option<(Vec<Event>, Vec<Waiting>)> {
        let mut events = Vec::new();
        let mut is_over = false;
        std::future::poll_fn(|context: &mut Context<'_>| {
            while events.len() < EVENTS_PER_COMMIT && !is_over {
                match Pin::new(&mut *run).poll_next(context) {
                    Poll::Ready(Some(event)) => events.push(event),
                    Poll::Ready(None) => is_over = true,
                    Poll::Pending => break,
                }
            }
            let has_steps = !self.waiting.lock().is_empty();
            if is_over || has_steps || !events.is_empty() { Poll::Ready(()) } else { Poll::Pending }
        })
        .await;
        // With more events to come, the steps belong to a later batch.
        let is_full = events.len() >= EVENTS_PER_COMMIT;
        let steps = if is_full { Vec::new() } else { std::mem::take(&mut *self.waiting.lock()) };
        if is_over && events.is_empty() && steps.is_empty() { None } else { Some((events, steps)) }
    }
}

impl StepKeeper for Recorder {
    fn recorded(&self, step: &str) -> Option<Value> {
        self.known.lock().get(step).cloned()
    }

    fn record(&self, step: String, result: Value) -> BoxFuture<'_, ()> {
        let (stored, is_stored) = oneshot::channel();
        self.waiting.lock().push(Waiting { step, result, stored });
        Box::pin(async move {
            if is_stored.await.is_err() {
                // The job is lost; the driver drops the run.
                std::future::pending::<()>().await;
            }
        })
    }
}
