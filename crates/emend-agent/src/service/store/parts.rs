//! The content of a store in memory as records, for a journal.

use emend_llm::Shared;
use serde::{Deserialize, Serialize};

use super::memory::{Kept, KeptJob, Log, MemServiceStore, State};
use crate::service::records::{EventRecord, JobRecord, SessionRecord};

/// A part of the content. Sessions come before jobs, and jobs before events.
#[derive(Debug, Serialize, Deserialize)]
#[serde(rename_all = "snake_case")]
pub(super) enum Part {
    /// Numbers of the whole store.
    Counters {
        last: u64,
        floor: u64,
        n_jobs: u64,
        #[serde(default, skip_serializing_if = "Vec::is_empty")]
        removed: Vec<(u64, u64)>,
    },
    Session {
        record: SessionRecord,
        texts: Vec<String>,
        floor: u64,
    },
    Job {
        record: JobRecord,
        order: u64,
        last: u64,
        floor: u64,
    },
    /// `is_of_job` tells whether the log of the job has the event.
    Event {
        record: EventRecord,
        is_of_job: bool,
    },
}

fn log(last: u64, floor: u64) -> Log {
    Log { events: Default::default(), floor, last }
}

impl MemServiceStore {
    /// Returns the whole content.
    pub(super) fn parts(&self) -> Vec<Part> {
        let state = self.state.lock();
        let mut parts = vec![Part::Counters {
            last: state.all.last,
            floor: state.all.floor,
            n_jobs: state.n_jobs,
            removed: state.removed.clone(),
        }];
        parts.extend(state.sessions.values().map(|kept| Part::Session {
            record: kept.record.clone(),
            texts: kept.texts.clone(),
            floor: kept.log.floor,
        }));
        parts.extend(state.jobs.values().map(|job| Part::Job {
            record: job.record.clone(),
            order: job.order,
            last: job.log.last,
            floor: job.log.floor,
        }));
        parts.extend(state.all.events.iter().map(|event| {
            let job = event.job_id.as_ref().and_then(|id| state.jobs.get(id));
            let is_of_job = job.is_some_and(|job| {
                let cursors = &job.log.events;
                job.record.session_id == event.session_id
                    && cursors.binary_search_by_key(&event.cursor, |event| event.cursor).is_ok()
            });
            Part::Event { record: (**event).clone(), is_of_job }
        }));
        parts
    }

    /// Adds a part to the content.
    pub(super) fn restore(&self, part: Part) {
        self.state.lock().restore(part);
    }
}

impl State {
    fn restore(&mut self, part: Part) {
        match part {
            Part::Counters { last, floor, n_jobs, removed } => {
                self.all = log(last, floor);
                (self.n_jobs, self.removed) = (n_jobs, removed);
            }
            Part::Session { record, texts, floor } => {
                let log = log(record.cursor, floor);
                self.sessions.insert(record.session_id.clone(), Kept { record, texts, log });
            }
            Part::Job { record, order, last, floor } => {
                let job = KeptJob { record, order, log: log(last, floor) };
                self.jobs.insert(job.record.job_id.clone(), job);
            }
            Part::Event { record, is_of_job } => {
                let event = Shared::new(record);
                if let Some(session) = self.sessions.get_mut(&event.session_id) {
                    session.log.events.push_back(Shared::clone(&event));
                }
                let job = event.job_id.as_ref().filter(|_| is_of_job).and_then(|id| self.jobs.get_mut(id));
                if let Some(job) = job {
                    job.log.events.push_back(Shared::clone(&event));
                }
                self.all.events.push_back(event);
            }
        }
    }
}
