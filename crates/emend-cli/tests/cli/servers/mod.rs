//! Several `emend serve` on one database: throughput, and a storm of kills, cut connections and crashes of the database.
//!
//! The storm is small unless `EMEND_STORM=1`. `EMEND_STORM_SEED` repeats its random choices, up to the timing of processes.

mod fleet;
mod model;
mod proxy;
mod python;
mod random;
mod stale;
mod users;

use std::collections::BTreeMap;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::time::{Duration, Instant};

use emend_postgres::harness::TestServer;
use serde_json::{Value, json};

use self::fleet::Fleet;
use self::model::Model;
use self::proxy::Proxy;
use self::random::Seeded;
use crate::support::Project;

/// The size of a storm.
struct Size {
    n_sessions: usize,
    jobs_per_session: usize,
    n_kills: u64,
    n_crashes: u64,
    latency_ms: (u64, u64),
    patience: Duration,
}

const SMALL: Size = Size {
    n_sessions: 12,
    jobs_per_session: 3,
    n_kills: 6,
    n_crashes: 1,
    latency_ms: (50, 500),
    patience: Duration::from_secs(120),
};

const FULL: Size = Size {
    n_sessions: 200,
    jobs_per_session: 10,
    n_kills: 200,
    n_crashes: 3,
    latency_ms: (200, 2_000),
    patience: Duration::from_secs(3_600),
};

/// Sessions that work at the same time.
const CLIENTS: usize = 24;

fn is_full() -> bool {
    std::env::var_os("EMEND_STORM").is_some()
}

fn seed() -> u64 {
    let given = std::env::var("EMEND_STORM_SEED").ok().and_then(|text| text.parse().ok());
    given.unwrap_or_else(|| std::time::UNIX_EPOCH.elapsed().unwrap().as_nanos() as u64)
}

fn ledger(session: usize) -> String {
    format!("ledger-{session:03}.md")
}

fn word(session: usize, job: usize) -> String {
    format!("w-{session:03}-{job:02}")
}

fn project(n_sessions: usize) -> Project {
    let names: Vec<String> = (0..n_sessions).map(ledger).collect();
    let files: Vec<(&str, &[u8])> = names.iter().map(|name| (name.as_str(), &b"BEGIN\nEND\n"[..])).collect();
    Project::new(&files)
}

/// The work of all clients.
struct Work<'a> {
    fleet: &'a Fleet<'a>,
    size: &'a Size,
    /// Ids of the sessions by number.
    sessions: Mutex<BTreeMap<usize, String>>,
    n_done: AtomicU64,
    until: Instant,
}

