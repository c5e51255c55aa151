//! A storm over 1, 2 and 4 servers: kills, cut connections and crashes of the database, while clients start jobs.
//!
//! It is small unless `EMEND_STORM=1`. `EMEND_STORM_SERVERS` names one number of servers.

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use emend_postgres::harness::TestServer;

use super::check::check_all;
use super::fleet::Fleet;
use super::model::Model;
use super::proxy::Proxy;
use super::random::Seeded;
use super::work::Work;
use super::{is_full, project, seed};

/// The size of a storm.
struct Size {
    n_servers: usize,
    n_sessions: usize,
    jobs_per_session: usize,
    n_kills: u64,
    n_crashes: u64,
    latency_ms: (u64, u64),
    /// The proxy cuts one of so many answers of the database.
    cut_one_in: u64,
    patience: Duration,
}

/// Jobs that all servers together run at the same time.
const RUNNING: usize = 16;

impl Size {
    fn of(n_servers: usize) -> Self {
        if is_full() {
            return Self {
                n_servers,
                n_sessions: 200,
                jobs_per_session: 10,
                n_kills: 200,
                n_crashes: 3,
                latency_ms: (200, 2_000),
                cut_one_in: 400,
                patience: Duration::from_secs(7_200),
            };
        }
        // Kills of few servers stop most of the work, so a smaller storm takes as long.
        let (n_sessions, jobs_per_session, n_kills, cut_one_in) =
            if n_servers < 4 { (4, 2, 2, 100) } else { (12, 3, 6, 400) };
        Self {
            n_servers,
            n_sessions,
            jobs_per_session,
            n_kills,
            n_crashes: 1,
            latency_ms: (50, 500),
            cut_one_in,
            patience: Duration::from_secs(120),
        }
    }
}

/// Writes down locks that a server takes while another one holds them, and claims of a job beside another claim.
const SPY: &str = "
    CREATE SCHEMA spy;
    CREATE TABLE spy.taken (key text, was_held boolean);
    CREATE FUNCTION spy.lock() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO spy.taken VALUES (NEW.key, OLD.until > clock_timestamp());
        RETURN NULL;
    END $$;
    CREATE TRIGGER spy AFTER UPDATE ON emend.locks FOR EACH ROW WHEN (OLD.holder <> NEW.holder)
        EXECUTE FUNCTION spy.lock();
    CREATE TABLE spy.doubles (task uuid);
    CREATE FUNCTION spy.claim() RETURNS trigger LANGUAGE plpgsql AS $$ BEGIN
        INSERT INTO spy.doubles SELECT task_id FROM absurd.r_emend WHERE task_id = NEW.task_id AND run_id <> NEW.run_id
            AND state = 'running' AND claim_expires_at > clock_timestamp();
        RETURN NULL;
    END $$;
    CREATE TRIGGER spy AFTER INSERT OR UPDATE OF state ON absurd.r_emend FOR EACH ROW WHEN (NEW.state = 'running')
        EXECUTE FUNCTION spy.claim();";

/// The storm, in threads of its own.
struct Storm<'a> {
    size: &'a Size,
    fleet: &'a Fleet<'a>,
    model: &'a Model,
    database: &'a TestServer,
    address: &'a str,
    work: &'a Work<'a>,
    is_over: &'a AtomicBool,
    random: Seeded,
}

impl Storm<'_> {
    /// Kills servers that run jobs, evenly over the jobs: a kill delays some of them by the time of their claims. Returns the
    /// number of kills by moment.
    fn kill(&self) -> BTreeMap<&'static str, u64> {
        let (mut moments, mut n_kills) = (BTreeMap::new(), 0);
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(20 + self.random.below(60)));
            let due = self.work.n_done() * self.size.n_kills / self.work.n_jobs() + 1;
            if n_kills >= due {
                continue;
            }
            if let Some((server, moment)) = self.victim(n_kills) {
                self.fleet.kill(server);
                n_kills += 1;
                *moments.entry(moment).or_default() += 1;
            }
        }
        moments
    }

    /// Chooses a server with a job, and waits for the moment of its kill: during a call of the model, or soon after one that
    /// asked for an edit.
    fn victim(&self, n_kills: u64) -> Option<(usize, &'static str)> {
        if n_kills.is_multiple_of(2) {
            let busy = self.model.busy();
            let at = self.random.below(busy.len().max(1) as u64) as usize;
            return Some((*busy.get(at)?, "during a call of the model"));
        }
        let server = self.model.next_call(Duration::from_millis(500))?;
        let ms = self.random.below(60);
        std::thread::sleep(Duration::from_millis(ms));
        let after = ["0 to 19 ms after one", "20 to 39 ms after one", "40 to 59 ms after one"];
        Some((server, after[ms as usize / 20]))
    }

    /// Crashes the database evenly over the jobs; returns the number of crashes.
    fn crash(&self) -> u64 {
        let mut n_crashes = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            std::thread::sleep(Duration::from_millis(50));
            let is_due = self.work.n_done() >= self.work.n_jobs() * (n_crashes + 1) / (self.size.n_crashes + 1);
            if n_crashes < self.size.n_crashes && is_due {
                self.database.crash();
                n_crashes += 1;
            }
        }
        n_crashes
    }

    /// Looks for jobs with two claims in force; returns the number of looks.
    fn watch(&self) -> u64 {
        let sql = "SELECT task_id FROM absurd.r_emend WHERE state = 'running' AND claim_expires_at > clock_timestamp()
            GROUP BY task_id HAVING count(*) > 1";
        let mut n_looks = 0;
        while !self.is_over.load(Ordering::Relaxed) {
            if let Some(found) = self.database.query(self.address, sql) {
                assert_eq!(found, "", "two servers have a claim of one job");
                n_looks += 1;
            }
            std::thread::sleep(Duration::from_millis(100));
        }
        n_looks
    }
}

