//! The changes of one commit: events, texts, and the place of a job in the queue.

use super::event_types::is_known;
use super::records::JobRecord;
use super::store::{NewEvent, Work, WorkChange};

/// The changes of one commit.
#[derive(Default)]
pub(super) struct Changes {
    pub(super) events: Vec<NewEvent>,
    pub(super) text: String,
    pub(super) purged_jobs: Vec<String>,
    /// The change of the queue.
    pub(super) work: Option<Box<Work>>,
}

impl Changes {
    /// Adds an event of a job.
    pub(super) fn event(&mut self, job: &JobRecord, kind: &str, data: serde_json::Value) {
        debug_assert!(is_known(kind), "{kind} is not in the table of events");
        self.events.push(NewEvent { kind: kind.to_owned(), job_id: Some(job.job_id.clone()), data });
    }

    /// Adds an event about the review of a job: one of the session, with the id of the job, if the job has ended. The last
    /// event of a job is its end.
    pub(super) fn review_event(&mut self, job: &JobRecord, kind: &str, mut data: serde_json::Value) {
        if !job.status.is_terminal() {
            return self.event(job, kind, data);
        }
        data["job_id"] = job.job_id.clone().into();
        self.session_event(kind, data);
    }

    /// Adds an event of the session.
    pub(super) fn session_event(&mut self, kind: &str, data: serde_json::Value) {
        debug_assert!(is_known(kind), "{kind} is not in the table of events");
        self.events.push(NewEvent { kind: kind.to_owned(), job_id: None, data });
    }

    /// Puts a job into the queue. The key names the wait of the job.
    pub(super) fn submit(&mut self, job: &JobRecord, key: String) {
        let change = Some(WorkChange::Submit { key });
        self.work = Some(Box::new(Work { job_id: job.job_id.clone(), change, ..Work::default() }));
    }

    /// Wakes a job that waits for the user.
    pub(super) fn wake(&mut self, job: &mut JobRecord) {
        let Some(answer) = job.control.waits_for.take() else { return };
        let change = Some(WorkChange::Answer { answer });
        self.work = Some(Box::new(Work { job_id: job.job_id.clone(), change, ..Work::default() }));
    }
}
