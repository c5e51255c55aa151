//! Purging of ended jobs, and the limits on sessions and on jobs that have not ended.
//!
//! Only jobs that have completed, failed or been cancelled are purged, and none with edits in review. Each purge is an
//! event of its session, so nothing disappears silently. The checkpoint of a purged job stays with its session. Sessions and
//! conversations are never purged.

use std::collections::BTreeSet;

use serde_json::json;

use super::api::{ApiError, ApiResult};
use super::inner::Inner;
use super::limits::ServiceLimits;
use super::records::{JobRecord, SessionRecord, SessionStatus};
use super::store::SessionQuery;
use super::time::Timestamp;
use crate::error_code::Code;

/// Returns the ids of the jobs to purge: those past their time, and the oldest beyond the maximum number. A job that failed
/// or was cancelled stays as long as edits of its runs are `pending`.
fn expired(jobs: &[JobRecord], limits: &ServiceLimits, now: Timestamp, pending: &BTreeSet<u64>) -> Vec<String> {
    let ttl_ms = limits.completed_ttl_hours.saturating_mul(3_600_000);
    let is_old =
        |job: &JobRecord| ttl_ms > 0 && job.finished_at.is_some_and(|end| now.0.saturating_sub(end.0) >= ttl_ms);
    let mut purged: Vec<String> = Vec::new();
    let mut n_kept = jobs.len();
    let is_over = |job: &&JobRecord| job.status.is_terminal() && !job.runs.iter().any(|run| pending.contains(run));
    for job in jobs.iter().filter(is_over) {
        let too_many = limits.max_jobs_per_session > 0 && n_kept as u64 > limits.max_jobs_per_session;
        if is_old(job) || too_many {
            purged.push(job.job_id.clone());
            n_kept -= 1;
        }
    }
    purged
}

impl Inner {
    /// Purges jobs of one session.
    pub(super) async fn purge_session(&self, session_id: &str) -> ApiResult<()> {
        let jobs = self.store.jobs(session_id).await?;
        if expired(&jobs, &self.limits, self.now(), &BTreeSet::new()).is_empty() {
            return Ok(());
        }
        #[cfg(not(target_family = "wasm"))]
        self.refresh().await?;
        let expired = expired(&jobs, &self.limits, self.now(), &self.workspace.runs_with_pending());
        if expired.is_empty() {
            return Ok(());
        }
        let known: BTreeSet<u64> = self.workspace.runs().into_iter().map(|run| run.run_id).collect();
        self.change(session_id, |session, changes| {
            session.keep_checkpoints(jobs.iter().filter(|job| expired.contains(&job.job_id)), &known);
            if session.last_job_id.as_ref().is_some_and(|last| expired.contains(last)) {
                session.last_job_id = None;
            }
            changes.session_event("jobs.purged", json!({ "job_ids": expired }));
            changes.purged_jobs = expired;
            Ok(())
        })
        .await?;
        Ok(())
    }

    /// Checks that a session may have another job: its ended jobs give way to it, the others do not.
    pub(super) async fn check_job_limit(&self, session_id: &str) -> ApiResult<()> {
        let max = self.limits.max_jobs_per_session;
        if max == 0 {
            return Ok(());
        }
        let jobs = self.store.jobs(session_id).await?;
        let open: Vec<&JobRecord> = jobs.iter().filter(|job| !job.status.is_terminal()).collect();
        if (open.len() as u64) < max {
            return Ok(());
        }
        let oldest: Vec<_> = open
            .iter()
            .take(5)
            .map(|job| json!({ "job_id": job.job_id, "status": job.status, "instruction": first_line(&job.instruction) }))
            .collect();
        let message = format!(
            "{max} jobs of the session have not ended, which is the limit; accept or reject the edits of one of them"
        );
        let data = json!({ "limit": "max_jobs_per_session", "close": oldest });
        Err(ApiError::new(Code::LimitReached, message).with_data(data))
    }

    /// Checks that another session may become active.
    pub(super) async fn check_session_limit(&self) -> ApiResult<()> {
        let max = self.limits.max_sessions;
        if max == 0 {
            return Ok(());
        }
        let query =
            SessionQuery { status: Some(SessionStatus::Active), limit: max as usize, ..SessionQuery::default() };
        let page = self.store.sessions(&query).await?;
        if page.total < max {
            return Ok(());
        }
        let oldest: Vec<_> = page
            .sessions
            .iter()
            .rev()
            .take(5)
            .map(|session| json!({ "session_id": session.session_id, "title": session.title }))
            .collect();
        let message = format!("{max} sessions are active, which is the limit; archive one of them");
        Err(ApiError::new(Code::LimitReached, message).with_data(json!({ "limit": "max_sessions", "close": oldest })))
    }
}

