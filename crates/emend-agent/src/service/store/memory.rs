//! A store in memory: the model for other stores, and the store of a service without persistence.

use std::collections::{BTreeMap, VecDeque};

use emend_llm::runtime::Mutex;
use emend_llm::{BoxFuture, Shared};
use serde_json::Value;

use super::{
    Commit, Committed, EventPage, EventScope, ServiceStore, SessionPage, SessionQuery, Work, WorkChange, search_form,
};
use crate::service::jobs::{Claim, Jobs};
use crate::service::records::{EventRecord, JobRecord, SessionRecord};
use crate::store::StoreError;

/// Keeps everything in memory.
#[derive(Default)]
pub struct MemServiceStore {
    pub(super) state: Mutex<State>,
    /// Whether a commit returns to the executor before and after it, as one to a disk does. Tests kill jobs there.
    #[cfg(test)]
    pub(in crate::service) pauses: std::sync::atomic::AtomicBool,
}

#[derive(Default)]
pub(super) struct State {
    pub(super) sessions: BTreeMap<String, Kept>,
    pub(super) jobs: BTreeMap<String, KeptJob>,
    /// Order of the jobs of all sessions.
    pub(super) n_jobs: u64,
    pub(super) all: Log,
    /// First and last `seq` of the events of removed sessions.
    pub(super) removed: Vec<(u64, u64)>,
    /// Recorded steps of the jobs on which work has not ended.
    pub(super) steps: BTreeMap<String, BTreeMap<String, Value>>,
}

pub(super) struct Kept {
    pub(super) record: SessionRecord,
    /// Texts of the conversation in the form in which they are searched.
    pub(super) texts: Vec<String>,
    pub(super) log: Log,
}

pub(super) struct KeptJob {
    pub(super) record: JobRecord,
    pub(super) order: u64,
    pub(super) log: Log,
}

/// Events of one scope. Sessions, jobs and the whole store share the events.
#[derive(Default)]
pub(super) struct Log {
    pub(super) events: VecDeque<Shared<EventRecord>>,
    pub(super) floor: u64,
    pub(super) last: u64,
}

impl Log {
    fn page(&self, number: fn(&EventRecord) -> u64, after: u64, limit: usize) -> EventPage {
        let start = self.events.partition_point(|event| number(event) <= after);
        let events = self.events.range(start..).take(limit).map(|event| (**event).clone()).collect();
        EventPage { events, floor: self.floor, last: self.last }
    }

    fn remove(&mut self, number: fn(&EventRecord) -> u64, dropped: &EventRecord) {
        let number_of_dropped = number(dropped);
        self.floor = self.floor.max(number_of_dropped);
        if let Ok(at) = self.events.binary_search_by_key(&number_of_dropped, |event| number(event)) {
            self.events.remove(at);
        }
    }
}

fn cursor(event: &EventRecord) -> u64 {
    event.cursor
}

fn contains(texts: &[String], wanted: &str) -> bool {
    texts.iter().any(|text| text.contains(wanted))
}

fn seq(event: &EventRecord) -> u64 {
    event.seq
}

impl MemServiceStore {
    /// Returns an empty store.
    #[must_use]
    pub fn new() -> Self {
        Self::default()
    }

    /// Applies a change.
    pub(super) fn apply(&self, commit: Commit) -> Committed {
        self.state.lock().commit(commit)
    }

    /// Removes a session. Returns whether it existed.
    pub(super) fn apply_removal(&self, id: &str) -> bool {
        self.state.lock().remove_session(id)
    }
}

