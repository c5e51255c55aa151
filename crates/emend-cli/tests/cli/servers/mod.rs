//! Several `emend serve` on one database: throughput, a storm, and requests of the user to any of them.
//!
//! Tests are small unless `EMEND_STORM=1`. `EMEND_STORM_SEED` repeats its random choices, up to the timing of processes.

mod check;
mod fleet;
mod model;
mod proxy;
mod python;
mod random;
mod stale;
mod storm;
mod subagents;
mod users;
mod work;

use std::time::{Duration, Instant};

use emend_postgres::harness::TestServer;

use self::check::check_all;
use self::fleet::Fleet;
use self::model::Model;
use self::work::Work;
use crate::support::Project;

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

#[test]
fn more_servers_do_more_jobs() {
    let Some(database) = TestServer::start(false) else { return };
    let seed = seed();
    let mut rates = Vec::new();
    for n_servers in [1, 2, 4] {
        let n_sessions = if is_full() { 24 * n_servers } else { 4 * n_servers };
        let project = project(n_sessions);
        let address = database.database();
        project.run(&["db", "migrate", "--store", &address]).assert_ok();
        let model = Model::start(seed, (200, 2_000));
        let fleet = Fleet::start(&project, &model, &address, n_servers, seed);
        let begun = Instant::now();
        let work = Work::new(&fleet, n_sessions, 2, Duration::from_secs(120));
        work.run();
        let rate = work.n_jobs() as f64 / begun.elapsed().as_secs_f64();
        println!("{n_servers} servers: {rate:.2} jobs/s");
        rates.push(rate);
        check_all(&work, &fleet, &project);
    }
    println!("four servers to one: {:.2}", rates[2] / rates[0]);
    // Other programs on the computer can slow a short run down.
    let least = if is_full() { 3.0 } else { 1.5 };
    assert!(rates[2] >= least * rates[0], "{rates:?}");
}
