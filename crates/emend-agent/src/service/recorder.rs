//! Records the steps of a run together with its events: a step waits until the driver has stored it.
//!
//! A model streams a long text in thousands of small parts. Each one as an event would push the first events of the job out
//! of its log, so later parts are joined. A part waits for others only for a time that grows with their number.

use std::collections::BTreeMap;
use std::pin::Pin;
use std::sync::atomic::{AtomicU64, Ordering};
use std::task::{Context, Poll};

use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, Clock};
use futures::Stream;
use futures::channel::oneshot;
use serde_json::Value;

use crate::event::Event;
use crate::session::{Run, StepKeeper};

/// Maximum number of events of the agent in one commit.
const EVENTS_PER_COMMIT: usize = 128;

/// The log of a job has room for this many times the parts that are stored as they come.
const PARTS_SHARE: u64 = 12;

/// Later parts are joined until they have a byte for each of so many earlier parts.
const PARTS_PER_BYTE: u64 = 8;

/// A part waits for others for so many milliseconds for each earlier part. A command that writes a little at a time for an
/// hour has about 2,000 parts then.
const MS_PER_PART: u64 = 2;

/// The steps of a job.
#[derive(Default)]
pub(super) struct Recorder {
    known: Mutex<BTreeMap<String, Value>>,
    waiting: Mutex<Vec<Waiting>>,
    parts: Parts,
}

/// Joins parts of texts, the more of them the more there were before.
#[derive(Default)]
struct Parts {
    /// Maximum number of events of the job; 0 for no limit, and then no part is joined.
    events_max: u64,
    /// The parts so far. Only the driver of the job changes it.
    n: AtomicU64,
}

impl Parts {
    /// Returns the bytes that a part needs so that it is stored before more come.
    fn bytes_min(&self) -> usize {
        let n = self.n.load(Ordering::Relaxed);
        if self.events_max == 0 || n < self.events_max / PARTS_SHARE {
            return 0;
        }
        usize::try_from(n / PARTS_PER_BYTE).unwrap_or(usize::MAX)
    }

    /// Adds an event. A part joins the one before it if that is too short.
    fn push(&self, events: &mut Vec<Event>, event: Event) {
        let bytes_min = self.bytes_min();
        let last = events.last_mut().filter(|last| event.kind.continues(&last.kind));
        let short = last.and_then(|last| last.kind.delta_mut()).filter(|text| text.len() < bytes_min);
        match (short, event.kind.delta()) {
            (Some(text), Some(more)) => text.push_str(more),
            (_, part) => {
                self.n.fetch_add(u64::from(part.is_some()), Ordering::Relaxed);
                events.push(event);
            }
        }
    }

    /// Returns for how many milliseconds a short part waits for others.
    fn patience_ms(&self) -> u64 {
        self.n.load(Ordering::Relaxed).saturating_mul(MS_PER_PART)
    }

    /// Returns whether more can join these events: they end with a short part.
    fn waits(&self, events: &[Event]) -> bool {
        let last = events.last().and_then(|last| last.kind.delta());
        last.is_some_and(|text| text.len() < self.bytes_min())
    }
}

/// A step that is not stored yet.
pub(super) struct Waiting {
    pub(super) step: String,
    pub(super) result: Value,
    stored: oneshot::Sender<()>,
}

impl Recorder {
    /// Creates a recorder with the steps of earlier runs, for a job with at most so many events.
    pub(super) fn new(known: impl IntoIterator<Item = (String, Value)>, events_max: u64) -> Self {
        let parts = Parts { events_max, n: AtomicU64::default() };
        Self { known: Mutex::new(known.into_iter().collect()), waiting: Mutex::default(), parts }
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
    pub(super) async fn next_batch(&self, run: &mut Run, clock: &dyn Clock) -> Option<(Vec<Event>, Vec<Waiting>)> {
        let mut events = Vec::new();
        let mut patience: Option<BoxFuture<'_, ()>> = None;
        let mut is_over = false;
        std::future::poll_fn(|context: &mut Context<'_>| {
            while events.len() < EVENTS_PER_COMMIT && !is_over {
                match Pin::new(&mut *run).poll_next(context) {
                    Poll::Ready(Some(event)) => self.parts.push(&mut events, event),
                    Poll::Ready(None) => is_over = true,
                    Poll::Pending => break,
                }
            }
            let has_steps = !self.waiting.lock().is_empty();
            // Unless the run has no more events for now, nothing but the clock wakes this task.
            let is_full = events.len() >= EVENTS_PER_COMMIT;
            let has_events = !events.is_empty() && (is_full || !self.parts.waits(&events));
            if is_over || has_steps || has_events {
                return Poll::Ready(());
            }
            if events.is_empty() {
                return Poll::Pending;
            }
            let patience = patience.get_or_insert_with(|| clock.sleep(self.parts.patience_ms()));
            patience.as_mut().poll(context)
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

#[cfg(test)]
mod tests {
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    use super::*;
    use crate::event::EventKind;

    fn event(kind: EventKind) -> Event {
        Event { cursor: 0, ts: 0, session_id: String::new(), kind }
    }

    fn text(delta: &str) -> Event {
        event(EventKind::AssistantTextDelta { delta: delta.to_owned() })
    }

    fn output(call_id: &str, delta: &str) -> Event {
        event(EventKind::ToolCallOutputDelta { call_id: call_id.to_owned(), delta: delta.to_owned() })
    }

    /// Adds events one by one, and stores them whenever nothing waits. Returns the texts of the stored parts.
    fn stored(parts: &Parts, events: impl IntoIterator<Item = Event>) -> Vec<String> {
        let (mut stored, mut open) = (Vec::new(), Vec::new());
        for event in events {
            parts.push(&mut open, event);
            if !parts.waits(&open) {
                stored.append(&mut open);
            }
        }
        stored.append(&mut open);
        stored.iter().filter_map(|event| event.kind.delta().map(str::to_owned)).collect()
    }

    #[test]
    fn a_long_text_is_stored_in_few_parts_and_whole() {
        let parts = Parts { events_max: 3_000, ..Parts::default() };
        let all: Vec<String> = (0..50_000).map(|n| format!("{n} ")).collect();
        let found = stored(&parts, all.iter().map(|part| text(part)));
        assert!(found.len() < 2_500, "{}", found.len());
        assert_eq!(found.concat(), all.concat());
        // The first ones come as the model sends them.
        assert_eq!(found[..200], all[..200]);
    }

    #[test]
    fn without_a_limit_no_part_is_joined() {
        let found = stored(&Parts::default(), (0..9_000).map(|_| text("x")));
        assert_eq!(found.len(), 9_000);
    }

    #[test]
    fn only_parts_of_one_text_are_joined() {
        let parts = Parts { events_max: 12, n: AtomicU64::new(80) };
        let end = || event(EventKind::ReasoningStart {});
        let found = stored(&parts, [text("a"), text("b"), output("1", "c"), output("2", "d"), output("2", "e"), end()]);
        assert_eq!(found, ["ab", "c", "de"]);
    }
}