impl State {
    fn commit(&mut self, commit: Commit) -> Committed {
        let Commit { at, mut session, jobs, events, text, purged_jobs, events_per_job_max, work } = commit;
        if let Some(work) = work {
            self.record(*work);
        }
        let id = session.session_id.clone();
        let kept = self.sessions.entry(id.clone()).or_insert_with(|| Kept {
            record: session.clone(),
            texts: Vec::new(),
            log: Log::default(),
        });
        if !text.is_empty() {
            kept.texts.push(search_form(&text));
        }
        let mut numbered = Vec::with_capacity(events.len());
        for event in events {
            kept.log.last += 1;
            self.all.last += 1;
            let record = Shared::new(EventRecord {
                cursor: kept.log.last,
                seq: self.all.last,
                kind: event.kind,
                ts: at,
                session_id: id.clone(),
                job_id: event.job_id,
                data: event.data,
            });
            kept.log.events.push_back(Shared::clone(&record));
            self.all.events.push_back(Shared::clone(&record));
            numbered.push(record);
        }
        session.cursor = kept.log.last;
        kept.record = session.clone();
        let mut stored = Vec::with_capacity(jobs.len());
        for mut job in jobs {
            let kept = self.jobs.entry(job.job_id.clone()).or_insert_with(|| {
                self.n_jobs += 1;
                KeptJob { record: job.clone(), order: self.n_jobs, log: Log::default() }
            });
            job.cursor = kept.record.cursor;
            kept.record = job.clone();
            stored.push(job.job_id);
        }
        for event in &numbered {
            let Some(job) = event.job_id.as_ref().and_then(|id| self.jobs.get_mut(id)) else { continue };
            if job.record.session_id != id {
                continue;
            }
            job.log.events.push_back(Shared::clone(event));
            job.log.last = event.cursor;
            job.record.cursor = event.cursor;
        }
        for job_id in &purged_jobs {
            if self.jobs.get(job_id).is_some_and(|job| job.record.session_id == id) {
                self.drop_events(&id, job_id, 0);
                self.jobs.remove(job_id);
            }
        }
        if events_per_job_max > 0 {
            let touched: Vec<String> = numbered.iter().filter_map(|event| event.job_id.clone()).collect();
            for job_id in touched {
                self.drop_events(&id, &job_id, events_per_job_max as usize);
            }
        }
        Committed {
            session,
            jobs: stored.iter().filter_map(|id| Some(self.jobs.get(id)?.record.clone())).collect(),
            events: numbered.iter().map(|event| (**event).clone()).collect(),
        }
    }

    fn record(&mut self, work: Work) {
        if matches!(work.change, Some(WorkChange::End { .. })) {
            self.steps.remove(&work.job_id);
        } else if !work.steps.is_empty() {
            self.steps.entry(work.job_id).or_default().extend(work.steps);
        }
    }

    /// Drops the oldest events of a job, all but `keep`.
    fn drop_events(&mut self, session_id: &str, job_id: &str, keep: usize) {
        let Some(job) = self.jobs.get_mut(job_id).filter(|job| job.record.session_id == session_id) else { return };
        while job.log.events.len() > keep {
            let Some(event) = job.log.events.pop_front() else { return };
            job.log.floor = event.cursor;
            if let Some(session) = self.sessions.get_mut(session_id) {
                session.log.remove(cursor, &event);
            }
            self.all.remove(seq, &event);
        }
    }

    fn sessions(&self, query: &SessionQuery) -> SessionPage {
        let text = search_form(&query.text);
        let matches = |kept: &&Kept| {
            query.status.is_none_or(|status| kept.record.status == status)
                && (text.is_empty() || search_form(&kept.record.title).contains(&text) || contains(&kept.texts, &text))
        };
        let mut found: Vec<&SessionRecord> = self.sessions.values().filter(matches).map(|kept| &kept.record).collect();
        found.sort_by(|a, b| b.updated_at.cmp(&a.updated_at).then_with(|| a.session_id.cmp(&b.session_id)));
        let total = found.len() as u64;
        let is_after = |record: &&&SessionRecord| {
            query.after.as_ref().is_none_or(|(time, id)| {
                record.updated_at < *time || (record.updated_at == *time && record.session_id > *id)
            })
        };
        let mut rest = found.iter().filter(is_after);
        let sessions: Vec<SessionRecord> = rest.by_ref().take(query.limit).map(|record| (**record).clone()).collect();
        let next = rest.next().and(sessions.last()).map(|last| (last.updated_at, last.session_id.clone()));
        SessionPage { sessions, next, total }
    }

    fn remove_session(&mut self, id: &str) -> bool {
        let Some(kept) = self.sessions.remove(id) else { return false };
        let (floor, all) = (self.all.floor, &mut self.all.events);
        if let (Some(first), Some(last)) = (kept.log.events.front(), kept.log.events.back()) {
            let (first, last) = (first.seq, last.seq);
            all.retain(|event| event.session_id != id);
            self.removed.push((first, last));
            self.removed.retain(|(_, last)| *last > floor);
        }
        self.jobs.retain(|_, job| job.record.session_id != id);
        true
    }