fn check(database: &TestServer, size: &Size, seed: u64) {
    let project = project(size.n_sessions);
    let address = database.database();
    project.run(&["db", "migrate", "--store", &address]).assert_ok();
    let query = |sql: &str| database.query(&address, sql).unwrap();
    query(SPY);
    let proxy = Proxy::start(database.socket(), seed ^ 1, size.cut_one_in);
    let model = Model::start(seed ^ 2, size.latency_ms);
    let running_max = RUNNING / size.n_servers;
    let fleet = Fleet::start_with(&project, &model, &proxy.address(&address), (size.n_servers, running_max), seed ^ 3);
    let begun = Instant::now();
    let work = Work::new(&fleet, size.n_sessions, size.jobs_per_session, size.patience);
    let (is_over, random) = (AtomicBool::new(false), Seeded::new(seed ^ 4));
    let storm = Storm {
        size,
        fleet: &fleet,
        model: &model,
        database,
        address: &address,
        work: &work,
        is_over: &is_over,
        random,
    };
    println!("{} servers, seed {seed}", size.n_servers);
    let (moments, n_crashes, n_looks) = std::thread::scope(|scope| {
        let killer = scope.spawn(|| storm.kill());
        let crasher = scope.spawn(|| storm.crash());
        let watcher = scope.spawn(|| storm.watch());
        let done = std::panic::catch_unwind(std::panic::AssertUnwindSafe(|| work.run()));
        is_over.store(true, Ordering::Relaxed);
        let counts = (killer.join().unwrap(), crasher.join().unwrap(), watcher.join().unwrap());
        if let Err(cause) = done {
            println!("{counts:?} kills, crashes and looks until the failure");
            std::panic::resume_unwind(cause);
        }
        counts
    });
    let (seconds, n_kills) = (begun.elapsed().as_secs_f64(), moments.values().sum::<u64>());
    println!(
        "{}",
        query("SELECT attempts || ' attempts: ' || count(*) FROM absurd.t_emend GROUP BY attempts ORDER BY attempts")
    );
    println!("kills by moment: {moments:?}");
    println!(
        "{} jobs in {seconds:.0} s, {:.2} jobs/s; {n_kills} kills, {n_crashes} crashes of the database, {} cut answers, {} model \
         calls, {n_looks} looks at claims, {} locks taken over",
        work.n_jobs(),
        work.n_jobs() as f64 / seconds,
        proxy.n_cuts(),
        model.n_requests(),
        query("SELECT count(*) FROM spy.taken"),
    );
    assert_eq!(query("SELECT count(*) FROM absurd.t_emend WHERE state <> 'completed'"), "0", "all work has ended");
    assert_eq!(query("SELECT DISTINCT key FROM spy.taken WHERE was_held"), "", "two servers held one lock");
    assert_eq!(query("SELECT DISTINCT task FROM spy.doubles"), "", "two servers had a claim of one job");
    check_all(&work, &fleet, &project);
    assert_eq!((n_crashes, n_kills >= size.n_kills), (size.n_crashes, true));
    assert!(proxy.n_cuts() > 0 && n_looks > 0);
    model.assert_calls_have_results();
}

#[test]
fn every_job_ends_once_although_servers_and_connections_die() {
    let Some(database) = TestServer::start(true) else { return };
    let only = std::env::var("EMEND_STORM_SERVERS").ok().and_then(|text| text.parse().ok());
    for n_servers in [4, 2, 1].into_iter().filter(|n| only.is_none_or(|only: usize| only == *n)) {
        check(&database, &Size::of(n_servers), seed());
    }
}
