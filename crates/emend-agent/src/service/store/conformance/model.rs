//! A plain model of a store: lists that are searched from their beginning.

use crate::service::records::{EventRecord, JobRecord, SessionRecord};
use crate::service::store::{Commit, Committed, EventPage, EventScope, SessionPage, SessionQuery, search_form};

#[derive(Default)]
pub(super) struct Model {
    sessions: Vec<ModelSession>,
    jobs: Vec<ModelJob>,
    events: Vec<ModelEvent>,
    seq: u64,
    floor: u64,
    /// The numbers of the events of each removed session.
    removed: Vec<Vec<u64>>,
}

struct ModelSession {
    record: SessionRecord,
    texts: Vec<String>,
    floor: u64,
}

struct ModelJob {
    record: JobRecord,
    floor: u64,
    last: u64,
}

struct ModelEvent {
    record: EventRecord,
    /// Whether the job of the event existed.
    is_of_job: bool,
}

impl Model {
    pub(super) fn session(&self, id: &str) -> Option<SessionRecord> {
        self.sessions.iter().map(|session| &session.record).find(|record| record.session_id == id).cloned()
    }

    pub(super) fn job(&self, id: &str) -> Option<JobRecord> {
        self.jobs.iter().map(|job| &job.record).find(|record| record.job_id == id).cloned()
    }

    pub(super) fn jobs(&self, is_wanted: impl Fn(&JobRecord) -> bool) -> Vec<JobRecord> {
        self.jobs.iter().map(|job| &job.record).filter(|record| is_wanted(record)).cloned().collect()
    }

    pub(super) fn commit(&mut self, commit: Commit) -> Committed {
        let id = commit.session.session_id.clone();
        let mut session = commit.session;
        session.cursor = self.session(&id).map_or(0, |former| former.cursor);
        let mut jobs: Vec<String> = Vec::new();
        for mut job in commit.jobs {
            jobs.push(job.job_id.clone());
            match self.jobs.iter_mut().find(|former| former.record.job_id == job.job_id) {
                Some(former) => {
                    job.cursor = former.record.cursor;
                    former.record = job;
                }
                None => self.jobs.push(ModelJob { record: job, floor: 0, last: 0 }),
            }
        }
        let mut events = Vec::new();
        for new in commit.events {
            self.seq += 1;
            session.cursor += 1;
            let record = EventRecord {
                cursor: session.cursor,
                seq: self.seq,
                kind: new.kind,
                ts: commit.at,
                session_id: id.clone(),
                job_id: new.job_id,
                data: new.data,
            };
            let is_owner =
                |job: &&mut ModelJob| Some(&job.record.job_id) == record.job_id.as_ref() && job.record.session_id == id;
            let owner = self.jobs.iter_mut().find(is_owner);
            let is_of_job = owner.is_some();
            if let Some(job) = owner {
                (job.last, job.record.cursor) = (record.cursor, record.cursor);
            }
            events.push(record.clone());
            self.events.push(ModelEvent { record, is_of_job });
        }
        match self.sessions.iter_mut().find(|former| former.record.session_id == id) {
            Some(former) => former.record = session.clone(),
            None => self.sessions.push(ModelSession { record: session.clone(), texts: Vec::new(), floor: 0 }),
        }
        if let Some(stored) = self.sessions.iter_mut().find(|stored| stored.record.session_id == id) {
            stored.texts.extend(Some(search_form(&commit.text)).filter(|text| !text.is_empty()));
        }
        for job_id in commit.purged_jobs {
            self.drop_events(&id, &job_id, 0);
            self.jobs.retain(|job| job.record.job_id != job_id || job.record.session_id != id);
        }
        if commit.events_per_job_max > 0 {
            for job_id in events.iter().filter_map(|event| event.job_id.as_ref()) {
                self.drop_events(&id, job_id, commit.events_per_job_max as usize);
            }
        }
        let jobs = jobs.iter().filter_map(|id| self.job(id)).collect();
        Committed { session, jobs, events }
    }