    fn jobs(&self, is_wanted: impl Fn(&JobRecord) -> bool) -> Vec<JobRecord> {
        let mut jobs: Vec<&KeptJob> = self.jobs.values().filter(|job| is_wanted(&job.record)).collect();
        jobs.sort_by_key(|job| job.order);
        jobs.into_iter().map(|job| job.record.clone()).collect()
    }

    fn events(&self, scope: &EventScope, after: u64, limit: usize) -> EventPage {
        match scope {
            EventScope::All => {
                let page = self.all.page(seq, after, limit);
                // A reader that has read a part of a removed session is to hear that it is gone. Others miss nothing.
                let began = self.removed.iter().filter(|(first, _)| *first <= after);
                let floor = began.map(|(_, last)| *last).max().unwrap_or_default().max(page.floor);
                EventPage { floor, ..page }
            }
            EventScope::Session(id) => {
                self.sessions.get(id).map(|kept| kept.log.page(cursor, after, limit)).unwrap_or_default()
            }
            EventScope::Job(id) => self.jobs.get(id).map(|job| job.log.page(cursor, after, limit)).unwrap_or_default(),
        }
    }
}

fn ready<'a, T: emend_llm::MaybeSend + 'a>(value: T) -> BoxFuture<'a, Result<T, StoreError>> {
    Box::pin(std::future::ready(Ok(value)))
}

impl ServiceStore for MemServiceStore {
    fn commit(&self, commit: Commit) -> BoxFuture<'_, Result<Committed, StoreError>> {
        #[cfg(test)]
        if self.pauses.load(std::sync::atomic::Ordering::Relaxed) {
            return Box::pin(async move {
                crate::test_support::wait(1).await;
                let committed = self.apply(commit);
                crate::test_support::wait(1).await;
                Ok(committed)
            });
        }
        ready(self.apply(commit))
    }

    fn session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<SessionRecord>, StoreError>> {
        ready(self.state.lock().sessions.get(id).map(|kept| kept.record.clone()))
    }

    fn sessions<'a>(&'a self, query: &'a SessionQuery) -> BoxFuture<'a, Result<SessionPage, StoreError>> {
        ready(self.state.lock().sessions(query))
    }

    fn remove_session<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<bool, StoreError>> {
        ready(self.apply_removal(id))
    }

    fn job<'a>(&'a self, id: &'a str) -> BoxFuture<'a, Result<Option<JobRecord>, StoreError>> {
        ready(self.state.lock().jobs.get(id).map(|job| job.record.clone()))
    }

    fn jobs<'a>(&'a self, session_id: &'a str) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        ready(self.state.lock().jobs(|job| job.session_id == session_id))
    }

    fn open_jobs(&self) -> BoxFuture<'_, Result<Vec<JobRecord>, StoreError>> {
        ready(self.state.lock().jobs(|job| !job.status.is_terminal()))
    }

    fn jobs_of_runs<'a>(&'a self, runs: &'a [u64]) -> BoxFuture<'a, Result<Vec<JobRecord>, StoreError>> {
        ready(self.state.lock().jobs(|job| job.runs.iter().any(|run| runs.contains(run))))
    }

    fn events<'a>(
        &'a self,
        scope: &'a EventScope,
        after: u64,
        limit: usize,
    ) -> BoxFuture<'a, Result<EventPage, StoreError>> {
        ready(self.state.lock().events(scope, after, limit))
    }
}

/// One process has the jobs: nothing is claimed, and nothing survives it.
impl Jobs for MemServiceStore {
    fn recorded<'a>(&'a self, claim: &'a Claim) -> BoxFuture<'a, Result<Vec<(String, Value)>, StoreError>> {
        let state = self.state.lock();
        let steps = state.steps.get(&claim.task_id).cloned().unwrap_or_default();
        Box::pin(std::future::ready(Ok(steps.into_iter().collect())))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::store::conformance;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn the_store_in_memory_passes_the_suite() {
        futures::executor::block_on(conformance::check(|| async { Shared::new(MemServiceStore::new()) }));
    }
}