impl Inner {
    /// Returns the ids of the sessions that pass a test.
    pub(super) async fn session_ids(&self, is_wanted: fn(&SessionRecord) -> bool) -> ApiResult<Vec<String>> {
        let mut ids = Vec::new();
        self.visit_sessions(|session| {
            ids.extend(Some(session).filter(is_wanted).map(|session| session.session_id));
            false
        })
        .await?;
        Ok(ids)
    }

    /// Returns the purged jobs of all sessions whose checkpoints stay.
    pub(super) async fn purged_jobs(&self) -> ApiResult<Vec<JobRecord>> {
        let mut jobs = Vec::new();
        self.visit_sessions(|session| {
            jobs.extend(session.purged.into_iter().map(|job| job.job(&session.session_id)));
            false
        })
        .await?;
        Ok(jobs)
    }

    /// Returns a purged job whose checkpoint stays. Requests for one checkpoint come one after another, so the session of the
    /// last one is looked at first.
    pub(super) async fn purged_job(&self, job_id: &str) -> ApiResult<Option<JobRecord>> {
        let find = |session: SessionRecord| {
            let found = session.purged.into_iter().find(|job| job.job_id == job_id);
            found.map(|job| job.job(&session.session_id))
        };
        let last = self.last_purged_in.lock().clone();
        // A session that has been deleted meanwhile is none.
        let mut found = self.store.session(&last).await?.and_then(find);
        if found.is_none() {
            self.visit_sessions(|session| {
                found = find(session);
                found.is_some()
            })
            .await?;
        }
        if let Some(job) = &found {
            self.last_purged_in.lock().clone_from(&job.session_id);
        }
        Ok(found)
    }

    /// Calls a function with every session, in pages, until it returns true.
    async fn visit_sessions(&self, mut visit: impl FnMut(SessionRecord) -> bool) -> ApiResult<()> {
        let mut query = SessionQuery { limit: 100, ..SessionQuery::default() };
        loop {
            let page = self.store.sessions(&query).await?;
            if page.sessions.into_iter().any(&mut visit) {
                return Ok(());
            }
            match page.next {
                Some(next) => query.after = Some(next),
                None => return Ok(()),
            }
        }
    }
}

fn first_line(text: &str) -> &str {
    text.trim().lines().next().unwrap_or_default()
}

/// Time between purges of all sessions, in milliseconds.
const PURGE_INTERVAL_MS: u64 = 3_600_000;

/// Purges jobs after the creation of one: those of its session, and once an hour those of all sessions.
pub(super) async fn purge_after_creation(inner: &Inner, session_id: &str) -> ApiResult<()> {
    let is_due = inner.now().0.saturating_sub(*inner.purged_at.lock()) >= PURGE_INTERVAL_MS;
    if is_due { purge(inner).await } else { inner.purge_session(session_id).await }
}

/// Purges jobs of all sessions.
pub(super) async fn purge(inner: &Inner) -> ApiResult<()> {
    *inner.purged_at.lock() = inner.now().0;
    // Sessions that a purge changes move to the front, so all ids are collected before.
    for id in inner.session_ids(|_| true).await? {
        inner.purge_session(&id).await?;
    }
    Ok(())
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::service::records::JobStatus;
    #[cfg(target_family = "wasm")]
    use wasm_bindgen_test::wasm_bindgen_test as test;

    #[test]
    fn only_ended_jobs_are_purged() {
        let job = |id: &str, status, end| JobRecord {
            job_id: id.to_owned(),
            status,
            finished_at: end,
            runs: if id == "failed" { vec![6, 7] } else { vec![5] },
            ..JobRecord::default()
        };
        let hour = 3_600_000;
        let jobs = [
            job("old", JobStatus::Completed, Some(Timestamp(hour))),
            job("review", JobStatus::AwaitingReview, None),
            job("run", JobStatus::Running, None),
            job("failed", JobStatus::Failed, Some(Timestamp(9 * hour))),
            job("new", JobStatus::Cancelled, Some(Timestamp(10 * hour))),
        ];
        let table = [
            (0, 0, vec![]),
            (5, 0, vec!["old"]),
            (1, 0, vec!["old", "failed", "new"]),
            (0, 4, vec!["old"]),
            (0, 1, vec!["old", "failed", "new"]),
            (5, 3, vec!["old", "failed"]),
        ];
        for (ttl, max, expected) in table {
            let limits =
                ServiceLimits { completed_ttl_hours: ttl, max_jobs_per_session: max, ..ServiceLimits::default() };
            let none = BTreeSet::new();
            assert_eq!(expired(&jobs, &limits, Timestamp(11 * hour), &none), expected, "{ttl} h, at most {max}");
        }
        let limits = ServiceLimits { completed_ttl_hours: 1, max_jobs_per_session: 1, ..ServiceLimits::default() };
        let pending = BTreeSet::from([7]);
        assert_eq!(
            expired(&jobs, &limits, Timestamp(11 * hour), &pending),
            ["old", "new"],
            "edits of one are in review"
        );
    }
}
