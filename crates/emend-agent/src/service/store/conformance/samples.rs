//! Records and numbers for the suite.

use std::task::Poll;

use serde_json::json;

use crate::service::records::{JobRecord, JobStatus, SessionRecord};
use crate::service::store::NewEvent;
use crate::service::time::Timestamp;

pub(super) fn session(id: &str, at: u64, title: &str) -> SessionRecord {
    SessionRecord {
        session_id: id.to_owned(),
        title: title.to_owned(),
        created_at: Timestamp(at),
        updated_at: Timestamp(at),
        ..SessionRecord::default()
    }
}

pub(super) fn job(id: &str, session_id: &str, status: JobStatus) -> JobRecord {
    JobRecord { job_id: id.to_owned(), session_id: session_id.to_owned(), status, ..JobRecord::default() }
}

pub(super) fn event(kind: &str, job_id: Option<&str>) -> NewEvent {
    NewEvent { kind: kind.to_owned(), job_id: job_id.map(str::to_owned), data: json!({"kind": kind}) }
}

/// Reproducible random numbers.
pub(super) struct Dice(u64);

impl Dice {
    pub(super) fn new(seed: u64) -> Self {
        Self(seed)
    }

    fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mixed = (self.0 ^ (self.0 >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        let mixed = (mixed ^ (mixed >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        mixed ^ (mixed >> 31)
    }

    /// Returns a number below `n`.
    pub(super) fn below(&mut self, n: usize) -> usize {
        (self.next() % n.max(1) as u64) as usize
    }

    /// Returns true in `n` of 10 cases.
    pub(super) fn often(&mut self, n: usize) -> bool {
        self.below(10) < n
    }

    pub(super) fn pick<'a, T>(&mut self, items: &'a [T]) -> &'a T {
        &items[self.below(items.len())]
    }
}

/// Lets other tasks of the executor run.
pub(super) async fn pause() {
    let mut is_over = false;
    std::future::poll_fn(|context| {
        if is_over {
            return Poll::Ready(());
        }
        is_over = true;
        context.waker().wake_by_ref();
        Poll::Pending
    })
    .await;
}