impl Work<'_> {
    fn run(&self, n_sessions: usize) {
        let next = AtomicU64::new(0);
        std::thread::scope(|scope| {
            for _ in 0..CLIENTS {
                scope.spawn(|| {
                    loop {
                        let session = next.fetch_add(1, Ordering::Relaxed) as usize;
                        if session >= n_sessions {
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
        for job in 0..self.size.jobs_per_session {
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
        assert!(Instant::now() < self.until, "{} jobs are done", self.n_done.load(Ordering::Relaxed));
    }
}

/// Checks that each job of a session ended once, and that its events have neither gaps nor doubles.
fn check_session(work: &Work<'_>, project: &Project, number: usize) {
    let id = work.sessions.lock().unwrap()[&number].clone();
    let words: Vec<String> = (0..work.size.jobs_per_session).map(|job| word(number, job)).collect();
    let ledger = project.read(&ledger(number));
    let expected: String = words.iter().map(|word| format!("{word}\n")).collect();
    let jobs = work.fleet.get(&format!("/api/agent/sessions/{id}/jobs"));
    let jobs = jobs["jobs"].as_array().unwrap();
    if ledger != format!("BEGIN\n{expected}END\n") {
        // The order of the attempts tells at which point one was cut off.
        for job in jobs {
            println!("{job}");
            let path = format!("/api/agent/jobs/{}/events?limit=5000", job["job_id"].as_str().unwrap());
            work.fleet.get(&path)["events"].as_array().unwrap().iter().for_each(|event| println!("  {event}"));
        }
    }
    assert_eq!(ledger, format!("BEGIN\n{expected}END\n"), "ledger of {id}");
    assert_eq!(jobs.len(), words.len(), "{id}: {jobs:?}");
    let mut cursors = Vec::new();
    for job in jobs {
        let job_id = job["job_id"].as_str().unwrap();
        let page = work.fleet.get(&format!("/api/agent/jobs/{job_id}/events?limit=5000"));
        let events = page["events"].as_array().unwrap();
        let mut counts: BTreeMap<&str, usize> = BTreeMap::new();
        for event in events {
            cursors.push(event["cursor"].as_u64().unwrap());
            *counts.entry(event["type"].as_str().unwrap()).or_default() += 1;
        }
        for kind in ["job.queued", "job.started", "tool.call.requested", "tool.call.completed", "job.completed"] {
            assert_eq!(counts.get(kind), Some(&1), "{kind} of {job_id}: {counts:?}");
        }
        assert_eq!(counts.get("message.completed"), Some(&1), "{job_id}: {counts:?}");
        assert_eq!(events.last().unwrap()["type"], "job.completed", "{job_id}");
        assert!(!counts.contains_key("job.failed") && !counts.contains_key("job.cancelled"), "{job_id}: {counts:?}");
    }
    cursors.sort_unstable();
    let first = cursors[0];
    let expected: Vec<u64> = (first..first + cursors.len() as u64).collect();
    assert_eq!(cursors, expected, "cursors of {id}");
}

/// Kills servers that run jobs, and crashes the database.
struct Storm<'a> {
    fleet: &'a Fleet<'a>,
    model: &'a Model,
    database: &'a TestServer,
    work: &'a Work<'a>,
    is_over: &'a AtomicBool,
    random: Seeded,
}

impl Storm<'_> {
    /// Returns the number of kills.
    fn kill(&self, n_jobs: u64) -> u64 {
        let mut n_kills = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20 + self.random.below(60)));
            // Evenly over the jobs: a kill delays some jobs by the lease of its claims.
            let due = self.work.n_done.load(Ordering::Relaxed) * self.work.size.n_kills / n_jobs + 1;
            let busy = self.model.busy();
            if n_kills < due && !busy.is_empty() {
                self.fleet.kill(busy[self.random.below(busy.len() as u64) as usize]);
                n_kills += 1;
            }
        }
        n_kills
    }

    /// Crashes the database evenly over the jobs; returns the number of crashes.
    fn crash(&self, n_jobs: u64) -> u64 {
        let mut n_crashes = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            let done = self.work.n_done.load(Ordering::Relaxed);
            if n_crashes < self.work.size.n_crashes && done >= n_jobs * (n_crashes + 1) / (self.work.size.n_crashes + 1)
            {
                self.database.crash();
                n_crashes += 1;
            }
        }
        n_crashes
    }

    /// Looks for jobs with two claims in force; returns the number of looks.
    fn watch(&self, address: &str) -> u64 {
        let sql = "SELECT task_id FROM absurd.r_emend WHERE state = 'running' AND claim_expires_at > clock_timestamp()
            GROUP BY task_id HAVING count(*) > 1";
        let mut n_looks = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            if let Some(found) = self.database.query(address, sql) {
                assert_eq!(found, "", "two servers have a claim of one job");
                n_looks += 1;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        n_looks
    }
}

#[test]
fn every_job_ends_once_although_servers_and_connections_die() {
    let Some(database) = TestServer::start(true) else { return };
    let size = if is_full() { FULL } else { SMALL };
    let (seed, n_jobs) = (seed(), (size.n_sessions * size.jobs_per_session) as u64);
    let project = project(size.n_sessions);
    let address = database.database();
    project.run(&["db", "migrate", "--store", &address]).assert_ok();
    let proxy = Proxy::start(database.socket(), seed ^ 1, 400);
    let model = Model::start(seed ^ 2, size.latency_ms);
    let fleet = Fleet::start(&project, &model, &proxy.address(&address), 4, seed ^ 3);
    let begun = Instant::now();
    let work = Work {
        fleet: &fleet,
        size: &size,
        sessions: Mutex::default(),
        n_done: AtomicU64::new(0),
        until: begun + size.patience,
    };
    let is_over = AtomicBool::new(false);
    let storm = Storm {
        fleet: &fleet,
        model: &model,
        database: &database,
        work: &work,
        is_over: &is_over,
        random: Seeded::new(seed ^ 4),
    };
    println!("seed {seed}");
    let (n_kills, n_crashes, n_looks) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| storm.kill(n_jobs));
        let crasher = scope.spawn(|| storm.crash(n_jobs));
        let watcher = scope.spawn(|| storm.watch(&address));
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.run(size.n_sessions)));
        is_over.store(true, Ordering::Relaxed);
        let counts = (killer.join().unwrap(), crasher.join().unwrap(), watcher.join().unwrap());
        if let Err(cause) = done {
            println!("{counts:?} kills, crashes and looks until the failure");
            std::panic::resume_unwind(cause);
        }
        counts
    });
    let seconds = begun.elapsed().as_secs_f64();
    let attempts =
        "SELECT attempts || ' attempts: ' || count(*) FROM absurd.t_emend GROUP BY attempts ORDER BY attempts";
    println!("{}", database.query(&address, attempts).unwrap());
    println!(
        "{n_jobs} jobs in {seconds:.0} s; {n_kills} kills, {n_crashes} crashes of the database, {} cut answers, {} model \
         calls, {n_looks} looks at claims",
        proxy.n_cuts(),
        model.n_requests()
    );
    let open = "SELECT count(*) FROM absurd.t_emend WHERE state <> 'completed'";
    assert_eq!(database.query(&address, open).unwrap(), "0", "all work has ended");
    (0..size.n_sessions).for_each(|session| check_session(&work, &project, session));
    let all = fleet.get("/api/agent/events?after=0&limit=5000");
    let seqs: Vec<u64> = all["events"].as_array().unwrap().iter().map(|event| event["seq"].as_u64().unwrap()).collect();
    assert_eq!(seqs, (1..=seqs.len() as u64).collect::<Vec<_>>(), "numbers of all sessions");
    assert_eq!((n_crashes, n_kills >= size.n_kills), (size.n_crashes, true));
    assert!(proxy.n_cuts() > 0 && n_looks > 0);
    model.assert_calls_have_results();
}