    fn drop_events(&mut self, session_id: &str, job_id: &str, keep: usize) {
        let is_owner = |job: &&mut ModelJob| job.record.job_id == job_id && job.record.session_id == session_id;
        let Some(job) = self.jobs.iter_mut().find(is_owner) else { return };
        let is_theirs = |event: &ModelEvent| event.is_of_job && event.record.job_id.as_deref() == Some(job_id);
        let n_events = self.events.iter().filter(|event| is_theirs(event)).count();
        let mut excess = n_events.saturating_sub(keep);
        let mut dropped = (0, 0);
        self.events.retain(|event| {
            let is_dropped = excess > 0 && is_theirs(event);
            if is_dropped {
                excess -= 1;
                dropped = (event.record.cursor, event.record.seq);
            }
            !is_dropped
        });
        job.floor = job.floor.max(dropped.0);
        self.floor = self.floor.max(dropped.1);
        for session in self.sessions.iter_mut().filter(|session| session.record.session_id == session_id) {
            session.floor = session.floor.max(dropped.0);
        }
    }

    pub(super) fn remove_session(&mut self, id: &str) -> bool {
        let is_known = self.session(id).is_some();
        let theirs = self.events.iter().filter(|event| event.record.session_id == id).map(|event| event.record.seq);
        self.removed.push(theirs.collect());
        self.events.retain(|event| event.record.session_id != id);
        self.jobs.retain(|job| job.record.session_id != id);
        self.sessions.retain(|session| session.record.session_id != id);
        is_known
    }

    pub(super) fn sessions(&self, query: &SessionQuery) -> SessionPage {
        let text = search_form(&query.text);
        let is_hit = |session: &&ModelSession| {
            query.status.is_none_or(|status| session.record.status == status)
                && (search_form(&session.record.title).contains(&text)
                    || session.texts.iter().any(|kept| kept.contains(&text)))
        };
        let mut hits: Vec<SessionRecord> =
            self.sessions.iter().filter(is_hit).map(|session| session.record.clone()).collect();
        hits.sort_by_key(|record| (std::cmp::Reverse(record.updated_at), record.session_id.clone()));
        let total = hits.len() as u64;
        if let Some((time, id)) = &query.after {
            hits.retain(|record| {
                (std::cmp::Reverse(record.updated_at), &record.session_id) > (std::cmp::Reverse(*time), id)
            });
        }
        let is_last = hits.len() <= query.limit;
        hits.truncate(query.limit);
        let next = hits.last().filter(|_| !is_last).map(|last| (last.updated_at, last.session_id.clone()));
        SessionPage { sessions: hits, next, total }
    }

    pub(super) fn events(&self, scope: &EventScope, after: u64, limit: usize) -> EventPage {
        let page = |floor, last, is_wanted: &dyn Fn(&&ModelEvent) -> bool| {
            let events = self.events.iter().filter(is_wanted).take(limit).map(|event| event.record.clone()).collect();
            EventPage { events, floor, last }
        };
        match scope {
            EventScope::All => {
                let has_read = |theirs: &&Vec<u64>| theirs.iter().any(|seq| *seq <= after);
                let missed = self.removed.iter().filter(has_read).flatten().copied().max().unwrap_or_default();
                page(missed.max(self.floor), self.seq, &|event| event.record.seq > after)
            }
            EventScope::Session(id) => {
                let Some(session) = self.sessions.iter().find(|session| session.record.session_id == *id) else {
                    return EventPage::default();
                };
                page(session.floor, session.record.cursor, &|event| {
                    event.record.session_id == *id && event.record.cursor > after
                })
            }
            EventScope::Job(id) => {
                let Some(job) = self.jobs.iter().find(|job| job.record.job_id == *id) else {
                    return EventPage::default();
                };
                page(job.floor, job.last, &|event| {
                    event.is_of_job && event.record.job_id.as_ref() == Some(id) && event.record.cursor > after
                })
            }
        }
    }
}
