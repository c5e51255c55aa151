//! Clients of the servers: they create sessions, start jobs in them, and bear servers that do not answer.

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use serde_json::{Value, json};

use super::fleet::Fleet;
use super::{ledger, word};

/// Sessions that work at the same time.
const CLIENTS: usize = 24;

/// The work of all clients.
pub(super) struct Work<'a> {
    fleet: &'a Fleet<'a>,
    n_sessions: usize,
    jobs_per_session: usize,
    /// Ids of the sessions by number.
    sessions: Mutex<BTreeMap<usize, String>>,
    n_done: AtomicU64,
    until: Instant,
}

impl<'a> Work<'a> {
    pub(super) fn new(fleet: &'a Fleet<'a>, n_sessions: usize, jobs_per_session: usize, patience: Duration) -> Self {
        let until = Instant::now() + patience;
        Self { fleet, n_sessions, jobs_per_session, sessions: Mutex::default(), n_done: AtomicU64::new(0), until }
    }

    pub(super) fn n_jobs(&self) -> u64 {
        (self.n_sessions * self.jobs_per_session) as u64
    }

    pub(super) fn n_sessions(&self) -> usize {
        self.n_sessions
    }

    pub(super) fn jobs_per_session(&self) -> usize {
        self.jobs_per_session
    }

    pub(super) fn n_done(&self) -> u64 {
        self.n_done.load(Ordering::Relaxed)
    }

    /// Returns the id of a session.
    pub(super) fn session_id(&self, number: usize) -> String {
        self.sessions.lock().unwrap()[&number].clone()
    }

    pub(super) fn run(&self) {
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    loop {
                        let session = next.fetch_add(1, Ordering::Relaxed) as usize;
                        if session >= self.n_sessions {
                            return;
                        }
                        self.session(session);
                    }
                });
            }
        });
    }

    fn session(&self, number: usize) {
        let id = loop {
            self.check_time();
            let body = json!({ "mode": "direct", "title": ledger(number) });
            match self.fleet.send("POST", "/api/agent/sessions", &body) {
                Some((200..300, reply)) => break reply["session_id"].as_str().unwrap().to_owned(),
                Some((status @ 400..500, reply)) => panic!("{status} {reply}"),
                _ => std::thread::sleep(Duration::from_millis(50)),
            }
        };
        self.sessions.lock().unwrap().insert(number, id.clone());
        for job in 0..self.jobs_per_session {
            let job = self.submit(&id, &word(number, job), &ledger(number));
            self.wait(&job);
            self.n_done.fetch_add(1, Ordering::Relaxed);
        }
    }

    /// Submits a job once, although its server may be killed before it answers.
    fn submit(&self, session: &str, word: &str, ledger: &str) -> String {
        loop {
            self.check_time();
            let jobs = self.fleet.get(&format!("/api/agent/sessions/{session}/jobs"));
            let is_it = |job: &&Value| job["instruction"].as_str().unwrap().contains(word);
            if let Some(known) = jobs["jobs"].as_array().unwrap().iter().find(is_it) {
                return known["job_id"].as_str().unwrap().to_owned();
            }
            let body = json!({ "session_id": session, "instruction": format!("append {word} to {ledger}") });
            match self.fleet.send("POST", "/api/agent/run", &body) {
                Some((200..300, reply)) => return reply["job_id"].as_str().unwrap().to_owned(),
                Some((409 | 429 | 500.., _)) | None => std::thread::sleep(Duration::from_millis(100)),
                Some((status, reply)) => panic!("{word}: {status} {reply}"),
            }
        }
    }

    fn wait(&self, job: &str) {
        let mut cursor = 0;
        loop {
            self.check_time();
            let page = self.fleet.get(&format!("/api/agent/jobs/{job}/events?cursor={cursor}"));
            cursor = page["next_cursor"].as_u64().unwrap();
            match page["status"].as_str().unwrap() {
                "completed" => return,
                "queued" | "running" => std::thread::sleep(Duration::from_millis(150)),
                _ => panic!("{job}: {}", self.fleet.get(&format!("/api/agent/jobs/{job}"))),
            }
        }
    }

    fn check_time(&self) {
        assert!(Instant::now() < self.until, "{} jobs are done", self.n_done());
    }
}