#[test]
fn more_servers_do_more_jobs() {
    let Some(database) = TestServer::start(false) else { return };
    let seed = seed();
    let mut rates = Vec::new();
    for n_servers in [1, 2, 4] {
        let n_sessions = if is_full() { 24 * n_servers } else { 4 * n_servers };
        let size = Size { n_sessions, jobs_per_session: 2, latency_ms: (200, 2_000), ..SMALL };
        let project = project(n_sessions);
        let address = database.database();
        project.run(&["db", "migrate", "--store", &address]).assert_ok();
        let model = Model::start(seed, size.latency_ms);
        let fleet = Fleet::start(&project, &model, &address, n_servers, seed);
        let begun = Instant::now();
        let work = Work {
            fleet: &fleet,
            size: &size,
            sessions: Mutex::default(),
            n_done: AtomicU64::new(0),
            until: begun + size.patience,
        };
        work.run(n_sessions);
        let rate = (n_sessions * size.jobs_per_session) as f64 / begun.elapsed().as_secs_f64();
        println!("{n_servers} servers: {rate:.2} jobs/s");
        rates.push(rate);
        (0..n_sessions).for_each(|session| check_session(&work, &project, session));
    }
    println!("four servers to one: {:.2}", rates[2] / rates[0]);
    // Other programs on the computer can slow a short run down.
    let least = if is_full() { 3.0 } else { 1.5 };
    assert!(rates[2] >= least * rates[0], "{rates:?}");
}
