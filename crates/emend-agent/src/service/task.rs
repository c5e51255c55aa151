//! A job that this process works on: its place among the running jobs, and its claim in the queue.

use emend_llm::runtime::MutexGuard;
use emend_llm::{CancelToken, Shared};
use serde_json::{Value, json};

use super::api::{ApiError, ApiResult};
use super::inner::Inner;
use super::jobs::Claim;
use super::recorder::Waiting;
use super::records::JobRecord;
use super::slot::{Running, Slot};
use super::steering::Passed;
use super::store::{Work, WorkChange};
use crate::error_code::Code;

/// A job in work. Dropping it frees the run slot of its session.
pub(super) struct Task {
    inner: Shared<Inner>,
    pub(super) slot: Shared<Slot>,
    pub(super) job_id: String,
    pub(super) claim: Claim,
    pub(super) cancel: CancelToken,
    pub(super) lost: CancelToken,
    pub(super) passed: Passed,
    pub(super) is_shared: bool,
}

impl Drop for Task {
    fn drop(&mut self) {
        *self.slot.running.lock() = None;
        let mut n_running = self.inner.n_running.lock();
        *n_running = n_running.saturating_sub(1);
        drop(n_running);
        self.inner.freed.notify(usize::MAX);
        self.inner.hub.notify();
    }
}

impl Task {
    /// Takes the run slot of a session, which is free.
    pub(super) fn take(
        inner: &Shared<Inner>,
        slot: &Shared<Slot>,
        running: &mut MutexGuard<'_, Option<Running>>,
        job_id: String,
        claim: Claim,
    ) -> Self {
        *inner.n_running.lock() += 1;
        let (cancel, lost, passed) = (CancelToken::new(), CancelToken::new(), Passed::default());
        **running = Some(Running {
            job_id: job_id.clone(),
            cancel: cancel.clone(),
            lost: lost.clone(),
            claim: claim.clone(),
            passed: passed.clone(),
        });
        let is_shared = inner.shared_jobs().is_some();
        Self { inner: Shared::clone(inner), slot: Shared::clone(slot), job_id, claim, cancel, lost, passed, is_shared }
    }

    /// Returns the change of the queue for a commit that records steps.
    pub(super) fn work(&self, steps: &[Waiting], change: Option<WorkChange>) -> Option<Box<Work>> {
        let steps = steps.iter().map(|waiting| (waiting.step.clone(), waiting.result.clone())).collect();
        Some(Box::new(Work { steps, ..self.work_of(change) }))
    }

    fn work_of(&self, change: Option<WorkChange>) -> Work {
        let claim = Some(self.claim.id.clone()).filter(|id| !id.is_empty());
        Work { job_id: self.claim.task_id.clone(), claim, change, ..Work::default() }
    }

    /// Returns the change of the queue for a commit that ends the work with this state of the job.
    pub(super) fn end(&self, job: &JobRecord) -> Option<Box<Work>> {
        let result = result_of(job);
        Some(Box::new(self.work_of(Some(WorkChange::End { result }))))
    }

    /// Returns an error if the job has ended meanwhile, as another server can cancel it.
    pub(super) fn check(&self, job: &JobRecord) -> ApiResult<()> {
        match self.is_shared && job.status.is_terminal() {
            true => Err(ApiError::new(Code::Conflict, "the job has ended")),
            false => Ok(()),
        }
    }
}

/// Returns the outcome of a job for programs that read the queue.
pub(super) fn result_of(job: &JobRecord) -> Value {
    json!({
        "job_id": job.job_id,
        "session_id": job.session_id,
        "status": job.status,
        "answer": job.answer,
        "error": job.error,
    })
}
